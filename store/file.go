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

// Files stores files. Bytes are written and read in chunks, each in its own transaction, so a large file does not block
// other work; a file becomes visible once all chunks are stored. A file is visible to its owner, to principals who see
// the whole workspace, and to those who may see a session with a message that uses it.
type Files interface {
	// AppendUpload adds chunk n, counted from 0, to an upload; chunk 0 begins it. It keeps a chunk that exists.
	// CodeConflict if the upload is no longer open.
	AppendUpload(ctx context.Context, workspaceID, blobID parley.ID, n int, data []byte) error
	// Storage returns how many bytes the files and artifacts of a workspace occupy, and those of one principal.
	Storage(ctx context.Context, workspaceID, ownerID parley.ID) (parley.Storage, error)
	// FinishUpload turns an upload into a file, and shares the bytes of an earlier identical one. If the owner already
	// has a file with the same name and bytes, it returns that file and false. CodeConflict if the upload is no longer
	// open or the file exceeds a storage quota. On PostgreSQL, uploads that finish in the same instant do not see each
	// other.
	FinishUpload(ctx context.Context, file parley.File, quota parley.Quota) (parley.File, bool, error)
	// AbandonUpload gives up an upload; it ignores one that is no longer open. An upload that is neither finished nor
	// abandoned is removed after UploadGrace without growth.
	AbandonUpload(ctx context.Context, workspaceID, blobID parley.ID) error

	File(ctx context.Context, scope Scope, id parley.ID) (parley.File, error)
	Files(ctx context.Context, scope Scope, query FileQuery) ([]parley.File, error)
	// FileChunk reads chunk n of a file's bytes. CodeNotFound if they are gone.
	FileChunk(ctx context.Context, workspaceID, blobID parley.ID, n int) ([]byte, error)
	// Thumbnail reads what KeepThumbnail stored, or nil.
	Thumbnail(ctx context.Context, workspaceID, blobID parley.ID) ([]byte, error)
	KeepThumbnail(ctx context.Context, workspaceID, blobID parley.ID, data []byte) error
	// DeleteFile removes a file; the outbox removes its bytes when no other file shares them. CodeConflict while a
	// message uses it. Purging the last message that uses a file removes the file, too.
	DeleteFile(ctx context.Context, scope Scope, id parley.ID) error
}
