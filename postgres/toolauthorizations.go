package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// maxToolAuthorizations is how many rows a workspace has at most: one for each server that is, or was, configured.
const maxToolAuthorizations = 1024

// SaveToolAuthorization implements store.ToolAuthorizations.
func (s *Store) SaveToolAuthorization(
	ctx context.Context,
	a parley.ToolAuthorization,
) (parley.ToolAuthorization, error) {
	next := a
	transition.NextToolAuthorization(&next, s.clock.Now())
	audit := store.AuditFrom(ctx)
	b := tenant(next.WorkspaceID)
	if a.Revision == 0 {
		b.write("WITH made AS (INSERT INTO parley.tool_authorizations ("+insertToolAuthorizationColumns+") VALUES ("+
			insertToolAuthorizationPlaces+") ON CONFLICT (workspace_id, server) DO NOTHING RETURNING 1) "+
			"SELECT parley.stale() WHERE NOT EXISTS (SELECT FROM made)", insertToolAuthorizationArgs(nil, &next)...)
	} else {
		b.write("WITH changed AS (UPDATE parley.tool_authorizations SET "+updateToolAuthorizationSet+
			" WHERE workspace_id = $1 AND id = $2 AND revision = "+updateToolAuthorizationPlace1+
			" RETURNING 1) SELECT parley.stale() WHERE NOT EXISTS (SELECT FROM changed)",
			append(updateToolAuthorizationArgs([]arg{next.WorkspaceID, next.ID}, &next), a.Revision)...)
	}
	b.audit(audit.Entries(parley.ID{}, next.ID))
	err := s.send(ctx, b)
	switch {
	case stateOf(err) == stateStale:
		return next, transition.ToolAuthorizationMovedOn()
	case err != nil:
		return next, mapError(err)
	}
	audit.Wrote()
	return next, nil
}

// DeleteToolAuthorization implements store.ToolAuthorizations.
func (s *Store) DeleteToolAuthorization(ctx context.Context, workspaceID parley.ID, server string) error {
	rows, err := s.ToolAuthorizations(ctx, workspaceID)
	if err != nil {
		return err
	}
	for _, a := range rows {
		if a.Server != server {
			continue
		}
		audit, gone := store.AuditFrom(ctx), int64(0)
		b := tenant(workspaceID)
		b.auditIf(audit.Entries(parley.ID{}, a.ID),
			"SELECT FROM parley.tool_authorizations WHERE workspace_id = $1 AND id = $10 FOR UPDATE", a.ID)
		b.counted(&gone, "DELETE FROM parley.tool_authorizations WHERE workspace_id = $1 AND id = $2",
			workspaceID, a.ID)
		if err := s.send(ctx, b); err != nil {
			return mapError(err)
		}
		if gone > 0 {
			audit.Wrote()
			return nil
		}
	}
	return transition.NotFound("authorization")
}

// ToolAuthorizations implements store.ToolAuthorizations.
func (s *Store) ToolAuthorizations(ctx context.Context, workspaceID parley.ID) ([]parley.ToolAuthorization, error) {
	return all(ctx, s, tenant(workspaceID), scanToolAuthorization, "SELECT "+toolAuthorizationColumns+
		" FROM parley.tool_authorizations o WHERE o.workspace_id = $1 ORDER BY o.server LIMIT $2",
		maxToolAuthorizations, workspaceID, maxToolAuthorizations)
}
