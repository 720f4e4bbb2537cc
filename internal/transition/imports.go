package transition

import (
	"example.org/parley"
	"example.org/parley/store"
)

// PlanImport implements the transition of store.Imports. It changes nothing.
func (t *Tx) PlanImport(scope store.Scope, wanted store.NewImport) (store.Imported, error) {
	if imported, err := t.importedBefore(scope, wanted); err != nil || imported != nil {
		if imported == nil {
			return store.Imported{}, err
		}
		return *imported, err
	}
	if err := t.checkQuota(&wanted.Session, wanted.Quota); err != nil {
		return store.Imported{}, err
	}
	if err := t.checkAgent(scope.WorkspaceID, wanted.Session.AgentID); err != nil {
		return store.Imported{}, err
	}
	planned := store.Imported{Session: wanted.Session, Created: true}
	if wanted.Session.Key != "" {
		id, err := t.rows.SessionByKey(scope.WorkspaceID, wanted.Session.Key)
		if err != nil {
			return store.Imported{}, err
		}
		if planned.KeyTaken = !id.IsZero(); planned.KeyTaken {
			planned.Session.Key = ""
		}
	}
	return planned, nil
}

// ImportSession implements the transition of store.Imports. It writes no events: like a fork, the session appears in
// the feed.
func (t *Tx) ImportSession(scope store.Scope, wanted store.NewImport) (store.Imported, error) {
	imported, err := t.PlanImport(scope, wanted)
	if err != nil || !imported.Created {
		return imported, err
	}
	wanted.Session.Key = imported.Session.Key
	h := t.createSession(store.NewSession{Session: wanted.Session, Idempotency: wanted.Origin})
	told := &wanted.Session
	h.Status, h.status, h.ArchivedAt = told.Status, told.Status, told.ArchivedAt
	h.CreatedAt, h.UpdatedAt = told.CreatedAt, told.UpdatedAt
	h.StartedAt, h.FinishedAt = told.StartedAt, told.FinishedAt
	h.Statistics.Tokens, h.Statistics.Cost = told.Statistics.Tokens, told.Statistics.Cost
	ordinals := map[string]int64{}
	for i := range wanted.Messages {
		m := wanted.Messages[i]
		if err := t.importMessage(h, &m, ordinals); err != nil {
			return store.Imported{}, err
		}
	}
	t.updatedFeed(h)
	imported.Session = h.Session
	return imported, nil
}

// importedBefore returns the session that the same import made; nil if there is none.
func (t *Tx) importedBefore(scope store.Scope, wanted store.NewImport) (*store.Imported, error) {
	earlier, err := t.rows.Created(scope.WorkspaceID, wanted.Origin.Key)
	if err != nil || earlier.ID.IsZero() {
		return nil, err
	}
	h, err := t.lock(scope, earlier.ID)
	if err != nil {
		return nil, err
	}
	if earlier.Fingerprint != wanted.Origin.Fingerprint {
		return nil, parley.Errorf(
			parley.CodeConflict,
			"this was imported before as the session %s, and its messages have changed since; delete that session, "+
				"then import again",
			h.ID,
		)
	}
	return &store.Imported{Session: h.Session}, nil
}

// importMessage enters a message that was settled elsewhere.
func (t *Tx) importMessage(h *Head, m *parley.Message, ordinals map[string]int64) error {
	m.WorkspaceID, m.SessionID, m.LogID, m.UpdatedAt = h.WorkspaceID, h.ID, h.LogID, t.now
	m.Metadata = metadata(m.Metadata)
	estimate(m)
	if err := t.useFiles(h, m.ID, m.Content); err != nil {
		return err
	}
	h.LastSequence++
	m.Sequence = h.LastSequence
	m.CallOrdinal = 0
	switch m.Role {
	case parley.RoleToolCall:
		m.CallOrdinal = h.NextCall
		ordinals[m.ToolCallID] = h.NextCall
		h.NextCall++
	case parley.RoleToolResult:
		m.CallOrdinal = ordinals[m.ToolCallID]
	case parley.RoleSummary:
		h.Context.Held = true
	}
	hash, err := parley.ChainHash(h.LastHash, m.ChainInput())
	if err != nil {
		return err
	}
	if !m.ContentHash.IsZero() && m.ContentHash != hash {
		return parley.Errorf(parley.CodeInvalid, "the content_hash of message %d does not match", m.Sequence)
	}
	h.LastHash, m.ContentHash = hash, hash
	h.Statistics.Messages++
	if !m.Internal {
		h.Statistics.UserFacing++
		h.countContext(1, m.TokenEstimate)
	}
	h.Changes.NewMessages = append(h.Changes.NewMessages, NewMessage{Message: m})
	if m.Marks != (parley.Marks{}) {
		marked := Marked{Message: m}
		if m.Marks.Pinned {
			h.Context.Held, marked.PinnedEvent = true, h.LastEvent+1
		}
		h.Changes.Marked = append(h.Changes.Marked, marked)
	}
	return nil
}
