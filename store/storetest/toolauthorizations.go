package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
)

func testToolAuthorizations(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"StoredAndRead":            authorizationStored,
		"AChangeNamesItsRevision":  authorizationChanged,
		"AServerHasOneInWorkspace": authorizationOnce,
		"ChangesAreAudited":        authorizationAudited,
	})
}

func (w *world) newAuthorization(server string) parley.ToolAuthorization {
	return parley.ToolAuthorization{
		ID: parley.NewID(), WorkspaceID: w.scope.WorkspaceID, Server: server, Tokens: []byte{0, 0xff, 1},
		Owner: w.owner.Author(), AuthorizedAt: 7,
	}
}

func authorizationStored(t *testing.T, w *world) {
	second := w.authorization(t, "tickets")
	pending := w.newAuthorization("files")
	pending.Tokens, pending.Request, pending.AuthorizedAt = nil, []byte("asked"), 0
	first, err := w.store.SaveToolAuthorization(w.ctx, pending)
	must(t, "SaveToolAuthorization", err)
	if first.Revision != 1 || first.CreatedAt == 0 || first.UpdatedAt != first.CreatedAt {
		t.Errorf("a new row: %+v", first)
	}
	w.authorizations(t, first, second)
	found, err := w.store.ToolAuthorizations(w.ctx, parley.NewID())
	must(t, "ToolAuthorizations", err)
	if len(found) > 0 {
		t.Errorf("another workspace sees %v", found)
	}
}

func authorizationChanged(t *testing.T, w *world) {
	made := w.authorization(t, "tickets")
	next := made
	next.Tokens, next.Request = []byte("renewed"), []byte("again")
	changed, err := w.store.SaveToolAuthorization(w.ctx, next)
	must(t, "SaveToolAuthorization", err)
	if changed.Revision != made.Revision+1 {
		t.Errorf("revision %d after %d", changed.Revision, made.Revision)
	}
	_, err = w.store.SaveToolAuthorization(w.ctx, next)
	refused(t, "a change of an old revision", err, parley.CodeConflict)
	foreign := changed
	foreign.WorkspaceID = parley.NewID()
	_, err = w.store.SaveToolAuthorization(w.ctx, foreign)
	refused(t, "a change from another workspace", err, parley.CodeConflict)
	w.authorizations(t, changed)
}

func authorizationOnce(t *testing.T, w *world) {
	made := w.authorization(t, "tickets")
	_, err := w.store.SaveToolAuthorization(w.ctx, w.newAuthorization("tickets"))
	refused(t, "a second row", err, parley.CodeConflict)
	w.authorizations(t, made)
	refused(t, "another workspace's deletion",
		w.store.DeleteToolAuthorization(w.ctx, parley.NewID(), "tickets"), parley.CodeNotFound)
	must(t, "DeleteToolAuthorization", w.store.DeleteToolAuthorization(w.ctx, w.scope.WorkspaceID, "tickets"))
	refused(t, "a second deletion",
		w.store.DeleteToolAuthorization(w.ctx, w.scope.WorkspaceID, "tickets"), parley.CodeNotFound)
	w.authorizations(t)
}

func authorizationAudited(t *testing.T, w *world) {
	ctx, _ := w.calls("authorize")
	made, err := w.store.SaveToolAuthorization(ctx, w.newAuthorization("tickets"))
	must(t, "SaveToolAuthorization", err)
	w.tells(t, "authorize", concern{Target: made.ID})
	ctx, _ = w.calls("forget")
	refused(t, "DeleteToolAuthorization",
		w.store.DeleteToolAuthorization(ctx, w.scope.WorkspaceID, "none"), parley.CodeNotFound)
	w.tells(t, "forget")
	must(t, "DeleteToolAuthorization", w.store.DeleteToolAuthorization(ctx, w.scope.WorkspaceID, "tickets"))
	w.tells(t, "forget", concern{Target: made.ID})
}

func (w *world) authorization(t reporter, server string) parley.ToolAuthorization {
	t.Helper()
	made, err := w.store.SaveToolAuthorization(w.ctx, w.newAuthorization(server))
	must(t, "SaveToolAuthorization", err)
	return made
}

func (w *world) authorizations(t reporter, want ...parley.ToolAuthorization) {
	t.Helper()
	found, err := w.store.ToolAuthorizations(w.ctx, w.scope.WorkspaceID)
	must(t, "ToolAuthorizations", err)
	if diff := cmp.Diff(append([]parley.ToolAuthorization{}, want...), found); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
