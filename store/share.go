package store

import (
	"context"

	"example.org/parley"
)

// ShareQuery lists shares, oldest first. One of the two ids is set.
type ShareQuery struct {
	SessionID parley.ID // those of this session: who reads it
	ReaderID  parley.ID // those that this session has: what it reads
}

// Shares keeps shares. A share is gone with either of its sessions.
type Shares interface {
	// Share lets reader read a session. An existing share stays as it is, and made is false. CodeNotFound unless the
	// scope sees both sessions, CodeConflict beyond MaxShares.
	Share(ctx context.Context, scope Scope, share parley.Share) (kept parley.Share, made bool, err error)
	// Unshare ends a share. CodeNotFound if the share does not exist, or the scope does not see the session that is
	// read.
	Unshare(ctx context.Context, scope Scope, sessionID, readerID parley.ID) error
	// Shares lists the shares of a session that the scope sees; CodeNotFound otherwise.
	Shares(ctx context.Context, scope Scope, query ShareQuery) ([]parley.Share, error)
	// Readable is a session as another one may read it: shared with it, or a tool
	// session that it opened. CodeNotFound for every other.
	Readable(ctx context.Context, workspaceID, readerID, sessionID parley.ID) (parley.Session, error)
	// AllReadable lists the sessions that are shared with one, oldest share first.
	AllReadable(ctx context.Context, workspaceID, readerID parley.ID) ([]parley.Session, error)
}
