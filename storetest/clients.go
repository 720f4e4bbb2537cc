package storetest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley"
)

func testClients(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"a client has one session open":     testClientSession,
		"a client shows what may be seen":   testClientScope,
		"a new session opens in its client": testClientOfNewSession,
	})
	t.Run("the feed is told", func(t *testing.T) {
		t.Parallel()
		w, heard := recorded(t, open)
		first, second := w.session(t), w.session(t)
		for _, session := range []parley.ID{first, first, second} {
			must(t, "SetClientSession", w.store.SetClientSession(w.ctx, w.scope, w.owner.ID, "window", session))
		}
		must(t, "ClearClientSession", w.store.ClearClientSession(w.ctx, w.scope, w.owner.ID, "window"))
		w.session(t)
		for name, session := range map[string]parley.ID{"first": first, "second": second} {
			types := slices.DeleteFunc(heard.feed(session), func(e parley.EventType) bool {
				return e != parley.FeedSessionActivated && e != parley.FeedSessionDeactivated
			})
			if diff := cmp.Diff([]parley.EventType{parley.FeedSessionActivated, parley.FeedSessionDeactivated}, types); diff != "" {
				t.Errorf("the %s session (-want +got):\n%s", name, diff)
			}
		}
	})
}

func testClientSession(t *testing.T, w *world) {
	first, second := w.session(t), w.session(t)
	_, err := w.store.ClientSession(w.ctx, w.scope, w.owner.ID, "window")
	refused(t, "a client with nothing open", err, parley.CodeNotFound)
	for _, session := range []parley.ID{first, second} {
		must(t, "SetClientSession", w.store.SetClientSession(w.ctx, w.scope, w.owner.ID, "window", session))
		got, err := w.store.ClientSession(w.ctx, w.scope, w.owner.ID, "window")
		must(t, "ClientSession", err)
		if diff := cmp.Diff(w.sessionState(t, session), got); diff != "" {
			t.Errorf("open (-want +got):\n%s", diff)
		}
	}
	for name, client := range map[string]struct {
		principal parley.ID
		name      string
	}{"another window": {w.owner.ID, "other"}, "somebody else's window": {parley.NewID(), "window"}} {
		_, err := w.store.ClientSession(w.ctx, w.scope, client.principal, client.name)
		refused(t, name, err, parley.CodeNotFound)
	}
	must(t, "ClearClientSession", w.store.ClearClientSession(w.ctx, w.scope, w.owner.ID, "window"))
	must(t, "ClearClientSession again", w.store.ClearClientSession(w.ctx, w.scope, w.owner.ID, "window"))
	_, err = w.store.ClientSession(w.ctx, w.scope, w.owner.ID, "window")
	refused(t, "a cleared client", err, parley.CodeNotFound)
}

func testClientScope(t *testing.T, w *world) {
	session := w.session(t)
	guest := w.guest()
	refused(t, "opening a private session", w.store.SetClientSession(w.ctx, guest, guest.ViewerID, "window", session), parley.CodeNotFound)
	other := w.neighbour(t, "neighbour")
	refused(t, "opening a foreign session", w.store.SetClientSession(w.ctx, other.scope, other.owner.ID, "window", session), parley.CodeNotFound)
	shared, private := parley.VisibilityWorkspace, parley.VisibilityPrivate
	_, err := w.store.UpdateSession(w.ctx, w.scope, session, parley.SessionChange{Visibility: &shared})
	must(t, "UpdateSession", err)
	must(t, "opening a shared session", w.store.SetClientSession(w.ctx, guest, guest.ViewerID, "window", session))
	_, err = w.store.UpdateSession(w.ctx, w.scope, session, parley.SessionChange{Visibility: &private})
	must(t, "UpdateSession", err)
	_, err = w.store.ClientSession(w.ctx, guest, guest.ViewerID, "window")
	refused(t, "a session that is private again", err, parley.CodeNotFound)
	must(t, "SetClientSession", w.store.SetClientSession(w.ctx, w.scope, w.owner.ID, "window", session))
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	_, err = w.store.ClientSession(w.ctx, w.scope, w.owner.ID, "window")
	refused(t, "a session that was deleted", err, parley.CodeNotFound)
}

func testClientOfNewSession(t *testing.T, w *world) {
	session := w.newSession()
	_, err := w.store.EnsureSession(w.ctx, w.scope, parley.NewSession{Session: session, ClientID: "window"}, parley.ID{})
	must(t, "EnsureSession", err)
	got, err := w.store.ClientSession(w.ctx, w.scope, w.owner.ID, "window")
	must(t, "ClientSession", err)
	if got.ID != session.ID {
		t.Errorf("the client shows %s; want the new session %s", got.ID, session.ID)
	}
}
