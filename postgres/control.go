package postgres

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
		scope.WorkspaceID,
		func(a *attempt) (store.Posted, error) { return a.tx.SendQueued(scope, messageID, how, claimBy) },
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
		scope.WorkspaceID,
		func(a *attempt) (parley.Message, error) { return a.tx.MoveQueued(scope, messageID, before) },
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
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (store.TurnResumed, error) {
		return a.tx.RetryTurn(scope, sessionID, turnID, again, claimBy)
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
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (store.TurnResumed, error) {
		return a.tx.ContinueTurn(scope, sessionID, turnID, again, claimBy)
	})
}

// TurnAtEnd implements transition.Rows.
func (a *attempt) TurnAtEnd(h *transition.Head) (*parley.Turn, error) {
	return first(
		a,
		scanTurn,
		"SELECT "+turnColumns+` FROM parley.turns t WHERE t.workspace_id = $1 AND t.session_id = $2
			AND t.trigger_message_id =
 (SELECT own.trigger_message_id FROM parley.turns own WHERE own.workspace_id = $1 AND own.id = (SELECT m.turn_id
  FROM parley.messages m
 WHERE m.workspace_id = $1 AND m.log_id = $3 AND m.sequence IS NOT NULL AND m.turn_id IS NOT NULL
  ORDER BY m.sequence DESC LIMIT 1))
 ORDER BY t.ordinal DESC LIMIT 1`,
		h.WorkspaceID,
		h.ID,
		h.LogID,
	)
}

// ResumedTurn implements transition.Rows: it assumes that a key is new until the index refuses it.
func (a *attempt) ResumedTurn(h *transition.Head, key string) (transition.Earlier, error) {
	if a.presumed() {
		return transition.Earlier{}, nil
	}
	return a.earlier(
		"SELECT id, fingerprint, posted_event FROM parley.turns "+
			"WHERE workspace_id = $1 AND session_id = $2 AND idempotency_key = $3",
		h.WorkspaceID,
		h.ID,
		key,
	)
}

// ResumeTurns implements transition.Writer.
func (w *changes) ResumeTurns(h *transition.Head, resumed []transition.Resumed) error {
	for i := range resumed {
		w.write(
			"UPDATE parley.turns SET "+resumeTurnSet+" WHERE workspace_id = $1 AND id = $2",
			resumeTurnArgs([]arg{h.WorkspaceID, resumed[i].TurnID}, &resumed[i])...)
	}
	return nil
}
