package wire

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"example.org/parley"
)

// Scanner reads one JSON text in a single pass, without building it: relaying an answer needs a few fields of very many
// small objects. The caller descends with Object and Array, and takes or skips every value. After the first mistake in
// the text all further methods return nothing; Valid reports it at the end.
type Scanner struct {
	text    []byte
	at      int
	depth   int
	opened  bool   // an object or array was just opened: no comma is due
	broken  bool   // the text is not JSON
	scratch []byte // unescaped strings of this text
}

// Reset starts another text. Strings taken from the last one become invalid.
func (s *Scanner) Reset(text []byte) {
	*s = Scanner{text: text, scratch: s.scratch[:0]}
}

// Valid reports whether the text was well formed as far as it was read, and was read to its end.
func (s *Scanner) Valid() bool {
	s.space()
	return !s.broken && s.at == len(s.text)
}

func (s *Scanner) fail() { s.broken, s.at = true, len(s.text) }

// space skips white space and returns the next byte, 0 at the end.
func (s *Scanner) space() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// Object enters an object. It skips any other value and returns false.
func (s *Scanner) Object() bool { return s.enter('{') }

// Array enters an array. It skips any other value and returns false.
func (s *Scanner) Array() bool { return s.enter('[') }

func (s *Scanner) enter(open byte) bool {
	if s.space() != open {
		s.Skip()
		return false
	}
	s.at++
	s.depth++
	s.opened = true
	if s.depth > parley.MaxJSONDepth {
		s.fail()
		return false
	}
	return true
}

// Field returns the next field's name in the object entered last; if there is none, ok is false and the object is left.
// The caller takes or skips the value.
func (s *Scanner) Field() (name []byte, ok bool) {
	if !s.more('}') {
		return nil, false
	}
	if s.space() != '"' {
		s.fail()
		return nil, false
	}
	name, ok = s.quoted()
	if !ok || s.space() != ':' {
		s.fail()
		return nil, false
	}
	s.at++
	return name, true
}

// Element reports whether the array entered last has another element, which the caller takes or skips; otherwise it
// leaves the array.
func (s *Scanner) Element() bool { return s.more(']') }

func (s *Scanner) more(end byte) bool {
	if s.broken {
		return false
	}
	c := s.space()
	first := s.opened
	s.opened = false
	switch {
	case c == end:
		s.at++
		s.depth--
		return false
	case first:
		return c != 0 || s.missing()
	case c == ',':
		s.at++
		return true
	default:
		return s.missing()
	}
}

func (s *Scanner) missing() bool { s.fail(); return false }

// String takes a string; it skips any other value, and ok is false. The bytes are invalid after Reset, and not always
// valid UTF-8, see Runes.
func (s *Scanner) String() (text []byte, ok bool) {
	if s.space() != '"' {
		s.Skip()
		return nil, false
	}
	return s.quoted()
}

