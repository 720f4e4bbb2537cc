package postgres

import (
	"context"
	"strconv"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// ClientSession implements store.Clients. A session that is gone counts as none.
func (s *Store) ClientSession(
	ctx context.Context,
	scope store.Scope,
	principalID parley.ID,
	client string,
) (session parley.Session, err error) {
	opened, found := false, false
	var l filter
	l.visible(scope)
	l.must(
		"s.id = (SELECT c.session_id FROM parley.clients c WHERE c.workspace_id = "+here+
			" AND c.principal_id = ? AND c.client = ?)",
		principalID,
		client,
	)
	err = s.read(ctx, func() *batch {
		opened, found = false, false
		b := tenant(scope.WorkspaceID)
		b.snapshot = true
		b.read(
			"SELECT 1 FROM parley.clients WHERE workspace_id = $1 AND principal_id = $2 AND client = $3",
			func(*row) error {
				opened = true
				return nil
			},
			scope.WorkspaceID,
			principalID,
			client,
		)
		b.read("SELECT "+sessionColumns+sessionTables+"WHERE "+l.where.String(), func(r *row) (err error) {
			session, err = scanSession(r)
			found = true
			return err
		}, l.args...)
		return b
	})
	switch {
	case err != nil:
		return parley.Session{}, err
	case !opened:
		return parley.Session{}, parley.Errorf(parley.CodeNotFound, "this client has no session open")
	case !found:
		return parley.Session{}, transition.NotFound("session")
	}
	return session, nil
}

// SessionClients implements store.Clients.
func (s *Store) SessionClients(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	since parley.Time,
) (clients []parley.SessionClient, err error) {
	err = s.page(ctx, scope, sessionID, func(b *batch) {
		clients = []parley.SessionClient{}
		b.inOrder = false // few rows
		b.read(
			`SELECT c.client, p.kind, p.id, p.name, c.updated_at FROM parley.clients c
				JOIN parley.principals p ON p.workspace_id = `+here+` AND p.id = c.principal_id
 WHERE c.workspace_id = `+here+
				` AND c.session_id = $1 AND c.updated_at >= $2 ORDER BY p.name COLLATE "C", p.id, c.client COLLATE "C"
					LIMIT $3`,
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

// ExpireClients implements store.ClientSweep, with a transaction for each client, since each may be of a different
// workspace.
func (s *Store) ExpireClients(ctx context.Context, before parley.Time) (bool, error) {
	type client struct {
		workspaceID, principalID parley.ID
		name                     string
	}
	gone, err := all(
		ctx,
		s,
		system(),
		func(r *row) (client, error) { return client{r.id(), r.id(), r.text()}, nil },
		"SELECT workspace_id, principal_id, client FROM parley.clients WHERE updated_at < $1 LIMIT "+strconv.Itoa(
			parley.PurgeBatch,
		),
		parley.PurgeBatch,
		before,
	)
	if err != nil {
		return false, mapError(err)
	}
	for _, c := range gone {
		err := alone(ctx, s, c.workspaceID, func(a *attempt) error {
			id, err := a.id(
				"SELECT session_id FROM parley.clients WHERE workspace_id = $1 AND principal_id = $2 AND client = $3 "+
					"AND updated_at < $4",
				c.workspaceID,
				c.principalID,
				c.name,
				before,
			)
			if err != nil || id.IsZero() {
				return err
			}
			a.extra = append(
				a.extra,
				statement{
					query: "DELETE FROM parley.clients WHERE workspace_id = $1 AND principal_id = $2 AND client = $3 " +
						"AND updated_at < $4",
					args: []arg{c.workspaceID, c.principalID, c.name, before},
				},
			)
			return a.tx.Deactivate(id, c.name)
		})
		if err != nil {
			return false, err
		}
	}
	return len(gone) == parley.PurgeBatch, nil
}
