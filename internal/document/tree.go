package document

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"example.org/parley"
)

// maxValues bounds the values of one document, because the tree of {"":0} takes many times its text.
const maxValues = 400_000

// kind is what a value is.
type kind byte

const (
	isObject  kind = '{'
	isList    kind = '['
	isText    kind = '"'
	isNumber  kind = '0'
	isLiteral kind = 't' // true, false or null
)

// value is a JSON value that can be changed. An object's members keep their order.
type value struct {
	kind  kind
	text  string   // of a string: decoded; of a number or literal: as written
	names []string // of an object: the members' names, parallel to items
	items []*value // nil in an object: the member was removed
	index map[string]int
	id    int // set by an interner
	size  int // bytes of the value in one line, about; set by an interner
}

// parse reads one JSON document strictly.
func parse(raw []byte) (*value, error) {
	if len(raw) > parley.MaxDocumentBytes {
		return nil, parley.Errorf(parley.CodeTooLarge, "the document is longer than %d bytes", parley.MaxDocumentBytes)
	}
	return parseWithin(raw, new(int))
}

// parseWithin is parse that adds the number of values to count, which maxValues bounds.
func parseWithin(raw []byte, count *int) (*value, error) {
	if err := parley.CheckJSON(raw); err != nil {
		return nil, err
	}
	if !json.Valid(raw) {
		return nil, parley.Errorf(parley.CodeInvalid, "this is not valid JSON")
	}
	r := reader{raw: raw, count: count}
	return r.value()
}

// reader reads JSON that is known to be valid.
type reader struct {
	raw   []byte
	at    int
	count *int
}

func (r *reader) space() byte {
	for r.at < len(r.raw) {
		switch c := r.raw[r.at]; c {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return c
		}
	}
	return 0
}

func (r *reader) value() (*value, error) {
	if *r.count++; *r.count > maxValues {
		return nil, parley.Errorf(parley.CodeTooLarge, "the JSON has more than %d values", maxValues)
	}
	switch c := r.space(); c {
	case '{':
		return r.object()
	case '[':
		return r.list()
	case '"':
		return &value{kind: isText, text: r.text()}, nil
	case 't', 'f', 'n':
		return &value{kind: isLiteral, text: r.token()}, nil
	}
	return &value{kind: isNumber, text: r.token()}, nil
}

func (r *reader) object() (*value, error) {
	v := &value{kind: isObject}
	r.at++
	for r.space() != '}' {
		if r.raw[r.at] == ',' {
			r.at++
			r.space()
		}
		name := r.text()
		r.space() // a colon
		r.at++
		item, err := r.value()
		if err != nil {
			return nil, err
		}
		v.names, v.items = append(v.names, name), append(v.items, item)
	}
	r.at++
	return v, nil
}

func (r *reader) list() (*value, error) {
	v := &value{kind: isList}
	r.at++
	for r.space() != ']' {
		if r.raw[r.at] == ',' {
			r.at++
		}
		item, err := r.value()
		if err != nil {
			return nil, err
		}
		v.items = append(v.items, item)
	}
	r.at++
	return v, nil
}

// text reads a string.
func (r *reader) text() string {
	from := r.at
	for r.at++; r.raw[r.at] != '"'; r.at++ {
		if r.raw[r.at] == '\\' {
			r.at++
		}
	}
	r.at++
	quoted := r.raw[from:r.at]
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var decoded string
	_ = json.Unmarshal(quoted, &decoded) // the whole was found valid
	return decoded
}

// token reads a number or literal.
func (r *reader) token() string {
	from := r.at
	for r.at < len(r.raw) && strings.IndexByte(",]} \t\r\n", r.raw[r.at]) < 0 {
		r.at++
	}
	return string(r.raw[from:r.at])
}

// manyMembers is from how many members on an object has an index.
const manyMembers = 16

// member returns the position of the member with a name, -1 for none.
func (v *value) member(name string) int {
	if v.index == nil && len(v.names) >= manyMembers {
		v.index = make(map[string]int, len(v.names))
		for i, n := range v.names {
			if v.items[i] != nil {
				v.index[n] = i
			}
		}
	}
	if v.index != nil {
		if i, has := v.index[name]; has {
			return i
		}
		return -1
	}
	for i, n := range v.names {
		if n == name && v.items[i] != nil {
			return i
		}
	}
	return -1
}

