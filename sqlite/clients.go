package sqlite

import (
	"context"

	"parley"
)

// openedIn is the session that a client has open; zero when none.
func openedIn(c *conn, workspaceID, principalID parley.ID, client string) (id parley.ID, err error) {
	_, err = c.one("SELECT session_id FROM clients WHERE workspace_id = ? AND principal_id = ? AND client = ?", func(r *row) error {
		id = r.id()
		return nil
	}, workspaceID, principalID, client)
	return id, err
}

// ClientSession is the session that a client has open; CodeNotFound when it has
// none, or one that is gone.
func (s *Store) ClientSession(ctx context.Context, scope parley.Scope, principalID parley.ID, client string) (session parley.Session, err error) {
	err = s.read(ctx, func(c *conn) error {
		id, err := openedIn(c, scope.WorkspaceID, principalID, client)
		if err != nil {
			return err
		}
		if id.IsZero() {
			return parley.Errorf(parley.CodeNotFound, "this client has no session open")
		}
		session, err = visibleSession(c, scope, id)
		return err
	})
	return session, err
}

// ClearClientSession forgets what a client has open; nothing is fine too.
func (s *Store) ClearClientSession(ctx context.Context, scope parley.Scope, principalID parley.ID, client string) error {
	return s.write(ctx, func(tx *txn) error {
		id, err := openedIn(tx.conn, scope.WorkspaceID, principalID, client)
		if err != nil || id.IsZero() {
			return err
		}
		if err := tx.core.Deactivate(id, client); err != nil {
			return err
		}
		_, err = tx.exec("DELETE FROM clients WHERE workspace_id = ? AND principal_id = ? AND client = ?", scope.WorkspaceID, principalID, client)
		return err
	})
}
