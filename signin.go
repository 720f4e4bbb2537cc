package parley

import "time"

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
