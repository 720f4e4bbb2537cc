package postgres

import (
	"example.org/parley"
	"example.org/parley/internal/transition"
)

// RemoveQueued implements transition.Writer.
func (w *changes) RemoveQueued(h *transition.Head, ids []parley.ID) error {
	w.write(
		"UPDATE parley.messages SET status = 'cancelled', position = NULL, updated_at = $3 "+
			"WHERE workspace_id = $1 AND id = ANY($2)",
		h.WorkspaceID,
		ids,
		h.Changes.At,
	)
	return nil
}

// InsertMessages implements transition.Writer.
func (w *changes) InsertMessages(_ *transition.Head, messages []transition.NewMessage) error {
	for i := range messages {
		args, err := insertMessageArgs(nil, &messages[i])
		if err != nil {
			return err
		}
		w.write("INSERT INTO parley.messages ("+insertMessageColumns+") VALUES ("+insertMessagePlaces+")", args...)
	}
	return nil
}

// EnterMessages implements transition.Writer.
func (w *changes) EnterMessages(h *transition.Head, messages []*parley.Message) error {
	for _, m := range messages {
		w.write(
			`UPDATE parley.messages SET sequence = $3, position = NULL, turn_id = $4, status = $5, steer = false,
				content_hash = $6, call_ordinal = $7, updated_at = $8, chain_version = $9
 WHERE workspace_id = $1 AND id = $2`,
			h.WorkspaceID,
			m.ID,
			m.Sequence,
			m.TurnID,
			string(m.Status),
			m.ContentHash,
			m.CallOrdinal,
			h.Changes.At,
			m.ChainVersion,
		)
	}
	return nil
}

// Requeue implements transition.Writer.
func (w *changes) Requeue(h *transition.Head, entries []transition.Entry) error {
	for _, e := range entries {
		w.write(
			"UPDATE parley.messages SET turn_id = $3, position = $4, steer = $5, updated_at = $6 "+
				"WHERE workspace_id = $1 AND id = $2",
			h.WorkspaceID,
			e.ID,
			e.TurnID,
			e.Position,
			e.Steer,
			h.Changes.At,
		)
	}
	return nil
}

// EditQueued implements transition.Writer.
func (w *changes) EditQueued(h *transition.Head, messages []*parley.Message) error {
	for _, m := range messages {
		w.write(
			"UPDATE parley.messages SET content = $3, revision = $4, updated_at = $5, token_estimate = $6 "+
				"WHERE workspace_id = $1 AND id = $2",
			h.WorkspaceID,
			m.ID,
			m.Content,
			m.Revision,
			h.Changes.At,
			m.TokenEstimate,
		)
	}
	return nil
}

// Mark implements transition.Writer.
func (w *changes) Mark(h *transition.Head, marked []transition.Marked) error {
	for _, m := range marked {
		w.mark(h, m)
	}
	return nil
}

// SettleMessages implements transition.Writer.
func (w *changes) SettleMessages(h *transition.Head, rows []transition.SettledRow) error {
	settled := make([]parley.ID, 0, len(rows))
	for i := range rows {
		if err := w.settleMessage(h, &rows[i]); err != nil {
			return err
		}
		settled = append(settled, rows[i].MessageID)
	}
	w.write( // the versions lose their texts
		"UPDATE parley.versions SET text = NULL WHERE workspace_id = $1 AND message_id = ANY($2)",
		h.WorkspaceID,
		settled,
	)
	return nil
}

// settleMessage adds what makes a streaming row immutable.
func (b *batch) settleMessage(h *transition.Head, r *transition.SettledRow) error {
	var metadata, model arg // those of the open row, unless given now
	if r.Metadata != nil {
		metadata = r.Metadata
	}
	if r.Model != "" {
		model = string(r.Model)
	}
	args, err := settleMessageArgs([]arg{h.WorkspaceID, r.MessageID}, r)
	if err != nil {
		return err
	}
	b.write(
		"UPDATE parley.messages SET "+settleMessageSet+", metadata = coalesce("+settleMessagePlace1+
			", metadata), model = coalesce("+settleMessagePlace2+", model), updated_at = "+settleMessagePlace3+
			" WHERE workspace_id = $1 AND id = $2",
		append(args, metadata, model, h.Changes.At)...)
	return nil
}
