package postgres

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
		scope.WorkspaceID,
		func(a *attempt) (parley.OutsideGrown, error) { return a.tx.AppendOutside(scope, messageID, piece) },
	)
}

// SettleOutside implements store.Outside.
func (s *Store) SettleOutside(
	ctx context.Context,
	scope store.Scope,
	messageID parley.ID,
	settle store.OutsideSettle,
) (store.OutsideSettled, error) {
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (store.OutsideSettled, error) {
		return a.tx.SettleOutside(scope, messageID, settle)
	})
}

// Outside implements transition.Rows.
func (a *attempt) Outside(h *transition.Head) (*transition.Outside, error) {
	return first(a, func(r *row) (transition.Outside, error) {
		return transition.Outside{
			MessageID: r.id(),
			TurnID:    r.id(),
			Versions:  r.int(),
			Text:      r.int(),
			Reasoning: r.int(),
			Timeout:   time.Duration(r.int64()) * time.Millisecond,
		}, nil
	}, "SELECT message_id, turn_id, versions, text_end, reasoning_end, timeout FROM parley.outside "+
		"WHERE workspace_id = $1 AND session_id = $2", h.WorkspaceID, h.ID)
}

// OutsideDue implements transition.Rows.
func (a *attempt) OutsideDue(h *transition.Head) (due bool, err error) {
	err = a.read(
		func() { due = false },
		"SELECT 1 FROM parley.outside WHERE workspace_id = $1 AND session_id = $2 "+
			"AND due_at <= (SELECT parley.now_ms())",
		func(*row) error {
			due = true
			return nil
		},
		h.WorkspaceID,
		h.ID,
	)
	return due, err
}

// OpenOutside implements transition.Writer.
func (w *changes) OpenOutside(h *transition.Head, o *transition.Outside) error {
	w.write(
		`INSERT INTO parley.outside (workspace_id, session_id, message_id, turn_id, timeout, due_at)
			SELECT $1, $2, $3, $4, $5, parley.now_ms() + $5
 ON CONFLICT (workspace_id, session_id) DO UPDATE SET message_id = excluded.message_id, turn_id = excluded.turn_id,
  versions = 0, text_end = 0, reasoning_end = 0,
 timeout = excluded.timeout, due_at = excluded.due_at`,
		h.WorkspaceID,
		h.ID,
		o.MessageID,
		o.TurnID,
		o.Timeout.Milliseconds(),
	)
	return nil
}

// GrowOutside implements transition.Writer.
func (w *changes) GrowOutside(h *transition.Head, grown *transition.Grown) error {
	o, v := h.Outside(), &grown.Version
	if v.Text != "" {
		w.write(
			`INSERT INTO parley.versions (workspace_id, message_id, n, kind, "offset", "end", chunks, text,
				created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			h.WorkspaceID,
			v.MessageID,
			v.N,
			string(v.Kind),
			v.Offset,
			v.End,
			v.Chunks,
			v.Text,
			v.CreatedAt,
		)
	}
	w.write(
		"UPDATE parley.outside SET versions = $3, text_end = $4, reasoning_end = $5, "+
			"due_at = parley.now_ms() + timeout WHERE workspace_id = $1 AND session_id = $2",
		h.WorkspaceID,
		h.ID,
		o.Versions,
		o.Text,
		o.Reasoning,
	)
	return nil
}

// CloseOutside implements transition.Writer.
func (w *changes) CloseOutside(h *transition.Head) error {
	w.write("DELETE FROM parley.outside WHERE workspace_id = $1 AND session_id = $2", h.WorkspaceID, h.ID)
	return nil
}

// silent finds open messages whose outside agents have been silent for too long.
const silent = `SELECT session_id, workspace_id FROM parley.outside WHERE due_at <= (SELECT parley.now_ms())
	ORDER BY due_at LIMIT $1`

// expireOutside settles those messages, one transition each.
func (s *Store) expireOutside(ctx context.Context) (int, error) {
	type due struct{ session, workspace parley.ID }
	total := 0
	for {
		var found []due
		err := s.read(ctx, func() *batch {
			found = nil
			b := system()
			b.read(silent, func(r *row) error {
				found = append(found, due{r.id(), r.id()})
				return nil
			}, sweepBatch)
			return b
		})
		if err != nil {
			return total, err
		}
		done := 0
		for _, one := range found {
			touched, err := transact(
				ctx,
				s,
				one.workspace,
				func(a *attempt) (bool, error) { return a.tx.ExpireOutside(one.session) },
			)
			if err != nil {
				return total + done, err
			}
			if touched {
				done++
			}
		}
		if total += done; len(found) < sweepBatch || done == 0 {
			return total, nil
		}
	}
}
