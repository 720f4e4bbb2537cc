package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// signInCounts says when a sign-in i with its principal p is valid: at $1, if used since $2.
const signInCounts = `i.expires_at > $1 AND i.seen_at > $2 AND (p.local_owner OR EXISTS
 (SELECT 1 FROM parley.keys k WHERE k.workspace_id = i.workspace_id AND k.principal_id = i.principal_id
  AND k.revoked_at IS NULL))`

const signInTables = " FROM parley.sign_ins i JOIN parley.principals p ON p.workspace_id = i.workspace_id " +
	"AND p.id = i.principal_id "

// idleSince returns the time before which unused sign-ins end.
func idleSince(now parley.Time) parley.Time {
	return now - parley.Time(parley.SignInIdle.Milliseconds())
}

// CreateSignIn implements store.SignIns.
func (s *Store) CreateSignIn(ctx context.Context, made store.NewSignIn) error {
	b := tenant(made.WorkspaceID)
	b.write(
		"DELETE FROM parley.sign_ins WHERE workspace_id = $3 AND id NOT IN (SELECT i.id"+signInTables+
			"WHERE i.workspace_id = $3 AND "+signInCounts+")",
		made.CreatedAt,
		idleSince(made.CreatedAt),
		made.WorkspaceID,
	)
	b.write(
		"DELETE FROM parley.sign_ins WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.sign_ins "+
			"WHERE workspace_id = $1 AND principal_id = $2 ORDER BY id DESC OFFSET $3)",
		made.WorkspaceID,
		made.PrincipalID,
		parley.MaxSignIns-1,
	)
	b.write(
		"INSERT INTO parley.sign_ins ("+insertSignInColumns+") VALUES ("+insertSignInPlaces+
			") ON CONFLICT (workspace_id, id) DO NOTHING",
		insertSignInArgs(nil, &made)...)
	audit := store.AuditFrom(ctx)
	b.audit(audit.Entries(parley.ID{}, made.ID))
	var err error
	for range lookAgain {
		if err = s.send(ctx, b); !unknown(err) || ctx.Err() != nil {
			break
		}
	}
	if err == nil {
		audit.Wrote()
	}
	return mapError(err)
}

// SignedIn implements store.SignIns.
func (s *Store) SignedIn(ctx context.Context, hash parley.Hash, now parley.Time) (store.SignedIn, error) {
	in, err := one(ctx, s, system(), "sign-in", func(r *row) (in store.SignedIn, err error) {
		if in.SignIn, err = scanSignIn(r); err != nil {
			return in, err
		}
		in.Principal, err = scanPrincipal(r)
		in.Local, in.Principal.RequestsPerMinute, in.Principal.MaxSessions, in.Principal.MaxStorage = r.bool(), r.int(),
			r.int64(), r.int64()
		return in, err
	}, "SELECT "+signInColumns+", "+principalColumns+
		", p.local_owner, coalesce(k.requests_per_minute, 0), coalesce(k.max_sessions, 0), coalesce(k.max_storage, 0)"+
		signInTables+"JOIN parley.workspaces w ON w.id = i.workspace_id "+
		"LEFT JOIN parley.keys k ON k.workspace_id = i.workspace_id AND k.principal_id = i.principal_id "+
		"AND k.revoked_at IS NULL WHERE i.hash = $3 AND "+signInCounts, now, idleSince(now), hash)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		err = transition.SignedOut()
	}
	return in, err
}

// TouchSignIn implements store.SignIns.
func (s *Store) TouchSignIn(ctx context.Context, workspaceID, id parley.ID, now parley.Time) error {
	b := tenant(workspaceID)
	b.write(
		"UPDATE parley.sign_ins SET seen_at = $3 WHERE workspace_id = $1 AND id = $2 AND seen_at < $3",
		workspaceID,
		id,
		now,
	)
	return mapError(s.send(ctx, b))
}

// SignIns implements store.SignIns.
func (s *Store) SignIns(
	ctx context.Context,
	workspaceID, principalID parley.ID,
	now parley.Time,
) ([]parley.SignIn, error) {
	return all(
		ctx,
		s,
		tenant(workspaceID),
		scanSignIn,
		"SELECT "+signInColumns+signInTables+"WHERE i.workspace_id = "+here+
			" AND ($3::uuid IS NULL OR i.principal_id = $3) AND "+signInCounts+" ORDER BY i.id DESC LIMIT $4",
		parley.MaxSignInsListed,
		now,
		idleSince(now),
		principalID,
		parley.MaxSignInsListed,
	)
}

// EndSignIn implements store.SignIns.
func (s *Store) EndSignIn(ctx context.Context, workspaceID, principalID, id parley.ID) error {
	var gone int64
	audit := store.AuditFrom(ctx)
	b := tenant(workspaceID)
	b.auditIf(
		audit.Entries(parley.ID{}, id),
		"SELECT FROM parley.sign_ins WHERE workspace_id = $1 AND id = $10 "+
			"AND ($11::uuid IS NULL OR principal_id = $11) "+
			"FOR UPDATE",
		id,
		principalID,
	)
	b.counted(
		&gone,
		"DELETE FROM parley.sign_ins WHERE workspace_id = $1 AND id = $2 AND ($3::uuid IS NULL OR principal_id = $3)",
		workspaceID,
		id,
		principalID,
	)
	if err := s.send(ctx, b); err != nil {
		return mapError(err)
	}
	if gone == 0 {
		return transition.NotFound("sign-in")
	}
	audit.Wrote()
	return nil
}
