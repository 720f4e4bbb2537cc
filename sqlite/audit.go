package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// AppendAudit implements store.AuditTrail.
func (s *Store) AppendAudit(ctx context.Context, entries []parley.AuditEntry) error {
	if len(entries) == 0 {
		return nil
	}
	return s.write(ctx, func(tx *txn) error { return tx.insertAudit(entries) })
}

// insertAudit adds entries and leaves existing ones unchanged.
func (t *txn) insertAudit(entries []parley.AuditEntry) error {
	for i := range entries {
		if _, err := t.exec(
			"INSERT INTO audit ("+insertAuditColumns+") VALUES ("+insertAuditPlaces+") ON CONFLICT DO NOTHING",
			insertAuditArgs(t.args[:0], &entries[i])...); err != nil {
			return err
		}
	}
	return nil
}

// Audit implements store.AuditTrail.
func (s *Store) Audit(
	ctx context.Context,
	workspaceID parley.ID,
	query store.AuditQuery,
) (entries []parley.AuditEntry, err error) {
	text, args := auditQuery(workspaceID, query)
	err = s.read(ctx, func(c *conn) error {
		entries = []parley.AuditEntry{}
		return c.each(text, func(r *row) error {
			found, err := scanAudit(r)
			entries = append(entries, found)
			return err
		}, args...)
	})
	return entries, err
}

func auditQuery(workspaceID parley.ID, q store.AuditQuery) (string, []arg) {
	var l list
	l.must("a.workspace_id = ?", workspaceID)
	if !q.SessionID.IsZero() {
		l.by("audit_session", "a.session_id = ?", q.SessionID)
	}
	if !q.PrincipalID.IsZero() {
		l.by("audit_principal", "a.principal_id = ?", q.PrincipalID)
	}
	for _, action := range q.Without {
		l.must("a.action <> ?", action)
	}
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("(a.at, a.id) "+after+" (?, ?)", int64(q.AfterAt), q.AfterID)
	}
	by := ""
	if l.index != "" {
		by = " INDEXED BY " + l.index
	}
	return "SELECT " + auditColumns + " FROM audit a" + by + " WHERE " + l.where.String() +
		" ORDER BY a.at " + word + ", a.id " + word + " LIMIT ?", append(l.args, limited(q.Limit))
}
