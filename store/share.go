package store

import (
	"context"

	"example.org/parley"
)

// ShareQuery lists shares, oldest first. Exactly one id is set.
type ShareQuery struct {
	SessionID parley.ID // shares that let others read this session
	ReaderID  parley.ID // shares that this session reads
}

// Shares stores shares. A share ends with either of its sessions.
type Shares interface {
	// Share lets reader read a session; an existing share stays unchanged, and made is false. CodeNotFound unless the
	// scope sees both sessions; CodeConflict beyond MaxShares.
	Share(ctx context.Context, scope Scope, share parley.Share) (kept parley.Share, made bool, err error)
	// Unshare ends a share. CodeNotFound if the scope does not see the shared session, or the share does not exist.
	Unshare(ctx context.Context, scope Scope, sessionID, readerID parley.ID) error
	// Shares lists the shares of a session. CodeNotFound if the scope does not see the session.
	Shares(ctx context.Context, scope Scope, query ShareQuery) ([]parley.Share, error)
	// Readable returns a session that another one may read, because it is shared with it or is a tool session that it
	// opened. CodeNotFound for any other.
	Readable(ctx context.Context, workspaceID, readerID, sessionID parley.ID) (parley.Session, error)
	// AllReadable lists the sessions shared with a session, oldest share first.
	AllReadable(ctx context.Context, workspaceID, readerID parley.ID) ([]parley.Session, error)
}
