package sqlite

import (
	"slices"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/setting"
)

const updateListed = `UPDATE sessions SET status = ?, wait_reason = ?, title = ?, updated_at = ?, started_at = ?,
	finished_at = ? WHERE id = ?`

// writeSession writes what a transition changed of a session's own rows.
func (t *txn) writeSession(h *transition.Head) error {
	c := &h.Changes
	if c.New != nil {
		if err := t.insertSession(h); err != nil {
			return err
		}
		if c.New.Inherited != nil {
			if err := t.inherit(h, c.New.Inherited); err != nil {
				return err
			}
		}
		return t.insertHead(h)
	}
	if c.Head {
		if err := t.updateHead(h); err != nil {
			return err
		}
	}
	if c.ContextCleared != 0 {
		if _, err := t.exec(
			"UPDATE heads SET cleared_at = ?, cleared_event = ? WHERE session_id = ?",
			h.Context.ClearedAt,
			c.ContextCleared,
			h.ID,
		); err != nil {
			return err
		}
	}
	if c.Listed {
		if _, err := t.exec(
			updateListed,
			string(h.Status),
			string(h.WaitReason),
			h.Title,
			h.UpdatedAt,
			h.StartedAt,
			h.FinishedAt,
			h.ID,
		); err != nil {
			return err
		}
	}
	if c.Setting != nil {
		if err := t.updateSetting(&h.Session, c.Setting.TagsBefore); err != nil {
			return err
		}
	}
	if c.Accepted != nil {
		accepted, err := encode(c.Accepted)
		if err != nil {
			return err
		}
		if _, err := t.exec("UPDATE sessions SET accepted = ? WHERE id = ?", accepted, h.ID); err != nil {
			return err
		}
	}
	if c.Buried {
		return t.bury(h)
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

// insertSession writes the listed row of a new session and its tags.
func (t *txn) insertSession(h *transition.Head) error {
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
	if _, err := t.exec(
		`INSERT INTO sessions (id, workspace_id, agent_id, owner_id, visibility, project_id, parent_session_id,
			parent_message_id,
 log_id, kind, mode, type, feature, task, key, title, instructions, tags, pinned, metadata, overrides, policy, retry,
  during, status, wait_reason,
 idempotency_key, fingerprint, created_at, updated_at, started_at, finished_at, root_id, depth, forked_through,
  accepted)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
	); err != nil {
		return err
	}
	return t.tagSession(s, nil)
}

// updateSetting writes every column that a PATCH may change; before are the tags
// until now.
func (t *txn) updateSetting(s *parley.Session, before []string) error {
	tags, overrides, policy, retry, err := sessionJSON(s)
	if err != nil {
		return err
	}
	if _, err := t.exec(
		`UPDATE sessions SET title = ?, instructions = ?, pinned = ?, tags = ?, project_id = ?, metadata = ?,
 overrides = ?, policy = ?, retry = ?, during = ?, visibility = ?, archived_at = ? WHERE id = ? AND workspace_id = ?`,
		s.Title,
		s.Instructions,
		s.Pinned,
		tags,
		s.ProjectID,
		s.Metadata,
		overrides,
		policy,
		retry,
		string(
			s.During,
		),
		string(s.Visibility),
		s.ArchivedAt,
		s.ID,
		s.WorkspaceID,
	); err != nil ||
		slices.Equal(before, s.Tags) {
		return err
	}
	return t.tagSession(s, before)
}

// tagSession makes the index of tags agree with the session's.
func (t *txn) tagSession(s *parley.Session, before []string) error {
	if err := t.untag(s, before); err != nil {
		return err
	}
	for _, tag := range s.Tags {
		if _, err := t.exec(
			"INSERT INTO session_tags (workspace_id, tag, session_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
			s.WorkspaceID,
			tag,
			s.ID,
		); err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) untag(s *parley.Session, tags []string) error {
	for _, tag := range tags {
		if _, err := t.exec(
			"DELETE FROM session_tags WHERE workspace_id = ? AND tag = ? AND session_id = ?",
			s.WorkspaceID,
			tag,
			s.ID,
		); err != nil {
			return err
		}
	}
	return nil
}

// bury writes the tombstone of a session.
func (t *txn) bury(h *transition.Head) error {
	for _, statement := range []string{
		"UPDATE sessions SET deleted_at = ?, idempotency_key = NULL, fingerprint = NULL, status = 'cancelled', " +
			"wait_reason = '' WHERE id = ?",
		"UPDATE approvals SET state = 'cancelled', decided_at = ? WHERE session_id = ? AND state = 'pending'",
		"UPDATE turns SET status = 'cancelled', wait_reason = '', finished_at = ? " +
			"WHERE session_id = ? AND status IN ('queued', 'running', 'waiting')",
	} {
		if _, err := t.exec(statement, h.DeletedAt, h.ID); err != nil {
			return err
		}
	}
	if _, err := t.exec(
		"INSERT INTO graves (session_id, workspace_id, deleted_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
		h.ID,
		h.WorkspaceID,
		h.DeletedAt,
	); err != nil {
		return err
	}
	if err := t.untag(&h.Session, h.Tags); err != nil {
		return err
	}
	_, err := t.exec("DELETE FROM clients WHERE session_id = ?", h.ID)
	return err
}
