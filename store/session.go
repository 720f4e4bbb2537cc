package store

import (
	"context"
	"encoding/json"

	"example.org/parley"
)

// SessionQuery lists sessions, last activity first.
type SessionQuery struct {
	AgentID, ProjectID, ParentID parley.ID // zero: any
	BranchesOf                   parley.ID // message that they were forked at, or that they ask anew
	Type, Feature, Task          string
	Kind                         parley.SessionKind
	Mode                         parley.Mode
	Status                       parley.SessionStatus
	Archived                     *bool // nil: both
	Pinned                       *bool
	Tag                          string
	CreatedFrom, CreatedTo       parley.Time // [from, to)
	Ascending                    bool
	AfterUpdated                 parley.Time // the last row of the page before; with AfterID
	AfterID                      parley.ID
	Limit                        int
}

// SessionChange is a PATCH: nil leaves a field alone.
type SessionChange struct {
	Title        *string
	Instructions *string
	Pinned       *bool
	Tags         *[]string
	ProjectID    *parley.ID // zero detaches
	Metadata     *json.RawMessage
	Settings     parley.SettingsPatch // its zero value changes nothing
	During       *parley.During
	Visibility   *parley.Visibility
	Archived     *bool
	// AcceptTools are digests of tools that the session's owner accepts with this.
	AcceptTools []string
}

// HeadState is a session's place in its event sequence, and who may see it.
type HeadState struct {
	SessionID  parley.ID
	LastEvent  int64
	Deleted    bool              // then the others are empty
	OwnerID    parley.ID         // of the session
	Visibility parley.Visibility // of the session
}

// Sessions reads and changes sessions outside their turns.
type Sessions interface {
	Session(ctx context.Context, scope Scope, id parley.ID) (parley.Session, error)
	SessionByKey(ctx context.Context, scope Scope, key string) (parley.Session, error)
	Sessions(ctx context.Context, scope Scope, query SessionQuery) ([]parley.Session, error)
	// UpdateSession applies a change. CodeConflict when archiving with a turn unfinished.
	UpdateSession(ctx context.Context, scope Scope, id parley.ID, change SessionChange) (parley.Session, error)
	// ArchiveFeature archives all sessions of a feature that have no unfinished
	// turn, one transaction each, and returns the archived and the busy ones.
	ArchiveFeature(ctx context.Context, scope Scope, feature string) (archived, busy []parley.ID, err error)
	// Events reads durable events after a sequence, ascending, complete: at most
	// limit, and no more behind the one with which they reach MaxPageBytes.
	Events(ctx context.Context, scope Scope, sessionID parley.ID, after int64, limit int) ([]parley.Event, error)
	// Accepted reads what the owner of a session has accepted; of one from before
	// acceptances were kept the version that its agent had then, if it is as old.
	Accepted(ctx context.Context, workspaceID, sessionID parley.ID) (parley.Accepted, error)
	// Heads reads where sessions stand; unknown ones count as deleted.
	Heads(ctx context.Context, sessionIDs []parley.ID) ([]HeadState, error)
}
