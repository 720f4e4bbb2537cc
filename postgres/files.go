package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// States of a blob.
const (
	blobOpen  = "open"  // growing
	blobWhole = "whole" // has files
	blobGone  = "gone"  // to be deleted
)

// errUploadOver is the error for adding to an upload that was finished, given up, or idle for too long.
func errUploadOver() error {
	return parley.Errorf(parley.CodeConflict, "this upload is over or took too long between two pieces; begin it again")
}

// leaveBlob leaves the deletion of a blob to the outbox, at a later time.
func (b *batch) leaveBlob(workspaceID, blobID parley.ID, wait parley.Time) {
	b.write(
		"INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at) "+
			"SELECT $1, $2, $3, now, now + $4 "+
			"FROM parley.now_ms() now",
		workspaceID,
		transition.PurgeBlob{}.Kind(),
		blobID,
		int64(wait),
	)
}

// AppendUpload implements store.Files.
func (s *Store) AppendUpload(ctx context.Context, workspaceID, blobID parley.ID, n int, data []byte) error {
	var open int64
	b := tenant(workspaceID)
	if n == 0 {
		b.write(
			"INSERT INTO parley.blobs (id, workspace_id, state, touched_at) VALUES ($2, $1, '"+blobOpen+
				"', parley.now_ms()) ON CONFLICT DO NOTHING",
			workspaceID,
			blobID,
		)
		b.leaveBlob(workspaceID, blobID, parley.UploadGrace)
	}
	b.counted(
		&open,
		"UPDATE parley.blobs SET size = size + $3, touched_at = parley.now_ms() "+
			"WHERE workspace_id = $1 AND id = $2 AND state = '"+blobOpen+"'",
		workspaceID,
		blobID,
		len(data),
	)
	b.write(
		"INSERT INTO parley.blob_chunks (blob_id, n, workspace_id, data) SELECT id, $3, workspace_id, $4 "+
			"FROM parley.blobs WHERE workspace_id = $1 AND id = $2 AND state = '"+blobOpen+"' ON CONFLICT DO NOTHING",
		workspaceID,
		blobID,
		n,
		data,
	)
	if err := s.send(ctx, b); err != nil {
		return mapError(err)
	}
	if open == 0 {
		return errUploadOver()
	}
	return nil
}

// FinishUpload implements store.Files. If several finish the same bytes at once, the unique index admits one; the
// others look again.
func (s *Store) FinishUpload(
	ctx context.Context,
	file parley.File,
	quota parley.Quota,
) (made parley.File, isNew bool, err error) {
	again := func(err error) bool { return unsent(err) || violated(err) != "" }
	audit := store.AuditFrom(ctx)
	err = s.trying(ctx, func() error {
		return s.together(ctx, func(t *conversation) (err error) {
			made, isNew, err = finishUpload(t, file, quota, audit)
			return err
		})
	}, again)
	if err == nil {
		audit.Wrote()
	}
	return made, isNew, mapError(err)
}

