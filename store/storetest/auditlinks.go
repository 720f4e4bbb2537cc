package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// linkAll links everything, with a pass over all sessions.
func linkAll(t *testing.T, store store.Store) {
	t.Helper()
	linker := parley.NewID()
	pass := &parley.ID{}
	for range 1000 {
		step, err := store.LinkAudit(t.Context(), linker, time.Millisecond, nil, pass)
		must(t, "LinkAudit", err)
		switch {
		case !step.Held || step.More: // wait for the previous linker's lease to expire
		case step.Last.IsZero():
			return
		default:
			pass = &step.Last
		}
	}
	t.Fatal("linking the audit did not end")
}

func (w *world) audited(t *testing.T, n int) (entries []parley.AuditEntry) {
	t.Helper()
	for i := range n {
		entries = append(
			entries,
			parley.AuditEntry{
				ID:            parley.NewID(),
				WorkspaceID:   w.scope.WorkspaceID,
				At:            parley.Time(1000 + i),
				PrincipalID:   w.owner.ID,
				PrincipalName: "ada",
				Action:        "getSession",
				TargetID:      parley.NewID(),
				RequestID:     parley.NewID(),
			},
		)
	}
	must(t, "AppendAudit", w.store.AppendAudit(w.ctx, entries))
	return entries
}

// links reads the chain and requires that it is valid.
func (w *world) links(t *testing.T) (links []store.LinkRow) {
	t.Helper()
	links, err := w.store.LinkRows(w.ctx, 0, 10_000)
	must(t, "LinkRows", err)
	var last parley.Anchor
	for i := range links {
		k := &links[i]
		if k.Number != last.Number+1 || parley.LinkHash(last.Hash, &k.AuditLink, k.Entry) != k.Hash {
			t.Fatalf("link %d does not follow from %s", k.Number, last)
		}
		last = parley.Anchor{Number: k.Number, Hash: k.Hash}
	}
	anchor, err := w.store.AuditAnchor(w.ctx)
	must(t, "AuditAnchor", err)
	if anchor != last {
		t.Errorf("the anchor is %s; the chain ends at %s", anchor, last)
	}
	return links
}

func testAuditLinks(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "one", "1")
	entries := w.audited(t, store.LinkEntries+3)
	linkAll(t, w.store)
	first := w.links(t)
	w.exchange(t, session, "two", "2")
	linkAll(t, w.store)
	linkAll(t, w.store)
	links := w.links(t)
	linked := map[parley.ID]int{}
	var heads []parley.LinkedHead
	for i := range links {
		if k := &links[i]; k.EntryID.IsZero() {
			heads = append(heads, k.Heads...)
		} else {
			linked[k.EntryID]++
		}
	}
	for i := range entries {
		if linked[entries[i].ID] != 1 {
			t.Fatalf("entry %d is linked %d times", i, linked[entries[i].ID])
		}
	}
	record := w.check(t, session).Record
	want := []parley.LinkedHead{
		{WorkspaceID: w.scope.WorkspaceID, SessionID: session, Sequence: 2, Hash: record[1].ContentHash},
		{WorkspaceID: w.scope.WorkspaceID, SessionID: session, Sequence: 4, Hash: record[3].ContentHash},
	}
	if diff := cmp.Diff(want, heads); diff != "" {
		t.Errorf("heads (-want +got):\n%s", diff)
	}
	if len(links) != len(first)+1 {
		t.Errorf("%d links became %d with one more head", len(first), len(links))
	}
}

// testAuditLinkers: the second linker waits for the lease of the first, unless there is one process without a lease.
// PostgreSQL's own tests tell which.
func testAuditLinkers(t *testing.T, w *world) {
	w.audited(t, 1)
	first, err := w.store.LinkAudit(w.ctx, parley.NewID(), time.Hour, nil, nil)
	must(t, "LinkAudit", err)
	w.audited(t, 2)
	second, err := w.store.LinkAudit(w.ctx, parley.NewID(), time.Hour, nil, nil)
	must(t, "LinkAudit of another", err)
	if !first.Held || first.Linked != 1 || second.Held && second.Linked != 2 || !second.Held && second.Linked != 0 {
		t.Errorf("linked: %+v, %+v", first, second)
	}
	w.links(t)
}

