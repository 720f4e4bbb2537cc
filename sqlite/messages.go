package sqlite

import (
	"context"
	"errors"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// locate finds where a session's messages are stored; CodeNotFound if the scope may not see the session.
func locate(c *conn, scope store.Scope, sessionID parley.ID) (at location, err error) {
	var l list
	l.must("s.id = ?", sessionID)
	l.visible(scope)
	var forked *int64
	found, err := c.one(
		"SELECT s.workspace_id, s.id, s.log_id, s.forked_through FROM sessions s WHERE "+l.where.String(),
		func(r *row) error {
			at, forked = location{workspaceID: r.id(), sessionID: r.id(), logID: r.id()}, r.maybe()
			return nil
		},
		l.args...)
	switch {
	case err == nil && !found:
		err = transition.NotFound("session")
	case err == nil && forked != nil:
		at.shared, err = sharedParts(c, at.sessionID)
	}
	return at, err
}

// Messages lists the record by sequence, then the queue by position.
func (s *Store) Messages(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	query store.MessageQuery,
) ([]parley.Message, error) {
	if first, second, ok := halves(query); ok {
		if messages, err := s.inHalves(ctx, scope, sessionID, query, first, second); err != nil || messages != nil {
			return messages, err
		}
	}
	return s.page(ctx, scope, sessionID, query)
}

// page reads a page with one query.
func (s *Store) page(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	query store.MessageQuery,
) (messages []parley.Message, err error) {
	err = s.read(ctx, func(c *conn) error {
		at, err := locate(c, scope, sessionID)
		if err != nil {
			return err
		}
		messages = make([]parley.Message, 0, min(limited(query.Limit), firstRows))
		size := 0
		err = listMessages(c, listedColumns, at, query, func(r *row, of location) error {
			messages = append(messages, scanListed(r, of))
			size += messages[len(messages)-1].Size()
			if query.MaxBytes > 0 && size >= query.MaxBytes && len(messages) > 1 {
				return errPageFull
			}
			return nil
		})
		if err != nil && !errors.Is(err, errPageFull) {
			return err
		}
		return ownMarks(c, at, messages)
	})
	return messages, err
}

// firstRows is the initial capacity of a page. Most pages are short; capacity for the longest would be most of a
// megabyte.
const firstRows = 16

// errPageFull ends a query whose rows reach the page's bytes.
var errPageFull = errors.New("sqlite: the page is full")

// MessageIDs lists only ids and positions.
func (s *Store) MessageIDs(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	query store.MessageQuery,
) (refs []store.MessageRef, err error) {
	err = s.read(ctx, func(c *conn) error {
		at, err := locate(c, scope, sessionID)
		if err != nil {
			return err
		}
		refs = make([]store.MessageRef, 0, min(limited(query.Limit), parley.MaxPage))
		return listMessages(c, "m.id, m.sequence, m.position", at, query, func(r *row, _ location) error {
			refs = append(refs, store.MessageRef{ID: r.id(), Sequence: r.int64(), Position: r.maybe()})
			return nil
		})
	})
	return refs, err
}

// Message implements store.Messages.
func (s *Store) Message(ctx context.Context, scope store.Scope, id parley.ID) (message parley.Message, err error) {
	err = s.read(ctx, func(c *conn) error {
		message, err = visibleMessage(c, scope, id)
		return err
	})
	return message, err
}

// visibleMessage reads a message if the scope may see its session, or a fork that shares it.
func visibleMessage(c *conn, scope store.Scope, id parley.ID) (message parley.Message, err error) {
	for _, through := range []string{"sessions s ON s.id = m.session_id", readersOf} {
		var l list
		l.must("m.id = ?", id)
		l.visible(scope)
		found, err := c.one("SELECT m.workspace_id, m.session_id, m.log_id, "+listedColumns+
			" FROM messages m JOIN "+through+" WHERE "+l.where.String()+" LIMIT 1", func(r *row) error {
			message = scanListed(r, location{workspaceID: r.id(), sessionID: r.id(), logID: r.id()})
			return nil
		}, l.args...)
		if err != nil || found {
			return message, err
		}
	}
	return message, transition.NotFound("message")
}
