package lineedit

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rivo/uniseg"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bound is how long a test waits for something that should happen at once.
const bound = 10 * time.Second

// glass is a terminal that remembers what it shows.
type glass struct {
	width int

	mu          sync.Mutex // guards what follows
	rows        [][]string // a cell is a character; "" behind a wide one
	row, column int
	unknown     string // a sequence that it does not know
}

func (g *glass) Write(text []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	rest, state := string(text), -1
	for rest != "" {
		if rest[0] == escape {
			rest, state = g.obey(rest[1:]), -1
			continue
		}
		var character string
		character, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		switch character {
		case "\r":
			g.column = 0
		case "\n", "\r\n": // line ends are translated
			g.row, g.column = g.row+1, 0
		case "\a":
		default:
			g.put(character)
		}
	}
	return len(text), nil
}

// obey acts on a sequence and returns what follows it.
func (g *glass) obey(rest string) string {
	end := strings.IndexFunc(rest[1:], func(r rune) bool { return r >= '@' }) + 1
	n := 1
	_, _ = fmt.Sscan(rest[1:end], &n)
	switch rest[0:1] + rest[end:end+1] {
	case "[A":
		g.row = max(0, g.row-n)
	case "[C":
		g.column += n
	case "[J":
		g.rows = g.rows[:min(len(g.rows), g.row+1)]
		if g.row < len(g.rows) {
			g.rows[g.row] = g.rows[g.row][:min(len(g.rows[g.row]), g.column)]
		}
	case "[m":
	default:
		g.unknown = rest[:end+1]
	}
	return rest[end+1:]
}

func (g *glass) put(character string) {
	columns := uniseg.StringWidth(character)
	if g.column+columns > g.width {
		g.row, g.column = g.row+1, 0
	}
	for len(g.rows) <= g.row {
		g.rows = append(g.rows, nil)
	}
	row := g.rows[g.row]
	if columns == 0 { // a mark that combines with nothing joins the character before it, if there is one
		if g.column > 0 && g.column <= len(row) {
			row[g.column-1] += character
		}
		return
	}
	for len(row) < g.column+columns {
		row = append(row, " ")
	}
	row[g.column] = character
	for i := 1; i < columns; i++ {
		row[g.column+i] = ""
	}
	g.rows[g.row], g.column = row, g.column+columns
}

// shows is what a person sees, with | at the cursor.
func (g *glass) shows() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	lines := make([]string, max(len(g.rows), g.row+1))
	for i := range lines {
		var cells []string
		if i < len(g.rows) {
			cells = slices.Clone(g.rows[i])
		}
		if i == g.row {
			for len(cells) < g.column {
				cells = append(cells, " ")
			}
			cells = slices.Insert(cells, g.column, "|")
		}
		lines[i] = strings.TrimRight(strings.Join(cells, ""), " ")
	}
	return strings.Join(lines, "\n") + g.unknown
}

// seat is a person at an editor.
type seat struct {
	*Editor
	t     *testing.T
	keys  *io.PipeWriter
	glass *glass
}

func sit(t *testing.T, width int, options Options) *seat {
	t.Helper()
	in, keys := io.Pipe()
	g := &glass{width: width}
	options.In, options.Out = in, g
	if options.Size == nil {
		options.Size = func() (int, int) { return width, usualHeight }
	}
	s := &seat{New(options), t, keys, g}
	t.Cleanup(func() {
		s.Close()
		_ = keys.Close()
		for range s.Lines() { // until its goroutine has ended
			continue
		}
	})
	return s
}

// types sends keys, and waits until the editor has acted on them: an empty write is read after them.
func (s *seat) types(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.keys, keys); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.keys.Write(nil); err != nil {
		s.t.Fatal(err)
	}
}

func (s *seat) sees(want string) {
	s.t.Helper()
	if got := s.glass.shows(); got != want {
		s.t.Errorf("the terminal shows\n%s\n\nwant\n%s", got, want)
	}
}

func (s *seat) entered(want string) {
	s.t.Helper()
	select {
	case line, ok := <-s.Lines():
		if !ok || line != want {
			s.t.Errorf("entered %q, %v; want %q", line, ok, want)
		}
	case <-time.After(bound):
		s.t.Fatalf("%q was not entered; the terminal shows\n%s", want, s.glass.shows())
	}
}