// Int takes a whole number; it skips any other value, and ok is false.
func (s *Scanner) Int() (n int64, ok bool) {
	raw := s.Skip()
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

// Tokens takes a number of tokens; it skips any other value, and impossible numbers, and ok is false.
func (s *Scanner) Tokens() (n int64, ok bool) {
	n, ok = s.Int()
	return n, ok && n >= 0 && n <= parley.MaxCallTokens
}

// IsNull reports whether the next value is null, without taking it.
func (s *Scanner) IsNull() bool { return s.space() == 'n' }

// Skip skips one value and returns its raw text.
func (s *Scanner) Skip() []byte {
	c := s.space()
	from := s.at
	switch c {
	case '{':
		for more := s.Object(); more; {
			if _, more = s.Field(); more {
				s.Skip()
			}
		}
	case '[':
		for more := s.Array(); more; {
			if more = s.Element(); more {
				s.Skip()
			}
		}
	case '"':
		kept := len(s.scratch)
		s.quoted()
		s.scratch = s.scratch[:kept]
	case 't':
		s.word("true")
	case 'f':
		s.word("false")
	case 'n':
		s.word("null")
	default:
		s.number()
	}
	s.opened = false
	if s.broken {
		return nil
	}
	return s.text[from:s.at]
}

func (s *Scanner) word(word string) {
	if !bytes.HasPrefix(s.text[s.at:], []byte(word)) {
		s.fail()
		return
	}
	s.at += len(word)
}

func (s *Scanner) number() {
	from := s.at
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if !s.digits() {
		s.fail()
		return
	}
	if s.peek() == '.' {
		s.at++
		if !s.digits() {
			s.fail()
			return
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		if !s.digits() {
			s.fail()
			return
		}
	}
	if s.at == from {
		s.fail()
	}
}

func (s *Scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *Scanner) digits() bool {
	from := s.at
	for s.at < len(s.text) && s.text[s.at]-'0' <= 9 {
		s.at++
	}
	return s.at > from
}

// quoted takes the string at the opening quote.
func (s *Scanner) quoted() ([]byte, bool) {
	s.opened = false
	s.at++
	from := s.at
	for at := from; at < len(s.text); at++ {
		switch c := s.text[at]; {
		case c == '"':
			s.at = at + 1
			return s.text[from:at], true
		case c == '\\':
			return s.escaped(from, at)
		case c < ' ':
			s.fail()
			return nil, false
		}
	}
	s.fail()
	return nil, false
}

// escaped takes the rest of a string from its first escape on.
func (s *Scanner) escaped(from, at int) ([]byte, bool) {
	kept := len(s.scratch)
	s.scratch = append(s.scratch, s.text[from:at]...)
	for at < len(s.text) {
		c := s.text[at]
		switch {
		case c == '"':
			s.at = at + 1
			return s.scratch[kept:len(s.scratch):len(s.scratch)], true
		case c < ' ':
			s.fail()
			return nil, false
		case c != '\\':
			s.scratch = append(s.scratch, c)
			at++
			continue
		}
		if at+1 >= len(s.text) {
			break
		}
		switch c = s.text[at+1]; c {
		case '"', '\\', '/':
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, ok := hex4(s.text, at+2)
			if !ok {
				s.fail()
				return nil, false
			}
			at += 6
			if low, ok := lowSurrogate(s.text, at); ok && r >= highStart && r < lowStart {
				r = utf16.DecodeRune(r, low)
				at += 6
			}
			s.scratch = appendRune(s.scratch, r)
			continue
		default:
			s.fail()
			return nil, false
		}
		s.scratch = append(s.scratch, c)
		at += 2
	}
	s.fail()
	return nil, false
}

// The bounds of UTF-16's surrogates.
const (
	highStart = 0xd800
	lowStart  = 0xdc00
	lowEnd    = 0xe000
)

func lowSurrogate(text []byte, at int) (rune, bool) {
	if at+1 >= len(text) || text[at] != '\\' || text[at+1] != 'u' {
		return 0, false
	}
	r, ok := hex4(text, at+2)
	return r, ok && r >= lowStart && r < lowEnd
}

func hex4(text []byte, at int) (rune, bool) {
	if at+4 > len(text) {
		return 0, false
	}
	var r rune
	for _, c := range text[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// appendRune keeps a lone surrogate in its three-byte form, which is not UTF-8: its other half may arrive with the next
// chunk, and Runes joins them.
func appendRune(b []byte, r rune) []byte {
	if r >= highStart && r < lowEnd {
		return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0xbf, 0x80|byte(r)&0xbf)
	}
	return utf8.AppendRune(b, r)
}

// At returns the index of the next byte.
func (s *Scanner) At() int { return s.at }

// IsObject reports whether the next value is an object, without taking it.
func (s *Scanner) IsObject() bool { return s.space() == '{' }

// IsArray reports whether the next value is an array, without taking it.
func (s *Scanner) IsArray() bool { return s.space() == '[' }
