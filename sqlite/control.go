package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// SendQueued implements store.Control.
func (s *Store) SendQueued(
	ctx context.Context,
	scope store.Scope,
	messageID parley.ID,
	how parley.During,
	claimBy parley.ID,
) (store.Posted, error) {
	return transact(
		ctx,
		s,
		func(tx *txn) (store.Posted, error) { return tx.core.SendQueued(scope, messageID, how, claimBy) },
	)
}

// MoveQueued implements store.Control.
func (s *Store) MoveQueued(
	ctx context.Context,
	scope store.Scope,
	messageID, before parley.ID,
) (parley.Message, error) {
	return transact(
		ctx,
		s,
		func(tx *txn) (parley.Message, error) { return tx.core.MoveQueued(scope, messageID, before) },
	)
}

// RetryTurn implements store.Control.
func (s *Store) RetryTurn(
	ctx context.Context,
	scope store.Scope,
	sessionID, turnID parley.ID,
	again store.TurnAgain,
	claimBy parley.ID,
) (store.TurnResumed, error) {
	return transact(ctx, s, func(tx *txn) (store.TurnResumed, error) {
		return tx.core.RetryTurn(scope, sessionID, turnID, again, claimBy)
	})
}

// ContinueTurn implements store.Control.
func (s *Store) ContinueTurn(
	ctx context.Context,
	scope store.Scope,
	sessionID, turnID parley.ID,
	again store.TurnAgain,
	claimBy parley.ID,
) (store.TurnResumed, error) {
	return transact(ctx, s, func(tx *txn) (store.TurnResumed, error) {
		return tx.core.ContinueTurn(scope, sessionID, turnID, again, claimBy)
	})
}

// TurnAtEnd implements transition.Rows.
func (t *txn) TurnAtEnd(h *transition.Head) (*parley.Turn, error) {
	return readTurn(
		t.conn,
		`t.session_id = ?1 AND t.trigger_message_id = (SELECT own.trigger_message_id FROM turns own WHERE own.id =
 (SELECT m.turn_id FROM messages m WHERE m.log_id = ?2 AND m.sequence IS NOT NULL AND m.turn_id IS NOT NULL
  ORDER BY m.sequence DESC LIMIT 1))
 ORDER BY t.ordinal DESC LIMIT 1`,
		h.ID,
		h.LogID,
	)
}

// ResumedTurn implements transition.Rows.
func (t *txn) ResumedTurn(h *transition.Head, key string) (earlier transition.Earlier, err error) {
	_, err = t.one(
		"SELECT id, fingerprint, posted_event FROM turns WHERE session_id = ? AND idempotency_key = ?",
		func(r *row) error {
			earlier = transition.Earlier{ID: r.id(), Fingerprint: r.hash(), PostedEvent: r.int64()}
			return nil
		},
		h.ID,
		key,
	)
	return earlier, err
}

// ResumeTurns implements transition.Writer.
func (w changes) ResumeTurns(_ *transition.Head, resumed []transition.Resumed) error {
	for i := range resumed {
		if _, err := w.exec(
			"UPDATE turns SET "+resumeTurnSet+" WHERE id = ?",
			append(resumeTurnArgs(nil, &resumed[i]), resumed[i].TurnID)...); err != nil {
			return err
		}
	}
	return nil
}
