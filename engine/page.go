package engine

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	"example.org/parley"
)

// Page is a list's answer. Next is the cursor of the next page, null at the end.
type Page[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next"`
}

// Order is the direction of a list; "" is the list's own default.
type Order string

// The orders.
const (
	Ascending  Order = "asc"
	Descending Order = "desc"
)

// Paging holds the parameters of every list. Limit 0 means parley.DefaultPage.
type Paging struct {
	Cursor string
	Order  Order
	Limit  int
}

// cursor is the content of the opaque string that ends a page. Each list uses some of the fields; List names the list,
// so that a cursor of another list is refused.
type cursor struct {
	List     string      `json:"l"`
	Order    Order       `json:"o,omitempty"`
	ID       parley.ID   `json:"i,omitzero"`
	At       parley.Time `json:"t,omitzero"`
	Slug     string      `json:"s,omitempty"`
	Sequence int64       `json:"n,omitempty"`
	Position *int64      `json:"p,omitempty"`
	Score    float64     `json:"w,omitempty"`
}

// maxCursorBytes bounds a cursor from outside.
const maxCursorBytes = 512

func (c cursor) text() *string {
	encoded, err := json.Marshal(c)
	if err != nil { // a struct of plain fields always encodes
		return nil
	}
	text := base64.RawURLEncoding.EncodeToString(encoded)
	return &text
}

// start validates paging and reads its cursor; the zero cursor is the first page.
func (p Paging) start(list string, standard Order) (from cursor, order Order, limit int, err error) {
	switch p.Order {
	case "":
		order = standard
	case Ascending, Descending:
		order = p.Order
	default:
		return cursor{}, "", 0, parley.InvalidField(
			"order",
			"%q is not one of asc, desc",
			parley.Clip(string(p.Order), 16),
		)
	}
	switch limit = p.Limit; {
	case limit == 0:
		limit = parley.DefaultPage
	case limit < 0 || limit > parley.MaxPage:
		return cursor{}, "", 0, parley.InvalidField("limit", "must lie between 1 and %d", parley.MaxPage)
	}
	if p.Cursor == "" {
		return cursor{}, order, limit, nil
	}
	unreadable := parley.InvalidField("cursor", "cannot be read; take it from next of the previous page")
	if len(p.Cursor) > maxCursorBytes {
		return cursor{}, "", 0, unreadable
	}
	decoded, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil || json.Unmarshal(decoded, &from) != nil || from.List != list {
		return cursor{}, "", 0, unreadable
	}
	if from.Order != order {
		return cursor{}, "", 0, parley.InvalidField(
			"cursor",
			"belongs to a list in order %s",
			parley.Clip(string(from.Order), 16),
		)
	}
	return from, order, limit, nil
}

// sized is a row of a list that can be large.
type sized interface{ Size() int }

// largePageOf is pageOf for rows that the store may have cut by size: then the last row begins the next page.
func largePageOf[T sized](rows []T, limit int, after func(last T) cursor) Page[T] {
	size := 0
	for i := range rows {
		size += rows[i].Size()
	}
	if n := len(rows); n > 1 && n <= limit && size >= parley.MaxPageBytes {
		limit = n - 1
	}
	return pageOf(rows, limit, after)
}

// wholePage is a page of a list that is read whole and sorted: all of it unless paging has a limit or a cursor. after
// reports whether a row comes after a cursor, and place makes the cursor of a row.
func wholePage[T any](
	list string,
	rows []T,
	paging Paging,
	after func(row T, from cursor) bool,
	place func(last T) cursor,
) (Page[T], error) {
	from, _, limit, err := paging.start(list, "")
	if err != nil {
		return Page[T]{}, err
	}
	if paging.Cursor != "" {
		rows = slices.DeleteFunc(rows, func(row T) bool { return !after(row, from) })
	}
	if paging.Limit == 0 {
		limit = len(rows)
	}
	return pageOf(rows, limit, place), nil
}

// pageOf cuts rows that were asked for with limit+1 and makes the next cursor
// from the last one kept.
func pageOf[T any](rows []T, limit int, after func(last T) cursor) Page[T] {
	page := Page[T]{Data: rows}
	if len(rows) > limit {
		page.Data = rows[:limit]
		page.Next = after(page.Data[limit-1]).text()
	}
	if page.Data == nil {
		page.Data = []T{}
	}
	return page
}
