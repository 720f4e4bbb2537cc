package parley

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CheckJSON refuses ambiguous or unstorable JSON from outside: it nests deeper than MaxJSONDepth, holds a NUL character
// or half of a surrogate pair, is not UTF-8, or repeats a member of an object. Its error is CodeInvalid and names the
// field. The decoder that follows checks whether it is JSON at all.
func CheckJSON(raw []byte) error { return checkJSON(raw, true) }

// CheckJSONBounds is CheckJSON for JSON written by models and tools, where a slip must not cost the whole: of equal
// names the last counts, and half a surrogate pair becomes U+FFFD.
func CheckJSONBounds(raw []byte) error { return checkJSON(raw, false) }

func checkJSON(raw []byte, strict bool) error {
	if !utf8.Valid(raw) {
		return notUTF8(raw, strict)
	}
	scan := jsonScan{raw: raw, strict: strict} // small enough for the stack
	return scan.run()
}

// notUTF8 names the field that contains the first invalid byte.
func notUTF8(raw []byte, strict bool) error {
	at := 0
	for at < len(raw) {
		r, size := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	scan := jsonScan{raw: raw[:at], strict: strict}
	if err := scan.run(); err != nil {
		return err
	}
	return scan.refuse("is not valid UTF-8")
}

// jsonLevel is an open object or array.
type jsonLevel struct {
	isObject bool
	named    bool     // in an object: the next string is a value, not a name
	name     jsonName // of the current member
	index    int32    // in an array: the current item
	from     int32    // start of its names in jsonScan.names
	seen     map[string]bool
}

// jsonName is the position of a name.
type jsonName struct{ from, to int32 }

// manyNames is how many names are kept without a map.
const manyNames = 32

// jsonScan is one pass over JSON. It does not allocate while objects are small and their names plain.
type jsonScan struct {
	raw    []byte
	strict bool
	depth  int
	known  int32 // how many names are used
	levels [MaxJSONDepth]jsonLevel
	names  [manyNames]jsonName // of all open objects
}

func (s *jsonScan) run() error {
	for i := 0; i < len(s.raw); i++ {
		var err error
		switch c := s.raw[i]; c {
		case '"':
			i, err = s.text(i + 1)
		case '{', '[':
			err = s.open(c == '{')
		case '}', ']':
			if s.depth > 0 {
				s.depth--
				s.known = s.levels[s.depth].from
			}
		case ',':
			if s.depth > 0 {
				s.levels[s.depth-1].named = false
				s.levels[s.depth-1].index++
			}
		case ':':
			if s.depth > 0 {
				s.levels[s.depth-1].named = true
			}
		case 0:
			err = s.refuse("holds a NUL byte")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *jsonScan) open(isObject bool) error {
	if s.depth == MaxJSONDepth {
		return s.refuseAt(1, "nests deeper than %d levels", MaxJSONDepth) // the whole path would help nobody
	}
	s.levels[s.depth] = jsonLevel{isObject: isObject, from: s.known}
	s.depth++
	return nil
}

// text reads a string whose first character is at from, and returns the position of its closing quote.
func (s *jsonScan) text(from int) (int, error) {
	end := bytes.IndexByte(s.raw[from:], '"')
	if end < 0 {
		end = len(s.raw) - from // unclosed: the decoder refuses it
	}
	plain := s.raw[from : from+end]
	end += from
	escaped := bytes.IndexByte(plain, '\\') >= 0
	if escaped || bytes.IndexByte(plain, 0) >= 0 {
		var err error
		if end, err = s.escapedText(from); err != nil {
			return end, err
		}
	}
	if s.depth == 0 {
		return end, nil
	}
	if level := &s.levels[s.depth-1]; level.isObject && !level.named {
		level.name = jsonName{int32(from), int32(end)} //nolint:gosec // bodies and results are far shorter
		if s.strict {
			return end, s.once(level, escaped)
		}
	}
	return end, nil
}

// escapedText is text for a string with escapes.
func (s *jsonScan) escapedText(from int) (int, error) {
	end := from
	for ; end < len(s.raw) && s.raw[end] != '"'; end++ {
		switch s.raw[end] {
		case 0:
			return end, s.refuse("holds a NUL byte")
		case '\\':
			skip, err := s.escape(s.raw[end:])
			if err != nil {
				return end, err
			}
			end += skip
		}
	}
	return min(end, len(s.raw)), nil
}

// escape checks the escape that text begins with, and returns its number of bytes after the backslash.
func (s *jsonScan) escape(text []byte) (int, error) {
	switch code := unicodeEscape(text); {
	case code < 0:
		return 1, nil
	case code == 0:
		return 0, s.refuse(`holds a NUL character (\u0000), which cannot be stored; remove it`)
	case !s.strict || code < surrogates || code > lastSurrogate:
		return 5, nil
	case code < lowSurrogates:
		if low := unicodeEscape(text[6:]); low >= lowSurrogates && low <= lastSurrogate {
			return 11, nil
		}
	}
	return 0, s.refuse(
		`holds half of a surrogate pair (%s), which is not a character; send the pair or leave it out`,
		text[:6],
	)
}

const (
	surrogates    = 0xd800
	lowSurrogates = 0xdc00
	lastSurrogate = 0xdfff
)

// unicodeEscape returns the number of the \uXXXX that text begins with, -1 for none.
func unicodeEscape(text []byte) int {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	code := 0
	for _, c := range text[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		code = code<<4 | int(c)
	}
	return code
}

// once refuses a name that its object already has.
func (s *jsonScan) once(level *jsonLevel, escaped bool) error {
	name := s.raw[level.name.from:level.name.to]
	if level.seen == nil {
		for _, other := range s.names[level.from:s.known] {
			if bytes.Equal(s.raw[other.from:other.to], name) {
				return s.twice()
			}
		}
		if !escaped && s.known < manyNames {
			s.names[s.known] = level.name
			s.known++
			return nil
		}
		level.seen = make(map[string]bool, 2*manyNames)
		for _, other := range s.names[level.from:s.known] {
			level.seen[string(s.raw[other.from:other.to])] = true
		}
	}
	key := string(name)
	if escaped { // a name may be written in several ways
		var plain string
		if json.Unmarshal([]byte(`"`+key+`"`), &plain) == nil {
			key = plain
		}
	}
	if level.seen[key] {
		return s.twice()
	}
	level.seen[key] = true
	return nil
}

func (s *jsonScan) twice() error {
	return s.refuse("occurs twice, and it is undefined which one counts; send it once")
}

// maxFieldBytes bounds the path in a refusal.
const maxFieldBytes = 128

// refuse returns the error for the scan's present position.
func (s *jsonScan) refuse(format string, args ...any) error {
	return s.refuseAt(s.depth, format, args...)
}

// refuseAt is refuse with the given number of path steps.
func (s *jsonScan) refuseAt(steps int, format string, args ...any) error {
	var path strings.Builder
	for i := range steps {
		level := &s.levels[i]
		step := strconv.Itoa(int(level.index))
		if level.isObject {
			step = string(s.raw[level.name.from:level.name.to])
		}
		if step == "" || path.Len() > maxFieldBytes {
			break
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(step)
	}
	if path.Len() == 0 {
		return Errorf(CodeInvalid, "the JSON "+format, args...)
	}
	return InvalidField(Clip(strings.ToValidUTF8(path.String(), "\uFFFD"), maxFieldBytes), format, args...)
}

// FoldsNames reports whether a JSON document has two member names that encoding/json may confuse because it ignores
// case: a second "TITLE" would replace a "title" that, say, a proxy has checked.
func FoldsNames(body []byte) bool {
	for i := 0; i < len(body); i++ {
		if body[i] != '"' {
			continue
		}
		folds := false
		for i++; i < len(body) && body[i] != '"'; i++ {
			switch c := body[i]; {
			case c == '\\':
				folds = true
				i++
			case c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf:
				folds = true
			}
		}
		if folds && bytes.HasPrefix(bytes.TrimLeft(body[min(i+1, len(body)):], " \t\r\n"), []byte(":")) {
			return true
		}
	}
	return false
}

// The most memory, roughly, that a decoder needs: for an object with its first members, an array, and the value before
// a colon or a comma.
const (
	objectHolds = 384
	arrayHolds  = 64
	memberHolds = 96
	itemHolds   = 48
)

// JSONHolds estimates the memory of a decoded JSON document, besides its text: {"":0} takes seven bytes in a list, and
// half a kilobyte in a tree.
func JSONHolds(raw []byte) (bytes int64) {
	var meter JSONMeter
	meter.Add(raw)
	return meter.Holds
}

// JSONMeter is JSONHolds of a document that comes in pieces.
type JSONMeter struct {
	Holds int64 // bytes, so far

	inString, escaped bool
}

// Add counts the next piece.
func (m *JSONMeter) Add(piece []byte) {
	for i := 0; i < len(piece); i++ {
		if m.inString {
			i = m.skip(piece, i)
			continue
		}
		switch piece[i] {
		case '"':
			m.inString = true
		case '{':
			m.Holds += objectHolds
		case '[':
			m.Holds += arrayHolds
		case ':':
			m.Holds += memberHolds
		case ',':
			m.Holds += itemHolds
		}
	}
}

// skip is where a string ends that goes on at i, or the last byte of the piece.
func (m *JSONMeter) skip(piece []byte, i int) int {
	for ; i < len(piece); i++ {
		switch {
		case m.escaped:
			m.escaped = false
		case piece[i] == '\\':
			m.escaped = true
		case piece[i] == '"':
			m.inString = false
			return i
		}
	}
	return i
}