// testAuditLate: entries are linked in order of arrival, whatever their times.
func testAuditLate(t *testing.T, w *world) {
	w.audited(t, 3)
	linkAll(t, w.store)
	late := parley.AuditEntry{
		ID:            parley.NewID(),
		WorkspaceID:   w.scope.WorkspaceID,
		At:            1,
		PrincipalID:   w.owner.ID,
		PrincipalName: "ada",
		Action:        "late",
		RequestID:     parley.NewID(),
	}
	must(t, "AppendAudit", w.store.AppendAudit(w.ctx, []parley.AuditEntry{late}))
	must(t, "AppendAudit again", w.store.AppendAudit(w.ctx, []parley.AuditEntry{late}))
	linkAll(t, w.store)
	links := w.links(t)
	if len(links) != 4 || links[3].EntryID != late.ID || links[3].Entry == nil {
		t.Errorf("the late entry is not the last of %d links", len(links))
	}
	keys, err := w.store.AuditKeys(w.ctx, store.AuditKey{}, 10)
	must(t, "AuditKeys", err)
	for _, key := range keys {
		if key.Loose {
			t.Errorf("the entry %s is not linked", key.ID)
		}
	}
}

// testAuditGraves: links of a deleted session are explained, before and after its rows are purged.
func testAuditGraves(t *testing.T, w *world) {
	session, kept := w.session(t), w.session(t)
	w.exchange(t, session, "one", "1")
	w.exchange(t, kept, "one", "1")
	linkAll(t, w.store)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	heads := []parley.LinkedHead{
		{WorkspaceID: w.scope.WorkspaceID, SessionID: session, Sequence: 2},
		{WorkspaceID: w.scope.WorkspaceID, SessionID: kept, Sequence: 2},
		{
			WorkspaceID: w.scope.WorkspaceID,
			SessionID:   kept,
			Sequence:    3,
		},
		{WorkspaceID: w.scope.WorkspaceID, SessionID: parley.NewID(), Sequence: 1},
	}
	record := w.check(t, kept).Record
	look := func(there bool) {
		t.Helper()
		found, err := w.store.HeadsFound(w.ctx, heads)
		must(t, "HeadsFound", err)
		if !found[0].Deleted || !found[0].Explained || found[0].There != there {
			t.Errorf("the deleted session is %+v", found[0])
		}
		if diff := cmp.Diff(
			[]store.HeadFound{{There: true, Hash: record[1].ContentHash}, {There: true}, {}},
			found[1:],
		); diff != "" {
			t.Errorf("the others (-want +got):\n%s", diff)
		}
	}
	look(true)
	for more := true; more; {
		var err error
		_, more, err = w.store.ApplyOutbox(w.ctx, parley.ID{})
		must(t, "ApplyOutbox", err)
	}
	look(false)
	linkAll(t, w.store)
	links := w.links(t)
	last := links[len(links)-1]
	if len(last.Heads) != 1 || last.Heads[0].SessionID != session || last.Heads[0].Sequence != 0 {
		t.Errorf("the deletion is linked as %+v", last)
	}
}

// testAuditDeletions: each session that is deleted with another or with its project has its own entry, and an
// explicitly deleted session has only one.
func testAuditDeletions(t *testing.T, w *world) {
	project := w.choose(t, "/tmp/gone")
	asked, inProject := w.session(t), w.session(t, func(s *parley.Session) { s.ProjectID = project.ID })
	tool := w.session(t, func(s *parley.Session) { s.Kind, s.ParentSessionID = parley.KindTool, asked })
	kept := w.session(t)
	ctx, _ := w.calls(store.DeleteSessionAction)
	must(t, "DeleteSession", w.store.DeleteSession(ctx, w.scope, asked))
	ctx, _ = w.calls("deleteProject", project.ID)
	must(t, "DeleteProject", w.store.DeleteProject(ctx, w.scope, project.ID, true))
	w.drainOutbox(t)
	var heads []parley.LinkedHead
	for _, id := range []parley.ID{asked, tool, inProject, kept} {
		heads = append(heads, parley.LinkedHead{WorkspaceID: w.scope.WorkspaceID, SessionID: id, Sequence: 1})
		entries, err := w.store.Audit(w.ctx, w.scope.WorkspaceID, store.AuditQuery{SessionID: id, Limit: 10})
		must(t, "Audit", err)
		if want := map[bool]int{true: 0, false: 1}[id == kept]; len(entries) != want {
			t.Errorf("%d entries of %s, want %d: %+v", len(entries), id, want, entries)
		}
		for _, e := range entries {
			if id != inProject && e.PrincipalName != w.owner.Name {
				t.Errorf("%s was deleted by %q", id, e.PrincipalName)
			}
		}
	}
	found, err := w.store.HeadsFound(w.ctx, heads)
	must(t, "HeadsFound", err)
	if diff := cmp.Diff(
		[]store.HeadFound{
			{Deleted: true, Explained: true},
			{Deleted: true, Explained: true},
			{Deleted: true, Explained: true},
			{There: true},
		},
		found,
	); diff != "" {
		t.Errorf("what explains the deletions (-want +got):\n%s", diff)
	}
}