func (s *seat) prints(text string) {
	s.t.Helper()
	if n, err := io.WriteString(s.Editor, text); n != len(text) || err != nil {
		s.t.Fatal(n, err)
	}
}

const (
	left, right, up, down = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[B"
	wordLeft, wordRight   = "\x1b[1;5D", "\x1b[1;5C"
)

// TestKeys: each does at the cursor what it does elsewhere.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ keys, want string }{
		{"hello", "> hello|"},
		{"helo" + left + "l", "> hell|o"},
		{"ab" + left + left + left + "x", "> x|ab"},
		{"one two" + wordLeft + wordLeft + "x", "> x|one two"},
		{"one two\x01" + wordRight + "!", "> one!| two"},
		{"one two\x01x\x05y", "> xone twoy|"},
		{"one two\x17three", "> one three|"},
		{"one two\x15three", "> three|"},
		{"one two" + wordLeft + "\x0bx", "> one x|"},
		{"one two\x17\x01\x19", "> two|one"},
		{"abc\x7f\x08d", "> ad|"},
		{"abc\x01\x1b[3~\x04", "> |c"},
		{"one two\x01\x1bd!", "> !| two"},
		{"日本語" + left + "\x7fx", "> 日x|語"},
		{"e\u0301" + left + "x", "> x|e\u0301"},
		{"👩‍🚀👩‍🚀\x7f", "> 👩‍🚀|"},
		{"a\tb", "> a    b|"},
		{"one\x1b\rtwo", "> one\n. two|"},
		{"one\x1b\rtwo" + up + "x", "> onex|\n. two"},
		{"one\x1b\rtwo" + up + down + "x", "> one\n. twox|"},
		{"one\x1b\r\x7ftwo", "> onetwo|"},
		{"odd\x1b[999;999z keys\x1b[5n\x1bOQ", "> odd keys|"},
		{"\xff\xfe\x00\x1cnot text", "> not text|"},
		{"\x1b[200~pasted\rin \x1b[Atwo\x04\x1b[201~!", "> pasted\n. in [Atwo!|"},
	} {
		for _, pieces := range []int{len(test.keys), 1} {
			s := sit(t, 40, Options{})
			s.Ask("> ")
			for at := 0; at < len(test.keys); at += pieces {
				s.types(test.keys[at : at+pieces])
			}
			if got := s.glass.shows(); got != test.want {
				t.Errorf("%q in pieces of %d shows\n%s\nwant\n%s", test.keys, pieces, got, test.want)
			}
		}
	}
}

// TestLongTextsWrap: also before the last column, with wide characters and in the middle.
func TestLongTextsWrap(t *testing.T) {
	t.Parallel()
	s := sit(t, 10, Options{Size: func() (int, int) { return 10, 3 }})
	s.Ask("> ")
	s.types("abcdefg")
	s.sees("> abcdefg|")
	s.types("h")
	s.sees("> abcdefg\nh|")
	s.types("\x7f\x7f\x7f日本")
	s.sees("> abcde日\n本|")
	s.types(left + left + "x")
	s.sees("> abcdex\n|日本")
	s.types("\x05\x15" + strings.Repeat("123456789", 4) + "\x7f")
	s.sees("891234567\n891234567\n8|") // what there is room for
	s.types("\x01")
	s.sees("> |1234567\n891234567\n891234567")
}

// TestSearch: Ctrl-R finds earlier entries, newest first and whatever their case; Enter enters the one found, other
// keys edit it, Ctrl-G brings back what was typed before.
func TestSearch(t *testing.T) {
	t.Parallel()
	history := &History{path: filepath.Join(t.TempDir(), "history"), entries: []string{
		"first Deploy", "list files", "second deploy", "日本",
	}}
	s := sit(t, 40, Options{History: history})
	s.Ask("> ")
	s.types("draft\x12")
	s.sees("(search: ) draft|")
	s.types("dep")
	s.sees("(search: dep) second deploy|")
	s.types("\x12")
	s.sees("(search: dep) first Deploy|")
	s.types("\x12") // there is no older one
	s.sees("(search: dep) first Deploy|")
	s.types("\x7f") // a shorter query begins at the newest again
	s.sees("(search: de) second deploy|")
	s.types("\x07")
	s.sees("> draft|")
	s.types("\x12DEPX\x7f\r")
	s.entered("second deploy")
	s.Ask("> ")
	s.types("\x12日" + left + "!")
	s.sees("> second deploy\n> 日!|本")
	s.types("\x15\x0b\x12list\x01" + up)
	s.sees("> second deploy\n> first Deploy|")
	s.types("\x15\x12fi")
	if !s.Discard() {
		t.Error("a search is nothing to discard")
	}
	s.Ask("> ")
	s.sees("> second deploy\n(search: fi) list files^C\n> |")
}

