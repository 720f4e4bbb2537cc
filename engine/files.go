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

// UploadFile reads a file's bytes and keeps them; the bool is false when the
// principal has a file of this name and these bytes, which is answered then. They
// are kept chunk by chunk, never whole in memory. Its type is found by looking at
// them. CodeTooLarge beyond parley.MaxFileBytes. An error of the reader is
// returned as it is, and nothing is kept.
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
	scope := call.Scope
	if name, err = fileName(name); err != nil {
		return parley.File{}, false, err
	}
	file := parley.File{
		ID:          parley.NewID(),
		BlobID:      parley.NewID(),
		WorkspaceID: scope.WorkspaceID,
		OwnerID:     principal.ID,
		Name:        name,
	}
	pieces := store.WithAudit(ctx, nil) // the file is there when its last piece is
	made, isNew, err := upload.Keep(ctx, pieces, e.store, file, from, e.storageQuota(principal), func(err error) {
		e.log.Warn("an upload that broke off could not be given up; it goes later", "error", err)
	})
	if err == nil {
		call.about(on(made.ID))
	}
	return made, isNew, err
}

// FileTooLarge refuses an upload beyond parley.MaxFileBytes.
func FileTooLarge() error { return upload.TooLarge() }

// fileName is the last part of a name, which may come with a path of any system.
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

// File reads what is known of a file.
func (e *Engine) File(ctx context.Context, principal parley.Principal, id parley.ID) (_ parley.File, err error) {
	ctx, call, err := e.enter(ctx, principal, "getFile", ReadFiles, on(id))
	if err != nil {
		return parley.File{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	return e.store.File(ctx, scope, id)
}

// Files lists, newest first by default.
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

// DeleteFile removes a file. Only who uploaded it or an admin may; CodeConflict
// while a message uses it.
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

// FileReader reads a file's bytes, a chunk at a time. It is for one goroutine.
type FileReader struct {
	File parley.File

	ctx   context.Context //nolint:containedctx // a reader of one request, which it does not outlive
	store Store
	at    int64
	chunk []byte // chunk n, nil before the first
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
