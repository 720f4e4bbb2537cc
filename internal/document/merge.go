package document

import (
	"slices"
	"strconv"
	"strings"

	"example.org/parley"
)

// The bounds of a merge.
const (
	maxConflicts   = 20        // places that it names
	maxMergedLines = 400_000   // of each text
	maxMergedWords = 256 << 10 // bytes of a place whose words are merged
)

// Conflict is a place that two changes of one document both touch, and differently. What stands there is shortened;
// JSON is its text, and nothing is empty.
type Conflict struct {
	Path   *string // in JSON: a JSON Pointer
	Line   int     // in a text: the first line of the place in the base, from 1
	Base   string
	Ours   string // what the first change makes of it
	Theirs string // what the second change makes of it
}

// MergeText merges two changes of one text: what either made of base stands in the result where the changes do not
// touch the same place. Places are lines, and words where both changed the same lines. Otherwise it returns the
// conflicts, at most 20, and no text. With ours and theirs exchanged, the text is the same. It is CodeTooLarge for a
// result, and for numbers of lines, beyond the bounds.
func MergeText(base, ours, theirs string) (merged string, conflicts []Conflict, err error) {
	switch {
	case ours == theirs || base == theirs:
		return ours, nil, nil
	case base == ours:
		return theirs, nil, nil
	}
	for _, content := range []string{base, ours, theirs} {
		if countLines(content) > maxMergedLines {
			return "", nil, parley.Errorf(
				parley.CodeTooLarge,
				"a text of more than %d lines is not merged",
				maxMergedLines,
			)
		}
	}
	merged, places := mergeText(new(work), base, ours, theirs, splitLines, splitWords)
	if len(merged) > parley.MaxDocumentBytes {
		return "", nil, tooLong()
	}
	for i := range places {
		if i == maxConflicts {
			break
		}
		p := &places[i]
		conflicts = append(conflicts, Conflict{
			Line: strings.Count(base[:p.at], "\n") + 1,
			Base: parley.Clip(
				p.base,
				maxShown,
			),
			Ours:   parley.Clip(p.ours, maxShown),
			Theirs: parley.Clip(p.theirs, maxShown),
		})
	}
	if conflicts != nil {
		return "", conflicts, nil
	}
	return merged, nil, nil
}

// place is where two changes of a text touch.
type place struct {
	at                 int // in base, in bytes
	base, ours, theirs string
}

// mergeText merges by what split makes of the texts, and places of conflict by the finer splits.
func mergeText(
	from *work, base, ours, theirs string, split func(string) []string, finer ...func(string) []string,
) (string, []place) {
	known := numbers{}
	b, o, t := split(base), split(ours), split(theirs)
	var out strings.Builder
	var places []place
	kept, bytes := 0, 0 // of base: elements, and their bytes
	keep := func(to int) {
		for ; kept < to; kept++ {
			out.WriteString(b[kept])
			bytes += len(b[kept])
		}
	}
	for _, m := range meet(from, known.of(b), known.of(o), known.of(t)) {
		keep(m.base0)
		p := place{
			at: bytes, base: strings.Join(b[m.base0:m.base1], ""),
			ours: strings.Join(o[m.ours0:m.ours1], ""), theirs: strings.Join(t[m.theirs0:m.theirs1], ""),
		}
		kept, bytes = m.base1, bytes+len(p.base)
		one, agreed := p.settle(from, finer)
		if out.WriteString(one); !agreed {
			places = append(places, p)
		}
	}
	keep(len(b))
	return out.String(), places
}

// settle returns what stands in the place if only one change touches it, both do the same, or they touch different
// words of it.
func (p *place) settle(from *work, finer []func(string) []string) (string, bool) {
	switch {
	case p.ours == p.theirs || p.base == p.theirs:
		return p.ours, true
	case p.base == p.ours:
		return p.theirs, true
	case p.base == "" || len(finer) == 0 || len(p.base)+len(p.ours)+len(p.theirs) > maxMergedWords:
		return "", false
	}
	merged, places := mergeText(from, p.base, p.ours, p.theirs, finer[0], finer[1:]...)
	return merged, len(places) == 0
}

// meeting is a part of base that at least one of two changes touches, with what either makes of it.
type meeting struct{ base0, base1, ours0, ours1, theirs0, theirs1 int }

// meet returns the parts of base that were changed, in order. Changes that touch are in one part: they overlap, or one
// of them inserts where the other begins or ends.
func meet(from *work, base, ours, theirs []int) []meeting {
	left, right := compare(base, ours, from), compare(base, theirs, from)
	var found []meeting
	var drift, drift2 int // of ours and theirs against base, after what was found
	for len(left) > 0 || len(right) > 0 {
		var m run // a is the part of base
		if len(right) == 0 || len(left) > 0 && before(left[0], right[0]) {
			m = left[0]
		} else {
			m = right[0]
		}
		part := meeting{base0: m.a0, base1: m.a1, ours0: m.a0 + drift, theirs0: m.a0 + drift2}
		for {
			if len(left) > 0 && touches(part.base0, part.base1, left[0]) {
				part.base1 = max(part.base1, left[0].a1)
				drift += left[0].b1 - left[0].b0 - (left[0].a1 - left[0].a0)
				left = left[1:]
				continue
			}
			if len(right) > 0 && touches(part.base0, part.base1, right[0]) {
				part.base1 = max(part.base1, right[0].a1)
				drift2 += right[0].b1 - right[0].b0 - (right[0].a1 - right[0].a0)
				right = right[1:]
				continue
			}
			break
		}
		part.ours1, part.theirs1 = part.base1+drift, part.base1+drift2
		found = append(found, part)
	}
	return found
}

