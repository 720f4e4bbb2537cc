package postgres

import (
	"context"

	"parley"
)

// SendQueued implements parley.ControlStore.
func (s *Store) SendQueued(ctx context.Context, scope parley.Scope, messageID parley.ID, how parley.During, claimBy parley.ID) (parley.Posted, error) {
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (parley.Posted, error) { return a.tx.SendQueued(scope, messageID, how, claimBy) })
}

// MoveQueued implements parley.ControlStore.
func (s *Store) MoveQueued(ctx context.Context, scope parley.Scope, messageID, before parley.ID) (parley.Message, error) {
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (parley.Message, error) { return a.tx.MoveQueued(scope, messageID, before) })
}
