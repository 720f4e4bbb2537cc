package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// streamedNow reads streaming messages, with those versions that go beyond what is known. A message without any has one
// row.
const streamedNow = `SELECT h.workspace_id, h.session_id, m.turn_id, m.id, h.epoch, h.next_event - 1, v.kind,
	v."offset", v.text
 FROM parley.heads h
 JOIN parley.messages m ON m.workspace_id = h.workspace_id AND m.turn_id = h.turn_id AND m.status = 'streaming'
 LEFT JOIN parley.versions v ON v.workspace_id = m.workspace_id AND v.message_id = m.id AND v.text IS NOT NULL
  AND v."end" > coalesce((SELECT max(k.upto) FROM unnest($2::uuid[], $3::text[], $4::bigint[]) k (id, kind, upto)
  	WHERE k.id = v.message_id AND k.kind = v.kind), 0)
 WHERE h.session_id = ANY($1) AND h.turn_id IS NOT NULL AND h.deleted_at IS NULL
 ORDER BY m.sequence, v.n`

// Streamed implements store.Relay.
func (r *Relay) Streamed(
	ctx context.Context,
	sessions []parley.ID,
	have []store.StreamEnd,
) ([]store.StreamPiece, error) {
	messages, kinds, ends := make([]parley.ID, len(have)), make([]string, len(have)), make([]int64, len(have))
	for i, known := range have {
		messages[i], kinds[i], ends[i] = known.MessageID, string(known.Kind), int64(known.End)
	}
	var pieces []store.StreamPiece
	err := r.store.read(ctx, func() *batch {
		pieces = nil
		b := system()
		b.read(streamedNow, func(row *row) error {
			pieces = append(pieces, store.StreamPiece{
				WorkspaceID: row.id(),
				SessionID:   row.id(),
				TurnID:      row.id(),
				MessageID:   row.id(),
				Epoch:       row.int64(),
				After:       row.int64(),
				Kind:        parley.ContentKind(row.text()),
				Offset:      row.int(),
				Text:        row.text(),
			})
			return nil
		}, sessions, messages, kinds, ends)
		return b
	})
	return pieces, err
}
