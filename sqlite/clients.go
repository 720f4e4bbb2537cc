package sqlite

import (
	"context"
	"encoding/json"

	"parley"
)

// SetClientSession notes which session a client has open, instead of the one
// before.
func (s *Store) SetClientSession(ctx context.Context, scope parley.Scope, principalID parley.ID, client string, sessionID parley.ID) error {
	return s.write(ctx, func(tx *txn) error {
		h, err := tx.lock(scope, sessionID)
		if err != nil {
			return err
		}
		return activate(tx, h, principalID, client)
	})
}

// activate opens a locked session in a client and tells the feed.
func activate(tx *txn, h *head, principalID parley.ID, client string) error {
	before, err := openedIn(tx.conn, h.WorkspaceID, principalID, client)
	if err != nil || before == h.ID {
		return err
	}
	if err := deactivate(tx, before, client); err != nil {
		return err
	}
	tx.feed(h, parley.FeedSessionActivated, clientData(client))
	_, err = tx.exec(`INSERT INTO clients (workspace_id, principal_id, client, session_id, updated_at) VALUES (?, ?, ?, ?, ?)
 ON CONFLICT (workspace_id, principal_id, client) DO UPDATE SET session_id = excluded.session_id, updated_at = excluded.updated_at`,
		h.WorkspaceID, principalID, client, h.ID, tx.now)
	return err
}

// deactivate tells the feed that a client has a session open no more.
func deactivate(tx *txn, sessionID parley.ID, client string) error {
	if sessionID.IsZero() {
		return nil
	}
	h, err := tx.load(sessionID)
	if err != nil || h == nil || h.deletedAt != 0 {
		return err
	}
	tx.feed(h, parley.FeedSessionDeactivated, clientData(client))
	return nil
}

func clientData(client string) json.RawMessage {
	return append(parley.AppendJSONString([]byte(`{"client_id":`), client), '}')
}

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
		if err := deactivate(tx, id, client); err != nil {
			return err
		}
		_, err = tx.exec("DELETE FROM clients WHERE workspace_id = ? AND principal_id = ? AND client = ?", scope.WorkspaceID, principalID, client)
		return err
	})
}
