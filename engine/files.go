package engine

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"unicode"

	"example.org/parley"
	"example.org/parley/internal/upload"
	"example.org/parley/store"
)

// UploadFile reads and stores a file's bytes; the bool is false if the principal already has a file with this name and
// these bytes, which is returned then. Bytes are stored chunk by chunk, never whole in memory. The type is detected
// from the bytes. It returns CodeTooLarge beyond parley.MaxFileBytes. An error of the reader is returned unchanged, and
// nothing is stored.
func (e *Engine) UploadFile(
	ctx context.Context,
	principal parley.Principal,
	name string,
	from io.Reader,
) (_ parley.File, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "uploadFile", WriteFiles)
	if err != nil {
		return parley.File{}, false, err
	}
	defer call.end(ctx, &err)
	return e.keepFile(ctx, call, principal, name, from)
}

// keepFile is UploadFile within another call.
func (e *Engine) keepFile(
	ctx context.Context,
	call verbCall,
	principal parley.Principal,
	name string,
	from io.Reader,
) (_ parley.File, _ bool, err error) {
	if name, err = fileName(name); err != nil {
		return parley.File{}, false, err
	}
	file := parley.File{
		ID:          parley.NewID(),
		BlobID:      parley.NewID(),
		WorkspaceID: call.Scope.WorkspaceID,
		OwnerID:     principal.ID,
		Name:        name,
	}
	pieces := store.WithAudit(ctx, nil) // only the last piece makes it a file
	made, isNew, err := upload.Keep(ctx, pieces, e.store, file, from, e.storageQuota(principal), func(err error) {
		e.log.Warn("an interrupted upload could not be discarded; it expires later", "error", err)
	})
	if err == nil {
		call.about(on(made.ID))
	}
	return made, isNew, err
}

// FileTooLarge refuses an upload beyond parley.MaxFileBytes.
func FileTooLarge() error { return upload.TooLarge() }

// fileName returns the last part of a name, which may carry a path of any system.
func fileName(name string) (string, error) {
	name = path.Base(strings.ReplaceAll(strings.TrimSpace(name), `\`, "/"))
	if name == "." || name == ".." || name == "/" {
		return "", parley.InvalidField("name", "is missing; give the file a name")
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		return "", parley.InvalidField("name", "holds a control character; remove it")
	}
	return name, parley.CheckText("name", name, parley.MaxNameBytes)
}

// File reads a file's description.
func (e *Engine) File(ctx context.Context, principal parley.Principal, id parley.ID) (_ parley.File, err error) {
	ctx, call, err := e.enter(ctx, principal, "getFile", ReadFiles, on(id))
	if err != nil {
		return parley.File{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	return e.store.File(ctx, scope, id)
}

// Files lists files, newest first by default.
func (e *Engine) Files(ctx context.Context, principal parley.Principal, list Paging) (_ Page[parley.File], err error) {
	ctx, call, err := e.enter(ctx, principal, "listFiles", ReadFiles)
	if err != nil {
		return Page[parley.File]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	from, order, limit, err := list.start("files", Descending)
	if err != nil {
		return Page[parley.File]{}, err
	}
	rows, err := e.store.Files(
		ctx,
		scope,
		store.FileQuery{Ascending: order == Ascending, AfterID: from.ID, Limit: limit + 1},
	)
	if err != nil {
		return Page[parley.File]{}, err
	}
	return pageOf(
		rows,
		limit,
		func(last parley.File) cursor { return cursor{List: "files", Order: order, ID: last.ID} },
	), nil
}

// FileContent opens a file's bytes.
func (e *Engine) FileContent(ctx context.Context, principal parley.Principal, id parley.ID) (_ *FileReader, err error) {
	ctx, call, err := e.enter(ctx, principal, "getFileContent", ReadFiles, on(id))
	if err != nil {
		return nil, err
	}
	defer call.end(ctx, &err)
	file, err := e.File(ctx, principal, id)
	if err != nil {
		return nil, err
	}
	return e.openFile(ctx, file), nil
}

// DeleteFile removes a file. Only its uploader or an admin may; it returns CodeConflict while a message uses the file.
func (e *Engine) DeleteFile(ctx context.Context, principal parley.Principal, id parley.ID) (err error) {
	ctx, call, err := e.enter(ctx, principal, "deleteFile", DropFiles, on(id))
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	file, err := e.store.File(ctx, scope, id)
	if err != nil {
		return err
	}
	if ReachOf(principal.Role, DropFiles) != ReachAll && file.OwnerID != principal.ID {
		return parley.Errorf(parley.CodeForbidden, "Only the person who uploaded the file, or an admin, may do this.")
	}
	return e.store.DeleteFile(ctx, scope, id)
}

// FileReader reads a file's bytes, one chunk at a time. It belongs to one goroutine.
type FileReader struct {
	File parley.File

	ctx   context.Context //nolint:containedctx // it does not outlive its request
	store Store
	at    int64
	chunk []byte // chunk n; nil before the first
	n     int
}

func (e *Engine) openFile(ctx context.Context, file parley.File) *FileReader {
	return &FileReader{File: file, ctx: ctx, store: e.store}
}

// Read implements io.Reader.
func (r *FileReader) Read(p []byte) (int, error) {
	if r.at >= r.File.Size {
		return 0, io.EOF
	}
	n := int(r.at / parley.FileChunkBytes)
	if r.chunk == nil || r.n != n {
		chunk, err := r.store.FileChunk(r.ctx, r.File.WorkspaceID, r.File.BlobID, n)
		if err != nil {
			return 0, err
		}
		r.chunk, r.n = chunk, n
	}
	within := int(r.at % parley.FileChunkBytes)
	if within >= len(r.chunk) {
		return 0, io.ErrUnexpectedEOF
	}
	read := copy(p, r.chunk[within:])
	r.at += int64(read)
	return read, nil
}

// Seek implements io.Seeker.
func (r *FileReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.File.Size
	}
	if offset < 0 {
		return 0, errors.New("engine: seek before the beginning of a file")
	}
	r.at = offset
	return offset, nil
}
