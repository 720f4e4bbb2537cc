package sqlite

import (
	"errors"
	"strings"

	"example.org/parley"
	"example.org/parley/store"
)

// list builds one list query: the index that serves it, the terms of its WHERE and their arguments. Query structs
// choose among fixed parts, so there are few texts and their prepared statements are reused.
type list struct {
	index string
	where strings.Builder
	args  []arg
}

// must adds a term that every row must satisfy.
func (l *list) must(term string, args ...arg) {
	if l.where.Len() > 0 {
		l.where.WriteString(" AND ")
	}
	l.where.WriteString(term)
	l.args = append(l.args, args...)
}

// by adds a term that an index serves. The planner has no statistics, so the first such term names the index; callers
// add the narrowest first.
func (l *list) by(index, term string, args ...arg) {
	if l.index == "" {
		l.index = index
	}
	l.must(term, args...)
}

// among adds the term that a column has one of some ids, if there are any.
func (l *list) among(column string, ids []parley.ID) {
	if len(ids) == 0 {
		return
	}
	values := make([]arg, len(ids))
	for i, id := range ids {
		values[i] = id
	}
	l.must(column+" IN (?"+strings.Repeat(", ?", len(ids)-1)+")", values...)
}

// visible restricts "s" to the sessions that a scope may see.
func (l *list) visible(scope store.Scope) {
	l.must("s.workspace_id = ? AND s.deleted_at IS NULL", scope.WorkspaceID)
	if !scope.ViewerID.IsZero() {
		l.must("(s.owner_id = ? OR s.visibility = 'workspace')", scope.ViewerID)
	}
}

// indexed returns the index clause for a table.
func (l *list) indexed(otherwise string) string {
	if l.index == "" {
		return " INDEXED BY " + otherwise + " "
	}
	return " INDEXED BY " + l.index + " "
}

// limited returns the size of a page: the given limit, or the default.
func limited(limit int) int {
	if limit <= 0 {
		return parley.DefaultPage
	}
	return limit
}

// sized is a row of a list that may be large.
type sized interface{ Size() int }

// eachListed appends the rows of a page, ending with the row that reaches parley.MaxPageBytes.
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

// direction returns the keyword of ORDER BY, and the comparison that continues after a row.
func direction(ascending bool) (word, after string) {
	if ascending {
		return "ASC", ">"
	}
	return "DESC", "<"
}
