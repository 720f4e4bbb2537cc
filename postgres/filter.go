package postgres

import (
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/store"
)

// filter builds one list query: the terms of its WHERE and their arguments, written
// "?" and numbered as they come. Query structs choose among fixed parts, so that
// the texts are few and their prepared statements are kept. Which index serves is
// the planner's choice; a test holds it to one that reads a page in its order.
type filter struct {
	where strings.Builder
	args  []arg
}

// must adds a term that every row fulfils.
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

// arg adds an argument and returns its place.
func (l *filter) arg(value arg) string {
	l.args = append(l.args, value)
	return "$" + strconv.Itoa(len(l.args))
}

// here is the workspace of a tenant's batch, as queries name it: the batch sets
// it once. Lists name it so and not by an argument of their own, because the
// planner, which sees the policies' term as well, would take two spellings for two
// conditions, expect next to nothing, and read and sort all of a large workspace
// for a page of it.
const here = "current_setting('parley.workspace')::uuid"

// visible adds what a scope may see of a session "s" of the batch's workspace.
func (l *filter) visible(scope store.Scope) {
	l.must("s.workspace_id = " + here + " AND s.deleted_at IS NULL")
	if !scope.ViewerID.IsZero() {
		l.must("(s.owner_id = ? OR s.visibility = 'workspace')", scope.ViewerID)
	}
}

// pageSizes are the row counts that queries are written for. A count in a
// statement's text lets the planner see how little is wanted, and these few keep
// the number of texts small.
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

// limited is the end of a query for a page, and how many of its rows the page takes.
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

// sized is a row of a list that can be large.
type sized interface{ Size() int }

// listed appends the first rows of a query: none behind the one with which they reach
// parley.MaxPageBytes.
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

// direction is the word of ORDER BY and the comparison that continues after a row.
func direction(ascending bool) (word, after string) {
	if ascending {
		return "ASC", ">"
	}
	return "DESC", "<"
}
