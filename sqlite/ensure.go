package sqlite

import (
	"context"

	"parley"
)

// EnsureSession implements parley.TurnStore.
func (s *Store) EnsureSession(ctx context.Context, scope parley.Scope, wanted parley.NewSession, claimBy parley.ID) (parley.Opened, error) {
	return transact(ctx, s, func(tx *txn) (parley.Opened, error) {
		if opened, err := tx.openedBefore(scope, wanted); err != nil || opened != nil {
			if opened == nil {
				return parley.Opened{}, err
			}
			return *opened, err
		}
		h, err := tx.byKey(scope, wanted.Session.Key)
		if err != nil {
			return parley.Opened{}, err
		}
		opened := parley.Opened{Created: h == nil}
		if h == nil {
			if err := tx.checkNew(scope, wanted); err != nil {
				return parley.Opened{}, err
			}
			if h, err = tx.createSession(wanted); err != nil {
				return parley.Opened{}, err
			}
		}
		if wanted.First != nil {
			first := *wanted.First
			if !opened.Created && first.Idempotency.Key == "" {
				first.Idempotency = wanted.Idempotency
			}
			posted, err := tx.post(h, first, claimBy)
			if err != nil {
				return parley.Opened{}, err
			}
			opened.Posted, opened.Replayed = &posted, posted.Replayed
		}
		if wanted.ClientID != "" {
			if err := activate(tx, h, wanted.Session.OwnerID, wanted.ClientID); err != nil {
				return parley.Opened{}, err
			}
		}
		if opened.Created {
			tx.updatedFeed(h)
		}
		opened.Session = h.Session
		return opened, nil
	})
}

// openedBefore rebuilds the first answer to an idempotency key of a creation.
func (t *txn) openedBefore(scope parley.Scope, wanted parley.NewSession) (*parley.Opened, error) {
	if wanted.Idempotency.Key == "" {
		return nil, nil
	}
	var id parley.ID
	var fingerprint parley.Hash
	found, err := t.one("SELECT id, fingerprint FROM sessions WHERE workspace_id = ? AND idempotency_key = ?", func(r *row) error {
		id, fingerprint = r.id(), r.hash()
		return nil
	}, scope.WorkspaceID, wanted.Idempotency.Key)
	if err != nil || !found {
		return nil, err
	}
	if fingerprint != wanted.Idempotency.Fingerprint {
		return nil, errKeyReused()
	}
	h, err := t.lock(scope, id)
	if err != nil {
		return nil, err
	}
	opened := &parley.Opened{Session: h.Session, Created: true, Replayed: true}
	if wanted.First == nil {
		return opened, nil
	}
	first, err := t.readMessage("m.log_id = ? AND m.sequence = 1", h.LogID)
	if err != nil || first == nil {
		return opened, err
	}
	posted := parley.Posted{Message: *first, Replayed: true}
	if !first.TurnID.IsZero() {
		turn, err := readTurn(t.conn, h.ID, first.TurnID)
		if err != nil {
			return nil, err
		}
		posted.Turn = &turn
	}
	opened.Posted = &posted
	return opened, nil
}

// byKey locks the session that has a key; nil when none has it.
func (t *txn) byKey(scope parley.Scope, key string) (*head, error) {
	if key == "" {
		return nil, nil
	}
	var id parley.ID
	found, err := t.one("SELECT id FROM sessions WHERE workspace_id = ? AND key = ? AND deleted_at IS NULL", func(r *row) error {
		id = r.id()
		return nil
	}, scope.WorkspaceID, key)
	if err != nil || !found {
		return nil, err
	}
	return t.lock(scope, id)
}

