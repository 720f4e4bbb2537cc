package postgres

import (
	"context"
	"fmt"

	"example.org/parley"
	"example.org/parley/store"
)

// insertForeignID names something in a session, which must exist until the commit.
const insertForeignID = "INSERT INTO parley.foreign_ids (" + insertForeignIDColumns + ") SELECT " +
	insertForeignIDPlaces + ` WHERE EXISTS (SELECT 1 FROM parley.sessions
	WHERE workspace_id = $1 AND id = $5 AND deleted_at IS NULL FOR SHARE) ON CONFLICT DO NOTHING`

// KeepForeignIDs implements store.ForeignIDs. Repeating it changes nothing more.
func (s *Store) KeepForeignIDs(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	ids []parley.ForeignID,
) error {
	if err := s.bothSeen(ctx, scope, sessionID, sessionID); err != nil {
		return err
	}
	now := s.clock.Now()
	return s.read(ctx, func() *batch {
		b := tenant(scope.WorkspaceID)
		for _, id := range ids {
			id.WorkspaceID, id.SessionID, id.CreatedAt = scope.WorkspaceID, sessionID, now
			b.write(insertForeignID, insertForeignIDArgs(nil, &id)...)
		}
		return b
	})
}

// ForeignIDs implements store.ForeignIDs.
func (s *Store) ForeignIDs(
	ctx context.Context,
	scope store.Scope,
	protocol string,
	principalID parley.ID,
	names []string,
) ([]parley.ForeignID, error) {
	var l filter
	l.visible(scope)
	l.must("s.workspace_id = ?", scope.WorkspaceID)
	at := len(l.args)
	l.args = append(l.args, names, protocol, principalID, parley.MaxForeignCandidates)
	found, err := all(ctx, s, tenant(scope.WorkspaceID), scanForeignID, fmt.Sprintf(
		`SELECT `+foreignIDColumns+` FROM unnest($%d::text[]) WITH ORDINALITY AS a(name, n)
 CROSS JOIN LATERAL (SELECT f.* FROM parley.foreign_ids f
  JOIN parley.sessions s ON s.workspace_id = f.workspace_id AND s.id = f.session_id
  WHERE f.workspace_id = `+here+` AND f.protocol = $%d AND f.principal_id = $%d AND f.name = a.name AND %s
  ORDER BY f.created_at DESC, f.session_id DESC LIMIT $%d) f ORDER BY a.n, f.created_at DESC, f.session_id DESC`,
		at+1, at+2, at+3, l.where.String(), at+4), parley.MaxForeignCandidates, l.args...)
	for i := range found { // of the first name only
		if found[i].Name != found[0].Name {
			return found[:i], err
		}
	}
	return found, err
}
