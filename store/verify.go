package store

import (
	"context"

	"example.org/parley"
)

// RecordHead is what a session's head says of its record.
type RecordHead struct {
	WorkspaceID  parley.ID
	SessionID    parley.ID
	LastSequence int64
	LastHash     parley.Hash
	Listed       bool // its row among the sessions is there; set by RecordHeads
	Hidden       bool // that row says that it is deleted; set by RecordHeads
}

// RecordRow is a message of a record as the hash chain sees it.
type RecordRow struct {
	Sequence int64
	Input    parley.ChainInput
	Hash     parley.Hash // zero while it streams
}

// LinkRow is a link with its entry; the entry is nil when it is not there, or when
// the link is of heads.
type LinkRow struct {
	parley.AuditLink
	Entry *parley.AuditEntry
}

// HeadFound is what there is of a linked head.
type HeadFound struct {
	Deleted   bool        // the session is marked as deleted
	Explained bool        // by an entry of the audit
	There     bool        // the session is
	Hash      parley.Hash // of the message at the head's sequence; zero when there is none
}

// StoredBlob names bytes of files.
type StoredBlob struct {
	WorkspaceID parley.ID
	ID          parley.ID
	Hash        parley.Hash
	Size        int64
}

// AuditKey names an entry.
type AuditKey struct {
	WorkspaceID parley.ID
	At          parley.Time
	ID          parley.ID
	Loose       bool // it is neither linked nor waiting for it
}

// Verifiable shows a store's rows of all workspaces for verification. Each method
// reads a bounded number of rows in one snapshot, beside everything else.
type Verifiable interface {
	AuditLinker
	// CheckPages has the database check the table behind one ("": the first), and
	// returns its name; "" when there is none left.
	CheckPages(ctx context.Context, after string) (table string, findings []parley.Finding, err error)
	// RecordHeads are the heads of sessions that are not deleted, behind one.
	RecordHeads(ctx context.Context, after parley.ID, limit int) ([]RecordHead, error)
	// RecordRows are the messages of a session's record behind a sequence, with its
	// head of the same moment; there is false when it is gone or deleted.
	RecordRows(
		ctx context.Context,
		workspaceID, sessionID parley.ID,
		after int64,
		limit int,
	) (head RecordHead, rows []RecordRow, there bool, err error)
	// StoredBlobs are the whole blobs behind one, by id.
	StoredBlobs(ctx context.Context, after parley.ID, limit int) ([]StoredBlob, error)
	// FileChunk is that of Files.
	FileChunk(ctx context.Context, workspaceID, blobID parley.ID, n int) ([]byte, error)
	// LinkRows are the links behind a number.
	LinkRows(ctx context.Context, after int64, limit int) ([]LinkRow, error)
	// HeadsFound looks linked heads up, in their order.
	HeadsFound(ctx context.Context, heads []parley.LinkedHead) ([]HeadFound, error)
	// AuditKeys are the entries behind one, in the order of their keys.
	AuditKeys(ctx context.Context, after AuditKey, limit int) ([]AuditKey, error)
}
