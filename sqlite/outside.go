package sqlite

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// AppendOutside implements store.Outside.
func (s *Store) AppendOutside(
	ctx context.Context,
	scope store.Scope,
	messageID parley.ID,
	piece store.OutsideAppend,
) (parley.OutsideGrown, error) {
	return transact(
		ctx,
		s,
		func(tx *txn) (parley.OutsideGrown, error) { return tx.core.AppendOutside(scope, messageID, piece) },
	)
}

// SettleOutside implements store.Outside.
func (s *Store) SettleOutside(
	ctx context.Context,
	scope store.Scope,
	messageID parley.ID,
	settle store.OutsideSettle,
) (store.OutsideSettled, error) {
	return transact(
		ctx,
		s,
		func(tx *txn) (store.OutsideSettled, error) { return tx.core.SettleOutside(scope, messageID, settle) },
	)
}

// Outside implements transition.Rows.
func (t *txn) Outside(h *transition.Head) (o *transition.Outside, err error) {
	_, err = t.one(
		"SELECT message_id, turn_id, versions, text_end, reasoning_end, timeout FROM outside WHERE session_id = ?",
		func(r *row) error {
			o = &transition.Outside{
				MessageID: r.id(),
				TurnID:    r.id(),
				Versions:  r.int(),
				Text:      r.int(),
				Reasoning: r.int(),
				Timeout:   time.Duration(r.int64()) * time.Millisecond,
			}
			return nil
		},
		h.ID,
	)
	return o, err
}

// OutsideDue implements transition.Rows.
func (t *txn) OutsideDue(h *transition.Head) (bool, error) {
	return t.has("SELECT 1 FROM outside WHERE session_id = ? AND due_at <= ?", h.ID, t.now)
}

// OpenOutside implements transition.Writer.
func (w changes) OpenOutside(h *transition.Head, o *transition.Outside) error {
	_, err := w.exec(
		`INSERT OR REPLACE INTO outside (session_id, workspace_id, message_id, turn_id, timeout, due_at)
			VALUES (?, ?, ?, ?, ?, ?)`,
		h.ID,
		h.WorkspaceID,
		o.MessageID,
		o.TurnID,
		o.Timeout.Milliseconds(),
		h.Changes.At+parley.Time(o.Timeout.Milliseconds()),
	)
	return err
}

// GrowOutside implements transition.Writer.
func (w changes) GrowOutside(h *transition.Head, grown *transition.Grown) error {
	o, v := h.Outside(), &grown.Version
	if v.Text != "" {
		if _, err := w.exec(
			`INSERT INTO versions (message_id, n, kind, "offset", "end", chunks, text, created_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			v.MessageID,
			v.N,
			string(v.Kind),
			v.Offset,
			v.End,
			v.Chunks,
			v.Text,
			v.CreatedAt,
		); err != nil {
			return err
		}
	}
	if _, err := w.exec(
		"UPDATE outside SET versions = ?, text_end = ?, reasoning_end = ?, due_at = ? WHERE session_id = ?",
		o.Versions,
		o.Text,
		o.Reasoning,
		h.Changes.At+parley.Time(o.Timeout.Milliseconds()),
		h.ID,
	); err != nil {
		return err
	}
	return nil
}

// CloseOutside implements transition.Writer.
func (w changes) CloseOutside(h *transition.Head) error {
	_, err := w.exec("DELETE FROM outside WHERE session_id = ?", h.ID)
	return err
}

// expireOutside settles open messages whose outside agents have been silent for too long.
func (t *txn) expireOutside(limit int) (int, error) {
	var found []parley.ID
	if err := t.each(
		"SELECT session_id FROM outside INDEXED BY outside_due WHERE due_at <= ? ORDER BY due_at LIMIT ?",
		func(r *row) error {
			found = append(found, r.id())
			return nil
		},
		t.now,
		limit,
	); err != nil {
		return 0, err
	}
	for _, id := range found {
		if _, err := t.core.ExpireOutside(id); err != nil {
			return 0, err
		}
	}
	return len(found), nil
}
