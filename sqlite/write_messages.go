package sqlite

import (
	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/setting"
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
	var key, usage, failure, overrides, sequence arg
	var err error
	m := n.Message
	if n.Idempotency.Key != "" {
		key = n.Idempotency.Key
	}
	if usage, err = encodeMaybe(m.Usage); err != nil {
		return err
	}
	if failure, err = encodeMaybe(m.Error); err != nil {
		return err
	}
	if !setting.IsZero(&m.Settings) {
		if overrides, err = encode(m.Settings); err != nil {
			return err
		}
	}
	if m.Sequence != 0 {
		sequence = m.Sequence
	}
	_, err = t.exec(
		`INSERT INTO messages (id, workspace_id, session_id, log_id, sequence, position, turn_id, step, role, status,
 author_kind, author_id, author_name, content, context_note, tool_call_id, tool_name, covers_through, internal, steer,
  model, agent_type,
 iteration, usage, content_hash, chain_version, call_ordinal, provider_data, error, metadata, overrides, token_estimate,
  idempotency_key, fingerprint,
 posted_event, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
  ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.ID,
		m.WorkspaceID,
		m.SessionID,
		m.LogID,
		sequence,
		m.Position,
		m.TurnID,
		m.Step,
		string(m.Role),
		string(m.Status),
		string(
			m.Author.Kind,
		),
		m.Author.ID,
		m.Author.Name,
		m.Content,
		m.ContextNote,
		m.ToolCallID,
		m.ToolName,
		m.CoversThrough,
		m.Internal,
		m.Steer,
		string(
			m.Model,
		),
		m.AgentType,
		m.Iteration,
		usage,
		m.ContentHash,
		max(m.ChainVersion, parley.ChainVersion1),
		m.CallOrdinal,
		m.ProviderData,
		failure,
		m.Metadata,
		overrides,
		m.TokenEstimate,
		key,
		n.Idempotency.Fingerprint,
		n.PostedEvent,
		m.CreatedAt,
		m.UpdatedAt,
	)
	return err
}

// settleMessage makes a streaming row immutable; its versions keep their places alone.
func (t *txn) settleMessage(r *transition.SettledRow, at parley.Time) error {
	usage, err := encodeMaybe(r.Usage)
	if err != nil {
		return err
	}
	failure, err := encodeMaybe(r.Error)
	if err != nil {
		return err
	}
	var metadata, model arg // of the row as it was opened, unless they are told now
	if r.Metadata != nil {
		metadata = r.Metadata
	}
	if r.Model != "" {
		model = string(r.Model)
	}
	if _, err := t.exec(
		`UPDATE messages SET status = ?, content = ?, provider_data = ?, tool_name = ?, error = ?, usage = ?,
			metadata = coalesce(?, metadata),
 model = coalesce(?, model), token_estimate = ?, chunks = ?, content_hash = ?, chain_version = ?, updated_at = ?
  WHERE id = ?`,
		string(r.Status),
		r.Content,
		r.ProviderData,
		r.ToolName,
		failure,
		usage,
		metadata,
		model,
		r.TokenEstimate,
		r.Chunks,
		r.ContentHash,
		r.ChainVersion,
		at,
		r.MessageID,
	); err != nil {
		return err
	}
	_, err = t.exec("UPDATE versions SET text = NULL WHERE message_id = ?", r.MessageID)
	return err
}
