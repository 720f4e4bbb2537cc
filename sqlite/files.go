package sqlite

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

// AppendUpload implements store.Files.
func (s *Store) AppendUpload(ctx context.Context, workspaceID, blobID parley.ID, n int, data []byte) error {
	return s.write(ctx, func(tx *txn) error {
		open, err := tx.has(
			"SELECT 1 FROM blobs WHERE id = ? AND workspace_id = ? AND state = '"+blobOpen+"'",
			blobID,
			workspaceID,
		)
		if err != nil {
			return err
		}
		switch {
		case !open && n > 0:
			return errUploadOver()
		case open:
			_, err = tx.exec("UPDATE blobs SET size = size + ?, touched_at = ? WHERE id = ?", len(data), tx.now, blobID)
		default:
			if _, err = tx.exec(
				"INSERT INTO blobs (id, workspace_id, state, size, touched_at) VALUES (?, ?, '"+blobOpen+"', ?, ?)",
				blobID,
				workspaceID,
				len(data),
				tx.now,
			); err == nil {
				err = tx.leaveBlob(workspaceID, blobID, tx.now+parley.UploadGrace)
			}
		}
		if err != nil {
			return err
		}
		_, err = tx.exec(
			"INSERT INTO blob_chunks (blob_id, n, workspace_id, data) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			blobID,
			n,
			workspaceID,
			data,
		)
		return err
	})
}

// leaveBlob leaves the deletion of a blob to the outbox, at a later time.
func (t *txn) leaveBlob(workspaceID, blobID parley.ID, due parley.Time) error {
	_, err := t.exec("INSERT INTO outbox (workspace_id, kind, target_id, created_at, due_at) VALUES (?, ?, ?, ?, ?)",
		workspaceID, transition.PurgeBlob{}.Kind(), blobID, t.now, due)
	return err
}

// FinishUpload implements store.Files.
func (s *Store) FinishUpload(ctx context.Context, file parley.File, quota parley.Quota) (parley.File, bool, error) {
	type finished struct {
		file  parley.File
		isNew bool
	}
	answer, err := transact(ctx, s, func(tx *txn) (finished, error) {
		made := file
		defer func() { tx.means = made.ID }()
		open, err := tx.has(
			"SELECT 1 FROM blobs WHERE id = ? AND workspace_id = ? AND state = '"+blobOpen+"'",
			made.BlobID,
			made.WorkspaceID,
		)
		if err != nil {
			return finished{}, err
		}
		if !open {
			return finished{}, errUploadOver()
		}
		same, err := tx.one(
			"SELECT id FROM blobs WHERE workspace_id = ? AND hash = ? AND state = '"+blobWhole+"'",
			func(r *row) error {
				made.BlobID = r.id()
				return nil
			},
			made.WorkspaceID,
			made.SHA256,
		)
		if err != nil {
			return finished{}, err
		}
		if same {
			found, err := tx.one(
				"SELECT "+fileColumns+" FROM files f WHERE f.workspace_id = ? AND f.owner_id = ? AND f.blob_id = ? "+
					"AND f.name = ?",
				func(r *row) error {
					return fillFile(r, &made)
				},
				made.WorkspaceID,
				made.OwnerID,
				made.BlobID,
				made.Name,
			)
			if err != nil {
				return finished{}, err
			}
			if found {
				return finished{file: made}, tx.giveUp(file.WorkspaceID, file.BlobID)
			}
		}
		if err := tx.hasRoom(&file, quota, same); err != nil {
			return finished{}, err
		}
		if same {
			if err := tx.giveUp(made.WorkspaceID, file.BlobID); err != nil {
				return finished{}, err
			}
		}
		made.CreatedAt = tx.now
		if _, err := tx.exec(
			"UPDATE blobs SET state = '"+blobWhole+"', hash = ?, files = files + 1 WHERE id = ?",
			made.SHA256,
			made.BlobID,
		); err != nil {
			return finished{}, err
		}
		_, err = tx.exec(
			"INSERT INTO files ("+insertFileColumns+") VALUES ("+insertFilePlaces+")",
			insertFileArgs(nil, &made)...)
		return finished{file: made, isNew: true}, err
	})
	return answer.file, answer.isNew, err
}

