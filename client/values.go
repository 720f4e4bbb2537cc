package client

import (
	"iter"
	"net/url"
	"strconv"

	"example.org/parley"
)

// Page is one page of a list; Next is the cursor of the next page, "" at the end.
type Page[T any] struct {
	Data []T    `json:"data"`
	Next string `json:"next"`
}

// pageOf is the page in an answer that says more than a page does.
func pageOf[T any](rows []T, next *string) Page[T] {
	page := Page[T]{Data: rows}
	if next != nil {
		page.Next = *next
	}
	return page
}

// pages ranges over the rows of a list from a cursor on, page by page.
func pages[T any](cursor string, page func(cursor string) (Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			got, err := page(cursor)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, row := range got.Data {
				if !yield(row, nil) {
					return
				}
			}
			if cursor = got.Next; cursor == "" {
				return
			}
		}
	}
}

// values are query parameters; what is zero is left out.
type values struct{ url.Values }

func newValues() values { return values{url.Values{}} }

func (v values) text(name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}

func (v values) integer(name string, value int64) {
	if value != 0 {
		v.Set(name, strconv.FormatInt(value, 10))
	}
}

func (v values) flag(name string, value *bool) {
	if value != nil {
		v.Set(name, strconv.FormatBool(*value))
	}
}

func (v values) id(name string, value parley.ID) {
	if !value.IsZero() {
		v.Set(name, value.String())
	}
}

func (v values) time(name string, value parley.Time) {
	if value != 0 {
		v.Set(name, value.String())
	}
}

func texts[T ~string](v values, name string, all []T) {
	for _, one := range all {
		v.Add(name, string(one))
	}
}

func ids(v values, name string, all []parley.ID) {
	for _, id := range all {
		v.Add(name, id.String())
	}
}

func integers(v values, name string, all []int) {
	for _, one := range all {
		v.Add(name, strconv.Itoa(one))
	}
}
