package store

import (
	"context"

	"example.org/parley"
)

// ForeignIDs stores what clients of other protocols call sessions and what is in them.
type ForeignIDs interface {
	// KeepForeignIDs stores names for things in one session; a name that the session already has stays unchanged. The
	// store sets the workspace and the time. CodeNotFound unless the scope sees the session.
	KeepForeignIDs(ctx context.Context, scope Scope, sessionID parley.ID, ids []parley.ForeignID) error
	// ForeignIDs looks a principal's names up one after the other, and returns what has the first name that is known:
	// in sessions that the scope sees, newest first, at most MaxForeignCandidates.
	ForeignIDs(
		ctx context.Context,
		scope Scope,
		protocol string,
		principalID parley.ID,
		names []string,
	) ([]parley.ForeignID, error)
}
