package parley

import "context"

// NewKey is a key on its way into the store; its workspace and principal are
// made if they are new.
type NewKey struct {
	Key  Key
	Hash Hash // SHA-256 of the secret
}

// KeyStore keeps workspaces, principals and keys.
type KeyStore interface {
	// Workspace finds a workspace by name, making it (with its built-in agent) if new.
	Workspace(ctx context.Context, name string) (ID, error)
	// LocalOwner is the principal of the machine's own user in a workspace, made if new.
	LocalOwner(ctx context.Context, workspaceID ID) (Principal, error)
	// CreateKey stores a key with a principal of its own. CodeConflict when the
	// workspace has an unrevoked key of that name.
	CreateKey(ctx context.Context, key NewKey) (Key, error)
	// Authenticate finds the principal of a key by hash. CodeUnauthenticated for an
	// unknown or revoked one.
	Authenticate(ctx context.Context, hash Hash) (Principal, error)
	// RevokedKey finds a key that was revoked by hash; CodeNotFound for any other.
	RevokedKey(ctx context.Context, hash Hash) (Key, error)
	// Principal finds a principal of a workspace, without what its key may send.
	Principal(ctx context.Context, workspaceID, id ID) (Principal, error)
	// Keys lists the keys of a workspace, newest first, without secrets.
	Keys(ctx context.Context, workspaceID ID) ([]Key, error)
	RevokeKey(ctx context.Context, workspaceID, id ID) (Key, error)
	// HasKeys reports whether any workspace has an unrevoked key.
	HasKeys(ctx context.Context) (bool, error)
}
