// Package lineedit reads what a person types at a terminal, with editing and history, while text is printed there.
//
// What is typed stands below everything else. Text may be printed at any time, in pieces of lines: it appears as it
// comes while nothing is typed, and line by line above what is being typed. Ctrl-C stays a signal; the terminal keeps
// translating line ends, so programs print as usual. An Editor owns the terminal's mode from Open to Close.
package lineedit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

const (
	maxText     = 256 << 10 // bytes of what is typed at once; more is refused with a bell
	maxHeld     = 64 << 10  // bytes of a printed line that wait for its end while text is typed
	maxQuery    = 256       // bytes of what is searched for
	maxAhead    = 16        // lines entered that nobody has taken yet
	readSize    = 4 << 10
	usualWidth  = 80 // of terminals that do not say
	usualHeight = 24
)

// mark stands before what is typed if nothing was asked.
const mark = "> "

// Options are the parts of an Editor.
type Options struct {
	In   io.Reader // keys, as the terminal sends them
	Out  io.Writer // the terminal
	Size func() (width, height int)

	// Continue decides at Enter whether a text goes on: then it returns what the text becomes, which ends with a line
	// end. Nil: every text ends with Enter.
	Continue func(text string) (longer string, more bool)
	History  *History // nil: none

	// Complete returns what the text before the cursor can become when Tab is pressed; nil if Tab is a character there.
	// Nil: it always is.
	Complete func(before string) []string
}

// Editor is a terminal at which a person types. Its methods may be called concurrently.
type Editor struct {
	options Options
	lines   chan string
	over    chan struct{} // closed by Close
	restore func()

	mu      sync.Mutex // guards what follows, and keeps what is drawn whole
	prompt  string
	text    buffer
	pasting bool
	killed  string // what Ctrl-K, Ctrl-U and Ctrl-W took away last
	entry   int    // of the history, which stands as the text; -1: none
	begun   string // what was typed before an entry took its place

	searching *search // nil: none
	drawn     bool    // prompt and text are on the terminal
	row       int     // of the cursor in what is drawn
	open      bool    // the last printed line has not ended
	held      []byte  // of a printed line, while text stands below
	ended     bool    // the person ended the input, or Close was called
	failed    error
}

// Open makes an editor of a terminal.
func Open(in, out *os.File, options Options) (*Editor, error) {
	restore, err := setMode(in)
	if err != nil {
		return nil, err
	}
	options.In, options.Out = in, out
	options.Size = func() (int, int) { return sizeOf(out) }
	e := New(options)
	e.restore = restore
	_, _ = io.WriteString(out, pasteOn)
	e.followSignals(in)
	return e, nil
}

// New makes an editor of anything that behaves like a terminal. Its goroutine ends with the input or, once something
// is typed, after Close.
func New(options Options) *Editor {
	e := &Editor{
		options: options,
		lines:   make(chan string, maxAhead),
		over:    make(chan struct{}),
		restore: func() {},
		entry:   -1,
	}
	go e.read()
	return e
}

// Lines returns what the person enters. It is closed at the end of the input.
func (e *Editor) Lines() <-chan string { return e.lines }

// Err is why the input ended, nil for its end; valid once Lines is closed.
func (e *Editor) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failed
}

// Ask shows a prompt until something is entered; "" takes it away. What is typed meanwhile stands behind it.
func (e *Editor) Ask(prompt string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	e.prompt = prompt
	e.refresh()
}

// Discard takes away what is typed, and reports whether anything was.
func (e *Editor) Discard() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.text.empty() && e.searching == nil || e.ended {
		return false
	}
	e.finish("^C")
	return true
}

// Write prints text, which may begin and end within a line. A sequence that controls the terminal is written by itself.
func (e *Editor) Write(text []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.drawn {
		return e.print(text)
	}
	e.held = append(e.held, text...)
	end := bytes.LastIndexByte(e.held, '\n') + 1
	if end == 0 && len(e.held) <= maxHeld {
		return len(text), nil
	}
	e.erase()
	if end == 0 {
		e.held = append(e.held, '\n')
		end = len(e.held)
	}
	_, err := e.print(e.held[:end])
	e.held = bytes.Clone(e.held[end:])
	e.draw()
	return len(text), err
}

// Remember adds an entry to the history.
func (e *Editor) Remember(entry string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.options.History == nil {
		return nil
	}
	return e.options.History.Add(entry)
}

// Close gives the terminal back as it was. Text may still be printed.
func (e *Editor) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.over:
		return
	default:
	}
	e.ended = true
	close(e.over)
	e.erase()
	e.release()
	e.restore()
}

// print writes to the terminal, and notes whether a line stays open.
func (e *Editor) print(text []byte) (int, error) {
	for rest := text; len(rest) > 0; {
		sequence := bytes.IndexByte(rest, escape)
		if sequence < 0 {
			sequence = len(rest)
		}
		if sequence > 0 {
			e.open = rest[sequence-1] != '\n'
		}
		_, size := decode(rest[sequence:], false)
		if size == 0 {
			break
		}
		rest = rest[sequence+size:]
	}
	return e.options.Out.Write(text)
}

