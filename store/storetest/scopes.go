package storetest

import (
	"slices"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// sessionReads calls every method that is bound to a session.
func (w *world) sessionReads(session, message, turn, call parley.ID, scope store.Scope) map[string]error {
	results := map[string]error{}
	note := func(name string, err error) { results[name] = err }
	title := "changed"
	_, err := w.store.Session(w.ctx, scope, session)
	note("Session", err)
	_, err = w.store.UpdateSession(w.ctx, scope, session, store.SessionChange{Title: &title})
	note("UpdateSession", err)
	_, err = w.store.Events(w.ctx, scope, session, 0, 10)
	note("Events", err)
	_, err = w.store.Messages(w.ctx, scope, session, store.MessageQuery{})
	note("Messages", err)
	_, err = w.store.MessageIDs(w.ctx, scope, session, store.MessageQuery{})
	note("MessageIDs", err)
	_, err = w.store.Message(w.ctx, scope, message)
	note("Message", err)
	_, err = w.store.MarkMessage(w.ctx, scope, parley.ID{}, message, marked(parley.Marks{Pinned: true}))
	note("MarkMessage", err)
	_, err = w.store.ClearContext(w.ctx, scope, session)
	note("ClearContext", err)
	_, err = w.store.Versions(w.ctx, scope, message)
	note("Versions", err)
	_, err = w.store.Turn(w.ctx, scope, turn)
	note("Turn", err)
	_, err = w.store.Turns(w.ctx, scope, session, store.TurnQuery{})
	note("Turns", err)
	_, err = w.store.Call(w.ctx, scope, call)
	note("Call", err)
	_, err = w.store.Calls(w.ctx, scope, session, store.CallQuery{})
	note("Calls", err)
	note("SetClientSession", w.store.SetClientSession(w.ctx, scope, w.owner.ID, "window", session))
	if scope.ViewerID.IsZero() {
		_, _, err = w.store.ContextTail(w.ctx, scope.WorkspaceID, session, 0, 10, parley.MaxPageBytes)
		note("ContextTail", err)
	}
	return results
}

func testScopes(t *testing.T, w *world) {
	private := w.session(t, func(s *parley.Session) { s.Key = "private" })
	shared := w.session(t, func(s *parley.Session) { s.Visibility = parley.VisibilityWorkspace; s.Key = "shared" })
	other := w.neighbour(t, "neighbour")
	owner := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: w.owner.ID}
	for name, session := range map[string]parley.ID{"private": private, "shared": shared} {
		posted := w.exchange(t, session, "question", "answer")
		calls, err := w.store.Calls(w.ctx, w.scope, session, store.CallQuery{})
		must(t, "Calls", err)
		for who, test := range map[string]struct {
			scope store.Scope
			sees  bool
		}{
			"the owner":            {owner, true},
			"an admin":             {w.scope, true},
			"a guest":              {w.guest(), name == "shared"},
			"another workspace":    {other.scope, false},
			"a stranger elsewhere": {store.Scope{WorkspaceID: other.scope.WorkspaceID, ViewerID: w.owner.ID}, false},
		} {
			want := parley.CodeNotFound
			if test.sees {
				want = ""
			}
			for method, err := range w.sessionReads(session, posted.Message.ID, posted.Turn.ID, calls[0].ID,
				test.scope) {
				if got := parley.ErrorCode(err); got != want {
					t.Errorf("%s of a %s session for %s: code %q, %v; want %q", method, name, who, got, err, want)
				}
			}
			_, err := w.store.SessionByKey(w.ctx, test.scope, name)
			if got := parley.ErrorCode(err); got != want {
				t.Errorf("SessionByKey of a %s session for %s: code %q; want %q", name, who, got, want)
			}
			list, err := w.store.Sessions(w.ctx, test.scope, store.SessionQuery{})
			must(t, "Sessions", err)
			if got := slices.Contains(sessionIDs(list), session.String()); got != test.sees {
				t.Errorf("%s lists the %s session: %t; want %t", who, name, got, test.sees)
			}
		}
	}
}
