package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

// terminal is where a command reads and writes.
type terminal struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

// interactive reports whether a person types the input.
func (t terminal) interactive() bool {
	file, ok := t.in.(*os.File)
	return ok && isTerminal(file)
}

// watched reports whether a person reads this output.
func watched(w io.Writer) bool {
	_, ok := w.(screen)
	return ok
}

func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// printJSON prints a value as indented JSON.
func (t terminal) printJSON(value any) error {
	encoder := json.NewEncoder(t.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// printTable prints rows under a header, aligned. Cells are foreign text: each stays on one line, in its column,
// without characters that control the terminal.
func (t terminal) printTable(header []string, rows [][]string) error {
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(header, "\t"))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = plainLine(cell)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

// printLine prints a value as one line of JSON.
func (t terminal) printLine(value any) error {
	encoder := json.NewEncoder(t.out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
