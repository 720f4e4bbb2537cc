package postgres

import (
	"slices"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/setting"
)

// updateHead is the fence of a transition: it voids the batch when the head has
// another revision than the one that was computed with. With a claim it looks at
// the lease and at the agent's version in the same statement, with a call at its
// texts: a statement more costs more than a condition.
const (
	updateHead      = movedHead + elseStale
	updateHeadClaim = movedHead +
		` WHEN NOT EXISTS (SELECT 1 FROM parley.processes WHERE id = $36
			AND lease_until > parley.now_ms()) THEN parley.lease_gone()
 WHEN NOT EXISTS (SELECT 1 FROM parley.agents WHERE workspace_id = $2 AND id = $37
  AND version = $38) THEN parley.stale()` + elseStale
	updateHeadCall = movedHead +
		` WHEN (SELECT count(*) FROM parley.call_texts WHERE workspace_id = $2
			AND hash = ANY($36)) < cardinality($36) THEN parley.stale()` + elseStale
)

const (
	elseStale = ` ELSE 0 END`
	movedHead = `WITH moved AS (UPDATE parley.heads SET revision = $3 + 1, turn_status = $4, next_sequence = $5,
		next_event = $6,
 next_position = $7, front_position = $8, next_call = $9, queued = $10, steers = $11, last_hash = $12, messages = $13,
  user_facing = $14, turns = $15,
 input_tokens = $16, output_tokens = $17, cached_tokens = $18, unknown_calls = $19, cost = $20, unpriced_calls = $21,
  calls = $22, cache_hits = $23, cache_write_tokens = $24, saved = $25,
 context_anchor = $26, context_messages = $27, context_tokens = $28, context_cleared = $29, context_held = $30,
 epoch = $31, holder = $32, turn_id = $33, cancel_turn = $34, deleted_at = $35
  WHERE session_id = $1 AND workspace_id = $2 AND revision = $3 RETURNING 1)
 SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM moved) THEN parley.stale()`
)

const insertHead = `INSERT INTO parley.heads (session_id, workspace_id, revision, turn_status, next_sequence,
	next_event, next_position, front_position,
 next_call, queued, steers, last_hash, messages, user_facing, turns, input_tokens, output_tokens, cached_tokens,
  unknown_calls, cost, unpriced_calls,
 calls, cache_hits, cache_write_tokens, saved,
 context_anchor, context_messages, context_tokens, context_cleared, context_held, epoch, holder, turn_id, cancel_turn,
  deleted_at, log_id, mode)
 VALUES ($1, $2, $3 + 1, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
  $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37)`

// headValues are the arguments of both.
func headValues(h *transition.Head) []arg {
	s := &h.Statistics
	return append(
		make([]arg, 0, 38),
		h.ID,
		h.WorkspaceID,
		h.Revision,
		string(h.TurnStatus),
		h.LastSequence+1,
		h.LastEvent+1,
		h.Back,
		h.Front,
		h.NextCall,
		h.Queued,
		h.Steers,
		h.LastHash,
		s.Messages,
		s.UserFacing,
		s.Turns,
		s.InputTokens,
		s.OutputTokens,
		s.CachedTokens,
		s.Unknown,
		int64(s.Cost),
		s.Unpriced,
		s.Calls,
		s.CacheHits,
		s.CacheWriteTokens,
		int64(s.Saved),
		h.Context.Anchor,
		h.Context.Messages,
		h.Context.Tokens,
		h.Context.Cleared,
		h.Context.Held,
		h.Epoch,
		h.Holder,
		h.TurnID,
		h.Cancel,
		h.DeletedAt,
	)
}

// session adds what a transition changed of a session's own rows, the fence first.
func (b *batch) session(h *transition.Head) error {
	c := &h.Changes
	if c.New != nil {
		b.write(insertHead, append(headValues(h), h.LogID, string(h.Mode))...)
		if c.New.Inherited != nil {
			b.inherit(h, c.New.Inherited)
		}
		return b.insertSession(h)
	}
	switch values := headValues(h); {
	case b.claims != nil:
		b.write(updateHeadClaim, append(values, b.claims...)...)
		b.claims = nil
	case len(b.texts) > 0:
		b.write(updateHeadCall, append(values, b.texts)...)
		b.texts = nil
	default:
		b.write(updateHead, values...)
	}
	if c.ContextCleared != 0 {
		b.write(
			"UPDATE parley.heads SET cleared_at = $3, cleared_event = $4 WHERE workspace_id = $1 AND session_id = $2",
			h.WorkspaceID,
			h.ID,
			h.Context.ClearedAt,
			c.ContextCleared,
		)
	}
	if c.Listed {
		b.write(
			"UPDATE parley.sessions SET status = $3, wait_reason = $4, title = $5, updated_at = $6, started_at = $7, "+
				"finished_at = $8 WHERE workspace_id = $1 AND id = $2",
			h.WorkspaceID,
			h.ID,
			string(h.Status),
			string(h.WaitReason),
			h.Title,
			h.UpdatedAt,
			h.StartedAt,
			h.FinishedAt,
		)
	}
	if c.Accepted != nil {
		accepted, err := encode(c.Accepted)
		if err != nil {
			return err
		}
		b.write(
			"UPDATE parley.sessions SET accepted = $3 WHERE workspace_id = $1 AND id = $2",
			h.WorkspaceID,
			h.ID,
			accepted,
		)
	}
	if c.Setting != nil {
		if err := b.updateSetting(&h.Session, c.Setting.TagsBefore); err != nil {
			return err
		}
	}
	if c.Buried {
		b.bury(h)
	}
	return nil
}