// checkNew refuses what a new session may not name.
func (t *txn) checkNew(scope parley.Scope, wanted parley.NewSession) error {
	session := &wanted.Session
	var status parley.AgentStatus
	found, err := t.one("SELECT status FROM agents WHERE id = ? AND workspace_id = ?", func(r *row) error {
		status = parley.AgentStatus(r.text())
		return nil
	}, session.AgentID, scope.WorkspaceID)
	switch {
	case err != nil:
		return err
	case !found:
		return notFound("agent")
	case status == parley.AgentArchived:
		return parley.Errorf(parley.CodeArchived, "this agent is archived; reactivate it with PATCH {\"status\": \"active\"}, or choose another one")
	}
	if !session.ProjectID.IsZero() {
		if found, err = t.has("SELECT 1 FROM projects WHERE id = ? AND workspace_id = ?", session.ProjectID, scope.WorkspaceID); err != nil {
			return err
		} else if !found {
			return notFound("project")
		}
	}
	if !session.ParentSessionID.IsZero() {
		parent, err := t.lock(scope, session.ParentSessionID)
		if err != nil {
			return err
		}
		if !session.ParentMessageID.IsZero() {
			if found, err = t.has("SELECT 1 FROM messages WHERE id = ? AND session_id = ?", session.ParentMessageID, parent.ID); err != nil {
				return err
			} else if !found {
				return notFound("message")
			}
		}
	}
	if wanted.First != nil && wanted.First.Role == parley.RoleToolResult {
		return parley.Errorf(parley.CodeConflict, "a new session has no tool call to answer")
	}
	return nil
}

// createSession inserts a session and its head.
func (t *txn) createSession(wanted parley.NewSession) (*head, error) {
	s := wanted.Session
	s.Status, s.WaitReason, s.Statistics, s.ArchivedAt = parley.SessionPending, "", parley.Statistics{}, 0
	s.LastSequence, s.LastEvent, s.TurnID, s.StartedAt, s.FinishedAt = 0, 0, parley.ID{}, 0, 0
	s.CreatedAt, s.UpdatedAt = t.now, t.now
	if s.LogID.IsZero() {
		s.LogID = parley.NewID()
	}
	if s.Tags == nil {
		s.Tags = []string{}
	}
	s.Metadata = metadata(s.Metadata)
	tags, err := encode(s.Tags)
	if err != nil {
		return nil, err
	}
	overrides := "{}"
	if !s.Overrides.IsZero() {
		if overrides, err = encode(s.Overrides); err != nil {
			return nil, err
		}
	}
	policy, err := encodeMaybe(s.Policy)
	if err != nil {
		return nil, err
	}
	retry, err := encodeMaybe(s.Retry)
	if err != nil {
		return nil, err
	}
	var key, idempotency arg
	if s.Key != "" {
		key = s.Key
	}
	if wanted.Idempotency.Key != "" {
		idempotency = wanted.Idempotency.Key
	}
	if _, err := t.exec(`INSERT INTO sessions (id, workspace_id, agent_id, owner_id, visibility, project_id, parent_session_id, parent_message_id,
 log_id, kind, mode, type, feature, task, key, title, instructions, tags, pinned, metadata, overrides, policy, retry, during, status,
 idempotency_key, fingerprint, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.WorkspaceID, s.AgentID, s.OwnerID, string(s.Visibility), s.ProjectID, s.ParentSessionID, s.ParentMessageID,
		s.LogID, string(s.Kind), string(s.Mode), s.Type, s.Feature, s.Task, key, s.Title, s.Instructions, tags, s.Pinned, s.Metadata, overrides,
		policy, retry, string(s.During), string(s.Status), idempotency, wanted.Idempotency.Fingerprint, s.CreatedAt, s.UpdatedAt); err != nil {
		return nil, err
	}
	if _, err := t.exec("INSERT INTO heads (session_id, workspace_id, log_id, mode) VALUES (?, ?, ?, ?)", s.ID, s.WorkspaceID, s.LogID, string(s.Mode)); err != nil {
		return nil, err
	}
	for _, tag := range s.Tags {
		if _, err := t.exec("INSERT INTO session_tags (workspace_id, tag, session_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", s.WorkspaceID, tag, s.ID); err != nil {
			return nil, err
		}
	}
	h := &head{Session: s, back: 1, nextCall: 1, status: s.Status}
	t.adopt(h)
	return h, nil
}

// adopt caches and locks the head of a session that this transition made.
func (t *txn) adopt(h *head) {
	if len(t.heads) >= cachedHeads {
		clear(t.heads)
	}
	t.heads[h.ID] = h
	t.touched = append(t.touched, h.ID)
	t.locked = append(t.locked, h)
}
