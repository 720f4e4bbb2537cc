package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// AuditList selects audit entries, newest first by default. Several values of a filter are alternatives.
type AuditList struct {
	Paging
	SessionIDs   []parley.ID
	PrincipalIDs []parley.ID
	Without      []string // actions to leave out
}

// Audit lists who did what in the workspace. Entries of deleted sessions remain.
func (e *Engine) Audit(
	ctx context.Context,
	principal parley.Principal,
	list AuditList,
) (_ Page[parley.AuditEntry], err error) {
	ctx, call, err := e.enter(ctx, principal, "listAudit", ReadAudit)
	if err != nil {
		return Page[parley.AuditEntry]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	from, order, limit, err := list.start("audit", Descending)
	if err != nil {
		return Page[parley.AuditEntry]{}, err
	}
	queries := []store.AuditQuery{{
		Without: list.Without, Ascending: order == Ascending, AfterAt: from.At, AfterID: from.ID, Limit: limit + 1,
	}}
	queries = apart(queries, list.SessionIDs, func(q *store.AuditQuery, id parley.ID) { q.SessionID = id })
	queries = apart(queries, list.PrincipalIDs, func(q *store.AuditQuery, id parley.ID) { q.PrincipalID = id })
	entries, err := joined(union[parley.AuditEntry]{
		limit:   limit + 1,
		compare: byTime(order, func(e *parley.AuditEntry) (parley.Time, parley.ID) { return e.At, e.ID }),
	}, queries, func(query store.AuditQuery) ([]parley.AuditEntry, error) {
		return e.store.Audit(ctx, scope.WorkspaceID, query)
	})
	if err != nil {
		return Page[parley.AuditEntry]{}, err
	}
	return pageOf(entries, limit, func(last parley.AuditEntry) cursor {
		return cursor{List: "audit", Order: order, At: last.At, ID: last.ID}
	}), nil
}
