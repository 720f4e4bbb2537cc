package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// AppendAudit implements store.AuditTrail. A batch may have entries of any workspaces, so it runs as the system role.
func (s *Store) AppendAudit(ctx context.Context, entries []parley.AuditEntry) error {
	if len(entries) == 0 {
		return nil
	}
	return s.read(ctx, func() *batch { // read repeats what is safe to repeat
		b := system()
		b.audit(entries)
		return b
	})
}

const (
	insertAudit = "INSERT INTO parley.audit (" + insertAuditColumns + ") "
	auditValues = "VALUES (" + insertAuditPlaces + ") ON CONFLICT DO NOTHING"
)

// audit adds entries and leaves existing ones unchanged.
func (b *batch) audit(entries []parley.AuditEntry) {
	for i := range entries {
		b.write(insertAudit+auditValues, insertAuditArgs(nil, &entries[i])...)
	}
}

// auditIf is audit for a change that happens only if a query finds something: its arguments start at $10, and $1 is the
// workspace. The query locks what it finds, so the change that follows finds the same.
func (b *batch) auditIf(entries []parley.AuditEntry, exists string, args ...arg) {
	for i := range entries {
		b.write(
			insertAudit+"SELECT "+insertAuditPlaces+" WHERE EXISTS ("+exists+") ON CONFLICT DO NOTHING",
			append(insertAuditArgs(nil, &entries[i]), args...)...)
	}
}

// Audit implements store.AuditTrail.
func (s *Store) Audit(ctx context.Context, workspaceID parley.ID, query store.AuditQuery) ([]parley.AuditEntry, error) {
	text, rows, args := auditQuery(query)
	return all(ctx, s, ordered(workspaceID), scanAudit, text, rows, args...)
}

func auditQuery(q store.AuditQuery) (text string, rows int, args []arg) {
	var l filter
	l.must("a.workspace_id = " + here)
	if !q.SessionID.IsZero() {
		l.must("a.session_id = ?", q.SessionID)
	}
	if !q.PrincipalID.IsZero() {
		l.must("a.principal_id = ?", q.PrincipalID)
	}
	if len(q.Without) > 0 {
		l.must("a.action <> ALL(?)", q.Without)
	}
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("(a.at, a.id) "+after+" (?, ?)", int64(q.AfterAt), q.AfterID)
	}
	limit, rows := limited(q.Limit)
	return "SELECT " + auditColumns + " FROM parley.audit a WHERE " + l.where.String() + " ORDER BY a.at " + word +
		", a.id " + word + limit, rows, l.args
}
