// Package upload keeps files: bytes that a client sends, or that a tool answers with. It owns
// how they are cut into chunks and what their bytes say of them; the store is
// authoritative for what is kept, and for who has room.
package upload

import (
	"context"
	"crypto/sha256"
	"io"

	"example.org/parley"
)

// lookedAt is how many chunks are received between two looks at whether there is room.
const lookedAt = 16

// Store is what an upload takes of store.Files.
type Store interface {
	AppendUpload(ctx context.Context, workspaceID, blobID parley.ID, n int, data []byte) error
	Storage(ctx context.Context, workspaceID, ownerID parley.ID) (parley.Storage, error)
	FinishUpload(ctx context.Context, file parley.File, quota parley.Quota) (parley.File, bool, error)
	AbandonUpload(ctx context.Context, workspaceID, blobID parley.ID) error
}

// Keep stores the bytes of a file chunk by chunk, finds out what they are, and finishes
// the file: ids, owner and name are given. The bool is false when the owner has a file of
// this name and these bytes, which is returned. CodeTooLarge beyond parley.MaxFileBytes,
// CodeConflict beyond the quota. An error of the reader is returned as it is, and nothing
// is kept. pieces is the context in which chunks are stored, ctx that of the file itself;
// abandoned is told why an upload that broke off could not be given up.
func Keep(
	ctx, pieces context.Context,
	db Store,
	file parley.File,
	from io.Reader,
	quota parley.Quota,
	abandoned func(error),
) (parley.File, bool, error) {
	giveUp := func() {
		if file.Size == 0 {
			return
		}
		err := db.AbandonUpload(context.WithoutCancel(pieces), file.WorkspaceID, file.BlobID)
		if err != nil { // what is not given up is swept later
			abandoned(err)
		}
	}
	if err := receive(pieces, db, &file, from, quota); err != nil {
		giveUp()
		return parley.File{}, false, err
	}
	made, isNew, err := db.FinishUpload(ctx, file, quota)
	if parley.ErrorCode(err) == parley.CodeConflict {
		giveUp()
	}
	return made, isNew, err
}

// receive stores the chunks of a file and fills in what their bytes say of it.
func receive(ctx context.Context, db Store, file *parley.File, from io.Reader, quota parley.Quota) error {
	var seen Inspection
	sum := sha256.New()
	chunk := make([]byte, parley.FileChunkBytes)
	for n := 0; ; n++ {
		size, last, err := fill(from, chunk)
		if err != nil {
			return err
		}
		if file.Size+int64(size) > parley.MaxFileBytes {
			return TooLarge()
		}
		if n%lookedAt == 0 && size > 0 {
			if err := hasRoom(ctx, db, file, quota, size); err != nil {
				return err
			}
		}
		if size > 0 {
			_, _ = sum.Write(chunk[:size]) // a hash never fails
			seen.Look(chunk[:size])
			if err := db.AppendUpload(ctx, file.WorkspaceID, file.BlobID, n, chunk[:size]); err != nil {
				return err
			}
			file.Size += int64(size)
		}
		if last {
			break
		}
	}
	if file.Size == 0 {
		return parley.InvalidField("file", "is empty")
	}
	sum.Sum(file.SHA256[:0])
	file.MediaType, file.Width, file.Height = seen.Found()
	return nil
}

// fill reads until the chunk is full or the reader says that it is at its end:
// any other end is an error, also io.ErrUnexpectedEOF.
func fill(from io.Reader, chunk []byte) (size int, last bool, err error) {
	for size < len(chunk) {
		n, err := from.Read(chunk[size:])
		size += n
		if err == io.EOF {
			return size, true, nil
		}
		if err != nil {
			return size, false, err
		}
	}
	return size, false, nil
}

// hasRoom refuses an upload in progress that exceeds the quota: what it has stored
// is in the workspace's bytes already. The store decides when it is finished.
func hasRoom(ctx context.Context, db Store, file *parley.File, quota parley.Quota, next int) error {
	if quota == (parley.Quota{}) {
		return nil
	}
	stored, err := db.Storage(ctx, file.WorkspaceID, file.OwnerID)
	if err != nil {
		return err
	}
	return stored.Room(quota, int64(next), file.Size+int64(next))
}

// TooLarge refuses a file beyond parley.MaxFileBytes.
func TooLarge() error {
	return parley.Errorf(parley.CodeTooLarge, "The file is larger than %d bytes.", parley.MaxFileBytes)
}

// TypeOf is the media type that bytes say they are of.
func TypeOf(data []byte) string {
	var seen Inspection
	seen.Look(data)
	mediaType, _, _ := seen.Found()
	return mediaType
}
