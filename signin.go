package parley

import "time"

// The bounds of a sign-in.
const (
	SignInLife  = 30 * 24 * time.Hour // from its beginning, used or not
	SignInIdle  = 7 * 24 * time.Hour  // since its last use
	SignInTouch = 10 * time.Minute    // between updates of the time of last use
	MaxSignIns  = 100                 // per principal; a new one ends the oldest

	SignInsPerMinute = 60 // per principal whose key has no limit

	MaxSignInsListed = 1000
)

// SignIn is a browser that signed in. It has a secret of its own, stored as a hash, and the rights of its principal's
// key: it ends with the key.
type SignIn struct {
	ID            ID     `json:"id"`
	WorkspaceID   ID     `json:"workspace_id"`
	PrincipalID   ID     `json:"principal_id"`
	PrincipalName string `json:"principal_name"`
	CreatedAt     Time   `json:"created_at"`
	LastUsedAt    Time   `json:"last_used_at"` // accurate to about ten minutes
	ExpiresAt     Time   `json:"expires_at"`   // at the latest; earlier if unused for a week
}
