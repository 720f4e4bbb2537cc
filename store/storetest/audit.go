package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.org/parley"
	"example.org/parley/store"
)

func testAudit(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"it is listed by session and principal": testAuditLists,
		"entries outlive their session":         testAuditOutlives,
		"a change and its entry are one":        testAuditWithChange,
		"of several changes the first writes":   testAuditFirstChange,
		"a session that is found is named":      testAuditFound,
		"of many at once each has its own":      testAuditAtOnce,
		"every change writes its entry":         testAuditEveryChange,
		"EntriesAndHeadsAreLinkedOnce":          testAuditLinks,
		"LinkersFenceEachOther":                 testAuditLinkers,
		"LateEntriesAreLinkedLater":             testAuditLate,
		"DeletionsAreLinked":                    testAuditGraves,
		"EachDeletionIsExplained":               testAuditDeletions,
	})
}

func auditIDs(entries []parley.AuditEntry) (ids []parley.ID) {
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}

func testAuditLists(t *testing.T, w *world) {
	other := w.neighbour(t, "neighbour")
	session, second, somebody := parley.NewID(), parley.NewID(), parley.NewID()
	entry := func(workspace parley.ID, at parley.Time, principal, session parley.ID) parley.AuditEntry {
		return parley.AuditEntry{
			ID:            parley.NewID(),
			WorkspaceID:   workspace,
			At:            at,
			PrincipalID:   principal,
			PrincipalName: "ada",
			Action:        "getSession",
			SessionID:     session,
			TargetID:      parley.NewID(),
			RequestID:     parley.NewID(),
		}
	}
	entries := []parley.AuditEntry{
		entry(w.scope.WorkspaceID, 100, w.owner.ID, session),
		entry(w.scope.WorkspaceID, 100, somebody, session),
		entry(w.scope.WorkspaceID, 200, w.owner.ID, second),
		entry(w.scope.WorkspaceID, 300, somebody, parley.ID{}),
		entry(other.scope.WorkspaceID, 400, w.owner.ID, session),
	}
	entries[3].TargetID = parley.ID{}
	entries[2].Action = "updateSession"
	must(t, "AppendAudit", w.store.AppendAudit(w.ctx, entries[:3]))
	must(t, "AppendAudit again, with more", w.store.AppendAudit(w.ctx, entries))
	must(t, "AppendAudit of nothing", w.store.AppendAudit(w.ctx, nil))
	list := func(query store.AuditQuery) []parley.AuditEntry {
		t.Helper()
		got, err := w.store.Audit(w.ctx, w.scope.WorkspaceID, query)
		must(t, "Audit", err)
		return got
	}
	if diff := cmp.Diff(
		[]parley.AuditEntry{entries[0], entries[1], entries[2], entries[3]},
		list(store.AuditQuery{Ascending: true, Limit: 10}),
	); diff != "" {
		t.Errorf("all, oldest first (-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct {
		query store.AuditQuery
		want  []parley.ID
	}{
		"newest first": {store.AuditQuery{Limit: 10},
			[]parley.ID{entries[3].ID, entries[2].ID, entries[1].ID, entries[0].ID}},
		"a session": {store.AuditQuery{SessionID: session, Limit: 10}, []parley.ID{entries[1].ID, entries[0].ID}},
		"a principal": {store.AuditQuery{PrincipalID: somebody, Limit: 10},
			[]parley.ID{entries[3].ID, entries[1].ID}},
		"both": {store.AuditQuery{PrincipalID: w.owner.ID, SessionID: session, Limit: 10},
			[]parley.ID{entries[0].ID}},
		"without some": {store.AuditQuery{Without: []string{"listSessions", "getSession"}, Limit: 10},
			[]parley.ID{entries[2].ID}},
		"a page": {store.AuditQuery{Limit: 2}, []parley.ID{entries[3].ID, entries[2].ID}},
		"the next page": {store.AuditQuery{Limit: 2, AfterAt: 200, AfterID: entries[2].ID},
			[]parley.ID{entries[1].ID, entries[0].ID}},
		"behind a tie": {store.AuditQuery{Limit: 2, AfterAt: 100, AfterID: entries[1].ID}, []parley.ID{entries[0].ID}},
	} {
		if diff := cmp.Diff(c.want, auditIDs(list(c.query))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func testAuditOutlives(t *testing.T, w *world) {
	session := w.session(t)
	entry := parley.AuditEntry{
		ID:            parley.NewID(),
		WorkspaceID:   w.scope.WorkspaceID,
		At:            parley.Now(),
		PrincipalID:   w.owner.ID,
		PrincipalName: "ada",
		Action:        "getSession",
		SessionID:     session,
		RequestID:     parley.NewID(),
	}
	must(t, "AppendAudit", w.store.AppendAudit(w.ctx, []parley.AuditEntry{entry}))
	ctx, intent := w.calls(store.DeleteSessionAction)
	deletion := intent.Entries(session, parley.ID{})
	must(t, "DeleteSession", w.store.DeleteSession(ctx, w.scope, session))
	for more := true; more; {
		var err error
		_, more, err = w.store.ApplyOutbox(w.ctx, parley.ID{})
		must(t, "ApplyOutbox", err)
	}
	got, err := w.store.Audit(w.ctx, w.scope.WorkspaceID, store.AuditQuery{SessionID: session, Limit: 10})
	must(t, "Audit", err)
	if diff := cmp.Diff(
		append(deletion, entry),
		got,
		cmpopts.SortSlices(func(a, b parley.AuditEntry) bool { return a.Action < b.Action }),
	); diff != "" {
		t.Errorf("after the purge (-want +got):\n%s", diff)
	}
}
