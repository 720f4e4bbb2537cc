package sqlite

import (
	"errors"
	"strings"

	"example.org/parley"
	"example.org/parley/store"
)

// list builds one list query: which index serves it, the terms of its WHERE and
// their arguments. Query structs choose among fixed parts, so the texts are few
// and their prepared statements are kept.
type list struct {
	index string
	where strings.Builder
	args  []arg
}

// must adds a term that every row fulfils.
func (l *list) must(term string, args ...arg) {
	if l.where.Len() > 0 {
		l.where.WriteString(" AND ")
	}
	l.where.WriteString(term)
	l.args = append(l.args, args...)
}

// by adds a term that an index serves. The planner has no statistics, so the
// first such term names the index for it; callers add the narrowest first.
func (l *list) by(index, term string, args ...arg) {
	if l.index == "" {
		l.index = index
	}
	l.must(term, args...)
}

// visible adds what a scope may see of a session "s".
func (l *list) visible(scope store.Scope) {
	l.must("s.workspace_id = ? AND s.deleted_at IS NULL", scope.WorkspaceID)
	if !scope.ViewerID.IsZero() {
		l.must("(s.owner_id = ? OR s.visibility = 'workspace')", scope.ViewerID)
	}
}

// indexed names the index after a table.
func (l *list) indexed(otherwise string) string {
	if l.index == "" {
		return " INDEXED BY " + otherwise + " "
	}
	return " INDEXED BY " + l.index + " "
}

// limited is a page's size: what was asked for, else the default.
func limited(limit int) int {
	if limit <= 0 {
		return parley.DefaultPage
	}
	return limit
}

// sized is a row of a list that can be large.
type sized interface{ Size() int }

// eachListed appends the rows of a page: none behind the one with which they reach
// parley.MaxPageBytes.
func eachListed[T sized](c *conn, page *[]T, scan func(*row) (T, error), query string, args ...arg) error {
	size := 0
	err := c.each(query, func(r *row) error {
		one, err := scan(r)
		if err != nil {
			return err
		}
		*page = append(*page, one)
		if size += one.Size(); size >= parley.MaxPageBytes && len(*page) > 1 {
			return errPageFull
		}
		return nil
	}, args...)
	if errors.Is(err, errPageFull) {
		return nil
	}
	return err
}

// direction is the word of ORDER BY and the comparison that continues after a row.
func direction(ascending bool) (word, after string) {
	if ascending {
		return "ASC", ">"
	}
	return "DESC", "<"
}
