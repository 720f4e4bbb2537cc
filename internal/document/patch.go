package document

import (
	"fmt"
	"slices"

	"example.org/parley"
)

// maxMoved bounds the items of lists that a patch's insertions and removals move, together: ten thousand insertions at
// the front of a long list would take minutes.
const maxMoved = 50_000_000

// ApplyPatch applies a JSON Patch (RFC 6902) to a JSON document. Numbers keep their digits and members their order; new
// members come last. It is CodeInvalid, with the operation's field (as "patch.3.path"), for an operation that is
// malformed, leads nowhere, or tests something else than what stands there; nothing is then applied.
func ApplyPatch(content []byte, patch []parley.JSONEdit) ([]byte, error) {
	root, err := parse(content)
	if err != nil {
		return nil, err
	}
	if len(patch) > parley.MaxJSONEdits {
		return nil, parley.InvalidField("patch", "has more than %d operations", parley.MaxJSONEdits)
	}
	p := patching{root: root}
	for i := range patch {
		if err := p.apply(fmt.Sprintf("patch.%d", i), &patch[i]); err != nil {
			return nil, err
		}
	}
	return write(p.root, content)
}

// patching is one application of a patch.
type patching struct {
	root   *value
	values int // read from the operations and copied, together
	copied int // bytes
	moved  int // items of lists
}

func (p *patching) apply(field string, edit *parley.JSONEdit) error {
	path, err := pointerSteps(field+".path", edit.Path)
	if err != nil {
		return err
	}
	switch edit.Op {
	case parley.EditAdd, parley.EditReplace, parley.EditTest:
		return p.applyValue(field, path, edit)
	case parley.EditRemove:
		_, err = p.remove(field+".path", path)
		return err
	case parley.EditMove, parley.EditCopy:
		return p.applyFrom(field, path, edit)
	}
	return parley.InvalidField(field+".op", "must be add, remove, replace, move, copy or test")
}

// applyValue applies an operation that has a value.
func (p *patching) applyValue(field string, path []string, edit *parley.JSONEdit) error {
	if len(edit.Value) == 0 {
		return parley.InvalidField(field+".value", "is missing")
	}
	if len(edit.Value) > parley.MaxDocumentBytes {
		return parley.InvalidField(field+".value", "is longer than %d bytes", parley.MaxDocumentBytes)
	}
	v, err := parseWithin(edit.Value, &p.values)
	if err != nil {
		return parley.InvalidField(field+".value", "%s", err.Error())
	}
	if edit.Op == parley.EditAdd {
		return p.add(field+".path", path, v)
	}
	if edit.Op == parley.EditReplace && len(path) == 0 {
		p.root = v
		return nil
	}
	if edit.Op == parley.EditReplace {
		in, i, err := p.place(field+".path", path)
		if err != nil {
			return err
		}
		in.items[i] = v
		return nil
	}
	found, err := find(field+".path", p.root, path)
	if err != nil {
		return err
	}
	if !equal(found, v) {
		return parley.InvalidField(field, "the test of %q failed: another value stands there",
			parley.Clip(edit.Path, shownBytes))
	}
	return nil
}

// applyFrom applies a move or a copy.
func (p *patching) applyFrom(field string, path []string, edit *parley.JSONEdit) error {
	from, err := pointerSteps(field+".from", edit.From)
	if err != nil {
		return err
	}
	if edit.Op == parley.EditCopy {
		found, err := find(field+".from", p.root, from)
		if err != nil {
			return err
		}
		duplicate, err := p.duplicate(found, 0)
		if err != nil {
			return err
		}
		return p.add(field+".path", path, duplicate)
	}
	if slices.Equal(path, from) {
		_, err := find(field+".from", p.root, from)
		return err
	}
	if len(path) > len(from) && slices.Equal(path[:len(from)], from) {
		return parley.InvalidField(field+".path", "a value cannot be moved into itself")
	}
	moved, err := p.remove(field+".from", from)
	if err != nil {
		return err
	}
	return p.add(field+".path", path, moved)
}

