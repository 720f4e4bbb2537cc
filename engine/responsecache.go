package engine

import (
	"context"

	"parley"
)

// ResponseCache tells what the workspace's response cache holds and did.
func (e *Engine) ResponseCache(ctx context.Context, principal parley.Principal) (parley.ResponseCacheState, error) {
	scope, err := authorise(principal, ReadCache)
	if err != nil {
		return parley.ResponseCacheState{}, err
	}
	return e.store.ResponseCacheState(ctx, scope.WorkspaceID)
}

// ClearResponseCache drops all answers that the workspace's response cache holds.
func (e *Engine) ClearResponseCache(ctx context.Context, principal parley.Principal) error {
	scope, err := authorise(principal, ClearCache)
	if err != nil {
		return err
	}
	_, err = e.store.ClearResponseCache(ctx, scope.WorkspaceID)
	return err
}
