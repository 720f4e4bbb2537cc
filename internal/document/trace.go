package document

import (
	"strconv"
	"strings"

	"example.org/parley"
)

// TraceJSON follows a value back to the document that its document was made from: it returns the pointer to the value
// in older of what stands in newer at the pointer, or changed if it differs there or is new. A value that holds others
// has changed with any of them. Items of lists are followed as DiffJSON pairs them. It is CodeInvalid, with Field
// "pointer", for a pointer that is malformed or leads nowhere in newer.
func TraceJSON(older, newer []byte, pointer string) (before string, changed bool, err error) {
	a, err := parse(older)
	if err != nil {
		return "", false, err
	}
	b, err := parse(newer)
	if err != nil {
		return "", false, err
	}
	steps, err := pointerSteps("pointer", pointer)
	if err != nil {
		return "", false, err
	}
	if _, err := find("pointer", b, steps); err != nil {
		return "", false, err
	}
	known := interner{}
	known.number(a)
	known.number(b)
	var path strings.Builder
	for i, name := range steps {
		if a.id == b.id { // and so are all values within
			for _, rest := range steps[i:] {
				path.WriteString(step("", rest))
			}
			return path.String(), false, nil
		}
		at := -1
		switch {
		case a.kind != b.kind:
		case b.kind == isObject:
			at, b = a.member(name), b.items[b.member(name)]
		case b.kind == isList:
			index := itemIndex(name, len(b.items))
			at, b = itemBefore(ids(a), ids(b), index), b.items[index]
			name = strconv.Itoa(at)
		}
		if at < 0 {
			return "", true, nil
		}
		a = a.items[at]
		path.WriteString(step("", name))
	}
	return path.String(), a.id != b.id, nil
}

// itemBefore returns the index in a of the item that has become b's item at an index; -1 if it is new.
func itemBefore(a, b []int, index int) int {
	before := index
	for _, r := range compare(a, b, new(work)) {
		if r.b0 > index {
			break
		}
		if index < r.b1 {
			if at := r.a0 + index - r.b0; at < r.a1 {
				return at
			}
			return -1
		}
		before = index + r.a1 - r.b1
	}
	return before
}

// TraceLines follows lines back to the text that their text was made from: it returns where in older the lines from to
// to of newer stand, both included and counted from 1, or changed if one of them differs or is new, or if something
// between them was removed. Whether the last line ends with a line feed does not count. It is CodeInvalid, with Field
// "range", for lines that newer does not have.
func TraceLines(older, newer string, from, to int) (first, last int, changed bool, err error) {
	if total := countLines(newer); from < 1 || to < from || to > total {
		return 0, 0, false, parley.InvalidField("range", "must be lines from 1 to %d", total)
	}
	if older == newer {
		return from, to, false, nil
	}
	w := newWindow(older, newer)
	changes := []run{{0, len(w.from), 0, len(w.to)}}
	if len(w.from) <= maxCompared && len(w.to) <= maxCompared {
		known := numbers{}
		changes = compare(known.of(unended(w.from)), known.of(unended(w.to)), &w.work)
	}
	begin, end := from-1-w.before, to-w.before // in the window's lines, without the end
	moved := 0
	for _, r := range changes {
		switch {
		case r.b0 < end && r.b1 > begin: // one of the lines, or between two of them
			return 0, 0, true, nil
		case r.b1 <= begin:
			moved = r.a1 - r.b1
		}
	}
	return from + moved, to + moved, false, nil
}

// unended returns lines without their line feeds.
func unended(lines []string) []string {
	bare := make([]string, len(lines))
	for i, line := range lines {
		bare[i] = strings.TrimSuffix(line, "\n")
	}
	return bare
}
