// Package partialjson reads a JSON object while its text still grows, and reports what is new piece by piece: as
// operations of a JSON Patch (RFC 6902), and as append, which adds to the end of a string.
//
// The pieces may end anywhere. What was reported is at every moment a part of the final object: keys, numbers,
// literals and escapes are held back until they are complete, while strings, lists and objects appear as soon as they
// begin. The first operation replaces the root by the part that is known. A reader remembers its position, not what it
// reported: its memory grows with the depth and with the names of the objects that are open, never with the text.
//
// Every input is hostile: depth, size, paths and what one piece says are bounded, names must not repeat, and what
// cannot become valid JSON ends the reading. Nothing more is reported then; what was reported remains a part of
// what the text began with.
package partialjson

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/event"
)

// The bounds of what is read. A text beyond them is read no further.
const (
	MaxBytes = 8 << 20 // of the text
	MaxDepth = parley.MaxJSONDepth
	MaxNames = 100_000 // in the objects that are open, together
	maxName  = 4 << 10 // bytes of a name
	maxPath  = 8 << 10 // bytes of the path to a value, which every operation repeats
	// maxSaid bounds the bytes of one piece's operations, apart from their values, which are no longer than the text.
	// In a list of numbers behind a long path, two bytes of text make an operation with all of that path.
	maxSaid = 4 << 20
	opHolds = 64 // of each operation, besides its path
	// keptBytes is the room for values that is kept from piece to piece.
	keptBytes = 16 << 10
)

// ErrInvalid says that the text is not, and cannot become, a JSON object within the bounds.
var ErrInvalid = errors.New("partialjson: the text is not a JSON object that can be read")

// container is an open object or list.
type container struct {
	list  bool
	count int                 // values begun in it
	path  int                 // bytes of the path that lead to it
	names map[string]struct{} // of an object
}

// state is what may come next.
type state uint8

const (
	beforeRoot state = iota
	beforeValue
	beforeFirstItem // a value or the end of a list
	beforeName      // after a comma
	beforeFirstName // a name or the end of an object
	beforeColon
	afterValue
	inName
	inString
	inLiteral // a number, true, false or null
	afterRoot
)

// Reader reads one object. The zero value is ready; it is not safe for concurrent use.
type Reader struct {
	state  state
	stack  []container
	path   []byte // the JSON Pointer of the innermost container, and of the value that is read in it
	token  []byte // what is held back: a name, a literal, or an escape of a string
	name   string // the latest one that is complete
	read   int    // bytes
	names  int
	failed bool

	escape int  // bytes of the escape that is read; 0: none is
	high   bool // the escape before it is the first half of a surrogate pair

	ops   []event.PatchOperation
	value []byte // the values of ops; the last is built if builds is set
	start int    // where the last value begins
	base  int    // containers around it
	held  int    // bytes that ops take, apart from their values
	// builds says that the value of the last operation is built; otherwise all that is open was said.
	builds bool
	at     string // the path of the last operation
}

// Failed reports whether the reading has ended because the text is not a JSON object.
func (r *Reader) Failed() bool { return r.failed }

// Whole reports whether the object is complete.
func (r *Reader) Whole() bool { return !r.failed && r.state == afterRoot }

// Write reads a piece of the text, which must be whole characters, and returns what is new. The operations are valid
// until the next call.
func (r *Reader) Write(text string) []event.PatchOperation {
	if r.failed {
		return nil
	}
	r.ops, r.value, r.held = r.ops[:0], r.value[:0], 0
	if cap(r.value) > keptBytes {
		r.value = nil
	}
	if r.read += len(text); r.read > MaxBytes || !r.scan(text) {
		r.failed = true
	}
	r.rest()
	if r.failed { // nothing is kept for a text that is read no further
		r.stack, r.path, r.token = nil, nil, nil
	}
	return r.ops
}

// Check reports whether a text is one JSON object within the bounds, whose names do not repeat.
func Check(text string) error {
	var r Reader
	if r.Write(text); !r.Whole() {
		return ErrInvalid
	}
	return nil
}

// scan reads a piece; false ends the reading.
func (r *Reader) scan(text string) bool {
	for i := 0; i < len(text); {
		c := text[i]
		if r.state == inString || r.state == inName {
			n, ok := r.inside(text[i:])
			if !ok {
				return false
			}
			i += n
			continue
		}
		if r.state == inLiteral {
			if isLiteral(c) {
				if len(r.token) == maxName {
					return false
				}
				r.token = append(r.token, c)
				i++
				continue
			}
			if !r.endLiteral() {
				return false
			}
		}
		i++
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			continue
		}
		if !r.mark(c) || r.held > maxSaid {
			return false
		}
	}
	return true
}

