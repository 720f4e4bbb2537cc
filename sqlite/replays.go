package sqlite

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// RecordReplay implements store.Replays.
func (s *Store) RecordReplay(ctx context.Context, scope store.Scope, replay store.NewReplay) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.RecordReplay(scope, replay) })
}

// RecordReplay implements transition.Writer.
func (w changes) RecordReplay(h *transition.Head, r *store.NewReplay) error {
	answer, err := encode(r.Answer)
	if err != nil {
		return err
	}
	_, err = w.exec(
		"INSERT INTO replays (call_id, workspace_id, session_id, replay_of, answer, created_at) "+
			"VALUES (?, ?, ?, ?, ?, ?)",
		r.Call.ID,
		h.WorkspaceID,
		h.ID,
		r.OfID,
		answer,
		h.Changes.At,
	)
	return err
}

// Replays implements store.Replays.
func (s *Store) Replays(ctx context.Context, scope store.Scope, callID parley.ID) (replays []parley.Replay, err error) {
	var l list
	l.must("(r.replay_of = ? OR r.call_id = ?)", callID, callID)
	l.visible(scope)
	err = s.read(ctx, func(c *conn) error {
		replays = []parley.Replay{}
		return c.each(
			"SELECT r.call_id, r.replay_of, r.session_id, r.answer, r.created_at FROM replays r "+
				"JOIN sessions s ON s.id = r.session_id WHERE "+
				l.where.String()+" ORDER BY r.created_at DESC, r.call_id DESC LIMIT ?",
			func(r *row) error {
				replay := parley.Replay{CallID: r.id(), OfID: r.id(), SessionID: r.id()}
				if err := json.Unmarshal([]byte(r.text()), &replay.Answer); err != nil {
					return parley.WrapError(parley.CodeInternal, err, "a replay's answer cannot be read")
				}
				replay.CreatedAt = r.time()
				replays = append(replays, replay)
				return nil
			},
			append(l.args, parley.MaxReplays)...)
	})
	return replays, err
}
