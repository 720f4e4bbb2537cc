package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// SaveToolAuthorization implements store.ToolAuthorizations.
func (s *Store) SaveToolAuthorization(
	ctx context.Context,
	a parley.ToolAuthorization,
) (parley.ToolAuthorization, error) {
	return transact(ctx, s, func(tx *txn) (parley.ToolAuthorization, error) {
		next := a // the closure may run again
		transition.NextToolAuthorization(&next, tx.now)
		tx.means = next.ID
		if a.Revision == 0 {
			taken, err := tx.has("SELECT 1 FROM tool_authorizations WHERE workspace_id = ? AND server = ?",
				a.WorkspaceID, a.Server)
			if err == nil && taken {
				err = transition.ToolAuthorizationMovedOn()
			}
			if err != nil {
				return next, err
			}
			_, err = tx.exec("INSERT INTO tool_authorizations ("+insertToolAuthorizationColumns+") VALUES ("+
				insertToolAuthorizationPlaces+")", insertToolAuthorizationArgs(nil, &next)...)
			return next, err
		}
		changed, err := tx.exec("UPDATE tool_authorizations SET "+updateToolAuthorizationSet+
			" WHERE id = ? AND workspace_id = ? AND revision = ?",
			append(updateToolAuthorizationArgs(nil, &next), next.ID, next.WorkspaceID, a.Revision)...)
		if err == nil && changed == 0 {
			tx.wrote = false
			err = transition.ToolAuthorizationMovedOn()
		}
		return next, err
	})
}

// DeleteToolAuthorization implements store.ToolAuthorizations.
func (s *Store) DeleteToolAuthorization(ctx context.Context, workspaceID parley.ID, server string) error {
	return s.write(ctx, func(tx *txn) error {
		id, err := tx.id("SELECT id FROM tool_authorizations WHERE workspace_id = ? AND server = ?",
			workspaceID, server)
		if err == nil && id.IsZero() {
			err = transition.NotFound("authorization")
		}
		if err != nil {
			return err
		}
		tx.means = id
		_, err = tx.exec("DELETE FROM tool_authorizations WHERE id = ?", id)
		return err
	})
}

// ToolAuthorizations implements store.ToolAuthorizations.
func (s *Store) ToolAuthorizations(
	ctx context.Context,
	workspaceID parley.ID,
) (found []parley.ToolAuthorization, err error) {
	err = s.read(ctx, func(c *conn) error {
		found = []parley.ToolAuthorization{}
		return c.each("SELECT "+toolAuthorizationColumns+
			" FROM tool_authorizations o WHERE o.workspace_id = ? ORDER BY o.server", func(r *row) error {
			a, err := scanToolAuthorization(r)
			found = append(found, a)
			return err
		}, workspaceID)
	})
	return found, err
}