// mark reads a character outside of strings and literals.
func (r *Reader) mark(c byte) bool {
	switch r.state {
	case beforeRoot:
		return c == '{' && r.begin(c)
	case beforeValue:
		return r.begin(c)
	case beforeFirstItem:
		return c == ']' && r.end() || c != ']' && r.begin(c)
	case beforeFirstName, beforeName:
		if c == '}' && r.state == beforeFirstName {
			return r.end()
		}
		r.state, r.token = inName, r.token[:0]
		return c == '"'
	case beforeColon:
		r.state = beforeValue
		return c == ':'
	case afterValue:
		in := &r.stack[len(r.stack)-1]
		switch {
		case c == ',' && in.list:
			r.state = beforeValue
		case c == ',':
			r.state = beforeName
		case c == ']' && in.list, c == '}' && !in.list:
			return r.end()
		default:
			return false
		}
		return true
	}
	return false // after the root
}

// begin begins a value at its first character.
func (r *Reader) begin(c byte) bool {
	switch c {
	case '{', '[':
		if len(r.stack) == MaxDepth {
			return false
		}
		r.open()
		r.value = append(r.value, c)
		list := c == '['
		r.stack = append(r.stack, container{list: list, path: len(r.path)})
		if r.state = beforeFirstName; list {
			r.state = beforeFirstItem
		}
	case '"':
		r.open()
		r.value = append(r.value, '"')
		r.state, r.token = inString, r.token[:0]
	default:
		if !isLiteral(c) {
			return false
		}
		r.state, r.token = inLiteral, append(r.token[:0], c)
	}
	return true
}

// open places a value: it continues the operation that is built, or begins another one.
func (r *Reader) open() {
	if len(r.stack) == 0 {
		r.begun(event.PatchReplace)
		return
	}
	in := &r.stack[len(r.stack)-1]
	if in.list {
		r.path = strconv.AppendInt(append(r.path[:in.path], '/'), int64(in.count), 10)
	}
	if in.count++; !r.builds {
		r.begun(event.PatchAdd)
		return
	}
	if in.count > 1 {
		r.value = append(r.value, ',')
	}
	if !in.list {
		r.value = append(parley.AppendJSONString(r.value, r.name), ':')
	}
}

// begun begins an operation at the present path.
func (r *Reader) begun(op event.PatchOp) {
	if r.at != string(r.path) { // a long string keeps its path
		r.at = string(r.path)
	}
	r.ops = append(r.ops, event.PatchOperation{Op: op, Path: r.at})
	r.held += opHolds + len(r.at)
	r.builds, r.start, r.base = true, len(r.value), len(r.stack)
}

// said ends the operation that is built.
func (r *Reader) said() {
	r.ops[len(r.ops)-1].Value, r.builds = r.value[r.start:len(r.value):len(r.value)], false
}

// end ends the innermost container.
func (r *Reader) end() bool {
	in := r.stack[len(r.stack)-1]
	r.stack, r.path = r.stack[:len(r.stack)-1], r.path[:in.path]
	r.names -= len(in.names)
	if r.builds {
		bracket := byte('}')
		if in.list {
			bracket = ']'
		}
		r.value = append(r.value, bracket)
	}
	r.ended()
	return true
}

// ended notes the end of a value, and of the operation if it is its value.
func (r *Reader) ended() {
	if r.builds && len(r.stack) == r.base {
		r.said()
	}
	if r.state = afterValue; len(r.stack) == 0 {
		r.state = afterRoot
	}
}

