package postgres

import (
	"context"

	"parley"
	"parley/internal/transition"
)

// ClientSession is the session that a client has open; CodeNotFound when it has
// none, or one that is gone.
func (s *Store) ClientSession(ctx context.Context, scope parley.Scope, principalID parley.ID, client string) (session parley.Session, err error) {
	opened, found := false, false
	var l filter
	l.visible(scope)
	l.must("s.id = (SELECT c.session_id FROM parley.clients c WHERE c.workspace_id = "+here+" AND c.principal_id = ? AND c.client = ?)", principalID, client)
	err = s.read(ctx, func() *batch {
		opened, found = false, false
		b := tenant(scope.WorkspaceID)
		b.snapshot = true
		b.read("SELECT 1 FROM parley.clients WHERE workspace_id = $1 AND principal_id = $2 AND client = $3", func(*row) error {
			opened = true
			return nil
		}, scope.WorkspaceID, principalID, client)
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
