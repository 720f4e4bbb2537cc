package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// signInCounts says when a sign-in i with its principal p is valid: at ?1, if used since ?2.
const signInCounts = `i.expires_at > ?1 AND i.seen_at > ?2 AND (p.local_owner = 1 OR EXISTS
 (SELECT 1 FROM keys k WHERE k.workspace_id = i.workspace_id AND k.principal_id = i.principal_id
  AND k.revoked_at IS NULL))`

const signInTables = " FROM sign_ins i JOIN principals p ON p.id = i.principal_id "

// idleSince returns the time before which unused sign-ins end.
func idleSince(now parley.Time) parley.Time {
	return now - parley.Time(parley.SignInIdle.Milliseconds())
}

// CreateSignIn implements store.SignIns.
func (s *Store) CreateSignIn(ctx context.Context, made store.NewSignIn) error {
	return s.write(ctx, func(tx *txn) error {
		if _, err := tx.exec(
			"DELETE FROM sign_ins WHERE workspace_id = ?3 AND id NOT IN (SELECT i.id"+signInTables+
				"WHERE i.workspace_id = ?3 AND "+signInCounts+")",
			made.CreatedAt,
			idleSince(made.CreatedAt),
			made.WorkspaceID,
		); err != nil {
			return err
		}
		if _, err := tx.exec(
			"DELETE FROM sign_ins WHERE id IN (SELECT id FROM sign_ins WHERE workspace_id = ? AND principal_id = ? "+
				"ORDER BY id DESC LIMIT -1 OFFSET ?)",
			made.WorkspaceID,
			made.PrincipalID,
			parley.MaxSignIns-1,
		); err != nil {
			return err
		}
		_, err := tx.exec(
			"INSERT INTO sign_ins ("+insertSignInColumns+") VALUES ("+insertSignInPlaces+")",
			insertSignInArgs(nil, &made)...)
		return err
	})
}

// SignedIn implements store.SignIns.
func (s *Store) SignedIn(ctx context.Context, hash parley.Hash, now parley.Time) (in store.SignedIn, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one(
			"SELECT "+signInColumns+", "+principalColumns+
				", p.local_owner, coalesce(k.requests_per_minute, 0), coalesce(k.max_sessions, 0), "+
				"coalesce(k.max_storage, 0)"+
				signInTables+"JOIN workspaces w ON w.id = i.workspace_id "+
				"LEFT JOIN keys k ON k.workspace_id = i.workspace_id AND k.principal_id = i.principal_id "+
				"AND k.revoked_at IS NULL WHERE i.hash = ?3 AND "+signInCounts,
			func(r *row) error {
				if err := fillSignIn(r, &in.SignIn); err != nil {
					return err
				}
				in.Principal = scanPrincipal(r)
				in.Local, in.Principal.RequestsPerMinute, in.Principal.MaxSessions, in.Principal.MaxStorage = r.bool(),
					r.int(), r.int64(), r.int64()
				return nil
			},
			now,
			idleSince(now),
			hash,
		)
		if err == nil && !found {
			err = transition.SignedOut()
		}
		return err
	})
	return in, err
}

// TouchSignIn implements store.SignIns.
func (s *Store) TouchSignIn(ctx context.Context, workspaceID, id parley.ID, now parley.Time) error {
	return s.write(ctx, func(tx *txn) error {
		_, err := tx.exec(
			"UPDATE sign_ins SET seen_at = ? WHERE workspace_id = ? AND id = ? AND seen_at < ?",
			now,
			workspaceID,
			id,
			now,
		)
		return err
	})
}

// SignIns implements store.SignIns.
func (s *Store) SignIns(
	ctx context.Context,
	workspaceID, principalID parley.ID,
	now parley.Time,
) (list []parley.SignIn, err error) {
	err = s.read(ctx, func(c *conn) error {
		list = []parley.SignIn{}
		return c.each(
			"SELECT "+signInColumns+signInTables+
				"WHERE i.workspace_id = ?3 AND (?4 IS NULL OR i.principal_id = ?4) AND "+signInCounts+
				" ORDER BY i.id DESC LIMIT ?5",
			func(r *row) error {
				found, err := scanSignIn(r)
				list = append(list, found)
				return err
			},
			now,
			idleSince(now),
			workspaceID,
			principalID,
			parley.MaxSignInsListed,
		)
	})
	return list, err
}

// EndSignIn implements store.SignIns.
func (s *Store) EndSignIn(ctx context.Context, workspaceID, principalID, id parley.ID) error {
	return s.write(ctx, func(tx *txn) error {
		gone, err := tx.exec(
			"DELETE FROM sign_ins WHERE workspace_id = ?1 AND id = ?2 AND (?3 IS NULL OR principal_id = ?3)",
			workspaceID,
			id,
			principalID,
		)
		if err == nil && gone == 0 {
			err = transition.NotFound("sign-in")
		}
		return err
	})
}
