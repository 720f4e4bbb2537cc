package partialjson

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"example.org/parley/event"
)

// errPatch says that operations do not fit what a Document holds: an earlier one is missing.
var errPatch = errors.New("partialjson: the operation does not fit the object")

// Document is an object as far as a Reader has said it. The zero value is empty.
type Document struct{ root any }

// Apply applies what a Reader says: it replaces the root, adds at the end, or appends to a string. Other operations are
// errors.
func (d *Document) Apply(operations []event.PatchOperation) error {
	for i := range operations {
		op := &operations[i]
		var value any
		if err := json.Unmarshal(op.Value, &value); err != nil {
			return errPatch
		}
		if op.Path == "" {
			if op.Op != event.PatchReplace {
				return errPatch
			}
			d.root = value
			continue
		}
		var err error
		if d.root, err = apply(d.root, strings.Split(op.Path, "/")[1:], op.Op, value); err != nil {
			return err
		}
	}
	return nil
}

// JSON returns the object; null before its first operation.
func (d *Document) JSON() (json.RawMessage, error) { return json.Marshal(d.root) }

// apply returns a value after an operation at a path within it.
func apply(to any, path []string, op event.PatchOp, value any) (any, error) {
	if len(path) == 0 {
		text, isText := to.(string)
		more, moreText := value.(string)
		if op != event.PatchAppend || !isText || !moreText {
			return nil, errPatch
		}
		return text + more, nil
	}
	adds := op == event.PatchAdd && len(path) == 1
	switch in := to.(type) {
	case map[string]any:
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
		if adds {
			in[name] = value
			return in, nil
		}
		grown, err := apply(in[name], path[1:], op, value)
		if err == nil {
			in[name] = grown
		}
		return in, err
	case []any:
		at, err := strconv.Atoi(path[0])
		switch {
		case err != nil || at < 0 || at > len(in) || at == len(in) && !adds || at < len(in) && adds:
			return nil, errPatch
		case adds:
			return append(in, value), nil
		}
		in[at], err = apply(in[at], path[1:], op, value)
		return in, err
	}
	return nil, errPatch
}
