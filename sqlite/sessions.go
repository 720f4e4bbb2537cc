package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// Session finds a session by id.
func (s *Store) Session(ctx context.Context, scope store.Scope, id parley.ID) (session parley.Session, err error) {
	err = s.read(ctx, func(c *conn) error {
		session, err = visibleSession(c, scope, id)
		return err
	})
	return session, err
}

// SessionByKey finds the session with a key.
func (s *Store) SessionByKey(ctx context.Context, scope store.Scope, key string) (session parley.Session, err error) {
	var l list
	l.visible(scope)
	l.must("s.key = ?", key)
	err = s.read(ctx, func(c *conn) error {
		session, err = oneSession(c, "SELECT "+sessionColumns+sessionTables+"WHERE "+l.where.String(), l.args)
		return err
	})
	return session, err
}

// visibleSession reads a session; CodeNotFound if the scope may not see it.
func visibleSession(c *conn, scope store.Scope, id parley.ID) (parley.Session, error) {
	var l list
	l.must("s.id = ?", id)
	l.visible(scope)
	return oneSession(c, "SELECT "+sessionColumns+sessionTables+"WHERE "+l.where.String(), l.args)
}

func oneSession(c *conn, query string, args []arg) (session parley.Session, err error) {
	found, err := c.one(query, func(r *row) (err error) {
		session, err = listedSession(r)
		return err
	}, args...)
	if err == nil && !found {
		err = transition.NotFound("session")
	}
	return session, err
}

func listedSession(r *row) (parley.Session, error) {
	session, err := scanSession(r)
	session.Metadata = transition.ReadableObject(session.Metadata)
	return session, err
}

// Sessions lists sessions by last activity.
func (s *Store) Sessions(
	ctx context.Context,
	scope store.Scope,
	query store.SessionQuery,
) (sessions []parley.Session, err error) {
	text, args := sessionsQuery(scope, query)
	err = s.read(ctx, func(c *conn) error {
		sessions = make([]parley.Session, 0, min(limited(query.Limit), parley.DefaultPage))
		return eachListed(c, &sessions, listedSession, text, args...)
	})
	return sessions, err
}

// sessionsQuery builds the list query; the narrowest filter names the index.
func sessionsQuery(scope store.Scope, q store.SessionQuery) (string, []arg) {
	var l list
	from := ""
	if q.Tag != "" {
		from = "session_tags g CROSS JOIN sessions s ON s.id = g.session_id"
		l.must("g.workspace_id = ? AND g.tag = ?", scope.WorkspaceID, q.Tag)
	}
	l.visible(scope)
	if !q.BranchesOf.IsZero() {
		l.by("sessions_branch", "s.parent_message_id = ? AND s.forked_through IS NOT NULL", q.BranchesOf)
	}
	if !q.ParentID.IsZero() {
		l.by("sessions_parent", "s.parent_session_id = ?", q.ParentID)
	}
	if !q.ProjectID.IsZero() {
		l.by("sessions_project", "s.project_id = ?", q.ProjectID)
	}
	if q.Task != "" {
		l.by("sessions_task", "s.task = ? AND s.task <> ''", q.Task)
	}
	if q.Feature != "" {
		l.by("sessions_feature", "s.feature = ? AND s.feature <> ''", q.Feature)
	}
	if q.Type != "" {
		l.by("sessions_type", "s.type = ? AND s.type <> ''", q.Type)
	}
	if !q.AgentID.IsZero() {
		l.by("sessions_agent", "s.agent_id = ?", q.AgentID)
	}
	switch { // the most frequent states have no index: the newest such sessions are found quickly
	case q.Status == parley.SessionCompleted:
		l.must("s.status = 'completed'")
	case q.Status != "":
		l.by("sessions_status", "s.status = ? AND s.status <> 'completed'", string(q.Status))
	}
	if q.Pinned != nil && *q.Pinned {
		l.by("sessions_pinned", "s.pinned = 1")
	}
	if q.Archived != nil && *q.Archived {
		l.by("sessions_archived", "s.archived_at IS NOT NULL")
	}
	switch {
	case q.Kind == parley.KindAgent:
		l.must("s.kind = 'agent'")
	case q.Kind != "":
		l.by("sessions_kind", "s.kind = ? AND s.kind <> 'agent'", string(q.Kind))
	}
	switch {
	case q.Mode == parley.ModeForeground:
		l.must("s.mode = 'foreground'")
	case q.Mode != "":
		l.by("sessions_mode", "s.mode = ? AND s.mode <> 'foreground'", string(q.Mode))
	}
	if q.Pinned != nil && !*q.Pinned {
		l.must("s.pinned = 0")
	}
	if q.Archived != nil && !*q.Archived {
		l.must("s.archived_at IS NULL")
	}
	if q.CreatedFrom != 0 {
		l.by("sessions_created", "s.created_at >= ?", int64(q.CreatedFrom))
	}
	if q.CreatedTo != 0 {
		l.by("sessions_created", "s.created_at < ?", int64(q.CreatedTo))
	}
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("(s.updated_at, s.id) "+after+" (?, ?)", int64(q.AfterUpdated), q.AfterID)
	}
	if from == "" {
		from = "sessions s" + l.indexed("sessions_recent")
	}
	return "SELECT " + sessionColumns + " FROM " + from + " CROSS JOIN heads h ON h.session_id = s.id WHERE " +
			l.where.String() +
			" ORDER BY s.updated_at " + word + ", s.id " + word + " LIMIT ?", append(
			l.args,
			limited(q.Limit),
		)
}

// ArchiveFeature implements store.Sessions.
func (s *Store) ArchiveFeature(
	ctx context.Context,
	scope store.Scope,
	feature string,
) (archived, busy []parley.ID, err error) {
	var l list
	l.visible(scope)
	l.must("s.feature = ? AND s.feature <> '' AND s.archived_at IS NULL", feature)
	var ids []parley.ID
	err = s.read(ctx, func(c *conn) error {
		return c.each(
			"SELECT s.id FROM sessions s INDEXED BY sessions_feature WHERE "+l.where.String()+
				" ORDER BY s.updated_at, s.id",
			func(r *row) error {
				ids = append(ids, r.id())
				return nil
			},
			l.args...)
	})
	if err != nil {
		return nil, nil, err
	}
	yes, whole := true, store.AuditFrom(ctx)
	for _, id := range ids {
		switch _, err := s.UpdateSession(store.WithAudit(ctx, whole.Of(id)), scope, id,
			store.SessionChange{Archived: &yes}); parley.ErrorCode(
			err,
		) {
		case "":
			whole.Wrote()
			archived = append(archived, id)
		case parley.CodeConflict:
			busy = append(busy, id)
		case parley.CodeNotFound: // deleted meanwhile
		default:
			return archived, busy, err
		}
	}
	return archived, busy, nil
}
