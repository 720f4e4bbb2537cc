package postgres

import (
	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/setting"
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
	b.write(
		`INSERT INTO parley.messages (id, workspace_id, session_id, log_id, sequence, position, turn_id, step, role,
			status,
 author_kind, author_id, author_name, content, context_note, tool_call_id, tool_name, covers_through, internal, steer,
  model, agent_type,
 iteration, usage, content_hash, call_ordinal, provider_data, error, metadata, overrides, token_estimate,
  idempotency_key, fingerprint,
 posted_event, created_at, updated_at, chain_version) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
  $14, $15, $16, $17, $18, $19, $20, $21, $22,
 $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37)`,
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
		max(m.ChainVersion, parley.ChainVersion1),
	)
	return nil
}

// settleMessage adds what makes a streaming row immutable.
func (b *batch) settleMessage(h *transition.Head, r *transition.SettledRow) error {
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
	b.write(
		`UPDATE parley.messages SET status = $3, content = $4, provider_data = $5, tool_name = $6, error = $7,
			usage = $8, metadata = coalesce($9, metadata),
 token_estimate = $10, chunks = $11, content_hash = $12, updated_at = $13, model = coalesce($14, model),
  chain_version = $15 WHERE workspace_id = $1 AND id = $2`,
		h.WorkspaceID,
		r.MessageID,
		string(r.Status),
		r.Content,
		r.ProviderData,
		r.ToolName,
		failure,
		usage,
		metadata,
		r.TokenEstimate,
		r.Chunks,
		r.ContentHash,
		h.Changes.At,
		model,
		r.ChainVersion,
	)
	return nil
}