func finishUpload(
	t *conversation,
	file parley.File,
	quota parley.Quota,
	audit *store.AuditIntent,
) (parley.File, bool, error) {
	made, open, known := file, false, false
	var stored parley.Storage
	b := tenant(file.WorkspaceID)
	b.read(
		"SELECT 1 FROM parley.blobs WHERE workspace_id = $1 AND id = $2 AND state = '"+blobOpen+"' FOR UPDATE",
		func(*row) error {
			open = true
			return nil
		},
		file.WorkspaceID,
		file.BlobID,
	)
	b.read(
		"SELECT id, parley.now_ms() FROM parley.blobs WHERE workspace_id = $1 AND hash = $2 AND state = '"+blobWhole+
			"' FOR UPDATE",
		func(r *row) error {
			made.BlobID = r.id()
			return nil
		},
		file.WorkspaceID,
		file.SHA256,
	)
	b.read("SELECT parley.now_ms()", func(r *row) error {
		made.CreatedAt = r.time()
		return nil
	})
	b.read(
		"SELECT "+fileColumns+` FROM parley.files f JOIN parley.blobs b ON b.workspace_id = f.workspace_id
			AND b.id = f.blob_id AND b.state = '`+blobWhole+`'
 WHERE f.workspace_id = $1 AND f.owner_id = $2 AND f.name = $3 AND b.hash = $4`,
		func(r *row) (err error) {
			known = true
			made, err = scanFile(r)
			return err
		},
		file.WorkspaceID,
		file.OwnerID,
		file.Name,
		file.SHA256,
	)
	if quota != (parley.Quota{}) {
		b.read(storageQuery, func(r *row) (err error) {
			stored, err = scanStorage(r)
			return err
		}, file.WorkspaceID, file.OwnerID)
	}
	if err := t.send(b); err != nil {
		return parley.File{}, false, err
	}
	if !open {
		return parley.File{}, false, errUploadOver()
	}
	if !known {
		twice := int64(0) // the stored bytes include this upload, which is given up below
		if made.BlobID != file.BlobID {
			twice = file.Size
		}
		if err := stored.Room(quota, -twice, file.Size); err != nil {
			return parley.File{}, false, err
		}
	}
	b = tenant(file.WorkspaceID)
	if made.BlobID != file.BlobID {
		b.giveUp(file.WorkspaceID, file.BlobID)
	}
	if !known {
		b.write(
			"UPDATE parley.blobs SET state = '"+blobWhole+
				"', hash = $3, files = files + 1 WHERE workspace_id = $1 AND id = $2",
			made.WorkspaceID,
			made.BlobID,
			made.SHA256,
		)
		b.write(
			"INSERT INTO parley.files ("+insertFileColumns+") VALUES ("+insertFilePlaces+")",
			insertFileArgs(nil, &made)...)
	}
	b.audit(audit.Entries(parley.ID{}, made.ID))
	return made, !known, t.commit(b)
}

// giveUp marks an open upload for deletion.
func (b *batch) giveUp(workspaceID, blobID parley.ID) {
	b.write(
		`WITH gone AS (UPDATE parley.blobs SET state = '`+blobGone+
			`' WHERE workspace_id = $1 AND id = $2 AND state = '`+blobOpen+`' RETURNING id)
 INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at)
  SELECT $1, $3, gone.id, now, now FROM gone, parley.now_ms() now`,
		workspaceID,
		blobID,
		transition.PurgeBlob{}.Kind(),
	)
}

// What the files and artifacts of a workspace, $1, and of a principal in it, own.id, occupy.
const (
	storedInWorkspace = `(SELECT coalesce(sum(size), 0)::bigint FROM parley.blobs
  WHERE workspace_id = $1 AND state <> '` + blobGone + `')
  + (SELECT coalesce(sum(stored), 0)::bigint FROM parley.artifact_contents WHERE workspace_id = $1)`
	storedOfPrincipal = `(SELECT coalesce(sum(size), 0)::bigint FROM parley.files
  WHERE workspace_id = $1 AND owner_id = own.id)
  + (SELECT coalesce(sum(stored), 0)::bigint FROM parley.artifact_contents 
   WHERE workspace_id = $1 AND owner_id = own.id)`
	storageQuery = "SELECT " + storedInWorkspace + ", " + storedOfPrincipal + " FROM (SELECT $2::uuid AS id) own"
)

func scanStorage(r *row) (parley.Storage, error) {
	return parley.Storage{Workspace: r.int64(), Principal: r.int64()}, nil
}

// Storage implements store.Files.
func (s *Store) Storage(ctx context.Context, workspaceID, ownerID parley.ID) (parley.Storage, error) {
	return one(ctx, s, tenant(workspaceID), "storage", scanStorage, storageQuery, workspaceID, ownerID)
}

