// Package upload stores files: bytes that a client sends, or that a tool returns. It owns how they are cut into chunks
// and how their type is detected; the store is authoritative for what is kept, and for quotas.
package upload

import (
	"context"
	"crypto/sha256"
	"io"

	"example.org/parley"
)

// lookedAt is how many chunks are received between two checks for room.
const lookedAt = 16

// Store is the part of store.Files that an upload uses.
type Store interface {
	AppendUpload(ctx context.Context, workspaceID, blobID parley.ID, n int, data []byte) error
	Storage(ctx context.Context, workspaceID, ownerID parley.ID) (parley.Storage, error)
	FinishUpload(ctx context.Context, file parley.File, quota parley.Quota) (parley.File, bool, error)
	AbandonUpload(ctx context.Context, workspaceID, blobID parley.ID) error
}

// Keep stores the bytes of a file chunk by chunk, detects their type, and finishes the file; the caller provides ids,
// owner and name. The bool is false if the owner already has a file with this name and these bytes, which is returned.
// It returns CodeTooLarge beyond parley.MaxFileBytes, and CodeConflict beyond the quota. An error of the reader is
// returned unchanged, and nothing is stored. pieces is the context for storing chunks, ctx that for the file itself;
// abandoned is called if an interrupted upload could not be discarded.
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
		if err != nil { // a remaining upload is swept later
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

// receive stores the chunks of a file and fills in what was detected.
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

// fill reads until the chunk is full or the reader has ended: any other end is an error, including io.ErrUnexpectedEOF.
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

// hasRoom refuses an upload in progress that exceeds the quota: its stored bytes already count for the workspace. The
// store decides finally when the upload ends.
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

// TypeOf returns the media type detected from bytes.
func TypeOf(data []byte) string {
	var seen Inspection
	seen.Look(data)
	mediaType, _, _ := seen.Found()
	return mediaType
}
