package document

import (
	"encoding/json"
	"strconv"
	"strings"

	"example.org/parley"
)

// At returns the value in a JSON document to which a JSON Pointer (RFC 6901) leads, in one line; "" is the whole
// document. It is CodeInvalid, with Field "pointer", for a pointer that is malformed or leads nowhere.
func At(content []byte, pointer string) (json.RawMessage, error) {
	root, err := parse(content)
	if err != nil {
		return nil, err
	}
	steps, err := pointerSteps("pointer", pointer)
	if err != nil {
		return nil, err
	}
	v, err := find("pointer", root, steps)
	if err != nil {
		return nil, err
	}
	return compact(v)
}

// maxPointerBytes bounds a JSON Pointer.
const maxPointerBytes = 16 << 10

// unescapePointer decodes a step; ~1 goes first, so that ~01 becomes ~1.
var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~") //nolint:gochecknoglobals // constant

// pointerSteps splits a pointer.
func pointerSteps(field, pointer string) ([]string, error) {
	switch {
	case pointer == "":
		return nil, nil
	case len(pointer) > maxPointerBytes:
		return nil, parley.InvalidField(field, "is longer than %d bytes", maxPointerBytes)
	case pointer[0] != '/':
		return nil, parley.InvalidField(
			field, "%q is not a JSON Pointer; it must be empty or begin with a slash", parley.Clip(pointer, shownBytes))
	case strings.Count(pointer, "/") > parley.MaxJSONDepth:
		return nil, parley.InvalidField(field, "leads deeper than %d levels", parley.MaxJSONDepth)
	}
	steps := strings.Split(pointer[1:], "/")
	for i, step := range steps {
		for at := 0; at < len(step); at++ {
			if step[at] == '~' && (at+1 == len(step) || step[at+1] != '0' && step[at+1] != '1') {
				return nil, parley.InvalidField(
					field, "%q is not a JSON Pointer; write ~0 for ~ and ~1 for /", parley.Clip(pointer, shownBytes))
			}
		}
		steps[i] = unescapePointer.Replace(step)
	}
	return steps, nil
}

// shownBytes is how much of an input an error repeats.
const shownBytes = 120

// escapePointer encodes a step.
var escapePointer = strings.NewReplacer("~", "~0", "/", "~1") //nolint:gochecknoglobals // constant

// step appends a step to a pointer.
func step(pointer, name string) string { return pointer + "/" + escapePointer.Replace(name) }

// find returns the value at the end of a pointer's steps.
func find(field string, v *value, steps []string) (*value, error) {
	for depth, name := range steps {
		i := -1
		switch v.kind {
		case isObject:
			i = v.member(name)
		case isList:
			i = itemIndex(name, len(v.items))
		}
		if i < 0 {
			return nil, nowhere(field, steps[:depth+1])
		}
		v = v.items[i]
	}
	return v, nil
}

// nowhere is the error for a pointer of which nothing exists at the last step given.
func nowhere(field string, steps []string) error {
	var pointer strings.Builder
	for _, name := range steps {
		pointer.WriteByte('/')
		pointer.WriteString(escapePointer.Replace(name))
	}
	return parley.InvalidField(
		field, "there is nothing at %s", parley.Clip(strings.ToValidUTF8(pointer.String(), "\uFFFD"), shownBytes))
}

// itemIndex reads the index of one of a list's items, -1 for anything else: RFC 6901 has no signs and no leading zeros.
func itemIndex(name string, items int) int {
	i, err := strconv.Atoi(name)
	if err != nil || i < 0 || i >= items || strconv.Itoa(i) != name {
		return -1
	}
	return i
}
