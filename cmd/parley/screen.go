package main

import (
	"bytes"
	"io"
	"os"
	"unicode"
	"unicode/utf8"
)

// screen is a terminal that a person reads. What is written there was often said by
// others: titles, names, answers. Nothing of it steers the terminal.
type screen struct{ to io.Writer }

// shownOn is the file as a command writes to it: a screen where a person reads it, else
// as it is, because a pipe or a file wants every byte.
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

// The sequences that the command line itself writes. In others' hands they do no harm.
const (
	clearLine = "\r\x1b[K"
	markOn    = "\x1b[1;33m"
	markOff   = "\x1b[0m"
)

// unsteered is a text without what steers a terminal or turns the order of characters
// around, but for line ends, tabs, and the sequences of the command line's own.
func unsteered(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		if own := ownSequence(text); own > 0 {
			out, text = append(out, text[:own]...), text[own:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n', r == '\t', r == utf8.RuneError: // a rune may be cut between two writes
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
