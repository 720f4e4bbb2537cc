package main

import (
	"io"
	"os"
	"strings"

	"github.com/rivo/uniseg"

	"example.org/parley/internal/lineedit"
)

// terminal is where a command reads and writes.
type terminal struct {
	in  io.Reader
	out io.Writer
	err io.Writer

	exact io.Writer // out for JSON, exports and files: what programs read, byte by byte
}

// shown is a terminal whose out and err are screens. On a terminal exact is one too.
func (t terminal) shown() terminal {
	out := shownOn(t.out)
	shown := terminal{in: t.in, out: out, err: shownOn(t.err), exact: t.out}
	if out.watched {
		shown.exact = out
	}
	return shown
}

// steer controls the terminal behind one of the writers, if a person reads it.
func steer(w io.Writer, sequence steering) {
	if s, ok := w.(*screen); ok {
		s.steer(sequence)
	}
}

// interactive reports whether a person types the input.
func (t terminal) interactive() bool {
	file, ok := t.in.(*os.File)
	return ok && isTerminal(file)
}

// watched reports whether a person reads this output.
func watched(w io.Writer) bool {
	s, ok := w.(*screen)
	return ok && s.watched
}

// styled reports whether what is written may have styles.
func styled(w io.Writer) bool {
	s, ok := w.(*screen)
	return ok && s.styled
}

// isTerminal reports whether a file is a terminal; other devices, such as /dev/null, are not.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && lineedit.IsTerminal(file)
}

// printJSON prints a value as indented JSON.
func (t terminal) printJSON(value any) error { return writeJSON(t.exact, value, "  ") }

// printLine prints a value as one line of JSON.
func (t terminal) printLine(value any) error { return writeJSON(t.exact, value, "") }

// columnGap separates the columns of a table.
const columnGap = 2

// printTable prints rows under a header, aligned. Cells are foreign text: each stays on one line, in its column,
// without characters that control the terminal. Wide characters count twice, as terminals show them.
func (t terminal) printTable(header []string, rows [][]string) error {
	lines := make([][]string, 0, len(rows)+1)
	var widths []int
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = plainLine(cell)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(cells[i]))
		}
		lines = append(lines, cells)
	}
	var out strings.Builder
	for _, cells := range lines {
		for i, cell := range cells {
			out.WriteString(cell)
			if i < len(cells)-1 {
				out.WriteString(strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell)+columnGap))
			}
		}
		out.WriteByte('\n')
	}
	_, err := io.WriteString(t.out, out.String())
	return err
}
