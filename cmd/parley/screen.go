package main

import (
	"bytes"
	"io"
	"os"
	"unicode"
	"unicode/utf8"
)

// screen is a terminal that a person reads. It shows foreign text, such as titles, names and answers, without
// characters that control the terminal.
type screen struct{ to io.Writer }

// shownOn wraps a command's output file in a screen if a person reads it. A pipe or a file gets every byte.
func shownOn(file *os.File) io.Writer {
	if isTerminal(file) {
		return screen{file}
	}
	return file
}

func (s screen) Write(text []byte) (int, error) {
	if _, err := s.to.Write(unsteered(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// The sequences that the command line itself writes. They are harmless in foreign text.
const (
	clearLine = "\r\x1b[K"
	markOn    = "\x1b[1;33m"
	markOff   = "\x1b[0m"
)

// unsteered is a text without characters that control a terminal or reverse the order of characters, except for line
// ends, tabs, and the command line's own sequences.
func unsteered(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		if own := ownSequence(text); own > 0 {
			out, text = append(out, text[:own]...), text[own:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n', r == '\t', r == utf8.RuneError: // two writes may split a rune
			out = append(out, text[:size]...)
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			out = append(out, ' ')
		default:
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out
}

func ownSequence(text []byte) int {
	for _, own := range []string{clearLine, markOn, markOff} {
		if bytes.HasPrefix(text, []byte(own)) {
			return len(own)
		}
	}
	return 0
}
