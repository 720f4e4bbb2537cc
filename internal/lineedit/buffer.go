package lineedit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// buffer is a text with a cursor, which never stands within a character: what a terminal shows as one is one.
type buffer struct {
	text string
	at   int
}

func (b *buffer) empty() bool { return b.text == "" }

func (b *buffer) set(text string) { b.text, b.at = text, len(text) }

// insert adds text at the cursor, without characters that control terminals. It reports whether there was room.
func (b *buffer) insert(text string) bool {
	text = typeable(text)
	if len(b.text)+len(text) > maxText {
		return false
	}
	b.text = b.text[:b.at] + text + b.text[b.at:]
	b.at += len(text)
	return true
}

// typeable is a text without characters that control terminals, except for line ends and tabs.
func typeable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == utf8.RuneError {
			return -1
		}
		return r
	}, text)
}

// cut takes away a part of the text and returns it.
func (b *buffer) cut(from, to int) string {
	gone := b.text[from:to]
	b.text = b.text[:from] + b.text[to:]
	b.at = from
	return gone
}

// before is where the character before a place begins.
func (b *buffer) before(at int) int {
	start := b.lineStart(at)
	if start == at {
		return max(0, at-1) // the line end before it
	}
	last := start
	for next := start; next < at; next = b.after(next) {
		last = next
	}
	return last
}

// after is where the character at a place ends.
func (b *buffer) after(at int) int {
	character, _, _, _ := uniseg.FirstGraphemeClusterInString(b.text[at:], -1)
	return at + len(character)
}

// lineStart is where the line of a place begins.
func (b *buffer) lineStart(at int) int { return strings.LastIndexByte(b.text[:at], '\n') + 1 }

// lineEnd is where the line of a place ends.
func (b *buffer) lineEnd(at int) int {
	if length := strings.IndexByte(b.text[at:], '\n'); length >= 0 {
		return at + length
	}
	return len(b.text)
}

// wordBefore is where the word before a place begins.
func (b *buffer) wordBefore(at int) int {
	trimmed := strings.TrimRightFunc(b.text[:at], unicode.IsSpace)
	return len(strings.TrimRightFunc(trimmed, func(r rune) bool { return !unicode.IsSpace(r) }))
}

// wordAfter is where the word after a place ends.
func (b *buffer) wordAfter(at int) int {
	trimmed := strings.TrimLeftFunc(b.text[at:], unicode.IsSpace)
	trimmed = strings.TrimLeftFunc(trimmed, func(r rune) bool { return !unicode.IsSpace(r) })
	return len(b.text) - len(trimmed)
}

// up moves to the line before; false in the first one.
func (b *buffer) up() bool {
	start := b.lineStart(b.at)
	if start == 0 {
		return false
	}
	above := b.lineStart(start - 1)
	b.at = b.along(above, uniseg.StringWidth(b.text[start:b.at]))
	return true
}

// down moves to the next line; false in the last one.
func (b *buffer) down() bool {
	end := b.lineEnd(b.at)
	if end == len(b.text) {
		return false
	}
	b.at = b.along(end+1, uniseg.StringWidth(b.text[b.lineStart(b.at):b.at]))
	return true
}

// along is the place in the line that begins at start, as many columns in as there are.
func (b *buffer) along(start, columns int) int {
	at, end := start, b.lineEnd(start)
	for at < end && uniseg.StringWidth(b.text[start:b.after(at)]) <= columns {
		at = b.after(at)
	}
	return at
}
