package document

import (
	"slices"
	"strings"

	"example.org/parley"
)

// DiffJSON returns the JSON Patch (RFC 6902) that makes to of from; it is empty, not nil, where they are equal as
// values. The same pair always gives the same patch, made of add, remove and replace. White space and the order of
// members do not count; a number that is written differently does. A value is replaced as a whole where that is
// shorter, and the whole document where the patch would have more than parley.MaxJSONEdits operations.
func DiffJSON(from, to []byte) ([]parley.JSONEdit, error) {
	a, err := parse(from)
	if err != nil {
		return nil, err
	}
	b, err := parse(to)
	if err != nil {
		return nil, err
	}
	known := interner{}
	known.number(a)
	known.number(b)
	d := differ{}
	patch, _, err := d.diff("", a, b)
	if err == nil && (len(patch) > parley.MaxJSONEdits || d.moved > maxMoved) {
		patch, _, err = replace("", b)
	}
	if err != nil {
		return nil, err
	}
	return append([]parley.JSONEdit{}, patch...), nil
}

// differ is one comparison of two documents.
type differ struct {
	work  work
	moved int // at most so many items of lists does the patch move
}

// operations are a part of a patch: those that make one value of another.
type operations struct {
	patch []parley.JSONEdit
	size  int // bytes that they take, about
	most  int // from how many on the value is replaced as a whole
}

// add appends what was found within the value, and reports whether the value is to be replaced as a whole: nothing more
// is then needed. Each operation names its whole path, so all of them together could take far more than both documents.
func (o *operations) add(more []parley.JSONEdit, size int) (full bool) {
	o.patch, o.size = append(o.patch, more...), o.size+size
	return o.size >= o.most
}

// diff returns the operations that make b of the a at path, and the bytes that they take.
func (d *differ) diff(path string, a, b *value) (patch []parley.JSONEdit, size int, err error) {
	made := operations{most: editBytes + len(path) + b.size}
	switch {
	case a.id == b.id:
		return nil, 0, nil
	case a.kind == isObject && b.kind == isObject:
		err = d.objects(path, a, b, &made)
	case a.kind == isList && b.kind == isList:
		err = d.lists(path, a, b, &made)
	default:
		return replace(path, b)
	}
	if err != nil {
		return nil, 0, err
	}
	if made.size >= made.most {
		return replace(path, b)
	}
	return made.patch, made.size, nil
}

// editBytes is roughly what an operation takes besides its path and value.
const editBytes = 24

func replace(path string, with *value) ([]parley.JSONEdit, int, error) {
	return edit(parley.EditReplace, path, with)
}

func edit(op parley.EditOp, path string, v *value) ([]parley.JSONEdit, int, error) {
	made := parley.JSONEdit{Op: op, Path: path}
	if v != nil {
		var err error
		if made.Value, err = compact(v); err != nil {
			return nil, 0, err
		}
	}
	return []parley.JSONEdit{made}, editBytes + len(path) + len(made.Value), nil
}

func (d *differ) objects(path string, a, b *value, made *operations) error {
	for i, name := range a.names {
		other := b.member(name)
		if other >= 0 && a.items[i].id == b.items[other].id {
			continue
		}
		var more []parley.JSONEdit
		var size int
		var err error
		if at := step(path, name); other >= 0 {
			more, size, err = d.diff(at, a.items[i], b.items[other])
		} else {
			more, size, err = edit(parley.EditRemove, at, nil)
		}
		if err != nil || made.add(more, size) {
			return err
		}
	}
	for i, name := range b.names {
		if a.member(name) < 0 {
			more, size, err := edit(parley.EditAdd, step(path, name), b.items[i])
			if err != nil || made.add(more, size) {
				return err
			}
		}
	}
	return nil
}

func (d *differ) lists(path string, a, b *value, made *operations) error {
	for _, r := range compare(ids(a), ids(b), &d.work) {
		// Items are changed at their place as far as both sides have some; the operations before have already made
		// the list's beginning that of b.
		i, j := r.a0, r.b0
		for ; i < r.a1 && j < r.b1; i, j = i+1, j+1 {
			more, size, err := d.diff(stepIndex(path, j), a.items[i], b.items[j])
			if err != nil || made.add(more, size) {
				return err
			}
		}
		for ; i < r.a1; i++ {
			d.moved += len(a.items) + len(b.items)
			more, size, err := edit(parley.EditRemove, stepIndex(path, j), nil)
			if err != nil || made.add(more, size) {
				return err
			}
		}
		for ; j < r.b1; j++ {
			d.moved += len(a.items) + len(b.items)
			more, size, err := edit(parley.EditAdd, stepIndex(path, j), b.items[j])
			if err != nil || made.add(more, size) {
				return err
			}
		}
	}
	return nil
}

func ids(list *value) []int {
	found := make([]int, len(list.items))
	for i, item := range list.items {
		found[i] = item.id
	}
	return found
}

// sortedMembers returns the positions of an object's members by their names.
func sortedMembers(v *value) []int {
	order := make([]int, 0, len(v.names))
	for i := range v.names {
		if v.items[i] != nil {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(v.names[a], v.names[b]) })
	return order
}

// shown returns a value's text for an error or a conflict; "" for none.
func shown(v *value) string {
	if v == nil {
		return ""
	}
	raw, err := compact(v)
	if err != nil {
		return ""
	}
	return parley.Clip(string(raw), maxShown)
}

// maxShown bounds each side of a conflict, in bytes.
const maxShown = 2 << 10