// AbandonUpload implements store.Files.
func (s *Store) AbandonUpload(ctx context.Context, workspaceID, blobID parley.ID) error {
	b := tenant(workspaceID)
	b.giveUp(workspaceID, blobID)
	return mapError(s.send(ctx, b))
}

// ofFiles restricts "f" to the files that a scope may see.
func (l *filter) ofFiles(scope store.Scope) {
	l.must("f.workspace_id = " + here)
	if !scope.ViewerID.IsZero() {
		l.must(
			`(f.owner_id = ? OR EXISTS (SELECT 1 FROM parley.file_uses u
				JOIN parley.sessions s ON s.workspace_id = u.workspace_id AND s.id = u.session_id
 WHERE u.workspace_id = f.workspace_id AND u.file_id = f.id AND s.deleted_at IS NULL
  AND (s.owner_id = ? OR s.visibility = 'workspace'))
 OR EXISTS (SELECT 1 FROM parley.file_uses u JOIN parley.messages m ON m.workspace_id = u.workspace_id
  AND m.id = u.message_id JOIN `+readersOf+`
 WHERE u.workspace_id = f.workspace_id AND u.file_id = f.id AND s.deleted_at IS NULL
  AND (s.owner_id = ? OR s.visibility = 'workspace')))`,
			scope.ViewerID,
			scope.ViewerID,
			scope.ViewerID,
		)
	}
}

// fileQuery finds a file that a scope may see.
func fileQuery(scope store.Scope, id parley.ID) (string, []arg) {
	var l filter
	l.must("f.id = ?", id)
	l.ofFiles(scope)
	return "SELECT " + fileColumns + " FROM parley.files f WHERE " + l.where.String(), l.args
}

// File implements store.Files.
func (s *Store) File(ctx context.Context, scope store.Scope, id parley.ID) (parley.File, error) {
	text, args := fileQuery(scope, id)
	return one(ctx, s, tenant(scope.WorkspaceID), "file", scanFile, text, args...)
}

// Files implements store.Files.
func (s *Store) Files(ctx context.Context, scope store.Scope, query store.FileQuery) ([]parley.File, error) {
	text, rows, args := filesQuery(scope, query)
	return all(ctx, s, ordered(scope.WorkspaceID), scanFile, text, rows, args...)
}

func filesQuery(scope store.Scope, q store.FileQuery) (text string, rows int, args []arg) {
	var l filter
	l.ofFiles(scope)
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("f.id "+after+" ?", q.AfterID)
	}
	limit, rows := limited(q.Limit)
	return "SELECT " + fileColumns + " FROM parley.files f WHERE " + l.where.String() + " ORDER BY f.id " + word +
		limit, rows, l.args
}

// FileChunk implements store.Files.
func (s *Store) FileChunk(ctx context.Context, workspaceID, blobID parley.ID, n int) ([]byte, error) {
	return one(
		ctx,
		s,
		tenant(workspaceID),
		"file",
		func(r *row) ([]byte, error) { return r.bytes(), nil },
		`SELECT c.data FROM parley.blob_chunks c JOIN parley.blobs b ON b.workspace_id = c.workspace_id
			AND b.id = c.blob_id
 WHERE c.workspace_id = $1 AND c.blob_id = $2 AND c.n = $3 AND b.state = '`+blobWhole+`'`,
		workspaceID,
		blobID,
		n,
	)
}

