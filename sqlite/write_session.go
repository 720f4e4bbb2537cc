package sqlite

import (
	"slices"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

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
			"UPDATE sessions SET "+updateSessionSet+" WHERE id = ?",
			append(updateSessionArgs(nil, &h.Session), h.ID)...); err != nil {
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

// insertSession writes the listed row of a new session and its tags.
func (t *txn) insertSession(h *transition.Head) error {
	s := &h.Session
	row := h.ListedRow()
	args, err := insertSessionArgs(nil, &row)
	if err != nil {
		return err
	}
	if _, err := t.exec(
		"INSERT INTO sessions ("+insertSessionColumns+") VALUES ("+insertSessionPlaces+")", args...); err != nil {
		return err
	}
	return t.tagSession(s, nil)
}

// updateSetting writes every column that a PATCH may change; before are the tags
// until now.
func (t *txn) updateSetting(s *parley.Session, before []string) error {
	args, err := patchSessionArgs(nil, s)
	if err != nil {
		return err
	}
	if _, err := t.exec(
		"UPDATE sessions SET "+patchSessionSet+" WHERE id = ? AND workspace_id = ?",
		append(args, s.ID, s.WorkspaceID)...); err != nil || slices.Equal(before, s.Tags) {
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
