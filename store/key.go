package store

import (
	"context"

	"example.org/parley"
)

// NewKey is a key to be stored; its workspace and principal are created if missing.
type NewKey struct {
	parley.Key
	Hash parley.Hash // SHA-256 of the secret
}

// WorkspaceChange is a patch of a workspace: nil leaves a field unchanged.
type WorkspaceChange struct {
	Visibility *parley.Visibility
	// If refuses the change unless the workspace is as the caller expects; nil: any is. It may be called several times.
	If func(current parley.Workspace) error
}

// Over applies the change to a workspace, or refuses it.
func (c *WorkspaceChange) Over(workspace parley.Workspace) (parley.Workspace, error) {
	if c.If != nil {
		if err := c.If(workspace); err != nil {
			return parley.Workspace{}, err
		}
	}
	if c.Visibility != nil {
		workspace.Visibility = *c.Visibility
	}
	return workspace, nil
}

// Workspaces keeps workspaces.
type Workspaces interface {
	// Workspace finds a workspace by name, making it (with its built-in agent) if new.
	Workspace(ctx context.Context, name string) (parley.ID, error)
	// WorkspaceOf finds a workspace by id.
	WorkspaceOf(ctx context.Context, id parley.ID) (parley.Workspace, error)
	// UpdateWorkspace changes a workspace, and nothing if it is as the change wants it.
	UpdateWorkspace(ctx context.Context, id parley.ID, change WorkspaceChange) (parley.Workspace, error)
}

// Keys keeps principals and keys.
type Keys interface {
	// LocalOwner is the principal of the machine's own user in a workspace, made if new.
	LocalOwner(ctx context.Context, workspaceID parley.ID) (parley.Principal, error)
	// CreateKey stores a key with a principal of its own. CodeConflict when the
	// workspace has an unrevoked key of that name.
	CreateKey(ctx context.Context, key NewKey) (parley.Key, error)
	// Authenticate finds the principal of a key by hash. CodeUnauthenticated for an
	// unknown or revoked one.
	Authenticate(ctx context.Context, hash parley.Hash) (parley.Principal, error)
	// RevokedKey finds a revoked key by hash; CodeNotFound for any other.
	RevokedKey(ctx context.Context, hash parley.Hash) (parley.Key, error)
	// Principal finds a principal of a workspace, without its key's permissions.
	Principal(ctx context.Context, workspaceID, id parley.ID) (parley.Principal, error)
	// Keys lists the keys of a workspace, newest first, without secrets.
	Keys(ctx context.Context, workspaceID parley.ID) ([]parley.Key, error)
	RevokeKey(ctx context.Context, workspaceID, id parley.ID) (parley.Key, error)
	// HasKeys reports whether any workspace has an unrevoked key.
	HasKeys(ctx context.Context) (bool, error)
}