// TestSearchKeepsWhatWasTyped: Up and Down go on from the entry found, and lead back to what was typed before.
func TestSearchKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	history := &History{path: filepath.Join(t.TempDir(), "history"), entries: []string{"one", "two", "three"}}
	s := sit(t, 40, Options{History: history})
	s.Ask("> ")
	s.types("draft\x12two\x05")
	s.sees("> two|")
	s.types(down)
	s.sees("> three|")
	s.types(down)
	s.sees("> draft|")
}

// TestComplete: Tab writes what all choices have in common, and a space behind the only one; otherwise it shows them.
func TestComplete(t *testing.T) {
	t.Parallel()
	s := sit(t, 40, Options{Complete: func(before string) (found []string) {
		if !strings.HasPrefix(before, "/") {
			return nil
		}
		for _, one := range []string{"/compact", "/cost", "/fork"} {
			if strings.HasPrefix(one, before) {
				found = append(found, one)
			}
		}
		return append([]string{}, found...)
	}})
	s.Ask("> ")
	s.types("/f\tx")
	s.sees("> /fork x|")
	s.types("\x15/c\t")
	s.sees("> /co|")
	s.types("\t")
	s.sees("/compact  /cost\n> /co|")
	s.types("x\t\x15a\tb")
	s.sees("/compact  /cost\n> a    b|")
}

