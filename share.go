package parley

import "context"

// MaxShares bounds the sessions that one session is shared with.
const MaxShares = 256

// Share is the explicit permission of one session, the reader, to read another.
type Share struct {
	SessionID   ID     `json:"session_id"` // that is read
	ReaderID    ID     `json:"reader_id"`  // the session whose agent may read it
	WorkspaceID ID     `json:"workspace_id"`
	SharedBy    Author `json:"shared_by"`
	CreatedAt   Time   `json:"created_at"`
}

// ShareQuery lists shares, oldest first. One of the two ids is set.
type ShareQuery struct {
	SessionID ID // those of this session: who reads it
	ReaderID  ID // those that this session has: what it reads
}

// ShareStore keeps shares. A share is gone with either of its sessions.
type ShareStore interface {
	// Share lets reader read a session; one that is there stays as it is, and made is
	// false. The scope sees both: CodeNotFound otherwise. CodeConflict beyond MaxShares.
	Share(ctx context.Context, scope Scope, share Share) (kept Share, made bool, err error)
	// Unshare ends a share. The scope sees the session that is read; CodeNotFound
	// otherwise, and for a share that is not there.
	Unshare(ctx context.Context, scope Scope, sessionID, readerID ID) error
	// Shares lists the shares of a session that the scope sees; CodeNotFound otherwise.
	Shares(ctx context.Context, scope Scope, query ShareQuery) ([]Share, error)
	// Readable is a session as another one may read it: shared with it, or a tool
	// session that it opened. CodeNotFound for every other.
	Readable(ctx context.Context, workspaceID, readerID, sessionID ID) (Session, error)
	// AllReadable lists the sessions that are shared with one, oldest share first.
	AllReadable(ctx context.Context, workspaceID, readerID ID) ([]Session, error)
}
