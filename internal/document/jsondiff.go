package document

import (
	"errors"
	"slices"
	"strconv"
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

// diff returns the operations that make b of the a at path, and the bytes that they take.
func (d *differ) diff(path string, a, b *value) (patch []parley.JSONEdit, size int, err error) {
	c := changes{path: path, most: editBytes + len(path) + b.size}
	switch {
	case a.id == b.id:
		return nil, 0, nil
	case a.kind == isObject && b.kind == isObject:
		err = d.objects(&c, a, b)
	case a.kind == isList && b.kind == isList:
		err = d.lists(&c, a, b)
	default:
		return replace(path, b)
	}
	if errors.Is(err, errLongPatch) {
		return replace(path, b)
	}
	return c.patch, c.size, err
}

// changes are the operations within one value, while they are shorter than the value itself: below long names,
// pointers alone can take a thousand times a document.
type changes struct {
	path  string
	most  int // bytes from which on the value is replaced as a whole
	patch []parley.JSONEdit
	size  int
}

// errLongPatch says that a value is better replaced as a whole.
var errLongPatch = errors.New("document: the patch is longer than the value")

func (c *changes) note(more []parley.JSONEdit, bytes int, err error) error {
	c.patch, c.size = append(c.patch, more...), c.size+bytes
	if err == nil && c.size >= c.most {
		return errLongPatch
	}
	return err
}

// at is the pointer to a member or an item; errLongPatch if ApplyPatch would refuse it.
func (c *changes) at(name string) (string, error) {
	if len(c.path)+len(name) >= maxPointerBytes {
		return "", errLongPatch
	}
	path := step(c.path, name)
	if len(path) > maxPointerBytes {
		return "", errLongPatch
	}
	return path, nil
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

func (d *differ) objects(c *changes, a, b *value) error {
	for i, name := range a.names {
		other := b.member(name)
		if other >= 0 && a.items[i].id == b.items[other].id {
			continue
		}
		at, err := c.at(name)
		if err != nil {
			return err
		}
		if other >= 0 {
			err = c.note(d.diff(at, a.items[i], b.items[other]))
		} else {
			err = c.note(edit(parley.EditRemove, at, nil))
		}
		if err != nil {
			return err
		}
	}
	for i, name := range b.names {
		if a.member(name) >= 0 {
			continue
		}
		at, err := c.at(name)
		if err != nil {
			return err
		}
		if err := c.note(edit(parley.EditAdd, at, b.items[i])); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) lists(c *changes, a, b *value) error {
	for _, r := range compare(ids(a), ids(b), &d.work) {
		// Items are changed at their place as far as both sides have some; the operations before have already made
		// the list's beginning that of b.
		i, j := r.a0, r.b0
		for i < r.a1 || j < r.b1 {
			at, err := c.at(strconv.Itoa(j))
			if err != nil {
				return err
			}
			if i == r.a1 || j == r.b1 {
				d.moved += len(a.items) + len(b.items)
			}
			switch {
			case i == r.a1:
				err = c.note(edit(parley.EditAdd, at, b.items[j]))
				j++
			case j == r.b1:
				err = c.note(edit(parley.EditRemove, at, nil))
				i++
			default:
				err = c.note(d.diff(at, a.items[i], b.items[j]))
				i, j = i+1, j+1
			}
			if err != nil {
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
