package sqlite

import (
	"slices"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// MoveHead implements transition.Writer. No other writer exists to fence off.
func (w changes) MoveHead(h *transition.Head) error {
	if !h.Changes.Head {
		return nil
	}
	return w.updateHead(h)
}

// Create implements transition.Writer.
func (w changes) Create(h *transition.Head, made *transition.Creation) error {
	if err := w.insertSession(h); err != nil {
		return err
	}
	if made.Inherited != nil {
		if err := w.inherit(h, made.Inherited); err != nil {
			return err
		}
		return w.insertHead(h)
	}
	if err := w.insertHead(h); err != nil {
		return err
	}
	w.keep(h) // its first message comes next
	return nil
}

// ClearContext implements transition.Writer.
func (w changes) ClearContext(h *transition.Head, event int64) error {
	_, err := w.exec(
		"UPDATE heads SET cleared_at = ?, cleared_event = ? WHERE session_id = ?",
		h.Context.ClearedAt,
		event,
		h.ID,
	)
	return err
}

// UpdateListed implements transition.Writer.
func (w changes) UpdateListed(h *transition.Head) error {
	_, err := w.exec(
		"UPDATE sessions SET "+updateSessionSet+" WHERE id = ?",
		append(updateSessionArgs(w.args[:0], &h.Session), h.ID)...)
	return err
}

// Accept implements transition.Writer.
func (w changes) Accept(h *transition.Head, accepted *parley.Accepted) error {
	text, err := encode(accepted)
	if err != nil {
		return err
	}
	_, err = w.exec("UPDATE sessions SET accepted = ? WHERE id = ?", text, h.ID)
	return err
}

// insertSession writes the listed row of a new session and its tags.
func (t *txn) insertSession(h *transition.Head) error {
	s := &h.Session
	row := h.ListedRow()
	args, err := insertSessionArgs(t.args[:0], &row)
	if err != nil {
		return err
	}
	if _, err := t.exec(
		"INSERT INTO sessions ("+insertSessionColumns+") VALUES ("+insertSessionPlaces+")", args...); err != nil {
		return err
	}
	return t.tagSession(s, nil)
}

// UpdateSetting implements transition.Writer: it writes every column that a patch may change.
func (w changes) UpdateSetting(h *transition.Head, setting *transition.Setting) error {
	s, before := &h.Session, setting.TagsBefore
	args, err := patchSessionArgs(w.args[:0], s)
	if err != nil {
		return err
	}
	if _, err := w.exec(
		"UPDATE sessions SET "+patchSessionSet+" WHERE id = ? AND workspace_id = ?",
		append(args, s.ID, s.WorkspaceID)...); err != nil || slices.Equal(before, s.Tags) {
		return err
	}
	return w.tagSession(s, before)
}

// tagSession updates the index of a session's tags.
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

// Bury implements transition.Writer: it writes the tombstone of a session.
func (w changes) Bury(h *transition.Head) error {
	for _, statement := range []string{
		"UPDATE sessions SET deleted_at = ?, idempotency_key = NULL, fingerprint = NULL, status = 'cancelled', " +
			"wait_reason = '' WHERE id = ?",
		"UPDATE approvals SET state = 'cancelled', decided_at = ? WHERE session_id = ? AND state = 'pending'",
		"UPDATE turns SET status = 'cancelled', wait_reason = '', finished_at = ? " +
			"WHERE session_id = ? AND status IN ('queued', 'running', 'waiting')",
	} {
		if _, err := w.exec(statement, h.DeletedAt, h.ID); err != nil {
			return err
		}
	}
	if _, err := w.exec(
		"INSERT INTO graves (session_id, workspace_id, deleted_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
		h.ID,
		h.WorkspaceID,
		h.DeletedAt,
	); err != nil {
		return err
	}
	if err := w.untag(&h.Session, h.Tags); err != nil {
		return err
	}
	for _, statement := range []string{
		"DELETE FROM outside WHERE session_id = ?",
		"DELETE FROM clients WHERE session_id = ?",
	} {
		if _, err := w.exec(statement, h.ID); err != nil {
			return err
		}
	}
	return nil
}
