package engine

import (
	"context"

	"example.org/parley"
)

// storageLookedAt is how many chunks of an upload are received between two looks at
// whether its workspace has room for it.
const storageLookedAt = 16

// sessionsQuota bounds the sessions that a principal creates or forks.
func (e *Engine) sessionsQuota(principal parley.Principal) parley.Quota {
	return parley.Quota{Workspace: e.quotas.sessions, Principal: principal.MaxSessions}
}

// storageQuota bounds the files that a principal uploads.
func (e *Engine) storageQuota(principal parley.Principal) parley.Quota {
	return parley.Quota{Workspace: e.quotas.storage, Principal: principal.MaxStorage}
}

// hasRoom refuses an upload in progress that exceeds the quota: what it has stored
// is in the workspace's bytes already. The store decides when it is finished.
func (e *Engine) hasRoom(ctx context.Context, file *parley.File, quota parley.Quota, next int) error {
	if quota == (parley.Quota{}) {
		return nil
	}
	stored, err := e.store.Storage(ctx, file.WorkspaceID, file.OwnerID)
	if err != nil {
		return err
	}
	return stored.Room(quota, int64(next), file.Size+int64(next))
}