// sessionJSON are the columns of a session that hold JSON.
func sessionJSON(s *parley.Session) (tags, overrides string, policy, retry arg, err error) {
	if tags, err = encode(s.Tags); err != nil {
		return tags, overrides, policy, retry, err
	}
	overrides = "{}"
	if stored := setting.Stored(s.Settings); !setting.IsZero(&stored) {
		if overrides, err = encode(stored); err != nil {
			return tags, overrides, policy, retry, err
		}
	}
	if policy, err = encodeMaybe(s.Policy); err != nil {
		return tags, overrides, policy, retry, err
	}
	retry, err = encodeMaybe(s.Retry)
	return tags, overrides, policy, retry, err
}

// insertSession adds the listed row of a new session and its tags.
func (b *batch) insertSession(h *transition.Head) error {
	s := &h.Session
	tags, overrides, policy, retry, err := sessionJSON(s)
	if err != nil {
		return err
	}
	var key, idempotency arg
	if s.Key != "" {
		key = s.Key
	}
	if used := h.Changes.New.Idempotency.Key; used != "" {
		idempotency = used
	}
	accepted, err := encodeMaybe(h.Changes.New.Accepted)
	if err != nil {
		return err
	}
	b.write(
		`INSERT INTO parley.sessions (id, workspace_id, agent_id, owner_id, visibility, project_id, parent_session_id,
			parent_message_id,
 log_id, kind, mode, type, feature, task, key, title, instructions, tags, pinned, metadata, overrides, policy, retry,
  during, status, wait_reason,
 idempotency_key, fingerprint, created_at, updated_at, started_at, finished_at, root_id, depth, forked_through,
  accepted)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
  $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36)`,
		s.ID,
		s.WorkspaceID,
		s.AgentID,
		s.OwnerID,
		string(s.Visibility),
		s.ProjectID,
		s.ParentSessionID,
		s.ParentMessageID,
		s.LogID,
		string(s.Kind),
		string(s.Mode),
		s.Type,
		s.Feature,
		s.Task,
		key,
		s.Title,
		s.Instructions,
		tags,
		s.Pinned,
		s.Metadata,
		overrides,
		policy,
		retry,
		string(s.During),
		string(s.Status),
		string(s.WaitReason),
		idempotency,
		h.Changes.New.Idempotency.Fingerprint,
		s.CreatedAt,
		s.UpdatedAt,
		s.StartedAt,
		s.FinishedAt,
		s.RootID,
		s.Depth,
		s.ForkedThrough,
		accepted,
	)
	b.tag(s, nil)
	return nil
}

// updateSetting adds every column that a PATCH may change; before are the tags
// until now.
func (b *batch) updateSetting(s *parley.Session, before []string) error {
	tags, overrides, policy, retry, err := sessionJSON(s)
	if err != nil {
		return err
	}
	b.write(
		`UPDATE parley.sessions SET title = $3, instructions = $4, pinned = $5, tags = $6, project_id = $7,
			metadata = $8,
 overrides = $9, policy = $10, retry = $11, during = $12, visibility = $13, archived_at = $14
  WHERE workspace_id = $1 AND id = $2`,
		s.WorkspaceID,
		s.ID,
		s.Title,
		s.Instructions,
		s.Pinned,
		tags,
		s.ProjectID,
		s.Metadata,
		overrides,
		policy,
		retry,
		string(s.During),
		string(s.Visibility),
		s.ArchivedAt,
	)
	if !slices.Equal(before, s.Tags) {
		b.tag(s, before)
	}
	return nil
}

// tag makes the index of tags agree with the session's.
func (b *batch) tag(s *parley.Session, before []string) {
	b.untag(s, before)
	if len(s.Tags) > 0 {
		b.write(
			"INSERT INTO parley.session_tags (workspace_id, tag, session_id) SELECT $1, tag, $3 "+
				"FROM unnest($2::text[]) tag ON CONFLICT DO NOTHING",
			s.WorkspaceID,
			s.Tags,
			s.ID,
		)
	}
}

func (b *batch) untag(s *parley.Session, tags []string) {
	if len(tags) > 0 {
		b.write(
			"DELETE FROM parley.session_tags WHERE workspace_id = $1 AND tag = ANY($2) AND session_id = $3",
			s.WorkspaceID,
			tags,
			s.ID,
		)
	}
}

// bury adds the tombstone of a session.
func (b *batch) bury(h *transition.Head) {
	b.write(
		"UPDATE parley.sessions SET deleted_at = $3, idempotency_key = NULL, fingerprint = NULL, status = "+
			"'cancelled', "+
			"wait_reason = '' WHERE workspace_id = $1 AND id = $2",
		h.WorkspaceID,
		h.ID,
		h.DeletedAt,
	)
	b.write(
		"UPDATE parley.turns SET status = 'cancelled', wait_reason = '', finished_at = $3 "+
			"WHERE workspace_id = $1 AND session_id = $2 AND status IN ('queued', 'running', 'waiting')",
		h.WorkspaceID,
		h.ID,
		h.DeletedAt,
	)
	b.write(
		"UPDATE parley.approvals SET state = 'cancelled', decided_at = $3 "+
			"WHERE workspace_id = $1 AND session_id = $2 AND state = 'pending'",
		h.WorkspaceID,
		h.ID,
		h.DeletedAt,
	)
	b.write(
		"INSERT INTO parley.graves (workspace_id, session_id, deleted_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
		h.WorkspaceID,
		h.ID,
		h.DeletedAt,
	)
	b.untag(&h.Session, h.Tags)
	b.write("DELETE FROM parley.clients WHERE workspace_id = $1 AND session_id = $2", h.WorkspaceID, h.ID)
}
