package sqlite

import (
	"example.org/parley"
	"example.org/parley/internal/transition"
)

// RemoveQueued implements transition.Writer.
func (w changes) RemoveQueued(h *transition.Head, ids []parley.ID) error {
	for _, id := range ids {
		if _, err := w.exec(
			"UPDATE messages SET status = 'cancelled', position = NULL, updated_at = ? WHERE id = ?",
			h.Changes.At,
			id,
		); err != nil {
			return err
		}
	}
	return nil
}

// InsertMessages implements transition.Writer.
func (w changes) InsertMessages(_ *transition.Head, messages []transition.NewMessage) error {
	for i := range messages {
		if err := w.insertMessage(&messages[i]); err != nil {
			return err
		}
	}
	return nil
}

// EnterMessages implements transition.Writer.
func (w changes) EnterMessages(h *transition.Head, messages []*parley.Message) error {
	for _, m := range messages {
		if _, err := w.exec(
			`UPDATE messages SET sequence = ?, position = NULL, turn_id = ?, status = ?, steer = 0, content_hash = ?,
				chain_version = ?, call_ordinal = ?, updated_at = ? WHERE id = ?`,
			m.Sequence,
			m.TurnID,
			string(m.Status),
			m.ContentHash,
			m.ChainVersion,
			m.CallOrdinal,
			h.Changes.At,
			m.ID,
		); err != nil {
			return err
		}
	}
	return nil
}

// Requeue implements transition.Writer.
func (w changes) Requeue(h *transition.Head, entries []transition.Entry) error {
	for _, e := range entries {
		if _, err := w.exec(
			"UPDATE messages SET turn_id = ?, position = ?, steer = ?, updated_at = ? WHERE id = ?",
			e.TurnID,
			e.Position,
			e.Steer,
			h.Changes.At,
			e.ID,
		); err != nil {
			return err
		}
	}
	return nil
}

// EditQueued implements transition.Writer.
func (w changes) EditQueued(h *transition.Head, messages []*parley.Message) error {
	for _, m := range messages {
		if _, err := w.exec(
			"UPDATE messages SET content = ?, token_estimate = ?, revision = ?, updated_at = ? WHERE id = ?",
			m.Content,
			m.TokenEstimate,
			m.Revision,
			h.Changes.At,
			m.ID,
		); err != nil {
			return err
		}
	}
	return nil
}

// Mark implements transition.Writer.
func (w changes) Mark(h *transition.Head, marked []transition.Marked) error {
	for _, m := range marked {
		if m.LogID != h.LogID {
			if err := w.markShared(h, m); err != nil {
				return err
			}
			continue
		}
		if _, err := w.exec(
			"UPDATE messages SET pinned = ?, context_edge = ?, set_aside = ?, pinned_event = max(pinned_event, ?) "+
				"WHERE id = ?",
			m.Marks.Pinned,
			m.Marks.ContextEdge,
			m.Marks.SetAside,
			m.PinnedEvent,
			m.ID,
		); err != nil {
			return err
		}
	}
	return nil
}

// SettleMessages implements transition.Writer.
func (w changes) SettleMessages(h *transition.Head, rows []transition.SettledRow) error {
	for i := range rows {
		if err := w.settleMessage(&rows[i], h.Changes.At); err != nil {
			return err
		}
	}
	return nil
}

// insertMessage writes a new row; absent fields are null.
func (t *txn) insertMessage(n *transition.NewMessage) error {
	args, err := insertMessageArgs(t.args[:0], n)
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO messages ("+insertMessageColumns+") VALUES ("+insertMessagePlaces+")", args...)
	return err
}

// settleMessage makes a streaming row immutable; its versions lose their texts.
func (t *txn) settleMessage(r *transition.SettledRow, at parley.Time) error {
	var metadata, model arg // those of the open row, unless given now
	if r.Metadata != nil {
		metadata = r.Metadata
	}
	if r.Model != "" {
		model = string(r.Model)
	}
	args, err := settleMessageArgs(t.args[:0], r)
	if err != nil {
		return err
	}
	if _, err := t.exec(
		"UPDATE messages SET "+settleMessageSet+", metadata = coalesce(?, metadata), model = coalesce(?, model), "+
			"updated_at = ? WHERE id = ?",
		append(args, metadata, model, at, r.MessageID)...); err != nil {
		return err
	}
	_, err = t.exec("UPDATE versions SET text = NULL WHERE message_id = ?", r.MessageID)
	return err
}
