package postgres

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// RecordReplay implements store.Replays.
func (s *Store) RecordReplay(ctx context.Context, scope store.Scope, replay store.NewReplay) error {
	_, err := transact(ctx, s, scope.WorkspaceID, func(a *attempt) (struct{}, error) {
		return struct{}{}, a.tx.RecordReplay(scope, replay)
	})
	return err
}

// RecordReplay implements transition.Writer.
func (w *changes) RecordReplay(h *transition.Head, r *store.NewReplay) error {
	answer, err := encode(r.Answer)
	if err != nil {
		return err
	}
	w.write(
		"INSERT INTO parley.replays (call_id, workspace_id, session_id, replay_of, answer, created_at) "+
			"VALUES ($1, $2, $3, $4, $5, $6)",
		r.Call.ID,
		h.WorkspaceID,
		h.ID,
		r.OfID,
		answer,
		h.Changes.At,
	)
	return nil
}

// Replays implements store.Replays.
func (s *Store) Replays(ctx context.Context, scope store.Scope, callID parley.ID) (replays []parley.Replay, err error) {
	var l filter
	l.must("r.workspace_id = " + here)
	l.must("(r.replay_of = ? OR r.call_id = ?)", callID, callID)
	l.visible(scope)
	text := `SELECT r.call_id, r.replay_of, r.session_id, r.answer, r.created_at FROM parley.replays r
		JOIN parley.sessions s ON s.workspace_id = r.workspace_id AND s.id = r.session_id
 WHERE ` + l.where.String() + " ORDER BY r.created_at DESC, r.call_id DESC LIMIT " + l.arg(
		parley.MaxReplays,
	)
	err = s.read(ctx, func() *batch {
		replays = []parley.Replay{}
		b := tenant(scope.WorkspaceID)
		b.read(text, func(r *row) error {
			replay := parley.Replay{CallID: r.id(), OfID: r.id(), SessionID: r.id()}
			if err := json.Unmarshal([]byte(r.text()), &replay.Answer); err != nil {
				return parley.WrapError(parley.CodeInternal, err, "a replay's answer cannot be read")
			}
			replay.CreatedAt = r.time()
			replays = append(replays, replay)
			return nil
		}, l.args...)
		return b
	})
	return replays, mapError(err)
}
