package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// AuditList selects audit entries, newest first by default.
type AuditList struct {
	Paging
	SessionID   parley.ID
	PrincipalID parley.ID
	Without     []string // actions to leave out
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
	entries, err := e.store.Audit(ctx, scope.WorkspaceID, store.AuditQuery{
		SessionID:   list.SessionID,
		PrincipalID: list.PrincipalID,
		Without:     list.Without,
		Ascending:   order == Ascending,
		AfterAt:     from.At,
		AfterID:     from.ID,
		Limit:       limit + 1,
	})
	if err != nil {
		return Page[parley.AuditEntry]{}, err
	}
	return pageOf(entries, limit, func(last parley.AuditEntry) cursor {
		return cursor{List: "audit", Order: order, At: last.At, ID: last.ID}
	}), nil
}
