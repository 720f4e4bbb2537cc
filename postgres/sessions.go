package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// Session finds a session by id.
func (s *Store) Session(ctx context.Context, scope store.Scope, id parley.ID) (parley.Session, error) {
	return s.session(ctx, scope, "s.id = ?", id)
}

// SessionByKey finds the session with a key.
func (s *Store) SessionByKey(ctx context.Context, scope store.Scope, key string) (parley.Session, error) {
	return s.session(ctx, scope, "s.key = ?", key)
}

// session reads the session that a term selects, if the scope may see it.
func (s *Store) session(
	ctx context.Context,
	scope store.Scope,
	term string,
	value arg,
) (session parley.Session, err error) {
	var l filter
	l.visible(scope)
	l.must(term, value)
	return one(
		ctx,
		s,
		tenant(scope.WorkspaceID),
		"session",
		scanSession,
		"SELECT "+sessionColumns+sessionTables+"WHERE "+l.where.String(),
		l.args...)
}

// one reads the single row of a query; CodeNotFound without it.
func one[T any](
	ctx context.Context,
	s *Store,
	as *batch,
	what string,
	scan func(*row) (T, error),
	query string,
	args ...arg,
) (found T, err error) {
	rows, err := all(ctx, s, as, scan, query, 1, args...)
	if err != nil {
		return found, err
	}
	if len(rows) == 0 {
		return found, transition.NotFound(what)
	}
	return rows[0], nil
}

// all reads at most a number of rows of a query; never nil.
func all[T any](
	ctx context.Context,
	s *Store,
	as *batch,
	scan func(*row) (T, error),
	query string,
	limit int,
	args ...arg,
) (found []T, err error) {
	err = s.read(ctx, func() *batch {
		found = []T{}
		b := *as
		b.read(query, upTo(limit, func(r *row) error {
			value, err := scan(r)
			found = append(found, value)
			return err
		}), args...)
		return &b
	})
	return found, err
}

// page reads the rows of a list that may be large; see listed.
func page[T sized](
	ctx context.Context,
	s *Store,
	as *batch,
	scan func(*row) (T, error),
	query string,
	limit int,
	args ...arg,
) (found []T, err error) {
	err = s.read(ctx, func() *batch {
		found = []T{}
		b := *as
		b.read(query, listed(limit, &found, scan), args...)
		return &b
	})
	return found, err
}

// Sessions lists sessions by last activity.
func (s *Store) Sessions(ctx context.Context, scope store.Scope, query store.SessionQuery) ([]parley.Session, error) {
	text, rows, args := sessionsQuery(scope, query)
	b := ordered(scope.WorkspaceID)
	b.inOrder = query.Tag == "" && query.CreatedFrom == 0 && query.CreatedTo == 0 // their indexes have another order
	return page(ctx, s, b, scanSession, text, rows, args...)
}

// sessionsQuery builds the list query. It chooses the page from the listed rows alone and reads only its sessions'
// heads.
func sessionsQuery(scope store.Scope, q store.SessionQuery) (text string, rows int, args []arg) {
	var l filter
	from := "parley.sessions s"
	if q.Tag != "" {
		from = "parley.session_tags g JOIN parley.sessions s ON s.workspace_id = g.workspace_id AND s.id = g.session_id"
		l.must("g.workspace_id = "+here+" AND g.tag = ?", q.Tag)
	}
	l.visible(scope)
	if !q.BranchesOf.IsZero() {
		l.must("s.parent_message_id = ? AND s.forked_through IS NOT NULL", q.BranchesOf)
	}
	for _, reference := range []struct {
		term string
		id   parley.ID
	}{{"s.parent_session_id = ?", q.ParentID}, {"s.project_id = ?", q.ProjectID}, {"s.agent_id = ?", q.AgentID}} {
		if !reference.id.IsZero() {
			l.must(reference.term, reference.id)
		}
	}
	// Name what partial indexes exclude, so that the planner can use them.
	for _, word := range []struct{ term, value string }{
		{"s.task = ? AND s.task <> ''", q.Task}, {"s.feature = ? AND s.feature <> ''", q.Feature},
		{"s.type = ? AND s.type <> ''", q.Type},
	} {
		if word.value != "" {
			l.must(word.term, word.value)
		}
	}
	switch { // the most frequent states have no index: the newest such sessions are found quickly
	case q.Status == parley.SessionCompleted:
		l.must("s.status = 'completed'")
	case q.Status != "":
		l.must("s.status = ? AND s.status <> 'completed'", string(q.Status))
	}
	switch {
	case q.Kind == parley.KindAgent:
		l.must("s.kind = 'agent'")
	case q.Kind != "":
		l.must("s.kind = ? AND s.kind <> 'agent'", string(q.Kind))
	}
	switch {
	case q.Mode == parley.ModeForeground:
		l.must("s.mode = 'foreground'")
	case q.Mode != "":
		l.must("s.mode = ? AND s.mode <> 'foreground'", string(q.Mode))
	}
	l.flags(q)
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("(s.updated_at, s.id) "+after+" (?, ?)", int64(q.AfterUpdated), q.AfterID)
	}
	limit, rows := limited(q.Limit)
	order := " ORDER BY s.updated_at " + word + ", s.id " + word
	return "SELECT " + sessionColumns + " FROM (SELECT s.* FROM " + from + " WHERE " + l.where.String() + order +
		limit + ") s" +
		headOfSession + order, rows, l.args
}

// flags adds the terms for flags and the time of creation.
func (l *filter) flags(q store.SessionQuery) {
	if q.Pinned != nil {
		l.must(map[bool]string{true: "s.pinned", false: "NOT s.pinned"}[*q.Pinned])
	}
	if q.Archived != nil {
		l.must(map[bool]string{true: "s.archived_at IS NOT NULL", false: "s.archived_at IS NULL"}[*q.Archived])
	}
	if q.CreatedFrom != 0 {
		l.must("s.created_at >= ?", int64(q.CreatedFrom))
	}
	if q.CreatedTo != 0 {
		l.must("s.created_at < ?", int64(q.CreatedTo))
	}
}