// release prints what was held.
func (e *Editor) release() {
	if len(e.held) > 0 {
		_, _ = e.print(e.held) // as fmt.Fprint does elsewhere: a terminal that is gone reads nothing
		e.held = nil
	}
}

// refresh draws prompt and text if there are any, and takes them away if not.
func (e *Editor) refresh() {
	if e.prompt == "" && e.text.empty() && e.searching == nil {
		e.erase()
		e.release()
		return
	}
	e.erase()
	e.draw()
}

// erase takes prompt and text from the terminal.
func (e *Editor) erase() {
	if !e.drawn {
		return
	}
	up := ""
	if e.row > 0 {
		up = fmt.Sprintf("\x1b[%dA", e.row)
	}
	e.send(up + "\r\x1b[J")
	e.drawn, e.row = false, 0
}

// draw puts prompt and text below what was printed, with the cursor in its place. Of more rows than the terminal has it
// shows those around the cursor.
func (e *Editor) draw() {
	var out strings.Builder
	if e.open { // perhaps in a style
		out.WriteString("\x1b[0m\r\n")
		e.open = false
	}
	width, height := e.size()
	shown := lay(e.shownPrompt(), e.text.text, e.text.at, width)
	top := min(max(0, shown.row-height+1), max(0, len(shown.rows)-height))
	rows := shown.rows[top:min(len(shown.rows), top+height)]
	out.WriteString(strings.Join(rows, "\r\n"))
	e.row = shown.row - top
	if up := len(rows) - 1 - e.row; up > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", up)
	}
	out.WriteByte('\r')
	if shown.column > 0 {
		fmt.Fprintf(&out, "\x1b[%dC", shown.column)
	}
	e.send(out.String())
	e.drawn = true
}

// finish leaves what is typed where it is, with an ending, and begins anew.
func (e *Editor) finish(ending string) {
	e.text.at = len(e.text.text)
	e.refresh()
	e.send(ending + "\r\n")
	e.drawn, e.row = false, 0
	e.prompt, e.text, e.entry, e.begun, e.searching = "", buffer{}, -1, "", nil
	e.release()
}

func (e *Editor) shownPrompt() string {
	if e.searching != nil {
		return e.searching.prompt()
	}
	if e.prompt == "" {
		return mark
	}
	return e.prompt
}

func (e *Editor) send(text string) { _, _ = io.WriteString(e.options.Out, text) }

func (e *Editor) size() (width, height int) {
	if e.options.Size != nil {
		width, height = e.options.Size()
	}
	if width < 2 || height < 1 {
		return usualWidth, usualHeight
	}
	return width, height
}

// read takes keys until the input ends.
func (e *Editor) read() {
	defer close(e.lines)
	var keys []byte
	into := make([]byte, readSize)
	for {
		n, err := e.options.In.Read(into)
		keys = append(keys, into[:n]...)
		for {
			line, rest, entered := e.take(keys)
			keys = rest
			if !entered {
				break
			}
			select {
			case e.lines <- line:
			case <-e.over:
				return
			}
		}
		if e.endedBy(err) {
			return
		}
	}
}

// endedBy notes an error of the input, and reports whether the input is over.
func (e *Editor) endedBy(err error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil && !errors.Is(err, io.EOF) {
		e.failed = err
	}
	return e.ended || err != nil
}

// take acts on keys until one enters a line, and returns the rest.
func (e *Editor) take(keys []byte) (line string, rest []byte, entered bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for !e.ended {
		pressed, size := decode(keys, e.pasting)
		if size == 0 {
			e.refresh()
			return "", keys, false
		}
		text := string(keys[:size])
		keys = keys[size:]
		switch {
		case pressed == keyEnter:
			e.endSearch()
			if line, entered = e.enter(); entered {
				return line, keys, true
			}
		case text == ctrlD && !e.pasting && e.text.empty() && e.searching == nil:
			e.ended, e.prompt = true, ""
			e.refresh()
		default:
			e.press(pressed, text)
		}
	}
	return "", nil, false
}

// enter ends the text, or continues it.
func (e *Editor) enter() (line string, entered bool) {
	if e.text.empty() && e.prompt == "" { // nothing was asked
		return "", false
	}
	if e.options.Continue != nil {
		if longer, more := e.options.Continue(e.text.text); more {
			if e.text.at < len(e.text.text) {
				e.insert("\n")
			} else {
				e.text.set(longer)
			}
			return "", false
		}
	}
	line = e.text.text
	e.finish("")
	return line, true
}

func (e *Editor) insert(text string) {
	if !e.text.insert(text) {
		e.send("\a")
	}
}
