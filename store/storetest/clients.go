package storetest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testClients(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"a client has one session open":     testClientSession,
		"a client shows what may be seen":   testClientScope,
		"a new session opens in its client": testClientOfNewSession,
		"who has a session open":            testSessionClients,
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
			if diff := cmp.Diff(
				[]parley.EventType{parley.FeedSessionActivated, parley.FeedSessionDeactivated},
				types,
			); diff != "" {
				t.Errorf("the %s session (-want +got):\n%s", name, diff)
			}
		}
	})
	t.Run("a silent client is ended", func(t *testing.T) {
		t.Parallel()
		w, heard := recorded(t, open)
		session, other := w.session(t), w.neighbour(t, "other")
		foreign := other.session(t)
		must(t, "SetClientSession", w.store.SetClientSession(w.ctx, w.scope, w.owner.ID, "window", session))
		must(t, "SetClientSession", w.store.SetClientSession(w.ctx, other.scope, other.owner.ID, "window", foreign))
		w.expireClients(t, parley.Now()-60_000)
		if got := w.clients(t, session, 0); len(got) != 1 {
			t.Fatalf("a client that reported a minute later is gone: %+v", got)
		}
		w.expireClients(t, parley.Now()+60_000)
		for name, at := range map[string]*world{"here": w, "in another workspace": other} {
			_, err := w.store.ClientSession(w.ctx, at.scope, at.owner.ID, "window")
			refused(t, "an expired client "+name, err, parley.CodeNotFound)
		}
		for name, id := range map[string]parley.ID{"here": session, "in another workspace": foreign} {
			if told := heard.feed(id); !slices.Contains(told, parley.FeedSessionDeactivated) {
				t.Errorf("%s the feed was told %v", name, told)
			}
		}
	})
}

func (w *world) expireClients(t reporter, before parley.Time) {
	t.Helper()
	more, err := w.store.ExpireClients(w.ctx, before)
	must(t, "ExpireClients", err)
	if more {
		t.Errorf("more was reported")
	}
}

func (w *world) clients(t reporter, session parley.ID, since parley.Time) []parley.SessionClient {
	t.Helper()
	clients, err := w.store.SessionClients(w.ctx, w.scope, session, since)
	must(t, "SessionClients", err)
	return clients
}

func testSessionClients(t *testing.T, w *world) {
	session, other := w.session(t), w.session(t)
	set := func(client string, session parley.ID) {
		must(t, "SetClientSession", w.store.SetClientSession(w.ctx, w.scope, w.owner.ID, client, session))
	}
	set("b", session)
	set("a", session)
	set("c", other)
	before := w.clients(t, session, 0)
	if len(before) != 2 || before[0].ClientID != "a" || before[1].ClientID != "b" ||
		before[0].Principal != w.owner.Author() ||
		before[0].SeenAt == 0 {
		t.Fatalf("open in %+v", before)
	}
	for again := before[0].SeenAt; again == before[0].SeenAt; { // the clock has milliseconds
		set("b", session)
		again = w.clients(t, session, 0)[1].SeenAt
	}
	if got := w.clients(t, session, before[0].SeenAt+1); len(got) != 1 || got[0].ClientID != "b" {
		t.Errorf("reported since then: %+v", got)
	}
	set("b", other)
	if got := w.clients(t, session, 0); len(got) != 1 {
		t.Errorf("with one client elsewhere: %+v", got)
	}
	for name, scope := range map[string]store.Scope{"a stranger": w.guest(),
		"another workspace": w.neighbour(t, "neighbour").scope} {
		_, err := w.store.SessionClients(w.ctx, scope, session, 0)
		refused(t, name, err, parley.CodeNotFound)
	}
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
	refused(
		t,
		"opening a private session",
		w.store.SetClientSession(w.ctx, guest, guest.ViewerID, "window", session),
		parley.CodeNotFound,
	)
	other := w.neighbour(t, "neighbour")
	refused(
		t,
		"opening a foreign session",
		w.store.SetClientSession(w.ctx, other.scope, other.owner.ID, "window", session),
		parley.CodeNotFound,
	)
	shared, private := parley.VisibilityWorkspace, parley.VisibilityPrivate
	_, err := w.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Visibility: &shared})
	must(t, "UpdateSession", err)
	must(t, "opening a shared session", w.store.SetClientSession(w.ctx, guest, guest.ViewerID, "window", session))
	_, err = w.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Visibility: &private})
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
	_, err := w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: session, ClientID: "window"}, parley.ID{})
	must(t, "EnsureSession", err)
	got, err := w.store.ClientSession(w.ctx, w.scope, w.owner.ID, "window")
	must(t, "ClientSession", err)
	if got.ID != session.ID {
		t.Errorf("the client shows %s; want the new session %s", got.ID, session.ID)
	}
}
