package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
)

func testForeignIDs(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"the first known name":        foreignIDsFound,
		"private":                     foreignIDsPrivate,
		"go with their session":       foreignIDsDeleted,
		"several sessions, so many":   foreignIDsBounded,
		"of a session that is unseen": foreignIDsUnseen,
	})
}

const chats = "chats" // a protocol

// names names a session for the world's owner.
func (w *world) names(t reporter, session parley.ID, names ...string) {
	t.Helper()
	ids := make([]parley.ForeignID, len(names))
	for i, name := range names {
		ids[i] = parley.ForeignID{Protocol: chats, PrincipalID: w.owner.ID, Name: name, TargetID: parley.NewID()}
	}
	must(t, "KeepForeignIDs", w.store.KeepForeignIDs(w.ctx, w.scope, session, ids))
}

// named returns the sessions of the first known name.
func (w *world) named(t reporter, names ...string) (sessions []parley.ID) {
	t.Helper()
	found, err := w.store.ForeignIDs(w.ctx, w.scope, chats, w.owner.ID, names)
	must(t, "ForeignIDs", err)
	for i := range found {
		sessions = append(sessions, found[i].SessionID)
	}
	return sessions
}

func foreignIDsFound(t *testing.T, w *world) {
	one, two := w.session(t), w.session(t)
	target := parley.NewID()
	given := parley.ForeignID{Protocol: chats, PrincipalID: w.owner.ID, Name: "a", TargetID: target}
	for range 2 { // a repeat keeps the first
		must(t, "KeepForeignIDs", w.store.KeepForeignIDs(w.ctx, w.scope, one, []parley.ForeignID{given}))
		given.TargetID = parley.NewID()
	}
	w.names(t, two, "b", "c")
	found, err := w.store.ForeignIDs(w.ctx, w.scope, chats, w.owner.ID, []string{"x", "a", "b"})
	must(t, "ForeignIDs", err)
	if len(found) != 1 || found[0].CreatedAt == 0 {
		t.Fatalf("found %+v", found)
	}
	given.WorkspaceID, given.SessionID, given.TargetID = w.scope.WorkspaceID, one, target
	given.CreatedAt = found[0].CreatedAt
	if diff := cmp.Diff(given, found[0]); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if got := w.named(t, "c", "a"); len(got) != 1 || got[0] != two {
		t.Errorf("the first name found %v, want %v", got, two)
	}
	if got := w.named(t, "x"); len(got) != 0 {
		t.Errorf("an unknown name found %v", got)
	}
	if got := w.named(t); len(got) != 0 {
		t.Errorf("no names found %v", got)
	}
}

func foreignIDsPrivate(t *testing.T, w *world) {
	w.names(t, w.session(t), "a")
	for _, asked := range []struct {
		of       *world
		protocol string
		owner    parley.ID
	}{
		{w, chats, parley.NewID()},
		{w, "others", w.owner.ID},
		{w.neighbour(t, "acme"), chats, w.owner.ID},
	} {
		found, err := w.store.ForeignIDs(w.ctx, asked.of.scope, asked.protocol, asked.owner, []string{"a"})
		must(t, "ForeignIDs", err)
		if len(found) != 0 {
			t.Errorf("%s of %s in %s found %+v", asked.protocol, asked.owner, asked.of.scope.WorkspaceID, found)
		}
	}
}

func foreignIDsDeleted(t *testing.T, w *world) {
	gone, kept := w.session(t), w.session(t)
	w.names(t, gone, "a")
	w.names(t, kept, "a")
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, gone))
	for range 2 { // immediately, and after the purge
		if got := w.named(t, "a"); len(got) != 1 || got[0] != kept {
			t.Errorf("after the deletion it finds %v, want only %v", got, kept)
		}
		w.drainOutbox(t)
	}
	refused(t, "naming a purged session", w.store.KeepForeignIDs(w.ctx, w.scope, gone, []parley.ForeignID{
		{Protocol: chats, PrincipalID: w.owner.ID, Name: "b"},
	}), parley.CodeNotFound)
	if got := w.named(t, "b"); len(got) != 0 {
		t.Errorf("a refused name finds %v", got)
	}
}

func foreignIDsBounded(t *testing.T, w *world) {
	for range parley.MaxForeignCandidates + 2 {
		w.names(t, w.session(t), "a", "b")
	}
	if got := w.named(t, "a", "b"); len(got) != parley.MaxForeignCandidates {
		t.Errorf("it finds %d sessions, want %d", len(got), parley.MaxForeignCandidates)
	}
}

func foreignIDsUnseen(t *testing.T, w *world) {
	session := w.session(t, func(s *parley.Session) { s.OwnerID = parley.NewID() })
	scope := w.scope
	scope.ViewerID = w.owner.ID
	refused(t, "naming it", w.store.KeepForeignIDs(w.ctx, scope, session, nil), parley.CodeNotFound)
	w.names(t, session, "a")
	found, err := w.store.ForeignIDs(w.ctx, scope, chats, w.owner.ID, []string{"a"})
	must(t, "ForeignIDs", err)
	if len(found) != 0 {
		t.Errorf("it finds %+v", found)
	}
}
