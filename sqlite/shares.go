package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// readerSees holds for a session s and its reader o while the reader's owner may see s. Otherwise a share is void,
// whoever made it.
const readerSees = "s.deleted_at IS NULL AND o.deleted_at IS NULL " +
	"AND (s.owner_id = o.owner_id OR s.visibility = 'workspace')"

// Share implements store.Shares.
func (s *Store) Share(ctx context.Context, scope store.Scope, share parley.Share) (parley.Share, bool, error) {
	type answer struct {
		share parley.Share
		made  bool
	}
	kept, err := transact(ctx, s, func(tx *txn) (kept answer, err error) {
		for _, id := range []parley.ID{share.SessionID, share.ReaderID} {
			if _, err := locate(tx.conn, scope, id); err != nil {
				return kept, err
			}
		}
		found, err := tx.one(
			"SELECT "+shareColumns+" FROM shares x WHERE x.session_id = ? AND x.reader_id = ?",
			func(r *row) error {
				return fillShare(r, &kept.share)
			},
			share.SessionID,
			share.ReaderID,
		)
		if err != nil || found {
			return kept, err
		}
		var full bool
		if full, err = tx.has(
			"SELECT 1 WHERE (SELECT count(*) FROM shares WHERE session_id = ?1) >= ?3 OR (SELECT count(*) FROM shares "+
				"WHERE reader_id = ?2) >= ?3",
			share.SessionID,
			share.ReaderID,
			parley.MaxShares,
		); err != nil {
			return kept, err
		}
		if full {
			return kept, transition.TooManyShares()
		}
		share.WorkspaceID, share.CreatedAt = scope.WorkspaceID, tx.now
		kept = answer{share, true}
		_, err = tx.exec(
			"INSERT INTO shares ("+insertShareColumns+") VALUES ("+insertSharePlaces+")",
			insertShareArgs(nil, &share)...)
		return kept, err
	})
	return kept.share, kept.made, err
}

// Unshare implements store.Shares.
func (s *Store) Unshare(ctx context.Context, scope store.Scope, sessionID, readerID parley.ID) error {
	return s.write(ctx, func(tx *txn) error {
		if _, err := locate(tx.conn, scope, sessionID); err != nil {
			return err
		}
		gone, err := tx.exec("DELETE FROM shares WHERE session_id = ? AND reader_id = ?", sessionID, readerID)
		if err == nil && gone == 0 {
			err = transition.NotFound("share")
		}
		return err
	})
}

// Shares implements store.Shares.
func (s *Store) Shares(
	ctx context.Context,
	scope store.Scope,
	query store.ShareQuery,
) (shares []parley.Share, err error) {
	seen, text := query.SessionID,
		"x.session_id = ?1 AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = x.reader_id AND s.deleted_at IS NULL)"
	if seen.IsZero() {
		seen, text = query.ReaderID,
			"x.reader_id = ?1 AND EXISTS (SELECT 1 FROM sessions s JOIN sessions o ON o.id = x.reader_id "+
				"WHERE s.id = x.session_id AND "+readerSees+")"
	}
	err = s.read(ctx, func(c *conn) error {
		if _, err := locate(c, scope, seen); err != nil {
			return err
		}
		shares = []parley.Share{}
		return c.each(
			"SELECT "+shareColumns+" FROM shares x WHERE "+text+" ORDER BY x.created_at, x.session_id, x.reader_id",
			func(r *row) error {
				found, err := scanShare(r)
				shares = append(shares, found)
				return err
			},
			seen,
		)
	})
	return shares, err
}

// Readable implements store.Shares.
func (s *Store) Readable(
	ctx context.Context,
	workspaceID, readerID, sessionID parley.ID,
) (session parley.Session, err error) {
	err = s.read(ctx, func(c *conn) error {
		session, err = oneSession(c, "SELECT "+sessionColumns+sessionTables+`WHERE s.id = ?1 AND s.workspace_id = ?2
 AND EXISTS (SELECT 1 FROM sessions o WHERE o.id = ?3 AND `+readerSees+`)
 AND (s.kind = 'tool' AND s.parent_session_id = ?3 OR EXISTS (SELECT 1 FROM shares x
  WHERE x.session_id = s.id AND x.reader_id = ?3))`,
			[]arg{sessionID, workspaceID, readerID})
		return err
	})
	return session, err
}

// AllReadable implements store.Shares.
func (s *Store) AllReadable(
	ctx context.Context,
	workspaceID, readerID parley.ID,
) (sessions []parley.Session, err error) {
	err = s.read(ctx, func(c *conn) error {
		sessions = []parley.Session{}
		return c.each(
			"SELECT "+sessionColumns+` FROM shares x CROSS JOIN sessions s ON s.id = x.session_id
				JOIN heads h ON h.session_id = s.id JOIN sessions o ON o.id = x.reader_id
 WHERE x.reader_id = ? AND x.workspace_id = ? AND `+readerSees+` ORDER BY x.created_at, x.session_id`,
			func(r *row) error {
				session, err := scanSession(r)
				sessions = append(sessions, session)
				return err
			},
			readerID,
			workspaceID,
		)
	})
	return sessions, err
}