// set adds a member or replaces it.
func (v *value) set(name string, item *value) {
	if i := v.member(name); i >= 0 {
		v.items[i] = item
		return
	}
	v.names, v.items = append(v.names, name), append(v.items, item)
	if v.index != nil {
		v.index[name] = len(v.names) - 1
	}
}

// drop removes the member at a position. The place stays empty, so that the others keep theirs.
func (v *value) drop(i int) {
	v.items[i] = nil
	if v.index != nil {
		delete(v.index, v.names[i])
	}
}

// write returns the document: indented by two spaces if like has a line break within, in one line otherwise, and with
// like's line feed at the end.
func write(v *value, like []byte) ([]byte, error) {
	trimmed := bytes.TrimSpace(like)
	w := writer{indent: bytes.IndexByte(trimmed, '\n') >= 0, out: make([]byte, 0, len(like)+len(like)/8)}
	if err := w.value(v, 0); err != nil {
		return nil, err
	}
	if bytes.HasSuffix(like, []byte("\n")) {
		w.out = append(w.out, '\n')
	}
	if err := w.bound(); err != nil {
		return nil, err
	}
	return w.out, nil
}

// compact returns a value in one line.
func compact(v *value) (json.RawMessage, error) { return write(v, nil) }

type writer struct {
	out    []byte
	indent bool
}

func (w *writer) bound() error {
	if len(w.out) > parley.MaxDocumentBytes {
		return tooLong()
	}
	return nil
}

func (w *writer) value(v *value, depth int) error {
	switch v.kind {
	case isObject, isList:
		if err := w.bound(); err != nil {
			return err
		}
		return w.container(v, depth+1)
	case isText:
		w.out = parley.AppendJSONString(w.out, v.text)
	default:
		w.out = append(w.out, v.text...)
	}
	return nil
}

func (w *writer) container(v *value, depth int) error {
	if depth > parley.MaxJSONDepth {
		return parley.Errorf(
			parley.CodeInvalid, "the document would nest deeper than %d levels", parley.MaxJSONDepth)
	}
	w.out = append(w.out, byte(v.kind))
	empty := true
	for i, item := range v.items {
		if item == nil {
			continue
		}
		if !empty {
			w.out = append(w.out, ',')
		}
		empty = false
		w.line(depth)
		if v.kind == isObject {
			w.out = append(parley.AppendJSONString(w.out, v.names[i]), ':')
			if w.indent {
				w.out = append(w.out, ' ')
			}
		}
		if err := w.value(item, depth); err != nil {
			return err
		}
		if err := w.bound(); err != nil { // a few long strings may stand in many places
			return err
		}
	}
	if !empty {
		w.line(depth - 1)
	}
	w.out = append(w.out, byte(v.kind)+2) // } follows { at this distance, ] follows [ too
	return nil
}

func (w *writer) line(depth int) {
	if !w.indent {
		return
	}
	w.out = append(w.out, '\n')
	for range depth {
		w.out = append(w.out, ' ', ' ')
	}
}

// interner numbers values so that equal ones have one number, whatever the order of their members.
type interner map[string]int

// number sets the ids and sizes of a value and of everything in it.
func (in interner) number(v *value) int {
	var key []byte
	v.size = 2 + len(v.text)
	switch v.kind {
	case isObject:
		key = append(key, byte(isObject))
		order := sortedMembers(v)
		for _, i := range order {
			in.number(v.items[i])
			key = strconv.AppendQuote(key, v.names[i])
			key = append(strconv.AppendInt(key, int64(v.items[i].id), 36), ',')
			v.size += len(v.names[i]) + v.items[i].size + 4
		}
	case isList:
		key = append(key, byte(isList))
		for _, item := range v.items {
			key = append(strconv.AppendInt(key, int64(in.number(item)), 36), ',')
			v.size += item.size + 1
		}
	default:
		key = append(append(key, byte(v.kind)), v.text...)
	}
	id, known := in[string(key)]
	if !known {
		id = len(in) + 1
		in[string(key)] = id
	}
	v.id = id
	return id
}
