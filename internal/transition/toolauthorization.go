package transition

import "example.org/parley"

// NextToolAuthorization sets what a row gets from the store when it is written.
func NextToolAuthorization(a *parley.ToolAuthorization, now parley.Time) {
	if a.Revision == 0 {
		a.CreatedAt = now
	}
	a.Revision, a.UpdatedAt = a.Revision+1, now
}

// ToolAuthorizationMovedOn is the error for a change of a row that somebody changed meanwhile.
func ToolAuthorizationMovedOn() error {
	return parley.Errorf(parley.CodeConflict, "the authorization was changed meanwhile; try again")
}
