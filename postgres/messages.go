package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// visibleLog returns the part of a statement that finds a session's log if the scope may see the session, so that all
// queries of a page travel in one batch.
func (l *filter) visibleLog(scope store.Scope, sessionID parley.ID) string {
	var inner filter
	inner.args = l.args
	inner.visible(scope)
	inner.must("s.id = ?", sessionID)
	l.args = inner.args
	return "(SELECT s.log_id FROM parley.sessions s WHERE " + inner.where.String() + ")"
}

// noteVisible adds a statement that finds out whether a scope may see a session.
func (b *batch) noteVisible(scope store.Scope, sessionID parley.ID, found *bool) {
	var l filter
	l.visible(scope)
	l.must("s.id = ?", sessionID)
	*found = false
	b.read("SELECT 1 FROM parley.sessions s WHERE "+l.where.String(), func(*row) error {
		*found = true
		return nil
	}, l.args...)
}

// page reads rows of a session on one snapshot; CodeNotFound if the scope may not see it. fill adds the statements,
// anew for each attempt.
func (s *Store) page(ctx context.Context, scope store.Scope, sessionID parley.ID, fill func(b *batch)) error {
	found := false
	err := s.read(ctx, func() *batch {
		b := ordered(scope.WorkspaceID)
		b.snapshot = true
		b.noteVisible(scope, sessionID, &found)
		fill(b)
		return b
	})
	if err == nil && !found {
		err = transition.NotFound("session")
	}
	return err
}

// Messages lists the record by sequence, then the queue by position.
func (s *Store) Messages(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	query store.MessageQuery,
) (messages []parley.Message, err error) {
	size := 0
	err = s.messages(
		ctx,
		messageColumns,
		scope,
		sessionID,
		query,
		func() { messages, size = []parley.Message{}, 0 },
		func(r *row) error {
			if query.MaxBytes > 0 && size >= query.MaxBytes && len(messages) > 1 {
				return errPageFull
			}
			m, err := scanMessage(r)
			size += m.Size()
			messages = append(messages, m)
			return err
		},
	)
	return messages, err
}

// MessageIDs lists only ids and positions.
func (s *Store) MessageIDs(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	query store.MessageQuery,
) (refs []store.MessageRef, err error) {
	query.MaxBytes = 0
	err = s.messages(
		ctx,
		"m.id, m.sequence, m.position",
		scope,
		sessionID,
		query,
		func() { refs = []store.MessageRef{} },
		func(r *row) error {
			refs = append(refs, store.MessageRef{ID: r.id(), Sequence: r.int64(), Position: r.maybe()})
			return nil
		},
	)
	return refs, err
}

// messages visits the messages of a page: those of the record, then of the queue.
func (s *Store) messages(
	ctx context.Context,
	columns string,
	scope store.Scope,
	sessionID parley.ID,
	q store.MessageQuery,
	reset func(),
	visit func(*row) error,
) error {
	return s.record(ctx, scope, sessionID, func(b *batch, shared []transition.Part) {
		reset()
		_, rows := limited(q.Limit)
		visit := upTo(rows, visit)
		if text, args := recordQuery(columns, scope, sessionID, shared, q); text != "" {
			b.read(text, visit, args...)
		}
		if text, args := queueQuery(columns, sessionID, q); text != "" {
			b.read(text, visit, args...)
		}
	})
}

// Message implements store.Messages.
func (s *Store) Message(ctx context.Context, scope store.Scope, id parley.ID) (message parley.Message, err error) {
	for _, through := range messageSessions {
		text, args := visibleMessage(scope, id, through)
		message, err = one(
			ctx,
			s,
			tenant(scope.WorkspaceID),
			"message",
			scanMessage,
			"SELECT "+messageColumns+text,
			args...)
		if parley.ErrorCode(err) != parley.CodeNotFound {
			return message, err
		}
	}
	return message, err
}

// messageSessions join the sessions "s" of a message "m": the one that wrote it and, if that one is hidden, the forks
// that share it.
var messageSessions = [...]string{ //nolint:gochecknoglobals // never written
	"parley.sessions s ON s.workspace_id = m.workspace_id AND s.id = m.session_id", readersOf,
}

// visibleMessage ends a query for a message of a session that the scope may see.
func visibleMessage(scope store.Scope, id parley.ID, through string) (string, []arg) {
	var l filter
	l.must("m.workspace_id = "+here+" AND m.id = ?", id)
	l.visible(scope)
	return " FROM parley.messages m JOIN " + through + " WHERE " + l.where.String() + " LIMIT 1", l.args
}

// Versions implements store.Messages.
func (s *Store) Versions(
	ctx context.Context,
	scope store.Scope,
	messageID parley.ID,
) (versions []parley.Version, err error) {
	var message *parley.Message
	chunks := 0
	err = s.read(ctx, func() *batch {
		message, versions = nil, []parley.Version{}
		b := tenant(scope.WorkspaceID)
		b.snapshot = true
		for _, through := range messageSessions {
			text, args := visibleMessage(scope, messageID, through)
			b.read("SELECT "+messageColumns+", m.chunks"+text, func(r *row) error {
				m, err := scanMessage(r)
				message, chunks = &m, r.int()
				return err
			}, args...)
		}
		b.read(
			`SELECT n, kind, "offset", "end", chunks, text, created_at FROM parley.versions
				WHERE workspace_id = $1 AND message_id = $2 ORDER BY n`,
			func(r *row) error {
				versions = append(
					versions,
					parley.Version{MessageID: messageID, N: r.int(), Kind: parley.ContentKind(r.text()),
						Offset: r.int(), End: r.int(), Chunks: r.int(), Text: r.text(), CreatedAt: r.time()},
				)
				return nil
			},
			scope.WorkspaceID,
			messageID,
		)
		return b
	})
	switch {
	case err != nil:
		return nil, err
	case message == nil:
		return nil, transition.NotFound("message")
	case message.Status.Settled():
		versions = transition.SettledVersions(message, versions, chunks)
	}
	return versions, nil
}
