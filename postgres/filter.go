package postgres

import (
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/store"
)

// filter builds one list query: the terms of its WHERE and their arguments, written "?" and numbered in order. Query
// structs choose among fixed parts, so there are few texts and their prepared statements are reused. The planner
// chooses the index; a test makes sure that it reads a page in order.
type filter struct {
	where strings.Builder
	args  []arg
}

// must adds a term that every row must satisfy.
func (l *filter) must(term string, args ...arg) {
	if l.where.Len() > 0 {
		l.where.WriteString(" AND ")
	}
	for _, value := range args {
		before, after, _ := strings.Cut(term, "?")
		l.where.WriteString(before)
		l.where.WriteString(l.arg(value))
		term = after
	}
	l.where.WriteString(term)
}

// arg adds an argument and returns its placeholder.
func (l *filter) arg(value arg) string {
	l.args = append(l.args, value)
	return "$" + strconv.Itoa(len(l.args))
}

// among adds the term that a column has one of some ids, if there are any.
func (l *filter) among(column string, ids []parley.ID) {
	if len(ids) > 0 {
		l.must(column+" = ANY(?)", ids)
	}
}

// here is the workspace of a tenant's batch in queries: the batch sets it once. Lists use this expression instead of an
// argument because the planner also sees the policies' term. It would take two spellings for two conditions, expect
// almost no rows, and read and sort all of a large workspace for one page.
const here = "current_setting('parley.workspace')::uuid"

// visible restricts "s" to the sessions of the batch's workspace that a scope may see.
func (l *filter) visible(scope store.Scope) {
	l.must("s.workspace_id = " + here + " AND s.deleted_at IS NULL")
	if !scope.ViewerID.IsZero() {
		l.must("(s.owner_id = ? OR s.visibility = 'workspace')", scope.ViewerID)
	}
}

// pageSizes are the row counts for which queries are written. A literal count shows the planner how few rows are
// wanted, and a short list keeps the number of texts small.
var pageSizes = [...]int{ //nolint:gochecknoglobals // never written
	1,
	2,
	11,
	21,
	51,
	parley.DefaultPage + 1,
	201,
	501,
	parley.MaxPage + 1,
}

// limited returns the end of a query for a page, and how many of its rows the page takes.
func limited(limit int) (clause string, rows int) {
	if limit <= 0 {
		limit = parley.DefaultPage
	}
	size := limit
	for _, known := range pageSizes {
		if known >= limit {
			size = known
			break
		}
	}
	return " LIMIT " + strconv.Itoa(size), limit
}

// upTo visits only the first rows of a query.
func upTo(rows int, visit func(*row) error) func(*row) error {
	seen := 0
	return func(r *row) error {
		if seen++; seen > rows {
			return errPageFull
		}
		return visit(r)
	}
}

// sized is a row of a list that may be large.
type sized interface{ Size() int }

// listed appends the first rows of a query, ending with the row that reaches parley.MaxPageBytes.
func listed[T sized](rows int, page *[]T, scan func(*row) (T, error)) func(*row) error {
	size := 0
	return upTo(rows, func(r *row) error {
		if size >= parley.MaxPageBytes && len(*page) > 1 {
			return errPageFull
		}
		one, err := scan(r)
		size += one.Size()
		*page = append(*page, one)
		return err
	})
}

// direction returns the keyword of ORDER BY, and the comparison that continues after a row.
func direction(ascending bool) (word, after string) {
	if ascending {
		return "ASC", ">"
	}
	return "DESC", "<"
}
