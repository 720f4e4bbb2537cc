package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// Streams is the store.Relay of a single-process database, where nobody else listens. It knows the text of messages
// that outside agents stream, which is in the database and in no process's memory.
type Streams struct {
	store *Store
}

var _ store.Relay = Streams{}

// Streams returns what outside agents stream, for the hub.
func (s *Store) Streams() Streams { return Streams{s} }

// Hear implements store.Relay.
func (Streams) Hear(store.RelayListener) {}

// Tell implements store.Relay.
func (Streams) Tell(store.RelayHints) {}

// streamedNow reads the open message of a session with those versions that go beyond the known text and reasoning.
// Without any it returns one row.
const streamedNow = `SELECT o.workspace_id, o.turn_id, o.message_id, h.epoch, h.next_event - 1, v.kind, v."offset",
	v.text
 FROM outside o JOIN heads h ON h.session_id = o.session_id
 LEFT JOIN versions v ON v.message_id = o.message_id AND v.text IS NOT NULL
  AND v."end" > CASE v.kind WHEN 'text' THEN ?2 ELSE ?3 END
 WHERE o.session_id = ?1 AND h.deleted_at IS NULL ORDER BY v.n`

// Streamed implements store.Relay.
func (s Streams) Streamed(
	ctx context.Context,
	sessions []parley.ID,
	have []store.StreamEnd,
) (pieces []store.StreamPiece, err error) {
	err = s.store.read(ctx, func(c *conn) error {
		pieces = nil
		for _, id := range sessions {
			message, err := idOf(c, "SELECT message_id FROM outside WHERE session_id = ?", id)
			if err != nil {
				return err
			}
			if message.IsZero() {
				continue
			}
			text, reasoning := 0, 0
			for _, known := range have {
				switch {
				case known.MessageID != message:
				case known.Kind == parley.KindText:
					text = known.End
				case known.Kind == parley.KindReasoning:
					reasoning = known.End
				}
			}
			if err := c.each(streamedNow, func(r *row) error {
				pieces = append(pieces, store.StreamPiece{
					WorkspaceID: r.id(),
					SessionID:   id,
					TurnID:      r.id(),
					MessageID:   r.id(),
					Epoch:       r.int64(),
					After:       r.int64(),
					Kind:        parley.ContentKind(r.text()),
					Offset:      r.int(),
					Text:        r.text(),
				})
				return nil
			}, id, text, reasoning); err != nil {
				return err
			}
		}
		return nil
	})
	return pieces, err
}

// idOf reads one id; zero if there is none.
func idOf(c *conn, query string, args ...arg) (id parley.ID, err error) {
	_, err = c.one(query, func(r *row) error {
		id = r.id()
		return nil
	}, args...)
	return id, err
}
