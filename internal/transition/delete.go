package transition

import (
	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// DeleteSession implements the transition of store.Turns.
func (t *Tx) DeleteSession(scope store.Scope, sessionID parley.ID) error {
	h, err := t.lock(scope, sessionID)
	if err != nil {
		return err
	}
	return t.entomb(h)
}

// Entomb deletes a session on behalf of the outbox; it ignores a session that is gone.
func (t *Tx) Entomb(sessionID parley.ID) error {
	h, err := t.load(sessionID)
	if err != nil || h == nil || h.DeletedAt != 0 {
		return err
	}
	return t.entomb(h)
}

// entomb hides a session and its tool children and leaves their rows to the outbox.
func (t *Tx) entomb(h *Head) error {
	h.leaveChildHome()
	for next := []*Head{h}; len(next) > 0; {
		h, next = next[0], next[1:]
		if err := t.abandon(h); err != nil {
			return err
		}
		t.entombOne(h)
		children, err := t.rows.ToolChildren(h)
		if err != nil {
			return err
		}
		for _, id := range children {
			child, err := t.load(id)
			if err != nil {
				return err
			}
			if child != nil && child.DeletedAt == 0 {
				next = append(next, child)
			}
		}
	}
	return nil
}

func (t *Tx) entombOne(h *Head) {
	if !h.Holder.IsZero() {
		h.hint.Cancel = h.TurnID
	}
	h.leavePipelineEnd()
	h.DeletedAt, h.Changes.Head, h.Changes.Buried = t.now, true, true
	h.Epoch++
	h.Holder, h.Cancel, h.TurnID, h.TurnStatus, h.turn, h.open = parley.ID{}, parley.ID{}, parley.ID{}, "", nil, nil
	h.Status, h.WaitReason = parley.SessionStatusOf(parley.TurnCancelled), ""
	h.status, h.reason = h.Status, h.WaitReason // lists are told only session.deleted
	h.unready()
	t.feed(h, event.SessionDeleted{SessionID: h.ID}.Encode())
	if h.InBackground() || h.InForeground() {
		h.leave(EndDelegations{SubjectID: h.ID, Session: true}, 0)
	}
	h.Changes.Outbox = append(h.Changes.Outbox, Errand{WorkspaceID: h.WorkspaceID, Work: PurgeSession{SessionID: h.ID}})
}

// ProjectOfOthers is the error for a member who renames or deletes a project that others use.
func ProjectOfOthers() error {
	return parley.Errorf(
		parley.CodeForbidden,
		"sessions of others use this project; only an admin may rename or delete it",
	)
}

// Detach removes a session from a project that is gone.
func (t *Tx) Detach(sessionID, projectID parley.ID) error {
	h, err := t.load(sessionID)
	if err != nil || h == nil || h.ProjectID != projectID || h.DeletedAt != 0 {
		return err
	}
	h.ProjectID = parley.ID{}
	h.Changes.Setting = &Setting{TagsBefore: h.Tags}
	t.updatedFeed(h)
	return nil
}
