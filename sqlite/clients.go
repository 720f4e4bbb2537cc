package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// openedIn returns the session that a client has open, or zero.
func openedIn(c *conn, workspaceID, principalID parley.ID, client string) (id parley.ID, err error) {
	_, err = c.one(
		"SELECT session_id FROM clients WHERE workspace_id = ? AND principal_id = ? AND client = ?",
		func(r *row) error {
			id = r.id()
			return nil
		},
		workspaceID,
		principalID,
		client,
	)
	return id, err
}

// ClientSession implements store.Clients. A session that is gone counts as none.
func (s *Store) ClientSession(
	ctx context.Context,
	scope store.Scope,
	principalID parley.ID,
	client string,
) (session parley.Session, err error) {
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

// ClearClientSession implements store.Clients. A client without an open session is fine.
func (s *Store) ClearClientSession(ctx context.Context, scope store.Scope, principalID parley.ID, client string) error {
	return s.write(ctx, func(tx *txn) error {
		id, err := openedIn(tx.conn, scope.WorkspaceID, principalID, client)
		if err != nil || id.IsZero() {
			return err
		}
		if err := tx.core.Deactivate(id, client); err != nil {
			return err
		}
		_, err = tx.exec(
			"DELETE FROM clients WHERE workspace_id = ? AND principal_id = ? AND client = ?",
			scope.WorkspaceID,
			principalID,
			client,
		)
		return err
	})
}

// SessionClients implements store.Clients.
func (s *Store) SessionClients(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	since parley.Time,
) (clients []parley.SessionClient, err error) {
	err = s.read(ctx, func(c *conn) error {
		if _, err := locate(c, scope, sessionID); err != nil {
			return err
		}
		clients = []parley.SessionClient{}
		return c.each(
			`SELECT c.client, p.kind, p.id, p.name, c.updated_at FROM clients c
				JOIN principals p ON p.id = c.principal_id
 WHERE c.session_id = ? AND c.updated_at >= ? ORDER BY p.name, p.id, c.client LIMIT ?`,
			func(r *row) error {
				clients = append(
					clients,
					parley.SessionClient{
						ClientID:  r.text(),
						Principal: parley.Author{Kind: parley.AuthorKind(r.text()), ID: r.id(), Name: r.text()},
						SeenAt:    r.time(),
					},
				)
				return nil
			},
			sessionID,
			int64(since),
			parley.MaxSessionClients,
		)
	})
	return clients, err
}

// ExpireClients implements store.ClientSweep.
func (s *Store) ExpireClients(ctx context.Context, before parley.Time) (bool, error) {
	return transact(ctx, s, func(tx *txn) (bool, error) {
		type client struct {
			workspaceID, principalID, sessionID parley.ID
			name                                string
		}
		var gone []client
		err := tx.each(
			"SELECT workspace_id, principal_id, session_id, client FROM clients WHERE updated_at < ? LIMIT ?",
			func(r *row) error {
				gone = append(gone, client{r.id(), r.id(), r.id(), r.text()})
				return nil
			},
			before,
			parley.PurgeBatch,
		)
		if err != nil {
			return false, err
		}
		for _, c := range gone {
			if err := tx.core.Deactivate(c.sessionID, c.name); err != nil {
				return false, err
			}
			if _, err := tx.exec(
				"DELETE FROM clients WHERE workspace_id = ? AND principal_id = ? AND client = ?",
				c.workspaceID,
				c.principalID,
				c.name,
			); err != nil {
				return false, err
			}
		}
		return len(gone) == parley.PurgeBatch, nil
	})
}
