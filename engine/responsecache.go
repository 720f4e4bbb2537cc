package engine

import (
	"context"

	"example.org/parley"
)

// ResponseCache returns the contents and statistics of the workspace's response cache.
func (e *Engine) ResponseCache(
	ctx context.Context,
	principal parley.Principal,
) (_ parley.ResponseCacheState, err error) {
	ctx, call, err := e.enter(ctx, principal, "getResponseCache", ReadCache)
	if err != nil {
		return parley.ResponseCacheState{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	return e.store.ResponseCacheState(ctx, scope.WorkspaceID)
}

// ClearResponseCache drops all answers in the workspace's response cache.
func (e *Engine) ClearResponseCache(ctx context.Context, principal parley.Principal) (err error) {
	ctx, call, err := e.enter(ctx, principal, "clearResponseCache", ClearCache)
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	_, err = e.store.ClearResponseCache(ctx, scope.WorkspaceID)
	return err
}
