package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testShares(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"kept":     sharesKept,
		"readable": sharesReadable,
		"hidden":   sharesHidden,
		"deleted":  sharesDeleted,
		"foreign":  sharesForeign,
		"bounded":  sharesBounded,
	})
}

func (w *world) share(t reporter, session, reader parley.ID) (parley.Share, bool) {
	t.Helper()
	kept, made, err := w.store.Share(
		w.ctx,
		w.scope,
		parley.Share{SessionID: session, ReaderID: reader, SharedBy: w.owner.Author()},
	)
	must(t, "Share", err)
	return kept, made
}

func (w *world) shares(t reporter, query store.ShareQuery) []parley.Share {
	t.Helper()
	shares, err := w.store.Shares(w.ctx, w.scope, query)
	must(t, "Shares", err)
	return shares
}

func sharesKept(t *testing.T, w *world) {
	developer, qa, other := w.session(t), w.session(t), w.session(t)
	first, made := w.share(t, developer, qa)
	if !made || first.SessionID != developer || first.ReaderID != qa || first.SharedBy != w.owner.Author() ||
		first.WorkspaceID != w.scope.WorkspaceID ||
		first.CreatedAt == 0 {
		t.Fatalf("shared: %+v, made %t", first, made)
	}
	if again, made := w.share(t, developer, qa); made || again != first {
		t.Errorf("shared again: %+v, made %t", again, made)
	}
	second, _ := w.share(t, developer, other)
	if diff := cmp.Diff(
		[]parley.Share{first, second},
		w.shares(t, store.ShareQuery{SessionID: developer}),
	); diff != "" &&
		first.CreatedAt != second.CreatedAt {
		t.Errorf("who reads it (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]parley.Share{first}, w.shares(t, store.ShareQuery{ReaderID: qa})); diff != "" {
		t.Errorf("what it reads (-want +got):\n%s", diff)
	}
	must(t, "Unshare", w.store.Unshare(w.ctx, w.scope, developer, qa))
	refused(t, "ending it again", w.store.Unshare(w.ctx, w.scope, developer, qa), parley.CodeNotFound)
	if got := w.shares(t, store.ShareQuery{ReaderID: qa}); len(got) != 0 {
		t.Errorf("still shared: %+v", got)
	}
}

func sharesReadable(t *testing.T, w *world) {
	developer, qa := w.session(t, func(s *parley.Session) { s.Title = "dev" }), w.session(t)
	child := w.session(t, func(s *parley.Session) { s.ParentSessionID, s.Kind = qa, parley.KindTool })
	fork := w.session(t, func(s *parley.Session) { s.ParentSessionID = qa })
	w.share(t, developer, qa)
	reads := func(reader, session parley.ID) error {
		_, err := w.store.Readable(w.ctx, w.scope.WorkspaceID, reader, session)
		return err
	}
	must(t, "reading a shared session", reads(qa, developer))
	must(t, "reading a tool session of its own", reads(qa, child))
	refused(t, "reading a child that is not a tool session", reads(qa, fork), parley.CodeNotFound)
	refused(t, "reading the other way", reads(developer, qa), parley.CodeNotFound)
	refused(t, "a child reading its parent", reads(child, qa), parley.CodeNotFound)
	refused(t, "reading nothing", reads(qa, parley.NewID()), parley.CodeNotFound)
	_, err := w.store.Readable(w.ctx, w.neighbour(t, "acme").scope.WorkspaceID, qa, developer)
	refused(t, "reading from another workspace", err, parley.CodeNotFound)
	all, err := w.store.AllReadable(w.ctx, w.scope.WorkspaceID, qa)
	must(t, "AllReadable", err)
	if len(all) != 1 || all[0].ID != developer || all[0].Title != "dev" {
		t.Errorf("it reads %+v", all)
	}
}

// sharesHidden: a share is void while the reader's owner may not see the session.
func sharesHidden(t *testing.T, w *world) {
	stranger := parley.NewID()
	session := w.session(t, func(s *parley.Session) { s.Visibility = parley.VisibilityWorkspace })
	reader := w.session(t, func(s *parley.Session) { s.OwnerID, s.Visibility = stranger, parley.VisibilityWorkspace })
	w.share(t, session, reader)
	for _, step := range []struct {
		visibility parley.Visibility
		reads      int
	}{{parley.VisibilityWorkspace, 1}, {parley.VisibilityPrivate, 0}, {parley.VisibilityWorkspace, 1}} {
		_, err := w.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Visibility: &step.visibility})
		must(t, "UpdateSession", err)
		read, err := w.store.Readable(w.ctx, w.scope.WorkspaceID, reader, session)
		if step.reads == 0 {
			refused(t, "reading a session that became private", err, parley.CodeNotFound)
		} else if must(t, "Readable", err); read.ID != session {
			t.Errorf("%s: it reads %s", step.visibility, read.ID)
		}
		all, err := w.store.AllReadable(w.ctx, w.scope.WorkspaceID, reader)
		must(t, "AllReadable", err)
		listed := w.shares(t, store.ShareQuery{ReaderID: reader})
		if len(all) != step.reads || len(listed) != step.reads {
			t.Errorf(
				"%s: it reads %d sessions and lists %d, want %d",
				step.visibility,
				len(all),
				len(listed),
				step.reads,
			)
		}
		if kept := w.shares(t, store.ShareQuery{SessionID: session}); len(kept) != 1 {
			t.Errorf("%s: the session's owner sees %d shares to end", step.visibility, len(kept))
		}
	}
}