// Thumbnail implements store.Files.
func (s *Store) Thumbnail(ctx context.Context, workspaceID, blobID parley.ID) ([]byte, error) {
	found, err := all(ctx, s, tenant(workspaceID), func(r *row) ([]byte, error) { return r.bytes(), nil },
		"SELECT thumbnail FROM parley.blobs WHERE workspace_id = $1 AND id = $2", 1, workspaceID, blobID)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// KeepThumbnail implements store.Files.
func (s *Store) KeepThumbnail(ctx context.Context, workspaceID, blobID parley.ID, data []byte) error {
	b := tenant(workspaceID)
	b.write(
		"UPDATE parley.blobs SET thumbnail = $3 WHERE workspace_id = $1 AND id = $2 AND state = '"+blobWhole+"'",
		workspaceID,
		blobID,
		data,
	)
	return mapError(s.send(ctx, b))
}

// DeleteFile implements store.Files. It locks the file before looking for uses: a message that is about to use the file
// locks it, too.
func (s *Store) DeleteFile(ctx context.Context, scope store.Scope, id parley.ID) error {
	text, args := fileQuery(scope, id)
	audit := store.AuditFrom(ctx)
	err := s.trying(ctx, func() error {
		return s.together(ctx, func(t *conversation) error {
			found, used := false, false
			b := tenant(scope.WorkspaceID)
			b.read(text+" FOR UPDATE OF f", func(*row) error {
				found = true
				return nil
			}, args...)
			b.read("SELECT 1 FROM parley.file_uses WHERE workspace_id = $1 AND file_id = $2 LIMIT 1", func(*row) error {
				used = true
				return nil
			}, scope.WorkspaceID, id)
			switch err := t.send(b); {
			case err != nil:
				return err
			case !found:
				return transition.NotFound("file")
			case used:
				return transition.FileUsed()
			}
			b = tenant(scope.WorkspaceID)
			b.dropFile(scope.WorkspaceID, id)
			b.audit(audit.Entries(parley.ID{}, id))
			return t.commit(b)
		})
	}, unsent)
	if err == nil {
		audit.Wrote()
	}
	return mapError(err)
}

// dropFile deletes a file, and leaves its bytes to the outbox if no other file shares them.
func (b *batch) dropFile(workspaceID, id parley.ID) {
	b.write(`WITH gone AS (DELETE FROM parley.files WHERE workspace_id = $1 AND id = $2 RETURNING blob_id),
 blob AS (UPDATE parley.blobs b SET files = b.files - 1, state = CASE WHEN b.files = 1 THEN '`+blobGone+
		`' ELSE b.state END FROM gone
  WHERE b.workspace_id = $1 AND b.id = gone.blob_id RETURNING b.id, b.state)
 INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at)
  SELECT $1, $3, blob.id, now, now FROM blob, parley.now_ms() now WHERE blob.state = '`+blobGone+`'`,
		workspaceID, id, transition.PurgeBlob{}.Kind())
}

// HasFile implements transition.Rows: a file that was found stays until its use is written, so whoever deletes it finds
// the use.
func (a *attempt) HasFile(workspaceID, fileID parley.ID) (bool, error) {
	const query = "SELECT id FROM parley.files WHERE workspace_id = $1 AND id = $2"
	found, err := a.id(query, workspaceID, fileID)
	if err == nil && !found.IsZero() {
		a.requireRow(query+" FOR SHARE", workspaceID, fileID)
	}
	return !found.IsZero(), err
}

// ForgetUses implements transition.Writer.
func (w *changes) ForgetUses(h *transition.Head, messages []parley.ID) error {
	for _, id := range messages {
		w.write(
			"DELETE FROM parley.file_uses WHERE workspace_id = $1 AND session_id = $2 AND message_id = $3",
			h.WorkspaceID,
			h.ID,
			id,
		)
	}
	return nil
}

// UseFiles implements transition.Writer.
func (w *changes) UseFiles(h *transition.Head, uses []transition.FileUse) error {
	for _, use := range uses {
		w.write(
			"INSERT INTO parley.file_uses (workspace_id, session_id, message_id, file_id) VALUES ($1, $2, $3, $4) "+
				"ON CONFLICT DO NOTHING",
			h.WorkspaceID,
			h.ID,
			use.MessageID,
			use.FileID,
		)
	}
	return nil
}

// purgeUses deletes the uses of at most parley.PurgeBatch files by messages of a log that nobody shares, and reports
// how many. A file goes with its last use.
func (s *Store) purgeUses(ctx context.Context, workspaceID, logID, writer parley.ID) (gone int, err error) {
	const doomed = "u.workspace_id = $1 AND u.session_id = $3 AND NOT EXISTS (SELECT 1 FROM parley.messages m " +
		"WHERE m.workspace_id = $1 AND m.id = u.message_id AND m.sequence <= " + sharedBelow + ")"
	used, err := every(
		ctx,
		s,
		tenant(workspaceID),
		"SELECT DISTINCT u.file_id FROM parley.file_uses u WHERE "+doomed+" LIMIT $4",
		workspaceID,
		logID,
		writer,
		parley.PurgeBatch,
	)
	if err != nil || len(used) == 0 {
		return 0, err
	}
	err = s.trying(ctx, func() error {
		return s.together(ctx, func(t *conversation) error {
			var unused []parley.ID
			b := tenant(workspaceID)
			b.write(
				"SELECT 1 FROM parley.files WHERE workspace_id = $1 AND id = ANY($2) ORDER BY id FOR UPDATE",
				workspaceID,
				used,
			)
			b.write(
				"DELETE FROM parley.file_uses u WHERE "+doomed+" AND u.file_id = ANY($4)",
				workspaceID,
				logID,
				writer,
				used,
			)
			b.read(`SELECT f.id FROM parley.files f WHERE f.workspace_id = $1 AND f.id = ANY($2)
 AND NOT EXISTS (SELECT 1 FROM parley.file_uses u WHERE u.workspace_id = $1 AND u.file_id = f.id)`, func(r *row) error {
				unused = append(unused, r.id())
				return nil
			}, workspaceID, used)
			if err := t.send(b); err != nil {
				return err
			}
			b = tenant(workspaceID)
			for _, id := range unused {
				b.dropFile(workspaceID, id)
			}
			return t.commit(b)
		})
	}, unsent)
	return len(used), err
}

// purgeBlob deletes part of a blob that no file uses, or whose upload has not grown for long, and reports whether
// nothing is left.
func (s *Store) purgeBlob(ctx context.Context, workspaceID, blobID parley.ID) (bool, error) {
	var state string
	var rest parley.Time
	b := tenant(workspaceID)
	b.write(
		"UPDATE parley.blobs SET state = '"+blobGone+"' WHERE workspace_id = $1 AND id = $2 AND state = '"+blobOpen+
			"' AND touched_at + $3 <= parley.now_ms()",
		workspaceID,
		blobID,
		int64(parley.UploadGrace),
	)
	b.read(
		"SELECT state, touched_at + $3 - parley.now_ms() FROM parley.blobs WHERE workspace_id = $1 AND id = $2",
		func(r *row) error {
			state, rest = r.text(), r.time()
			return nil
		},
		workspaceID,
		blobID,
		int64(parley.UploadGrace),
	)
	if err := s.send(ctx, b); err != nil {
		return false, err
	}
	b = tenant(workspaceID)
	switch state {
	case blobOpen:
		b.leaveBlob(workspaceID, blobID, rest)
		return true, s.send(ctx, b)
	case blobGone:
	default:
		return true, nil
	}
	var gone int64
	b.counted(&gone, `DELETE FROM parley.blob_chunks WHERE workspace_id = $1 AND blob_id = $2 AND n IN
 (SELECT n FROM parley.blob_chunks WHERE workspace_id = $1 AND blob_id = $2 LIMIT $3)`, workspaceID, blobID,
		transition.BlobBatch)
	b.write(
		`DELETE FROM parley.blobs WHERE workspace_id = $1 AND id = $2 AND NOT EXISTS (SELECT 1 FROM parley.blob_chunks
			WHERE workspace_id = $1 AND blob_id = $2)`,
		workspaceID,
		blobID,
	)
	err := s.send(ctx, b)
	return gone < transition.BlobBatch, err
}
