package parley

import (
	"context"
	"encoding/json"
)

// SessionQuery lists sessions, last activity first.
type SessionQuery struct {
	AgentID, ProjectID, ParentID ID // zero: any
	BranchesOf                   ID // message that they were forked at, or that they ask anew
	Type, Feature, Task          string
	Kind                         SessionKind
	Mode                         Mode
	Status                       SessionStatus
	Archived                     *bool // nil: both
	Pinned                       *bool
	Tag                          string
	CreatedFrom, CreatedTo       Time // [from, to)
	Ascending                    bool
	AfterUpdated                 Time // the last row of the page before; with AfterID
	AfterID                      ID
	Limit                        int
}

// SessionChange is a PATCH: nil leaves a field alone.
type SessionChange struct {
	Title        *string
	Instructions *string
	Pinned       *bool
	Tags         *[]string
	ProjectID    *ID // zero detaches
	Metadata     *json.RawMessage
	Settings     SettingsPatch // its zero value changes nothing
	During       *During
	Visibility   *Visibility
	Archived     *bool
	// AcceptTools are digests of tools that the session's owner accepts with this.
	AcceptTools []string
}

// HeadState is a session's place in its event sequence, and who may see it.
type HeadState struct {
	SessionID  ID
	LastEvent  int64
	Deleted    bool       // then the others are empty
	OwnerID    ID         // of the session
	Visibility Visibility // of the session
}

// SessionStore reads and changes sessions outside their turns.
type SessionStore interface {
	Session(ctx context.Context, scope Scope, id ID) (Session, error)
	SessionByKey(ctx context.Context, scope Scope, key string) (Session, error)
	Sessions(ctx context.Context, scope Scope, query SessionQuery) ([]Session, error)
	// UpdateSession applies a change. CodeConflict when archiving with a turn unfinished.
	UpdateSession(ctx context.Context, scope Scope, id ID, change SessionChange) (Session, error)
	// ArchiveFeature archives all sessions of a feature that have no unfinished
	// turn, one transaction each, and returns the archived and the busy ones.
	ArchiveFeature(ctx context.Context, scope Scope, feature string) (archived, busy []ID, err error)
	// Events reads durable events after a sequence, ascending, complete: at most
	// limit, and no more behind the one with which they reach MaxPageBytes.
	Events(ctx context.Context, scope Scope, sessionID ID, after int64, limit int) ([]Event, error)
	// Accepted reads what the owner of a session has accepted; of one from before
	// acceptances were kept the version that its agent had then, if it is as old.
	Accepted(ctx context.Context, workspaceID, sessionID ID) (Accepted, error)
	// Heads reads where sessions stand; unknown ones count as deleted.
	Heads(ctx context.Context, sessionIDs []ID) ([]HeadState, error)
}