func before(a, b run) bool { return a.a0 < b.a0 || a.a0 == b.a0 && a.a1 <= b.a1 }

// touches reports whether a run, which begins no earlier, changes the part of base from first to last too.
func touches(first, last int, r run) bool {
	if first == last || r.a0 == r.a1 {
		return r.a0 <= last
	}
	return r.a0 < last
}

// MergeJSON merges two changes of one JSON document, as values: the result has what either made of base, down to single
// members and items, where the changes do not touch the same place. Otherwise it returns the conflicts, at most 20,
// and no document. With ours and theirs exchanged, the result is the same as a value; it is written as ours is.
func MergeJSON(base, ours, theirs []byte) (merged []byte, conflicts []Conflict, err error) {
	var roots [3]*value
	known := interner{}
	for i, content := range [][]byte{base, ours, theirs} {
		if roots[i], err = parse(content); err != nil {
			return nil, nil, err
		}
		known.number(roots[i])
	}
	m := merging{}
	root := m.merge(nil, roots[0], roots[1], roots[2])
	if m.conflicts != nil {
		return nil, m.conflicts, nil
	}
	merged, err = write(root, ours)
	return merged, nil, err
}

// trail leads to a value. It becomes a pointer only for a conflict: one for each member below a long name would take a
// thousand times the document.
type trail struct {
	to   *trail // nil: the whole document
	name string
}

// maxPointerShown bounds a conflict's pointer, in bytes.
const maxPointerShown = 4 << 10

func (t *trail) pointer() string {
	if t == nil {
		return ""
	}
	return step(t.to.pointer(), t.name)
}

// merging is one merge of JSON documents. A nil value is one that does not exist.
type merging struct {
	work      work
	conflicts []Conflict
}

func (m *merging) merge(path *trail, base, ours, theirs *value) *value {
	switch {
	case same(ours, theirs), same(base, theirs):
		return ours
	case same(base, ours):
		return theirs
	case base != nil && ours != nil && theirs != nil && base.kind == ours.kind && base.kind == theirs.kind:
		switch base.kind {
		case isObject:
			return m.objects(path, base, ours, theirs)
		case isList:
			return m.lists(path, base, ours, theirs)
		case isText:
			// A longer text is merged as one; a short one is one place.
			if strings.Contains(base.text, "\n") {
				text, places := mergeText(&m.work, base.text, ours.text, theirs.text, splitLines, splitWords)
				if len(places) == 0 {
					return &value{kind: isText, text: text}
				}
			}
		}
	}
	m.conflict(path, base, ours, theirs)
	return ours
}

func same(a, b *value) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.id == b.id
}

func (m *merging) conflict(path *trail, base, ours, theirs *value) {
	if len(m.conflicts) < maxConflicts {
		m.conflicts = append(m.conflicts, Conflict{
			Path: new(parley.Clip(path.pointer(), maxPointerShown)),
			Base: shown(base), Ours: shown(ours), Theirs: shown(theirs),
		})
	}
}

// objects merges member by member, in the order of ours.
func (m *merging) objects(path *trail, base, ours, theirs *value) *value {
	merged := &value{kind: isObject}
	for _, name := range slices.Concat(ours.names, theirs.names) {
		if merged.member(name) >= 0 {
			continue
		}
		if item := m.merge(&trail{path, name}, base.of(name), ours.of(name), theirs.of(name)); item != nil {
			merged.set(name, item)
		}
	}
	return merged
}

// of returns a member, nil for none.
func (v *value) of(name string) *value {
	if i := v.member(name); i >= 0 {
		return v.items[i]
	}
	return nil
}

// lists merges item by item.
func (m *merging) lists(path *trail, base, ours, theirs *value) *value {
	merged := &value{kind: isList}
	kept := 0
	for _, at := range meet(&m.work, ids(base), ids(ours), ids(theirs)) {
		merged.items = append(merged.items, base.items[kept:at.base0]...)
		kept = at.base1
		b, o, t := base.items[at.base0:at.base1], ours.items[at.ours0:at.ours1], theirs.items[at.theirs0:at.theirs1]
		switch {
		case slices.EqualFunc(o, t, same), slices.EqualFunc(b, t, same):
			merged.items = append(merged.items, o...)
		case slices.EqualFunc(b, o, same):
			merged.items = append(merged.items, t...)
		case len(b) == len(o) && len(b) == len(t): // the same items, changed
			for i := range b {
				merged.items = append(merged.items, m.merge(&trail{path, strconv.Itoa(at.base0 + i)}, b[i], o[i], t[i]))
			}
		default:
			m.conflict(path, listOf(b), listOf(o), listOf(t))
		}
	}
	merged.items = append(merged.items, base.items[kept:]...)
	return merged
}

// listOf makes a list of items; nil of none.
func listOf(items []*value) *value {
	if len(items) == 0 {
		return nil
	}
	return &value{kind: isList, items: items}
}
