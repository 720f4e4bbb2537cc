package store

import (
	"context"

	"example.org/parley"
)

// NewSignIn is a sign-in to be stored.
type NewSignIn struct {
	parley.SignIn
	Hash parley.Hash // SHA-256 of the secret
}

// SignedIn is the owner of a sign-in's secret.
type SignedIn struct {
	parley.SignIn
	Principal parley.Principal
	Local     bool // the server's own user, who may act in every workspace
}

// SignIns stores the sign-ins of browsers. Times are the caller's.
type SignIns interface {
	// CreateSignIn stores a principal's sign-in. It removes the workspace's sign-ins that no longer count at CreatedAt,
	// and the principal's oldest ones beyond MaxSignIns.
	CreateSignIn(ctx context.Context, made NewSignIn) error
	// SignedIn finds a sign-in by hash. CodeUnauthenticated if it is unknown, expired or unused for SignInIdle, or if
	// the principal's key is revoked.
	SignedIn(ctx context.Context, hash parley.Hash, now parley.Time) (SignedIn, error)
	// TouchSignIn records that a sign-in is in use; it leaves an ended one unchanged.
	TouchSignIn(ctx context.Context, workspaceID, id parley.ID, now parley.Time) error
	// SignIns lists the valid sign-ins of a principal or, with a zero principal, of the workspace: newest first, at
	// most MaxSignInsListed.
	SignIns(ctx context.Context, workspaceID, principalID parley.ID, now parley.Time) ([]parley.SignIn, error)
	// EndSignIn ends a sign-in of a principal or, with a zero principal, of the workspace. CodeNotFound if it does not
	// exist.
	EndSignIn(ctx context.Context, workspaceID, principalID, id parley.ID) error
}
