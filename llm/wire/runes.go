package wire

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Runes makes valid UTF-8 from a text in fragments. A rune split between two fragments, whether between bytes or
// between the escapes of a surrogate pair, is held back until it is complete. Anything that cannot become a rune
// becomes U+FFFD, and so does NUL, which neither database stores. The zero value is ready to use.
type Runes struct {
	held []byte
}

// Join returns the text that the fragment completes; it may be empty.
func (r *Runes) Join(fragment []byte) string {
	if len(r.held) == 0 && utf8.Valid(fragment) && bytes.IndexByte(fragment, 0) < 0 {
		return string(fragment)
	}
	r.held = append(r.held, fragment...)
	text, used := repair(r.held, false)
	r.held = append(r.held[:0], r.held[used:]...)
	return text
}

// End returns the text held back, now that nothing follows.
func (r *Runes) End() string {
	if len(r.held) == 0 {
		return ""
	}
	text, _ := repair(r.held, true)
	r.held = r.held[:0]
	return text
}

// repair returns the valid text of b and how many of its bytes it used.
func repair(b []byte, final bool) (string, int) {
	var text strings.Builder
	at := 0
	for at < len(b) {
		rest := b[at:]
		if high, ok := surrogate(rest); ok {
			low, paired := surrogate(rest[3:])
			switch {
			case high >= lowStart: // a low one first
				text.WriteRune(utf8.RuneError)
			case paired && low >= lowStart:
				text.WriteRune(utf16.DecodeRune(high, low))
				at += 3
			case len(rest) == 3 && !final:
				return text.String(), at
			default:
				text.WriteRune(utf8.RuneError)
			}
			at += 3
			continue
		}
		if !final && !utf8.FullRune(rest) {
			break
		}
		c, size := utf8.DecodeRune(rest)
		if c == 0 {
			c = utf8.RuneError
		}
		text.WriteRune(c)
		at += size
	}
	return text.String(), at
}

// surrogate returns a lone surrogate in the form of appendRune.
func surrogate(b []byte) (rune, bool) {
	if len(b) < 3 || b[0] != 0xed || b[1] < 0xa0 || b[1] > 0xbf || b[2]&0xc0 != 0x80 {
		return 0, false
	}
	return rune(b[0]&0x0f)<<12 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f), true
}