// TestEnter: what is entered stays, and a line that continues waits for its end.
func TestEnter(t *testing.T) {
	t.Parallel()
	s := sit(t, 40, Options{Continue: func(text string) (string, bool) {
		shorter, more := strings.CutSuffix(text, `\`)
		return shorter + "\n", more
	}})
	s.Ask("Allow it? ")
	s.types("yes" + left + left + "\r")
	s.entered("yes")
	s.sees("Allow it? yes\n|")
	s.types("\rone\\\rtwo\r\r") // to enter nothing is an answer only to a question
	s.entered("one\ntwo")
	s.Ask("Leave it? ")
	s.types("\r")
	s.entered("")
	s.Ask("> ")
	s.types("half")
	if !s.Discard() || s.Discard() {
		t.Error("Discard does not say what was there")
	}
	s.sees("Allow it? yes\n> one\n. two\nLeave it?\n> half^C\n|")
	s.Ask("> ")
	if _, err := io.WriteString(s.keys, "x\x7f\x04more"); err != nil { // nothing reads after it
		t.Fatal(err)
	}
	if line, ok := <-s.Lines(); ok || s.Err() != nil {
		t.Errorf("after the end of the input came %q, %v", line, s.Err())
	}
}

// TestTextIsPrintedAboveWhatIsTyped: as it comes while nothing is typed, else line by line.
func TestTextIsPrintedAboveWhatIsTyped(t *testing.T) {
	t.Parallel()
	s := sit(t, 40, Options{})
	s.prints("An answer that ")
	s.prints("streams")
	s.sees("An answer that streams|")
	s.types("wa")
	s.sees("An answer that streams\n> wa|")
	s.prints(" on\nand ")
	s.sees("An answer that streams\n on\n> wa|")
	s.types("it")
	s.prints("on\nand")
	s.sees("An answer that streams\n on\nand on\n> wait|")
	s.types("\x15")
	s.sees("An answer that streams\n on\nand on\nand|")
	s.prints(" on.\n")
	s.types("stop")
	s.prints("The")
	s.types("\r")
	s.entered("stop")
	s.prints(" end")
	s.sees("An answer that streams\n on\nand on\nand on.\n> stop\nThe end|")
	s.Ask("> ")
	s.sees("An answer that streams\n on\nand on\nand on.\n> stop\nThe end\n> |")
	s.Ask("")
	s.prints("!\n")
	s.sees("An answer that streams\n on\nand on\nand on.\n> stop\nThe end\n!\n|")
	s.types("x")
	s.prints("\x1b[1m")
	s.prints("Title")
	s.types("\x15") // it is printed once nothing is typed, and stays when something is again
	s.types("y")
	s.sees("An answer that streams\n on\nand on\nand on.\n> stop\nThe end\n!\nTitle\n> y|")
	s.prints(strings.Repeat("y", maxHeld+1)) // a line without end
	if got := len(s.held); got != 0 {
		t.Errorf("%d bytes are held", got)
	}
}

// TestTextHasABound: more is refused, and what was typed stays.
func TestTextHasABound(t *testing.T) {
	t.Parallel()
	s := sit(t, 40, Options{})
	s.types(pasteBegun + strings.Repeat("x", maxText))
	s.types("yz" + pasteEnd + "\r")
	s.entered(strings.Repeat("x", maxText))
}

// TestHistory: entries come back with the arrows, whole, and what was typed after them.
func TestHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "history")
	for _, entry := range []string{"first", "second\nof two lines", "third"} {
		h, err := OpenHistory(path) // each time as another program
		if err != nil {
			t.Fatal(err)
		}
		for _, add := range []string{entry, entry, " secret", "", strings.Repeat("x", maxEntry+1)} {
			if err := h.Add(add); err != nil {
				t.Fatal(err)
			}
		}
	}
	h, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	s := sit(t, 40, Options{History: h})
	s.Ask("> ")
	s.types("typed" + up)
	s.sees("> third|")
	s.types(up + up + up) // in the second one, one up is a line
	s.sees("> first|")
	s.types(up + down + down)
	s.sees("> third|")
	s.types(down + down)
	s.sees("> typed|")
	s.types(up + "!\r")
	s.entered("third!")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != historyFile {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
}

// TestHistoryFilesAreBounded, whatever is in them, and nobody else may read them.
func TestHistoryFilesAreBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history")
	var text strings.Builder
	text.WriteString(strings.Repeat("not JSON ", maxHistoryBytes/8) + "\n{}\n12\nnull\n\"\"\n")
	for n := range maxEntries + 5 {
		fmt.Fprintf(&text, "\"entry %d\"\n", n)
	}
	text.WriteString("\"evil \\u001b]52;c;AAAA\\u0007\"\n\"cut")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	h, err := OpenHistory(path)
	if err != nil || len(h.entries) != maxEntries || h.entries[maxEntries-2] != fmt.Sprintf("entry %d", maxEntries+4) {
		t.Fatalf("%d entries, %v", len(h.entries), err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 64<<10 || info.Mode().Perm() != historyFile {
		t.Errorf("the file has %d bytes and mode %v, %v", info.Size(), info.Mode(), err)
	}
	s := sit(t, 40, Options{History: h})
	s.types(up)
	s.sees("> evil ]52;c;AAAA|")
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenHistory(link); err == nil {
		t.Error("a link is followed")
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".history-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// FuzzKeys: whatever is typed, the cursor stands at a character, and the terminal hears only what it knows.
func FuzzKeys(f *testing.F) {
	f.Add("日本語\x1b[D\x7f\x1b[200~a\r\n\x1b[201~\x1b[A\x17\x19\x1b\r", 7)
	f.Add("0\x1b\n\u05a5", -5) // a mark that combines with nothing
	f.Fuzz(func(t *testing.T, keys string, width int) {
		g := &glass{width: max(2, width%200)}
		e := &Editor{
			options: Options{Out: g, Size: func() (int, int) { return g.width, 5 }},
			lines:   make(chan string, 1), over: make(chan struct{}), restore: func() {}, entry: -1,
		}
		rest := []byte(keys)
		for entered := true; entered; {
			_, rest, entered = e.take(rest)
			if e.text.at > len(e.text.text) || strings.ContainsFunc(e.text.text, func(r rune) bool {
				return r < ' ' && r != '\n' && r != '\t'
			}) {
				t.Fatalf("%d in %q", e.text.at, e.text.text)
			}
		}
		if len(rest) > maxSequence || g.unknown != "" && !strings.HasPrefix(g.unknown, "[H") &&
			!strings.HasPrefix(g.unknown, "[2J") {
			t.Fatalf("%q is left, and %q was sent", rest, g.unknown)
		}
	})
}
