package postgres

import (
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// entered adds an entry to the audit and returns its id.
func entered(t *testing.T, store *Store) parley.ID {
	t.Helper()
	workspace, err := store.Workspace(t.Context(), parley.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	entry := parley.AuditEntry{
		ID:            parley.NewID(),
		WorkspaceID:   workspace,
		At:            parley.Now(),
		PrincipalID:   parley.NewID(),
		PrincipalName: "ada",
		Action:        "getSession",
		RequestID:     parley.NewID(),
	}
	if err := store.AppendAudit(t.Context(), []parley.AuditEntry{entry}); err != nil {
		t.Fatal(err)
	}
	return entry.ID
}

// holds requires a correct chain with a number of links.
func holds(t *testing.T, store *Store, want int) []store.LinkRow {
	t.Helper()
	links, err := store.LinkRows(t.Context(), 0, 100)
	if err != nil || len(links) != want {
		t.Fatalf("%d links, %v; want %d", len(links), err, want)
	}
	last := parley.Hash{}
	for i := range links {
		if links[i].Number != int64(i+1) || links[i].Entry == nil ||
			parley.LinkHash(last, &links[i].AuditLink, links[i].Entry) != links[i].Hash {
			t.Errorf("link %d does not follow", i+1)
		}
		last = links[i].Hash
	}
	return links
}

// TestTheSecondLinkerWaitsForTheLease: one process links until its lease expires.
func TestTheSecondLinkerWaitsForTheLease(t *testing.T) {
	store, url := opened(t)
	other := openedAt(t, url, Options{})
	one, two := parley.NewID(), parley.NewID()
	for i, try := range []struct {
		store  *Store
		linker parley.ID
		held   bool
	}{{store, one, true}, {other, two, false}, {store, one, true}} {
		entered(t, store)
		step, err := try.store.LinkAudit(t.Context(), try.linker, time.Hour, nil, nil)
		if err != nil || step.Held != try.held || (step.Linked > 0) != try.held {
			t.Errorf("try %d: %+v, %v", i, step, err)
		}
	}
	holds(t, store, 3)
}

// TestTwoLinkersWithOneLease: if both have read what to link, the second one is fenced and writes nothing.
func TestTwoLinkersWithOneLease(t *testing.T) {
	store, url := opened(t)
	other := openedAt(t, url, Options{})
	entered(t, store)
	first, err := store.linkable(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	late := entered(t, store)
	second, err := other.linkable(t.Context(), nil)
	if err != nil || len(first.entries) != 1 || len(second.entries) != 2 {
		t.Fatalf("to be linked: %d and %d, %v", len(first.entries), len(second.entries), err)
	}
	if n, err := store.link(t.Context(), first); n != 1 || err != nil {
		t.Fatalf("the first linked %d, %v", n, err)
	}
	if n, err := other.link(t.Context(), second); n != 0 || parley.ErrorCode(err) != parley.CodeFenced {
		t.Errorf("the second linked %d, %v; want it fenced", n, err)
	}
	holds(t, store, 1)
	if step, err := store.LinkAudit(t.Context(), parley.NewID(), time.Hour, nil, nil); err != nil || step.Linked != 1 {
		t.Fatalf("what the fenced one would have linked: %+v, %v", step, err)
	}
	if links := holds(t, store, 2); links[1].EntryID != late {
		t.Error("a different entry was linked")
	}
}

// TestLateEntryIsLinkedLate: its transaction begins before the others and is still open when they are
// linked.
func TestLateEntryIsLinkedLate(t *testing.T) {
	store, url := opened(t)
	conn := connected(t, url)
	late := parley.NewID()
	workspace, err := store.Workspace(t.Context(), parley.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"ALTER TABLE parley.audit NO FORCE ROW LEVEL SECURITY",
		"ALTER TABLE parley.audit_unlinked NO FORCE ROW LEVEL SECURITY", "BEGIN"} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(
		t.Context(),
		"INSERT INTO parley.audit (workspace_id, at, id, principal_id, principal_name, action, request_id) "+
			"VALUES ($1, 1, $2, $2, 'ada', 'late', $2)",
		workspace.String(),
		late.String(),
	); err != nil {
		t.Fatal(err)
	}
	linker := parley.NewID()
	entered(t, store)
	if step, err := store.LinkAudit(t.Context(), linker, time.Hour, nil, nil); err != nil || step.Linked != 1 {
		t.Fatalf("beside the open transaction: %+v, %v", step, err)
	}
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if step, err := store.LinkAudit(t.Context(), linker, time.Hour, nil, nil); err != nil || step.Linked != 1 {
		t.Fatalf("behind it: %+v, %v", step, err)
	}
	if links := holds(t, store, 2); links[1].EntryID != late {
		t.Error("the late entry is not linked last")
	}
}
