package store

import (
	"context"

	"example.org/parley"
)

// NewSignIn is a sign-in on its way into the store.
type NewSignIn struct {
	parley.SignIn
	Hash parley.Hash // SHA-256 of the secret
}

// SignedIn is who a sign-in's secret belongs to.
type SignedIn struct {
	parley.SignIn
	Principal parley.Principal
	Local     bool // the server's own user, who may act in every workspace
}

// SignIns keeps the browsers that signed in. Times are the caller's.
type SignIns interface {
	// CreateSignIn stores a sign-in of a principal, and removes those of its workspace
	// that count no more at its CreatedAt, and the principal's oldest beyond MaxSignIns.
	CreateSignIn(ctx context.Context, made NewSignIn) error
	// SignedIn finds a sign-in by hash. CodeUnauthenticated for one that is unknown,
	// has expired, was not used for SignInIdle, or whose principal's key is revoked.
	SignedIn(ctx context.Context, hash parley.Hash, now parley.Time) (SignedIn, error)
	// TouchSignIn notes that a sign-in is in use; one that has ended stays so.
	TouchSignIn(ctx context.Context, workspaceID, id parley.ID, now parley.Time) error
	// SignIns lists those that count of a principal, or without one of the workspace,
	// newest first, at most MaxSignInsListed.
	SignIns(ctx context.Context, workspaceID, principalID parley.ID, now parley.Time) ([]parley.SignIn, error)
	// EndSignIn ends one of a principal, or without one any of the workspace.
	// CodeNotFound when there is none.
	EndSignIn(ctx context.Context, workspaceID, principalID, id parley.ID) error
}