// hasRoom refuses a file that exceeds a quota. The stored bytes include the upload, which is given up if the same bytes
// already exist.
func (t *txn) hasRoom(file *parley.File, quota parley.Quota, given bool) error {
	if quota == (parley.Quota{}) {
		return nil
	}
	stored, err := storage(t.conn, file.WorkspaceID, file.OwnerID)
	if err != nil {
		return err
	}
	if given {
		stored.Workspace -= file.Size
	}
	return stored.Room(quota, 0, file.Size)
}

// Storage implements store.Files.
func (s *Store) Storage(ctx context.Context, workspaceID, ownerID parley.ID) (stored parley.Storage, err error) {
	err = s.read(ctx, func(c *conn) (err error) {
		stored, err = storage(c, workspaceID, ownerID)
		return err
	})
	return stored, err
}

// What the files and artifacts of a workspace, ?1, and of a principal in it, ?2, occupy.
const (
	storedInWorkspace = "(SELECT coalesce(sum(size), 0) FROM blobs WHERE workspace_id = ?1 AND state <> '" + blobGone +
		"') + (SELECT coalesce(sum(stored), 0) FROM artifact_contents WHERE workspace_id = ?1)"
	storedOfPrincipal = "(SELECT coalesce(sum(size), 0) FROM files WHERE workspace_id = ?1 AND owner_id = ?2)" +
		" + (SELECT coalesce(sum(stored), 0) FROM artifact_contents WHERE workspace_id = ?1 AND owner_id = ?2)"
)

func storage(c *conn, workspaceID, ownerID parley.ID) (stored parley.Storage, err error) {
	_, err = c.one("SELECT "+storedInWorkspace+", "+storedOfPrincipal,
		func(r *row) error {
			stored = parley.Storage{Workspace: r.int64(), Principal: r.int64()}
			return nil
		},
		workspaceID,
		ownerID,
	)
	return stored, err
}

// AbandonUpload implements store.Files.
func (s *Store) AbandonUpload(ctx context.Context, workspaceID, blobID parley.ID) error {
	return s.write(ctx, func(tx *txn) error { return tx.giveUp(workspaceID, blobID) })
}

// giveUp marks an open upload for deletion.
func (t *txn) giveUp(workspaceID, blobID parley.ID) error {
	gone, err := t.exec(
		"UPDATE blobs SET state = '"+blobGone+"' WHERE id = ? AND workspace_id = ? AND state = '"+blobOpen+"'",
		blobID,
		workspaceID,
	)
	if err != nil || gone == 0 {
		return err
	}
	return t.leaveBlob(workspaceID, blobID, t.now)
}

// ofFiles restricts "f" to the files that a scope may see.
func (l *list) ofFiles(scope store.Scope) {
	l.must("f.workspace_id = ?", scope.WorkspaceID)
	if !scope.ViewerID.IsZero() {
		l.must(
			`(f.owner_id = ? OR EXISTS (SELECT 1 FROM file_uses u JOIN sessions s ON s.id = u.session_id
				WHERE u.workspace_id = f.workspace_id AND u.file_id = f.id
 AND s.deleted_at IS NULL AND (s.owner_id = ? OR s.visibility = 'workspace'))
 OR EXISTS (SELECT 1 FROM file_uses u JOIN messages m ON m.id = u.message_id JOIN `+readersOf+
				` WHERE u.workspace_id = f.workspace_id AND u.file_id = f.id
 AND s.deleted_at IS NULL AND (s.owner_id = ? OR s.visibility = 'workspace')))`,
			scope.ViewerID,
			scope.ViewerID,
			scope.ViewerID,
		)
	}
}

// File implements store.Files.
func (s *Store) File(ctx context.Context, scope store.Scope, id parley.ID) (file parley.File, err error) {
	err = s.read(ctx, func(c *conn) (err error) {
		file, err = fileOf(c, scope, id)
		return err
	})
	return file, err
}

