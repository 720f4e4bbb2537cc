package parley

import (
	"context"
	"time"
)

// The bounds of a sign-in.
const (
	SignInLife  = 30 * 24 * time.Hour // from its beginning, however much it is used
	SignInIdle  = 7 * 24 * time.Hour  // since its last use
	SignInTouch = 10 * time.Minute    // between two notes of when it was last used
	MaxSignIns  = 100                 // of one principal; the oldest ends for the next

	SignInsPerMinute = 60 // of one principal, where its key is not limited itself

	MaxSignInsListed = 1000
)

// SignIn is a browser that signed in. It has a secret of its own, which is stored as
// a hash, and is worth what its principal's key is: it ends with the key.
type SignIn struct {
	ID            ID     `json:"id"`
	WorkspaceID   ID     `json:"workspace_id"`
	PrincipalID   ID     `json:"principal_id"`
	PrincipalName string `json:"principal_name"`
	CreatedAt     Time   `json:"created_at"`
	LastUsedAt    Time   `json:"last_used_at"` // to about ten minutes
	ExpiresAt     Time   `json:"expires_at"`   // at the latest; without use a week after the last
}

// NewSignIn is a sign-in on its way into the store.
type NewSignIn struct {
	SignIn
	Hash Hash // SHA-256 of the secret
}

// SignedIn is who a sign-in's secret belongs to.
type SignedIn struct {
	SignIn
	Principal Principal
	Local     bool // the server's own user, who may act in every workspace
}

// SignInStore keeps the browsers that signed in. Times are the caller's.
type SignInStore interface {
	// CreateSignIn stores a sign-in of a principal, and removes those of its workspace
	// that count no more at its CreatedAt, and the principal's oldest beyond MaxSignIns.
	CreateSignIn(ctx context.Context, made NewSignIn) error
	// SignedIn finds a sign-in by hash. CodeUnauthenticated for one that is unknown,
	// has expired, was not used for SignInIdle, or whose principal's key is revoked.
	SignedIn(ctx context.Context, hash Hash, now Time) (SignedIn, error)
	// TouchSignIn notes that a sign-in is in use; one that has ended stays so.
	TouchSignIn(ctx context.Context, workspaceID, id ID, now Time) error
	// SignIns lists those that count of a principal, or without one of the workspace,
	// newest first, at most MaxSignInsListed.
	SignIns(ctx context.Context, workspaceID, principalID ID, now Time) ([]SignIn, error)
	// EndSignIn ends one of a principal, or without one any of the workspace.
	// CodeNotFound when there is none.
	EndSignIn(ctx context.Context, workspaceID, principalID, id ID) error
}
