package sqlite

import (
	"context"
	"slices"

	"parley"
)

// Session finds a session by id.
func (s *Store) Session(ctx context.Context, scope parley.Scope, id parley.ID) (session parley.Session, err error) {
	err = s.read(ctx, func(c *conn) error {
		session, err = visibleSession(c, scope, id)
		return err
	})
	return session, err
}

// SessionByKey finds the session that has a key.
func (s *Store) SessionByKey(ctx context.Context, scope parley.Scope, key string) (session parley.Session, err error) {
	var l list
	l.visible(scope)
	l.must("s.key = ?", key)
	err = s.read(ctx, func(c *conn) error {
		session, err = oneSession(c, "SELECT "+sessionColumns+sessionTables+"WHERE "+l.where.String(), l.args)
		return err
	})
	return session, err
}

// visibleSession reads a session that the scope may see; CodeNotFound otherwise.
func visibleSession(c *conn, scope parley.Scope, id parley.ID) (parley.Session, error) {
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
		err = notFound("session")
	}
	return session, err
}

func listedSession(r *row) (parley.Session, error) {
	session, err := scanSession(r)
	session.Metadata = readableObject(session.Metadata)
	return session, err
}

// Sessions lists sessions by last activity.
func (s *Store) Sessions(ctx context.Context, scope parley.Scope, query parley.SessionQuery) (sessions []parley.Session, err error) {
	text, args := sessionsQuery(scope, query)
	err = s.read(ctx, func(c *conn) error {
		sessions = make([]parley.Session, 0, min(limited(query.Limit), parley.DefaultPage))
		return c.each(text, func(r *row) error {
			session, err := listedSession(r)
			sessions = append(sessions, session)
			return err
		}, args...)
	})
	return sessions, err
}

// sessionsQuery builds the list query; the narrowest filters name the index.
func sessionsQuery(scope parley.Scope, q parley.SessionQuery) (string, []arg) {
	var l list
	from := ""
	if q.Tag != "" {
		from = "session_tags g CROSS JOIN sessions s ON s.id = g.session_id"
		l.must("g.workspace_id = ? AND g.tag = ?", scope.WorkspaceID, q.Tag)
	}
	l.visible(scope)
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
	switch { // the states that most sessions are in have no index of their own: the newest first are soon found
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
	return "SELECT " + sessionColumns + " FROM " + from + " CROSS JOIN heads h ON h.session_id = s.id WHERE " + l.where.String() +
		" ORDER BY s.updated_at " + word + ", s.id " + word + " LIMIT ?", append(l.args, limited(q.Limit))
}

// UpdateSession applies a change. It is not activity: updated_at stays, and the
// feed alone tells of it.
func (s *Store) UpdateSession(ctx context.Context, scope parley.Scope, id parley.ID, change parley.SessionChange) (parley.Session, error) {
	return transact(ctx, s, func(tx *txn) (parley.Session, error) {
		h, err := tx.lock(scope, id)
		if err != nil {
			return parley.Session{}, err
		}
		session := h.Session
		if err := applyChange(tx, &session, change); err != nil {
			return parley.Session{}, err
		}
		if err := writeSession(tx, &session, h.Tags); err != nil {
			return parley.Session{}, err
		}
		h.Session = session
		tx.updatedFeed(h)
		return session, nil
	})
}

// applyChange changes the session in memory after checking what only the store can.
func applyChange(tx *txn, session *parley.Session, change parley.SessionChange) error {
	if change.Archived != nil {
		switch {
		case *change.Archived && !session.TurnID.IsZero():
			return parley.Errorf(parley.CodeConflict, "the session has an unfinished turn; wait for it or cancel it, then archive")
		case *change.Archived && session.ArchivedAt == 0:
			session.ArchivedAt = tx.now
		case !*change.Archived:
			session.ArchivedAt = 0
		}
	}
	if change.ProjectID != nil {
		if !change.ProjectID.IsZero() {
			switch found, err := tx.has("SELECT 1 FROM projects WHERE id = ? AND workspace_id = ?", *change.ProjectID, session.WorkspaceID); {
			case err != nil:
				return err
			case !found:
				return notFound("project")
			}
		}
		session.ProjectID = *change.ProjectID
	}
	set(&session.Title, change.Title)
	set(&session.Instructions, change.Instructions)
	set(&session.Pinned, change.Pinned)
	if change.Tags != nil {
		session.Tags = slices.Clone(*change.Tags) // the head is kept: it shares nothing with the caller
	}
	set(&session.Metadata, change.Metadata)
	set(&session.Overrides, change.Overrides)
	set(&session.Policy, change.Policy)
	set(&session.Retry, change.Retry)
	set(&session.During, change.During)
	set(&session.Visibility, change.Visibility)
	if session.Tags == nil {
		session.Tags = []string{}
	}
	session.Metadata = readableObject(session.Metadata)
	return nil
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// writeSession writes every column that UpdateSession may change; before are the
// tags until now.
func writeSession(tx *txn, session *parley.Session, before []string) error {
	tags, err := encode(session.Tags)
	if err != nil {
		return err
	}
	overrides, err := encode(session.Overrides)
	if err != nil {
		return err
	}
	policy, err := encodeMaybe(session.Policy)
	if err != nil {
		return err
	}
	retry, err := encodeMaybe(session.Retry)
	if err != nil {
		return err
	}
	if _, err := tx.exec(`UPDATE sessions SET title = ?, instructions = ?, pinned = ?, tags = ?, project_id = ?, metadata = ?,
 overrides = ?, policy = ?, retry = ?, during = ?, visibility = ?, archived_at = ? WHERE id = ? AND workspace_id = ?`,
		session.Title, session.Instructions, session.Pinned, tags, session.ProjectID, session.Metadata, overrides, policy, retry,
		string(session.During), string(session.Visibility), session.ArchivedAt, session.ID, session.WorkspaceID); err != nil || slices.Equal(before, session.Tags) {
		return err
	}
	return tagSession(tx, session, before)
}

// tagSession makes the index of tags agree with the session's.
func tagSession(tx *txn, session *parley.Session, before []string) error {
	for _, tag := range before {
		if _, err := tx.exec("DELETE FROM session_tags WHERE workspace_id = ? AND tag = ? AND session_id = ?", session.WorkspaceID, tag, session.ID); err != nil {
			return err
		}
	}
	for _, tag := range session.Tags {
		if _, err := tx.exec("INSERT OR IGNORE INTO session_tags (workspace_id, tag, session_id) VALUES (?, ?, ?)", session.WorkspaceID, tag, session.ID); err != nil {
			return err
		}
	}
	return nil
}

// ArchiveFeature archives the sessions of a feature, one transaction each.
func (s *Store) ArchiveFeature(ctx context.Context, scope parley.Scope, feature string) (archived, busy []parley.ID, err error) {
	var l list
	l.visible(scope)
	l.must("s.feature = ? AND s.feature <> '' AND s.archived_at IS NULL", feature)
	var ids []parley.ID
	err = s.read(ctx, func(c *conn) error {
		return c.each("SELECT s.id FROM sessions s INDEXED BY sessions_feature WHERE "+l.where.String()+" ORDER BY s.updated_at, s.id",
			func(r *row) error {
				ids = append(ids, r.id())
				return nil
			}, l.args...)
	})
	if err != nil {
		return nil, nil, err
	}
	yes := true
	for _, id := range ids {
		switch _, err := s.UpdateSession(ctx, scope, id, parley.SessionChange{Archived: &yes}); parley.ErrorCode(err) {
		case "":
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
