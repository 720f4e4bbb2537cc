package prompt

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxEscapes is how many levels of JSON's escapes are read: a tool's answer in JSON, which may quote another one.
const maxEscapes = 2

// runeOf returns the first rune of a text, with so many levels of JSON's escapes read, and the bytes that it takes. A
// backslash that begins no escape stands for itself.
func runeOf(text string, escaped int) (rune, int) {
	if escaped == 0 {
		return utf8.DecodeRuneInString(text)
	}
	c, width := runeOf(text, escaped-1)
	if c != '\\' || width == len(text) {
		return c, width
	}
	next, more := runeOf(text[width:], escaped-1)
	switch next {
	case '"', '\\', '/':
		return next, width + more
	case 'b':
		return '\b', width + more
	case 'f':
		return '\f', width + more
	case 'n':
		return '\n', width + more
	case 'r':
		return '\r', width + more
	case 't':
		return '\t', width + more
	case 'u':
		if unit, digits := hexOf(text[width+more:], escaped-1); digits > 0 {
			width += more + digits
			return surrogate(unit, text[width:], width, escaped)
		}
	}
	return c, width
}

// hexOf reads the four digits of a \u escape; it returns 0 bytes if they are not there.
func hexOf(text string, escaped int) (unit rune, width int) {
	for range 4 {
		c, bytes := runeOf(text[width:], escaped)
		digit := strings.IndexRune("0123456789abcdef", c|0x20)
		if digit < 0 || c < '0' || c > 'f' {
			return 0, 0
		}
		unit, width = unit<<4|rune(digit), width+bytes
	}
	return unit, width
}

// surrogate joins a \u escape of so many bytes with the one that follows it, if both are halves of a rune.
func surrogate(unit rune, rest string, width, escaped int) (rune, int) {
	if !utf16.IsSurrogate(unit) {
		return unit, width
	}
	c, bytes := runeOf(rest, escaped-1)
	if c != '\\' {
		return utf8.RuneError, width
	}
	u, more := runeOf(rest[bytes:], escaped-1)
	low, digits := hexOf(rest[bytes+more:], escaped-1)
	whole := utf16.DecodeRune(unit, low)
	if u != 'u' || digits == 0 || whole == utf8.RuneError {
		return utf8.RuneError, width
	}
	return whole, width + bytes + more + digits
}

// lastRune returns where the last rune of a text's stretch begins, which begins with a rune.
func lastRune(text string, from, to, escaped int) int {
	if escaped == 0 {
		_, width := utf8.DecodeLastRuneInString(text[from:to])
		return to - width
	}
	for at := from; at < to; {
		_, width := runeOf(text[at:], escaped)
		from, at = at, at+max(width, 1)
	}
	return from
}

// unescaped returns a text with the given number of levels of escapes removed.
func unescaped(text string, escaped int) string {
	if escaped == 0 {
		return text
	}
	var out strings.Builder
	for text != "" {
		c, width := runeOf(text, escaped)
		if c == utf8.RuneError && width == 1 { // not valid UTF-8: the byte stays
			out.WriteByte(text[0])
		} else {
			out.WriteRune(c)
		}
		text = text[width:]
	}
	return out.String()
}