// place returns the container at the end of a path and the position in it of the value that the path leads to.
func (p *patching) place(field string, path []string) (*value, int, error) {
	last := len(path) - 1
	in, err := find(field, p.root, path[:last])
	if err != nil {
		return nil, 0, err
	}
	i := -1
	switch in.kind {
	case isObject:
		i = in.member(path[last])
	case isList:
		i = itemIndex(path[last], len(in.items))
	}
	if i < 0 {
		return nil, 0, nowhere(field, path)
	}
	return in, i, nil
}

func (p *patching) remove(field string, path []string) (*value, error) {
	if len(path) == 0 {
		return nil, parley.InvalidField(field, "the whole document cannot be removed; replace it")
	}
	in, i, err := p.place(field, path)
	if err != nil {
		return nil, err
	}
	removed := in.items[i]
	if in.kind == isObject {
		in.drop(i)
		return removed, nil
	}
	if err := p.moves(field, len(in.items)-i); err != nil {
		return nil, err
	}
	in.items = slices.Delete(in.items, i, i+1)
	return removed, nil
}

func (p *patching) add(field string, path []string, v *value) error {
	last := len(path) - 1
	if last < 0 {
		p.root = v
		return nil
	}
	in, err := find(field, p.root, path[:last])
	if err != nil {
		return err
	}
	switch in.kind {
	case isObject:
		in.set(path[last], v)
		return nil
	case isList:
		i := len(in.items)
		if path[last] != "-" {
			i = itemIndex(path[last], len(in.items)+1)
		}
		if i < 0 {
			return parley.InvalidField(field, "the list has %d items, and %q is not a place in it",
				len(in.items), parley.Clip(path[last], shownBytes))
		}
		if err := p.moves(field, len(in.items)-i); err != nil {
			return err
		}
		in.items = slices.Insert(in.items, i, v)
		return nil
	}
	return nowhere(field, path)
}

func (p *patching) moves(field string, items int) error {
	if p.moved += items; p.moved > maxMoved {
		return parley.InvalidField(
			field,
			"the patch inserts and removes too much within long lists; send the whole document",
		)
	}
	return nil
}

// duplicate copies a value within the bounds of all copies of the patch.
func (p *patching) duplicate(v *value, depth int) (*value, error) {
	p.values++
	p.copied += len(v.text)
	for _, name := range v.names {
		p.copied += len(name)
	}
	if p.values > maxValues || p.copied > parley.MaxDocumentBytes {
		return nil, parley.Errorf(parley.CodeTooLarge, "the patch's copies are too large; send the whole document")
	}
	if depth > parley.MaxJSONDepth {
		return nil, parley.Errorf(
			parley.CodeInvalid, "the document would nest deeper than %d levels", parley.MaxJSONDepth)
	}
	same := &value{kind: v.kind, text: v.text}
	for i, item := range v.items {
		if item == nil {
			continue
		}
		inner, err := p.duplicate(item, depth+1)
		if err != nil {
			return nil, err
		}
		if v.kind == isObject {
			same.names = append(same.names, v.names[i])
		}
		same.items = append(same.items, inner)
	}
	return same, nil
}

// equal compares two values as RFC 6902 does for test: numbers by what they are worth, objects whatever their order.
func equal(a, b *value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case isObject:
		return equalObjects(a, b)
	case isList:
		return slices.EqualFunc(a.items, b.items, equal)
	case isNumber:
		return a.text == b.text || canonical(a.text) == canonical(b.text)
	}
	return a.text == b.text
}

func equalObjects(a, b *value) bool {
	members := 0
	for i, item := range a.items {
		if item == nil {
			continue
		}
		members++
		other := b.member(a.names[i])
		if other < 0 || !equal(item, b.items[other]) {
			return false
		}
	}
	for _, item := range b.items {
		if item != nil {
			members--
		}
	}
	return members == 0
}

// canonical returns a number's canonical form; one that is out of range as written.
func canonical(digits string) string {
	form, err := parley.CanonicalJSON([]byte(digits))
	if err != nil {
		return digits
	}
	return string(form)
}

func tooLong() error {
	return parley.Errorf(
		parley.CodeTooLarge, "the document would become longer than %d bytes", parley.MaxDocumentBytes)
}
