package sqlite

import (
	"context"

	"parley"
)

// SendQueued implements parley.ControlStore.
func (s *Store) SendQueued(ctx context.Context, scope parley.Scope, messageID parley.ID, how parley.During, claimBy parley.ID) (parley.Posted, error) {
	return transact(ctx, s, func(tx *txn) (parley.Posted, error) { return tx.core.SendQueued(scope, messageID, how, claimBy) })
}

// MoveQueued implements parley.ControlStore.
func (s *Store) MoveQueued(ctx context.Context, scope parley.Scope, messageID, before parley.ID) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) { return tx.core.MoveQueued(scope, messageID, before) })
}
