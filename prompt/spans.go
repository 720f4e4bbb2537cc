package prompt

import (
	"bytes"

	"example.org/parley"
)

// Span is a run of bytes of an encoded request.
type Span struct {
	Offset int `json:"offset"`
	Length int `json:"length"`
}

func (s Span) end() int { return s.Offset + s.Length }

// join returns the span from the first byte of both to the last.
func (s Span) join(other Span) Span {
	if s.Length == 0 {
		return other
	}
	from, to := min(s.Offset, other.Offset), max(s.end(), other.end())
	return Span{from, to - from}
}

// leaf is a string of a JSON document: its position between the quotes, its name, and the innermost list element around
// it.
type leaf struct {
	Span
	name    string
	element Span
}

// body is an encoded request taken apart, independent of its wire's names: the members of its outermost object, and its
// strings in order.
type body struct {
	bytes   []byte
	members map[string]Span
	order   []string
	leaves  []leaf
}

// names of strings that tell what something is, never what it says.
//
//nolint:gochecknoglobals // a table; it is never written
var labels = map[string]bool{
	"role": true, "type": true, "kind": true, "id": true, "call_id": true, "tool_call_id": true, "tool_use_id": true,
	"media_type": true, "model": true, "sha256": true,
}

// readBody takes an encoded request apart. Anything but a JSON object has no members and no strings.
func readBody(encoded []byte) body {
	b := body{bytes: encoded, members: map[string]Span{}}
	s := scanner{b: encoded, found: func(l leaf) {
		if !labels[l.name] {
			b.leaves = append(b.leaves, l)
		}
	}}
	s.member = func(name string, at Span) {
		b.members[name] = at
		b.order = append(b.order, name)
	}
	s.value("", Span{}, 0)
	return b
}

// scanner walks over JSON written by an encoder: it checks nothing.
type scanner struct {
	b      []byte
	at     int
	found  func(leaf)
	member func(name string, at Span)
}

func (s *scanner) next() byte {
	for s.at < len(s.b) && (s.b[s.at] == ' ' || s.b[s.at] == '\n' || s.b[s.at] == '\t' || s.b[s.at] == '\r') {
		s.at++
	}
	if s.at >= len(s.b) {
		return 0
	}
	return s.b[s.at]
}

// text skips a string and returns what is between its quotes.
func (s *scanner) text() Span {
	from := s.at + 1
	for s.at = from; s.at < len(s.b) && s.b[s.at] != '"'; s.at++ {
		if s.b[s.at] == '\\' {
			s.at++
		}
	}
	s.at = min(s.at, len(s.b))
	span := Span{from, s.at - from}
	s.at = min(s.at+1, len(s.b))
	return span
}

// value skips a value under a name, in an element of a list.
func (s *scanner) value(name string, element Span, depth int) {
	switch s.next() {
	case '"':
		s.found(leaf{s.text(), name, element})
	case '{':
		s.list('}', func() {
			at := s.text()
			s.next()
			s.at++ // the colon
			s.next()
			from, key := s.at, string(s.b[at.Offset:at.end()])
			s.value(key, element, depth+1)
			if depth == 0 {
				s.member(key, Span{from, s.at - from})
			}
		})
	case '[':
		s.list(']', func() {
			from, first := s.at, s.found
			var inside []leaf
			s.found = func(l leaf) { inside = append(inside, l) }
			s.value(name, Span{}, depth+1)
			s.found = first
			for _, l := range inside {
				if l.element.Length == 0 {
					l.element = Span{from, s.at - from}
				}
				s.found(l)
			}
		})
	default:
		for s.at < len(s.b) && !bytes.ContainsRune([]byte(",]}"), rune(s.b[s.at])) {
			s.at++
		}
	}
}

// list skips an object or an array, entry by entry.
func (s *scanner) list(end byte, entry func()) {
	s.at++
	for s.next() != end && s.at < len(s.b) {
		before := s.at
		if s.b[s.at] == ',' {
			s.at++
			continue
		}
		entry()
		if s.at == before { // not JSON
			s.at = len(s.b)
		}
	}
	s.at = min(s.at+1, len(s.b))
}

// farthest is how many strings are searched for the next piece of a request.
const farthest = 64

// finder finds the pieces of a request in its bytes, in order.
type finder struct {
	leaves []leaf
	bytes  []byte
	at     int // the leaf of the last piece found
	in     int // how much of it is already used
}

// find looks for a text as a piece of one of the next strings.
func (f *finder) find(text string) (Span, Span, bool) {
	quoted := parley.AppendJSONString(nil, text)
	return f.findBytes(quoted[1 : len(quoted)-1])
}

func (f *finder) findBytes(needle []byte) (at, element Span, found bool) {
	if len(needle) == 0 {
		return Span{}, Span{}, false
	}
	for i := f.at; i < len(f.leaves) && i < f.at+farthest; i++ {
		l := f.leaves[i]
		from := l.Offset
		if i == f.at {
			from += f.in
		}
		if n := bytes.Index(f.bytes[from:l.end()], needle); n >= 0 {
			f.at, f.in = i, from+n+len(needle)-l.Offset
			return Span{from + n, len(needle)}, l.element, true
		}
	}
	return Span{}, Span{}, false
}

// findIn limits the strings to those of a member of the outermost object.
func (b *body) findIn(name string) finder {
	member, ok := b.members[name]
	if !ok {
		return finder{}
	}
	f := finder{bytes: b.bytes}
	for _, l := range b.leaves {
		if l.Offset >= member.Offset && l.end() <= member.end() {
			f.leaves = append(f.leaves, l)
		}
	}
	return f
}