// isLiteral reports whether a character belongs to a number or a literal.
func isLiteral(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// endLiteral says a number or literal once it is complete.
func (r *Reader) endLiteral() bool {
	switch string(r.token) {
	case "true", "false", "null":
	default:
		if !isNumber(r.token) {
			return false
		}
	}
	r.open()
	r.value = append(r.value, r.token...)
	r.ended()
	return true
}

// isNumber reports whether a token follows JSON's grammar of numbers.
func isNumber(b []byte) bool {
	digits := func() bool {
		n := 0
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		b = b[n:]
		return n > 0
	}
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	if len(b) > 0 && b[0] == '0' {
		b = b[1:]
	} else if !digits() {
		return false
	}
	if len(b) > 0 && b[0] == '.' {
		if b = b[1:]; !digits() {
			return false
		}
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if !digits() {
			return false
		}
	}
	return len(b) == 0
}

// inside reads the next piece of a string or a name, and returns how much of the text that is.
func (r *Reader) inside(text string) (n int, ok bool) {
	if r.escape > 0 {
		return 1, r.escaped(text[0])
	}
	for n < len(text) && text[n] != '"' && text[n] != '\\' && text[n] >= ' ' {
		n++
	}
	if n > 0 && r.high { // half a pair without its other half
		return 0, false
	}
	r.put(text[:n])
	if n == len(text) {
		return n, r.state == inString || len(r.token) <= maxName
	}
	switch text[n] {
	case '\\':
		r.escape = 1
		if r.state == inString && !r.high {
			r.token = r.token[:0]
		}
		r.token = append(r.token, '\\')
		return n + 1, true
	case '"':
		if r.high {
			return 0, false
		}
		if r.state == inName {
			return n + 1, r.endName()
		}
		r.endString()
		return n + 1, true
	}
	return 0, false // a control character
}

// put adds text to the string or name that is read.
func (r *Reader) put(text string) {
	switch {
	case text == "":
	case r.state == inName:
		r.token = append(r.token, text...)
	default:
		r.grow()
		r.value = append(r.value, text...)
	}
}

// grow makes room for a string's next text: in the operation that is built, or in one that appends.
func (r *Reader) grow() {
	if !r.builds {
		r.begun(event.PatchAppend)
		r.value = append(r.value, '"')
	}
}

// escaped reads the next character of an escape.
func (r *Reader) escaped(c byte) bool {
	if len(r.token) > maxName {
		return false
	}
	r.token = append(r.token, c)
	r.escape++
	switch {
	case r.escape == 2 && c == 'u':
		return true
	case r.escape == 2:
		if r.high || strings.IndexByte(`"\/bfnrt`, c) < 0 {
			return false
		}
	case r.escape <= 6:
		if !isHex(c) {
			return false
		}
		if r.escape < 6 {
			return true
		}
		unit, _ := strconv.ParseUint(string(r.token[len(r.token)-4:]), 16, 16)
		low := unit >= 0xdc00 && unit < 0xe000
		if unit == 0 || low != r.high { // no database keeps U+0000
			return false
		}
		if r.high = unit >= 0xd800 && unit < 0xdc00; r.high {
			r.escape = 0
			return true
		}
	}
	r.escape = 0
	if r.state == inString {
		r.grow()
		r.value = append(r.value, r.token...)
		r.token = r.token[:0]
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// endString ends the string that is read.
func (r *Reader) endString() {
	if r.builds {
		r.value = append(r.value, '"')
	}
	r.ended()
}

// endName places the member that a name begins.
func (r *Reader) endName() bool {
	if len(r.token) > maxName {
		return false
	}
	name := string(r.token)
	if strings.IndexByte(name, '\\') >= 0 && json.Unmarshal([]byte(`"`+name+`"`), &name) != nil {
		return false
	}
	in := &r.stack[len(r.stack)-1]
	if _, twice := in.names[name]; twice || r.names == MaxNames {
		return false
	}
	if in.names == nil {
		in.names = map[string]struct{}{}
	}
	in.names[name] = struct{}{}
	r.names++
	r.name = name
	if r.path = appendToken(append(r.path[:in.path], '/'), name); len(r.path) > maxPath {
		return false
	}
	r.state, r.token = beforeColon, r.token[:0]
	return true
}

// appendToken appends a name as a token of a JSON Pointer.
func appendToken(to []byte, name string) []byte {
	for i := range len(name) {
		switch name[i] {
		case '~':
			to = append(to, "~0"...)
		case '/':
			to = append(to, "~1"...)
		default:
			to = append(to, name[i])
		}
	}
	return to
}

// rest reports the known part of a value that continues in the next piece.
func (r *Reader) rest() {
	if !r.builds {
		return
	}
	if r.state == inString {
		r.value = append(r.value, '"')
	}
	for i := len(r.stack) - 1; i >= r.base; i-- {
		bracket := byte('}')
		if r.stack[i].list {
			bracket = ']'
		}
		r.value = append(r.value, bracket)
	}
	r.said()
}
