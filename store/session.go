package store

import (
	"context"
	"encoding/json"

	"example.org/parley"
)

// SessionQuery lists sessions, last activity first.
type SessionQuery struct {
	AgentID, ProjectID, ParentID parley.ID // zero: any
	BranchesOf                   parley.ID // message that they were forked at or ask again
	Type, Feature, Task          string
	Kind                         parley.SessionKind
	Mode                         parley.Mode
	Status                       parley.SessionStatus
	Archived                     *bool // nil: both
	Pinned                       *bool
	Tag                          string
	CreatedFrom, CreatedTo       parley.Time // [from, to)
	Ascending                    bool
	AfterUpdated                 parley.Time // last row of the previous page; set together with AfterID
	AfterID                      parley.ID
	Limit                        int
}

// SessionChange is a patch: nil leaves a field unchanged.
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
	// If refuses the change unless the session is as the caller expects; nil: any is. The transition calls it, perhaps
	// several times, before it changes anything.
	If func(current *parley.Session) error
	// AcceptTools are digests of tools that the session's owner accepts with this change.
	AcceptTools []string
}

// HeadState is a session's position in its event sequence, and who may see the session.
type HeadState struct {
	SessionID  parley.ID
	LastEvent  int64
	Deleted    bool              // then the fields below are empty
	OwnerID    parley.ID         // of the session
	Visibility parley.Visibility // of the session
}

// Sessions reads and changes sessions outside their turns.
type Sessions interface {
	Session(ctx context.Context, scope Scope, id parley.ID) (parley.Session, error)
	SessionByKey(ctx context.Context, scope Scope, key string) (parley.Session, error)
	Sessions(ctx context.Context, scope Scope, query SessionQuery) ([]parley.Session, error)
	// UpdateSession applies a change. CodeConflict for archiving while a turn is unfinished.
	UpdateSession(ctx context.Context, scope Scope, id parley.ID, change SessionChange) (parley.Session, error)
	// ArchiveFeature archives all sessions of a feature that have no unfinished turn, one per transaction, and returns
	// the archived and the busy ones.
	ArchiveFeature(ctx context.Context, scope Scope, feature string) (archived, busy []parley.ID, err error)
	// Events reads durable events after a sequence, ascending and complete: at most limit, ending with the event that
	// reaches MaxPageBytes.
	Events(ctx context.Context, scope Scope, sessionID parley.ID, after int64, limit int) ([]parley.Event, error)
	// Accepted reads what the owner of a session has accepted. For a session older than recorded acceptances it derives
	// this from the agent's version of that time, if that version is as old.
	Accepted(ctx context.Context, workspaceID, sessionID parley.ID) (parley.Accepted, error)
	// Heads reads the event positions of sessions; unknown sessions count as deleted.
	Heads(ctx context.Context, sessionIDs []parley.ID) ([]HeadState, error)
}
