package sqlite

import (
	"example.org/parley"
	"example.org/parley/internal/transition"
)

// writeMessages writes what a transition changed of a session's messages.
func (t *txn) writeMessages(h *transition.Head) error {
	c := &h.Changes
	for _, id := range c.Removed { // before others take their places
		if _, err := t.exec(
			"UPDATE messages SET status = 'cancelled', position = NULL, updated_at = ? WHERE id = ?",
			c.At,
			id,
		); err != nil {
			return err
		}
	}
	for i := range c.NewMessages {
		if err := t.insertMessage(&c.NewMessages[i]); err != nil {
			return err
		}
	}
	for _, m := range c.Entered {
		if _, err := t.exec(
			`UPDATE messages SET sequence = ?, position = NULL, turn_id = ?, status = ?, steer = 0, content_hash = ?,
				chain_version = ?, call_ordinal = ?, updated_at = ? WHERE id = ?`,
			m.Sequence,
			m.TurnID,
			string(m.Status),
			m.ContentHash,
			m.ChainVersion,
			m.CallOrdinal,
			c.At,
			m.ID,
		); err != nil {
			return err
		}
	}
	for _, e := range c.Requeued {
		if _, err := t.exec(
			"UPDATE messages SET turn_id = ?, position = ?, steer = ?, updated_at = ? WHERE id = ?",
			e.TurnID,
			e.Position,
			e.Steer,
			c.At,
			e.ID,
		); err != nil {
			return err
		}
	}
	for _, m := range c.Edited {
		if _, err := t.exec(
			"UPDATE messages SET content = ?, token_estimate = ?, revision = ?, updated_at = ? WHERE id = ?",
			m.Content,
			m.TokenEstimate,
			m.Revision,
			c.At,
			m.ID,
		); err != nil {
			return err
		}
	}
	for _, m := range c.Marked {
		if m.LogID != h.LogID {
			if err := t.markShared(h, m); err != nil {
				return err
			}
			continue
		}
		if _, err := t.exec(
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
	for i := range c.Settled {
		if err := t.settleMessage(&c.Settled[i], c.At); err != nil {
			return err
		}
	}
	return nil
}

// insertMessage writes a new row; what the message does not say is null.
func (t *txn) insertMessage(n *transition.NewMessage) error {
	args, err := insertMessageArgs(nil, n)
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO messages ("+insertMessageColumns+") VALUES ("+insertMessagePlaces+")", args...)
	return err
}

// settleMessage makes a streaming row immutable; its versions keep their places alone.
func (t *txn) settleMessage(r *transition.SettledRow, at parley.Time) error {
	var metadata, model arg // of the row as it was opened, unless they are told now
	if r.Metadata != nil {
		metadata = r.Metadata
	}
	if r.Model != "" {
		model = string(r.Model)
	}
	args, err := settleMessageArgs(nil, r)
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
