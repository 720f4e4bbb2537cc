package postgres

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

// readerOf joins the reader of a share x.
const readerOf = " JOIN parley.sessions o ON o.workspace_id = x.workspace_id AND o.id = x.reader_id "

// insertShare shares a session with another, both of which must exist until the commit.
const insertShare = "INSERT INTO parley.shares AS x (" + insertShareColumns + ") SELECT " + insertSharePlaces + `
 WHERE EXISTS (SELECT 1 FROM parley.sessions WHERE workspace_id = $3 AND id = $1 AND deleted_at IS NULL FOR SHARE)
 AND EXISTS (SELECT 1 FROM parley.sessions WHERE workspace_id = $3 AND id = $2 AND deleted_at IS NULL FOR SHARE)
 AND (SELECT count(*) FROM parley.shares WHERE workspace_id = $3 AND session_id = $1) < ` + insertSharePlace1 + `
 AND (SELECT count(*) FROM parley.shares WHERE workspace_id = $3 AND reader_id = $2) < ` + insertSharePlace1 + `
 ON CONFLICT DO NOTHING RETURNING 1`

// Share implements store.Shares. Repeating it changes nothing more.
func (s *Store) Share(
	ctx context.Context,
	scope store.Scope,
	share parley.Share,
) (kept parley.Share, made bool, err error) {
	if err := s.bothSeen(ctx, scope, share.SessionID, share.ReaderID); err != nil {
		return kept, false, err
	}
	found, audit := false, store.AuditFrom(ctx)
	share.WorkspaceID, share.CreatedAt = scope.WorkspaceID, s.clock.Now()
	err = s.read(ctx, func() *batch {
		found = false
		b := tenant(scope.WorkspaceID)
		b.read(insertShare, func(*row) error {
			made = true
			return nil
		}, append(insertShareArgs(nil, &share), parley.MaxShares)...)
		b.auditIf(
			audit.Entries(parley.ID{}, parley.ID{}),
			"SELECT FROM parley.shares WHERE workspace_id = $1 AND session_id = $10 AND reader_id = $11 "+
				"AND shared_by = $12 AND created_at = $13",
			share.SessionID,
			share.ReaderID,
			share.SharedBy.ID,
			share.CreatedAt,
		)
		b.read(
			"SELECT "+shareColumns+" FROM parley.shares x WHERE x.workspace_id = "+here+
				" AND x.session_id = $1 AND x.reader_id = $2",
			func(r *row) (err error) {
				kept, err = scanShare(r)
				found = true
				return err
			},
			share.SessionID,
			share.ReaderID,
		)
		return b
	})
	if err == nil && !found {
		if err = s.bothSeen(ctx, scope, share.SessionID, share.ReaderID); err == nil {
			err = transition.TooManyShares()
		}
	}
	if err == nil && made {
		audit.Wrote()
	}
	return kept, made, err
}

// bothSeen returns CodeNotFound unless a scope may see both sessions.
func (s *Store) bothSeen(ctx context.Context, scope store.Scope, one, other parley.ID) error {
	var first, second bool
	err := s.read(ctx, func() *batch {
		b := tenant(scope.WorkspaceID)
		b.noteVisible(scope, one, &first)
		b.noteVisible(scope, other, &second)
		return b
	})
	if err == nil && !(first && second) {
		err = transition.NotFound("session")
	}
	return err
}

// Unshare implements store.Shares.
func (s *Store) Unshare(ctx context.Context, scope store.Scope, sessionID, readerID parley.ID) error {
	if err := s.bothSeen(ctx, scope, sessionID, sessionID); err != nil {
		return err
	}
	var gone int64
	audit := store.AuditFrom(ctx)
	b := tenant(scope.WorkspaceID)
	b.auditIf(
		audit.Entries(parley.ID{}, parley.ID{}),
		"SELECT FROM parley.shares WHERE workspace_id = $1 AND session_id = $10 AND reader_id = $11 FOR UPDATE",
		sessionID,
		readerID,
	)
	b.counted(
		&gone,
		"DELETE FROM parley.shares WHERE workspace_id = $1 AND session_id = $2 AND reader_id = $3",
		scope.WorkspaceID,
		sessionID,
		readerID,
	)
	err := s.send(ctx, b)
	if err == nil && gone == 0 {
		err = transition.NotFound("share")
	}
	if err == nil {
		audit.Wrote()
	}
	return err
}

// Shares implements store.Shares.
func (s *Store) Shares(
	ctx context.Context,
	scope store.Scope,
	query store.ShareQuery,
) (shares []parley.Share, err error) {
	seen, own, alive := query.SessionID, "session_id", "o.deleted_at IS NULL"
	if seen.IsZero() {
		seen, own, alive = query.ReaderID, "reader_id", readerSees
	}
	err = s.page(ctx, scope, seen, func(b *batch) {
		shares = []parley.Share{}
		b.inOrder = false // few rows
		b.read(
			"SELECT "+shareColumns+" FROM parley.shares x JOIN parley.sessions s ON s.workspace_id = x.workspace_id "+
				"AND s.id = x.session_id"+readerOf+
				"WHERE x.workspace_id = "+here+" AND x."+own+" = $1 AND "+alive+
				" ORDER BY x.created_at, x.session_id, x.reader_id",
			func(r *row) error {
				share, err := scanShare(r)
				shares = append(shares, share)
				return err
			},
			seen,
		)
	})
	return shares, err
}

// Readable implements store.Shares.
func (s *Store) Readable(ctx context.Context, workspaceID, readerID, sessionID parley.ID) (parley.Session, error) {
	return one(
		ctx,
		s,
		tenant(workspaceID),
		"session",
		scanSession,
		"SELECT "+sessionColumns+sessionTables+"WHERE s.workspace_id = "+here+` AND s.id = $1
 AND EXISTS (SELECT 1 FROM parley.sessions o WHERE o.workspace_id = s.workspace_id AND o.id = $2 AND `+readerSees+`)
 AND (s.kind = 'tool' AND s.parent_session_id = $2 OR EXISTS (SELECT 1 FROM parley.shares x
  WHERE x.workspace_id = s.workspace_id AND x.session_id = s.id AND x.reader_id = $2))`,
		sessionID,
		readerID,
	)
}

// AllReadable implements store.Shares.
func (s *Store) AllReadable(ctx context.Context, workspaceID, readerID parley.ID) ([]parley.Session, error) {
	return all(
		ctx,
		s,
		tenant(workspaceID),
		scanSession,
		"SELECT "+sessionColumns+" FROM parley.shares x JOIN parley.sessions s ON s.workspace_id = x.workspace_id "+
			"AND s.id = x.session_id"+
			headOfSession+readerOf+"WHERE x.workspace_id = "+here+" AND x.reader_id = $1 AND "+readerSees+
			" ORDER BY x.created_at, x.session_id",
		parley.MaxShares,
		readerID,
	)
}
