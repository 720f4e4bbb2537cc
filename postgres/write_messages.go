package postgres

import (
	"example.org/parley"
	"example.org/parley/internal/transition"
)

// messages adds what a transition changed of a session's messages.
func (b *batch) messages(h *transition.Head) error {
	c := &h.Changes
	if len(c.Removed) > 0 { // before others take their places
		b.write(
			"UPDATE parley.messages SET status = 'cancelled', position = NULL, updated_at = $3 "+
				"WHERE workspace_id = $1 AND id = ANY($2)",
			h.WorkspaceID,
			c.Removed,
			c.At,
		)
	}
	for i := range c.NewMessages {
		if err := b.insertMessage(&c.NewMessages[i]); err != nil {
			return err
		}
	}
	for _, m := range c.Entered {
		b.write(
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
			c.At,
			m.ChainVersion,
		)
	}
	for _, e := range c.Requeued {
		b.write(
			"UPDATE parley.messages SET turn_id = $3, position = $4, steer = $5, updated_at = $6 "+
				"WHERE workspace_id = $1 AND id = $2",
			h.WorkspaceID,
			e.ID,
			e.TurnID,
			e.Position,
			e.Steer,
			c.At,
		)
	}
	for _, m := range c.Edited {
		b.write(
			"UPDATE parley.messages SET content = $3, revision = $4, updated_at = $5, token_estimate = $6 "+
				"WHERE workspace_id = $1 AND id = $2",
			h.WorkspaceID,
			m.ID,
			m.Content,
			m.Revision,
			c.At,
			m.TokenEstimate,
		)
	}
	for _, m := range c.Marked {
		b.mark(h, m)
	}
	settled := make([]parley.ID, 0, len(c.Settled))
	for i := range c.Settled {
		if err := b.settleMessage(h, &c.Settled[i]); err != nil {
			return err
		}
		settled = append(settled, c.Settled[i].MessageID)
	}
	if len(settled) > 0 { // the versions keep their places alone
		b.write(
			"UPDATE parley.versions SET text = NULL WHERE workspace_id = $1 AND message_id = ANY($2)",
			h.WorkspaceID,
			settled,
		)
	}
	return nil
}

// insertMessage adds a new row; what the message does not say is null.
func (b *batch) insertMessage(n *transition.NewMessage) error {
	args, err := insertMessageArgs(nil, n)
	if err != nil {
		return err
	}
	b.write("INSERT INTO parley.messages ("+insertMessageColumns+") VALUES ("+insertMessagePlaces+")", args...)
	return nil
}

// settleMessage adds what makes a streaming row immutable.
func (b *batch) settleMessage(h *transition.Head, r *transition.SettledRow) error {
	var metadata, model arg // of the row as it was opened, unless they are told now
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