func fileOf(c *conn, scope store.Scope, id parley.ID) (file parley.File, err error) {
	var l list
	l.must("f.id = ?", id)
	l.ofFiles(scope)
	found, err := c.one("SELECT "+fileColumns+" FROM files f WHERE "+l.where.String(), func(r *row) error {
		return fillFile(r, &file)
	}, l.args...)
	if err == nil && !found {
		err = transition.NotFound("file")
	}
	return file, err
}

// Files implements store.Files.
func (s *Store) Files(ctx context.Context, scope store.Scope, query store.FileQuery) (files []parley.File, err error) {
	text, args := filesQuery(scope, query)
	err = s.read(ctx, func(c *conn) error {
		files = []parley.File{}
		return c.each(text, func(r *row) error {
			found, err := scanFile(r)
			files = append(files, found)
			return err
		}, args...)
	})
	return files, err
}

func filesQuery(scope store.Scope, q store.FileQuery) (string, []arg) {
	var l list
	l.ofFiles(scope)
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("f.id "+after+" ?", q.AfterID)
	}
	return "SELECT " + fileColumns + " FROM files f INDEXED BY files_listed WHERE " + l.where.String() +
			" ORDER BY f.id " + word + " LIMIT ?", append(
			l.args,
			limited(q.Limit),
		)
}

// FileChunk implements store.Files.
func (s *Store) FileChunk(ctx context.Context, workspaceID, blobID parley.ID, n int) (data []byte, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one(
			"SELECT c.data FROM blob_chunks c JOIN blobs b ON b.id = c.blob_id "+
				"WHERE c.blob_id = ? AND c.n = ? AND c.workspace_id = ? AND b.state = '"+blobWhole+"'",
			func(r *row) error {
				data = r.bytes()
				return nil
			},
			blobID,
			n,
			workspaceID,
		)
		if err == nil && !found {
			err = transition.NotFound("file")
		}
		return err
	})
	return data, err
}

// Thumbnail implements store.Files.
func (s *Store) Thumbnail(ctx context.Context, workspaceID, blobID parley.ID) (data []byte, err error) {
	err = s.read(ctx, func(c *conn) error {
		_, err := c.one("SELECT thumbnail FROM blobs WHERE id = ? AND workspace_id = ?", func(r *row) error {
			data = r.bytes()
			return nil
		}, blobID, workspaceID)
		return err
	})
	return data, err
}

// KeepThumbnail implements store.Files.
func (s *Store) KeepThumbnail(ctx context.Context, workspaceID, blobID parley.ID, data []byte) error {
	return s.write(ctx, func(tx *txn) error {
		_, err := tx.exec(
			"UPDATE blobs SET thumbnail = ? WHERE id = ? AND workspace_id = ? AND state = '"+blobWhole+"'",
			data,
			blobID,
			workspaceID,
		)
		return err
	})
}

// DeleteFile implements store.Files.
func (s *Store) DeleteFile(ctx context.Context, scope store.Scope, id parley.ID) error {
	return s.write(ctx, func(tx *txn) error {
		file, err := fileOf(tx.conn, scope, id)
		if err != nil {
			return err
		}
		if used, err := tx.has(
			"SELECT 1 FROM file_uses WHERE workspace_id = ? AND file_id = ?",
			file.WorkspaceID,
			file.ID,
		); err != nil {
			return err
		} else if used {
			return transition.FileUsed()
		}
		return tx.dropFile(file.ID)
	})
}

// dropFile deletes a file, and leaves its bytes to the outbox if no other file shares them.
func (t *txn) dropFile(id parley.ID) error {
	var workspaceID, blobID parley.ID
	found, err := t.one("SELECT workspace_id, blob_id FROM files WHERE id = ?", func(r *row) error {
		workspaceID, blobID = r.id(), r.id()
		return nil
	}, id)
	if err != nil || !found {
		return err
	}
	if _, err := t.exec("DELETE FROM files WHERE id = ?", id); err != nil {
		return err
	}
	if _, err := t.exec(
		"UPDATE blobs SET files = files - 1, state = CASE WHEN files = 1 THEN '"+blobGone+
			"' ELSE state END WHERE id = ?",
		blobID,
	); err != nil {
		return err
	}
	gone, err := t.has("SELECT 1 FROM blobs WHERE id = ? AND state = '"+blobGone+"'", blobID)
	if err != nil || !gone {
		return err
	}
	return t.leaveBlob(workspaceID, blobID, t.now)
}

