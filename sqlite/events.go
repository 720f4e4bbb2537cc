package sqlite

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// Events implements store.Sessions.
func (s *Store) Events(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	after int64,
	limit int,
) (events []parley.Event, err error) {
	err = s.read(ctx, func(c *conn) error {
		if _, err := locate(c, scope, sessionID); err != nil {
			return err
		}
		events = []parley.Event{}
		if err := c.each(
			"SELECT sequence, type, turn_id, data, created_at FROM events WHERE session_id = ? AND sequence > ? "+
				"ORDER BY sequence LIMIT ?",
			func(r *row) error {
				events = append(
					events,
					parley.Event{SessionID: sessionID, Sequence: r.int64(), Type: parley.EventType(r.text()),
						TurnID: r.id(), Data: r.json(), CreatedAt: r.time()},
				)
				return nil
			},
			sessionID,
			after,
			limited(limit),
		); err != nil {
			return err
		}
		contentOf := func(messageID parley.ID) (content json.RawMessage, err error) {
			_, err = c.one("SELECT content FROM messages WHERE id = ?", func(r *row) error {
				content = r.json()
				return nil
			}, messageID)
			return content, err
		}
		size := 0
		for i := range events {
			if err := transition.CompleteSettled(&events[i], contentOf); err != nil {
				return err
			}
			if size += len(events[i].Data); size >= parley.MaxPageBytes {
				events = events[:i+1]
				break
			}
		}
		return nil
	})
	return events, err
}

// headStates reads the heads of many sessions at once: ?1 is their concatenated ids.
const headStates = `WITH RECURSIVE asked (i, id) AS (
 SELECT 0, substr(?1, 1, 16) UNION ALL SELECT i + 1, substr(?1, 16 * (i + 1) + 1, 16) FROM asked WHERE i + 1 < ?2)
 SELECT a.i, h.next_event - 1, s.owner_id, s.visibility FROM asked a CROSS JOIN heads h ON h.session_id = a.id
  CROSS JOIN sessions s ON s.id = a.id
 WHERE h.deleted_at IS NULL`

// Heads implements store.Sessions, in the order of the ids.
func (s *Store) Heads(ctx context.Context, sessionIDs []parley.ID) ([]store.HeadState, error) {
	states := make([]store.HeadState, len(sessionIDs))
	if len(sessionIDs) == 0 {
		return states, nil
	}
	asked := make([]byte, 0, len(sessionIDs)*len(parley.ID{}))
	for i, id := range sessionIDs {
		asked = append(asked, id[:]...)
		states[i] = store.HeadState{SessionID: id, Deleted: true}
	}
	err := s.read(ctx, func(c *conn) error {
		return c.each(headStates, func(r *row) error {
			state := &states[r.int()]
			state.LastEvent, state.OwnerID, state.Visibility, state.Deleted = r.int64(), r.id(), parley.Visibility(
				r.text(),
			), false
			return nil
		}, asked, len(sessionIDs))
	})
	if err != nil {
		return nil, err
	}
	return states, nil
}