func sharesDeleted(t *testing.T, w *world) {
	for _, gone := range []int{0, 1} {
		pair := [2]parley.ID{w.session(t), w.session(t)}
		w.share(t, pair[0], pair[1])
		must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, pair[gone]))
		for range 2 { // immediately, and after the purge
			left := store.ShareQuery{SessionID: pair[0]}
			if gone == 0 {
				left = store.ShareQuery{ReaderID: pair[1]}
			}
			if got := w.shares(t, left); len(got) != 0 {
				t.Errorf("a share outlived its session: %+v", got)
			}
			_, err := w.store.Readable(w.ctx, w.scope.WorkspaceID, pair[1], pair[0])
			if gone == 0 {
				refused(t, "reading a deleted session", err, parley.CodeNotFound)
			}
			w.drainOutbox(t)
		}
		if gone == 1 {
			_, err := w.store.Readable(w.ctx, w.scope.WorkspaceID, pair[1], pair[0])
			refused(t, "reading for a session that is purged", err, parley.CodeNotFound)
		}
	}
}

func sharesForeign(t *testing.T, w *world) {
	session, reader := w.session(t), w.session(t)
	other := w.neighbour(t, "acme")
	theirs := other.session(t)
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	for what, try := range map[string]struct {
		scope           store.Scope
		session, reader parley.ID
	}{
		"another workspace": {other.scope, session, reader}, "a stranger": {stranger, session, reader},
		"their reader": {w.scope, session, theirs}, "their session": {w.scope, theirs, reader},
		"no reader": {w.scope, session, parley.NewID()}, "no session": {w.scope, parley.NewID(), reader},
	} {
		_, _, err := w.store.Share(
			w.ctx,
			try.scope,
			parley.Share{SessionID: try.session, ReaderID: try.reader, SharedBy: w.owner.Author()},
		)
		refused(t, "sharing by or with "+what, err, parley.CodeNotFound)
	}
	w.share(t, session, reader)
	for what, scope := range map[string]store.Scope{"another workspace": other.scope, "a stranger": stranger} {
		_, err := w.store.Shares(w.ctx, scope, store.ShareQuery{SessionID: session})
		refused(t, "a list for "+what, err, parley.CodeNotFound)
		_, err = w.store.Shares(w.ctx, scope, store.ShareQuery{ReaderID: reader})
		refused(t, "the other list for "+what, err, parley.CodeNotFound)
		refused(t, "an end by "+what, w.store.Unshare(w.ctx, scope, session, reader), parley.CodeNotFound)
	}
	if got := w.shares(t, store.ShareQuery{SessionID: session}); len(got) != 1 {
		t.Errorf("shares: %+v", got)
	}
}

func sharesBounded(t *testing.T, w *world) {
	session := w.session(t)
	for range parley.MaxShares {
		w.share(t, session, w.session(t))
	}
	_, _, err := w.store.Share(
		w.ctx,
		w.scope,
		parley.Share{SessionID: session, ReaderID: w.session(t), SharedBy: w.owner.Author()},
	)
	refused(t, "a share beyond the bound", err, parley.CodeConflict)
}