// HasFile implements transition.Rows.
func (t *txn) HasFile(workspaceID, fileID parley.ID) (bool, error) {
	return t.has("SELECT 1 FROM files WHERE id = ? AND workspace_id = ?", fileID, workspaceID)
}

// ForgetUses implements transition.Writer.
func (w changes) ForgetUses(h *transition.Head, messages []parley.ID) error {
	for _, id := range messages {
		if _, err := w.exec("DELETE FROM file_uses WHERE session_id = ? AND message_id = ?", h.ID, id); err != nil {
			return err
		}
	}
	return nil
}

// UseFiles implements transition.Writer.
func (w changes) UseFiles(h *transition.Head, uses []transition.FileUse) error {
	for _, use := range uses {
		if _, err := w.exec(
			"INSERT INTO file_uses (workspace_id, session_id, message_id, file_id) VALUES (?, ?, ?, ?) "+
				"ON CONFLICT DO NOTHING",
			h.WorkspaceID,
			h.ID,
			use.MessageID,
			use.FileID,
		); err != nil {
			return err
		}
	}
	return nil
}

// purgeUses deletes at most parley.PurgeBatch uses of files by messages of a log that nobody shares. A file goes with
// its last use.
func (t *txn) purgeUses(logID, writer parley.ID) (gone int64, err error) {
	const doomed = "session_id = ?2 AND NOT EXISTS (SELECT 1 FROM messages m " +
		"WHERE m.id = u.message_id AND m.sequence <= " + sharedBelow + ")"
	var used []parley.ID
	if err := t.each("SELECT DISTINCT file_id FROM file_uses u WHERE "+doomed+" LIMIT ?3", func(r *row) error {
		used = append(used, r.id())
		return nil
	}, logID, writer, parley.PurgeBatch); err != nil {
		return 0, err
	}
	for _, id := range used {
		n, err := t.exec("DELETE FROM file_uses AS u WHERE "+doomed+" AND file_id = ?3", logID, writer, id)
		if err != nil {
			return gone, err
		}
		gone += n
		if left, err := t.has(
			"SELECT 1 FROM file_uses u JOIN files f ON f.id = u.file_id AND f.workspace_id = u.workspace_id "+
				"WHERE f.id = ?",
			id,
		); err != nil {
			return gone, err
		} else if !left {
			if err := t.dropFile(id); err != nil {
				return gone, err
			}
		}
	}
	return gone, nil
}

// purgeBlob deletes part of a blob that no file uses, or whose upload has not grown for long, and reports whether
// nothing is left.
func (t *txn) purgeBlob(workspaceID, blobID parley.ID) (bool, error) {
	var state string
	var touched parley.Time
	if _, err := t.one("SELECT state, touched_at FROM blobs WHERE id = ?", func(r *row) error {
		state, touched = r.text(), r.time()
		return nil
	}, blobID); err != nil {
		return false, err
	}
	switch {
	case state == blobOpen && touched+parley.UploadGrace > t.now:
		return true, t.leaveBlob(workspaceID, blobID, touched+parley.UploadGrace)
	case state == blobOpen:
		if _, err := t.exec("UPDATE blobs SET state = '"+blobGone+"' WHERE id = ?", blobID); err != nil {
			return false, err
		}
	case state != blobGone:
		return true, nil
	}
	gone, err := t.exec(
		"DELETE FROM blob_chunks WHERE (blob_id, n) IN (SELECT blob_id, n FROM blob_chunks WHERE blob_id = ? LIMIT ?)",
		blobID,
		transition.BlobBatch,
	)
	if err != nil || gone == transition.BlobBatch {
		return false, err
	}
	_, err = t.exec("DELETE FROM blobs WHERE id = ?", blobID)
	return true, err
}
