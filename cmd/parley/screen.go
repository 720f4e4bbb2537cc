package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// screen is where a command writes for people. Titles, names and answers are foreign text: nothing in them reaches the
// terminal that would control it, neither directly nor through a pipe into a pager. Only steer writes sequences. Output
// that programs read, such as JSON and exports, goes to terminal.exact instead.
type screen struct {
	to      io.Writer
	watched bool // a person reads it: sequences may be written
	styled  bool // also those of styles

	mu  sync.Mutex // guards cut, and keeps writes whole
	cut []byte     // the first bytes of a rune whose rest is not written yet
}

// shownOn returns a screen on a file or a buffer.
func shownOn(to io.Writer) *screen {
	if already, ok := to.(*screen); ok {
		return already
	}
	file, ok := to.(*os.File)
	watched := ok && isTerminal(file)
	return &screen{to: to, watched: watched, styled: watched && getenv("NO_COLOR") == "" && steerable()}
}

// steerable reports whether the terminal knows the usual sequences.
func steerable() bool { return !slices.Contains([]string{"", "dumb"}, getenv("TERM")) }

func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	whole := append(s.cut, text...)
	end := len(whole) - cutRune(whole)
	shown := unsteered(whole[:end])
	s.cut = bytes.Clone(whole[end:])
	if _, err := s.to.Write(shown); err != nil {
		return 0, err
	}
	return len(text), nil
}

// steering is a sequence that controls the terminal.
type steering string

const (
	clearLine steering = "\r\x1b[K"
	markOn    steering = "\x1b[1;33m"
	styleOff  steering = "\x1b[0m"
)

// steer writes a sequence if a person reads the screen. Without styles that is only the one of progress.
func (s *screen) steer(sequence steering) {
	if s == nil || !s.watched || !s.styled && sequence != clearLine {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.to, string(sequence)) // as fmt.Fprint does elsewhere: a terminal that is gone reads nothing
}

// cutRune is the number of bytes at the end of a text that begin a rune without ending it.
func cutRune(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// steers reports whether a character would control a terminal or reverse the order of others.
func steers(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// unsteered is a text with spaces for the characters that control a terminal, except for line ends and tabs. A byte
// that is not UTF-8 could be one of them to a terminal of another encoding.
func unsteered(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n', r == '\t':
			out = append(out, text[0])
		case r == '\r' && len(text) > 1 && text[1] == '\n': // only the line's end remains
		case steers(r):
			out = append(out, ' ')
		default:
			out = utf8.AppendRune(out, r)
		}
		text = text[size:]
	}
	return out
}

// plainLine is foreign text on one line, as a cell of a table.
func plainLine(text string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' { // which joins emoji
			return ' '
		}
		return r
	}, text)
}

// writeJSON writes a value as JSON. Characters that control terminals are escaped, which leaves the value as it is.
func writeJSON(to io.Writer, value any, indent string) error {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	out := make([]byte, 0, encoded.Len())
	for _, r := range encoded.String() { // outside strings JSON is ASCII
		if r != '\n' && steers(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	_, err := to.Write(out)
	return err
}
