package engine

import (
	"bytes"
	"cmp"
	"slices"

	"example.org/parley"
)

// A filter with several values asks for rows that have any of them. A store's query has one value of each filter, which
// an index serves, so a list reads one query for each combination and joins what they answer, in the list's order.

// maxCombinations bounds the queries of one list.
const maxCombinations = 64

// apart returns each query once for each value, as set puts it there; without values, the queries as they are. It
// returns none if they would be too many.
func apart[Q any, V comparable](queries []Q, values []V, set func(*Q, V)) []Q {
	var once []V
	for _, value := range values {
		if !slices.Contains(once, value) {
			once = append(once, value)
		}
	}
	switch {
	case len(once) == 0:
		return queries
	case len(queries)*len(once) > maxCombinations:
		return nil
	}
	out := make([]Q, 0, len(queries)*len(once))
	for _, query := range queries {
		for _, value := range once {
			set(&query, value)
			out = append(out, query)
		}
	}
	return out
}

// checkCount refuses more values of a filter than its list reads.
func checkCount(name string, values int) error {
	if values > maxCombinations {
		return parley.InvalidField(name, "has %d values; at most %d", values, maxCombinations)
	}
	return nil
}

// union describes how the rows of a list are joined.
type union[T any] struct {
	limit   int               // rows that each query answers at most
	compare func(a, b *T) int // in the list's order; 0 for the same row
	// size of a row of a list that ends with the one that reaches parley.MaxPageBytes; nil for a list without it
	size func(*T) int
}

// joined reads the rows of several queries as a store would read those of one: at most limit rows, and at most the
// bytes of a page.
func joined[Q, T any](u union[T], queries []Q, read func(Q) ([]T, error)) ([]T, error) {
	switch len(queries) {
	case 0:
		return nil, parley.Errorf(
			parley.CodeInvalid,
			"The filters have more than %d combinations of values; ask for fewer values at once.",
			maxCombinations,
		)
	case 1:
		return read(queries[0])
	}
	var rows []T
	whole := true
	for _, query := range queries {
		more, err := read(query)
		if err != nil {
			return nil, err
		}
		rows, whole = u.join(rows, whole, more, !u.full(more))
	}
	return rows, nil
}

// full reports whether a store may have ended a list here, so that more rows may follow.
func (u *union[T]) full(rows []T) bool {
	size := 0
	for i := range rows {
		if u.size != nil {
			size += u.size(&rows[i])
		}
	}
	return len(rows) >= u.limit || len(rows) > 1 && size >= parley.MaxPageBytes
}

// join merges two lists, each whole or only the beginning of one. It ends where rows of such a one may follow, and
// where a store would end a list; whole reports whether nothing follows.
func (u *union[T]) join(a []T, aWhole bool, b []T, bWhole bool) (rows []T, whole bool) {
	size := 0
	for len(a) > 0 || len(b) > 0 {
		if len(a) == 0 && !aWhole || len(b) == 0 && !bWhole {
			return rows, false
		}
		var order int
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = u.compare(&a[0], &b[0])
		}
		var next T
		if order <= 0 {
			next, a = a[0], a[1:]
		}
		if order >= 0 {
			next, b = b[0], b[1:]
		}
		if u.size != nil {
			size += u.size(&next)
		}
		rows = append(rows, next)
		if len(rows) >= u.limit || len(rows) > 1 && size >= parley.MaxPageBytes {
			return rows, len(a) == 0 && len(b) == 0 && aWhole && bWhole
		}
	}
	return rows, aWhole && bWhole
}

// sizeOf is the size of a row that may be large.
func sizeOf[T sized](row *T) int { return (*row).Size() }

// byTime compares rows by a time and then by their ids, as lists by time are ordered.
func byTime[T any](order Order, place func(*T) (parley.Time, parley.ID)) func(a, b *T) int {
	return func(a, b *T) int {
		aTime, aID := place(a)
		bTime, bID := place(b)
		return directed(order, cmp.Or(cmp.Compare(aTime, bTime), bytes.Compare(aID[:], bID[:])))
	}
}

// byNumber compares rows by a number that each has for itself.
func byNumber[T any](order Order, number func(*T) int64) func(a, b *T) int {
	return func(a, b *T) int { return directed(order, cmp.Compare(number(a), number(b))) }
}

// directed is a comparison in the direction of a list.
func directed(order Order, ascending int) int {
	if order == Descending {
		return -ascending
	}
	return ascending
}
