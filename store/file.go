package store

import (
	"context"

	"example.org/parley"
)

// FileQuery lists files, newest first unless Ascending.
type FileQuery struct {
	Ascending bool
	AfterID   parley.ID
	Limit     int
}

// Files keeps files. Their bytes come and go in chunks, each in a transaction
// of its own, so that a large one keeps no other waiting; a file is seen once all
// of them are there. Who may see a file: its owner, whoever sees all of the
// workspace, and whoever may see a session with a message that uses it.
type Files interface {
	// AppendUpload adds chunk n, from 0, to an upload; the first one begins it. An
	// existing chunk is kept. CodeConflict if the upload is no longer open.
	AppendUpload(ctx context.Context, workspaceID, blobID parley.ID, n int, data []byte) error
	// Storage is what the files of a workspace hold, and those that one principal has
	// uploaded.
	Storage(ctx context.Context, workspaceID, ownerID parley.ID) (parley.Storage, error)
	// FinishUpload makes an upload a file, with the bytes of an earlier one when they
	// are the same. The owner's file of the same name and bytes is answered instead of
	// another one, and the bool is false then. CodeConflict when the upload is no
	// longer open, or when the file goes beyond a quota of storage. On PostgreSQL those
	// that finish in the same instant do not see each other.
	FinishUpload(ctx context.Context, file parley.File, quota parley.Quota) (parley.File, bool, error)
	// AbandonUpload gives an upload up; one that is no longer open is left alone. What
	// nobody finishes or abandons goes when it has not grown for UploadGrace.
	AbandonUpload(ctx context.Context, workspaceID, blobID parley.ID) error

	File(ctx context.Context, scope Scope, id parley.ID) (parley.File, error)
	Files(ctx context.Context, scope Scope, query FileQuery) ([]parley.File, error)
	// FileChunk reads chunk n of a file's bytes. CodeNotFound when they are gone.
	FileChunk(ctx context.Context, workspaceID, blobID parley.ID, n int) ([]byte, error)
	// Thumbnail reads what KeepThumbnail kept; nil for nothing.
	Thumbnail(ctx context.Context, workspaceID, blobID parley.ID) ([]byte, error)
	KeepThumbnail(ctx context.Context, workspaceID, blobID parley.ID, data []byte) error
	// DeleteFile removes a file; the outbox removes its bytes when no other has them.
	// CodeConflict while a message uses it. When the last message that uses a file is
	// purged, the file goes with it.
	DeleteFile(ctx context.Context, scope Scope, id parley.ID) error
}
