package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// KeepForeignIDs implements store.ForeignIDs.
func (s *Store) KeepForeignIDs(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	ids []parley.ForeignID,
) error {
	return s.write(ctx, func(tx *txn) error {
		if _, err := locate(tx.conn, scope, sessionID); err != nil {
			return err
		}
		for _, id := range ids {
			id.WorkspaceID, id.SessionID, id.CreatedAt = scope.WorkspaceID, sessionID, tx.now
			if _, err := tx.exec(
				"INSERT INTO foreign_ids ("+insertForeignIDColumns+") VALUES ("+insertForeignIDPlaces+
					") ON CONFLICT DO NOTHING",
				insertForeignIDArgs(nil, &id)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// ForeignIDs implements store.ForeignIDs.
func (s *Store) ForeignIDs(
	ctx context.Context,
	scope store.Scope,
	protocol string,
	principalID parley.ID,
	names []string,
) (found []parley.ForeignID, err error) {
	err = s.read(ctx, func(c *conn) error {
		for _, name := range names {
			found = []parley.ForeignID{}
			var l list
			l.must("f.workspace_id = ?", scope.WorkspaceID)
			l.must("f.protocol = ?", protocol)
			l.must("f.principal_id = ?", principalID)
			l.must("f.name = ?", name)
			l.visible(scope)
			err := c.each(
				"SELECT "+foreignIDColumns+" FROM foreign_ids f CROSS JOIN sessions s ON s.id = f.session_id WHERE "+
					l.where.String()+" ORDER BY f.created_at DESC, f.session_id DESC LIMIT ?",
				func(r *row) error {
					id, err := scanForeignID(r)
					found = append(found, id)
					return err
				},
				append(l.args, parley.MaxForeignCandidates)...)
			if err != nil || len(found) > 0 {
				return err
			}
		}
		return nil
	})
	return found, err
}
