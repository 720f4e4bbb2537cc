package store

import (
	"context"

	"example.org/parley"
)

// RecordHead is what a session's head states about its record.
type RecordHead struct {
	WorkspaceID  parley.ID
	SessionID    parley.ID
	LastSequence int64
	LastHash     parley.Hash
	Listed       bool // the session's row exists; set by RecordHeads
	Hidden       bool // that row is marked as deleted; set by RecordHeads
}

// RecordRow is a message of a record, as the hash chain sees it.
type RecordRow struct {
	Sequence int64
	Input    parley.ChainInput
	Hash     parley.Hash // zero while it streams
}

// LinkRow is a link with its entry; the entry is nil if it is missing or the link is of heads.
type LinkRow struct {
	parley.AuditLink
	Entry *parley.AuditEntry
}

// HeadFound is what the database has for a linked head.
type HeadFound struct {
	Deleted   bool        // the session is marked as deleted
	Explained bool        // an audit entry explains the deletion
	There     bool        // the session exists
	Hash      parley.Hash // of the message at the head's sequence; zero if missing
}

// StoredBlob identifies the bytes of a file.
type StoredBlob struct {
	WorkspaceID parley.ID
	ID          parley.ID
	Hash        parley.Hash
	Size        int64
}

// AuditKey identifies an entry.
type AuditKey struct {
	WorkspaceID parley.ID
	At          parley.Time
	ID          parley.ID
	Loose       bool // neither linked nor waiting to be
}

// Verifiable reads a store's rows of all workspaces for verification. Each method reads a bounded number of rows in one
// snapshot, while other work continues.
type Verifiable interface {
	AuditLinker
	// CheckPages has the database check the table after the given one ("": the first) and returns its name; "" after
	// the last.
	CheckPages(ctx context.Context, after string) (table string, findings []parley.Finding, err error)
	// RecordHeads returns the heads of sessions that are not deleted, after an id.
	RecordHeads(ctx context.Context, after parley.ID, limit int) ([]RecordHead, error)
	// RecordRows returns the messages of a session's record after a sequence, with the head from the same snapshot;
	// there is false if the session is gone or deleted.
	RecordRows(
		ctx context.Context,
		workspaceID, sessionID parley.ID,
		after int64,
		limit int,
	) (head RecordHead, rows []RecordRow, there bool, err error)
	// StoredBlobs returns complete blobs after an id, by id.
	StoredBlobs(ctx context.Context, after parley.ID, limit int) ([]StoredBlob, error)
	// FileChunk is the method of Files.
	FileChunk(ctx context.Context, workspaceID, blobID parley.ID, n int) ([]byte, error)
	// LinkRows returns the links after a number.
	LinkRows(ctx context.Context, after int64, limit int) ([]LinkRow, error)
	// HeadsFound looks up linked heads, in their order.
	HeadsFound(ctx context.Context, heads []parley.LinkedHead) ([]HeadFound, error)
	// AuditKeys returns the entries after a key, in key order.
	AuditKeys(ctx context.Context, after AuditKey, limit int) ([]AuditKey, error)
}
