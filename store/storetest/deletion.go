package storetest

import (
	"encoding/json"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testDeletion(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"ADeletedSessionIsNowhere":  deleteNowhere,
		"WhileATurnRuns":            deleteRunning,
		"ToolChildrenGoToo":         deleteChildren,
		"AChildThatIsMadeMeanwhile": func(t *testing.T, w *world) { deleteWhileChildren(t, w, w) },
		"ItsKeysAreFree":            deleteFreesKeys,
		"PurgedInBatches":           deleteBatches,
		"Twice":                     deleteTwice,
		"PurgingTwiceAtOnce":        deletePurgeRace,
		"OthersStay":                deleteOthersStay,
	})
}

// drainOutbox applies everything that is due.
func (w *world) drainOutbox(t reporter) (applied int) {
	t.Helper()
	const most = 10_000 // far beyond any test's rows
	for range most {
		_, more, err := w.store.ApplyOutbox(w.ctx, parley.ID{})
		must(t, "ApplyOutbox", err)
		applied++
		if !more {
			return applied
		}
	}
	t.Fatalf("the outbox does not drain")
	return applied
}

// gone lists every way to reach a session; each is CodeNotFound after its deletion.
func (w *world) gone(session parley.ID, s Snapshot) map[string]func() error {
	message, turn := s.Record[0].ID, s.Turns[0].ID
	calls := map[string]func() error{
		"Session": func() error { _, err := w.store.Session(w.ctx, w.scope, session); return err },
		"Messages": func() error {
			_, err := w.store.Messages(w.ctx, w.scope, session, store.MessageQuery{Limit: 1})
			return err
		},
		"MessageIDs": func() error {
			_, err := w.store.MessageIDs(w.ctx, w.scope, session, store.MessageQuery{Limit: 1})
			return err
		},
		"Message": func() error { _, err := w.store.Message(w.ctx, w.scope, message); return err },
		"MarkMessage": func() error {
			_, err := w.store.MarkMessage(w.ctx, w.scope, parley.ID{}, message, marked(parley.Marks{}))
			return err
		},
		"Versions": func() error { _, err := w.store.Versions(w.ctx, w.scope, message); return err },
		"Turn":     func() error { _, err := w.store.Turn(w.ctx, w.scope, turn); return err },
		"Turns": func() error {
			_, err := w.store.Turns(w.ctx, w.scope, session, store.TurnQuery{Limit: 1})
			return err
		},
		"Calls": func() error {
			_, err := w.store.Calls(w.ctx, w.scope, session, store.CallQuery{Limit: 1})
			return err
		},
		"Events": func() error { _, err := w.store.Events(w.ctx, w.scope, session, 0, 1); return err },
		"PostMessage": func() error {
			_, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("x"), w.process)
			return err
		},
		"Approvals": func() error {
			_, err := w.store.Approvals(w.ctx, w.scope, store.ApprovalQuery{SessionID: session, Limit: 1})
			return err
		},
		"EditQueued": func() error {
			_, err := w.store.EditQueued(w.ctx, w.scope, w.owner.ID, message, json.RawMessage(`{"text":"x"}`))
			return err
		},
		"RemoveQueued": func() error { _, err := w.store.RemoveQueued(w.ctx, w.scope, message); return err },
		"RequestCancel": func() error {
			_, err := w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, false)
			return err
		},
		"TakeCancel": func() error { _, err := w.store.TakeCancel(w.ctx, w.scope, session, turn); return err },
		"UpdateSession": func() error {
			title := "x"
			_, err := w.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Title: &title})
			return err
		},
		"ClearContext":  func() error { _, err := w.store.ClearContext(w.ctx, w.scope, session); return err },
		"DeleteSession": func() error { return w.store.DeleteSession(w.ctx, w.scope, session) },
	}
	if s.Session.Key != "" {
		calls["SessionByKey"] = func() error {
			_, err := w.store.SessionByKey(w.ctx, w.scope, s.Session.Key)
			return err
		}
	}
	if len(s.Calls) > 0 {
		calls["Call"] = func() error { _, err := w.store.Call(w.ctx, w.scope, s.Calls[0].ID); return err }
	}
	return calls
}

func (w *world) checkGone(t reporter, session parley.ID, s Snapshot) {
	t.Helper()
	for name, call := range w.gone(session, s) {
		refused(t, name+" of a deleted session", call(), parley.CodeNotFound)
	}
	heads, err := w.store.Heads(w.ctx, []parley.ID{session})
	must(t, "Heads", err)
	if len(heads) != 1 || !heads[0].Deleted {
		t.Errorf("Heads reads %+v", heads)
	}
	listed, err := w.store.Sessions(w.ctx, w.scope, store.SessionQuery{Limit: parley.MaxPage})
	must(t, "Sessions", err)
	for _, other := range listed {
		if other.ID == session {
			t.Errorf("a deleted session is listed")
		}
	}
}

func deleteNowhere(t *testing.T, w *world) {
	session := w.session(t, func(s *parley.Session) { s.Key = "k" })
	w.exchange(t, session, "one", "1")
	w.post(t, session, w.say("two"))
	s := w.check(t, session)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	w.checkGone(t, session, s)
	w.claimsNothing(t)
	w.drainOutbox(t)
	w.checkGone(t, session, s)
	_, err := w.store.CallText(w.ctx, w.scope.WorkspaceID, s.Calls[0].SystemHash)
	refused(t, "the system prompt that only its calls named", err, parley.CodeNotFound)
	_, err = w.store.CallText(w.ctx, w.scope.WorkspaceID, s.Calls[0].MiddlewareHash)
	refused(t, "the patterns that only its calls named", err, parley.CodeNotFound)
	w.exchange(t, w.session(t), "one", "1")
	_, err = w.store.CallText(w.ctx, w.scope.WorkspaceID, s.Calls[0].SystemHash)
	must(t, "the same text, named by a later call", err)
	touched, err := w.store.Sweep(w.ctx)
	if err != nil || touched != 0 {
		t.Errorf("Sweep touched %d sessions, %v; want none, since they are deleted", touched, err)
	}
}

func deleteRunning(t *testing.T, w *world) {
	tape := w.record()
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	begin := w.begin(t, claim.Fence, 1)
	s := w.check(t, session)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	_, err := w.store.SettleStep(w.ctx, claim.Fence, settlement(begin, "late"))
	refused(t, "a settle after the deletion", err, parley.CodeFenced)
	w.checkGone(t, session, s)
	w.drainOutbox(t)
	_, err = w.store.SettleStep(w.ctx, claim.Fence, settlement(begin, "late"))
	refused(t, "a settle after the purge", err, parley.CodeFenced)
	tape.find(t, "the deletion", func(c store.Commit) bool {
		for _, event := range c.Feed {
			if event.SessionID == session && event.Type == parley.FeedSessionDeleted {
				return true
			}
		}
		return false
	})
}

func deleteChildren(t *testing.T, w *world) {
	parent := w.session(t)
	w.exchange(t, parent, "one", "1")
	tool := w.session(t, func(s *parley.Session) { s.Kind, s.ParentSessionID = parley.KindTool, parent })
	w.exchange(t, tool, "sub", "s")
	grandchild := w.session(t, func(s *parley.Session) { s.Kind, s.ParentSessionID = parley.KindTool, tool })
	w.exchange(t, grandchild, "subsub", "s")
	fork := w.session(t, func(s *parley.Session) { s.ParentSessionID = parent })
	w.exchange(t, fork, "other", "o")
	children := map[parley.ID]Snapshot{tool: w.check(t, tool), grandchild: w.check(t, grandchild)}
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, parent))
	w.drainOutbox(t)
	for id, s := range children {
		w.checkGone(t, id, s)
	}
	w.check(t, fork)
}

func deleteFreesKeys(t *testing.T, w *world) {
	create := func() store.Opened {
		session := w.newSession()
		session.Key = "k"
		opened, err := w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: session}, parley.ID{})
		must(t, "EnsureSession", err)
		return opened
	}
	first := create()
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, first.Session.ID))
	second := create()
	if !second.Created || second.Session.ID == first.Session.ID {
		t.Errorf("the key still names the deleted session")
	}
	w.drainOutbox(t)
	found, err := w.store.SessionByKey(w.ctx, w.scope, "k")
	if err != nil || found.ID != second.Session.ID {
		t.Errorf("the key names %s, %v; want the new session", found.ID, err)
	}

	creation := w.creation("idem", "body")
	opened, err := w.store.EnsureSession(w.ctx, w.scope, creation, parley.ID{})
	must(t, "EnsureSession", err)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, opened.Session.ID))
	w.drainOutbox(t)
	again, err := w.store.EnsureSession(w.ctx, w.scope, w.creation("idem", "other"), parley.ID{})
	if err != nil || again.Replayed {
		t.Errorf("an idempotency key outlives its row: %+v, %v", again, err)
	}
}

func deleteBatches(t *testing.T, w *world) {
	session := w.session(t)
	n := parley.PurgeBatch + parley.PurgeBatch/4
	errs := make([]error, n)
	atOnce(n, func(i int) {
		_, errs[i] = w.store.PostMessage(w.ctx, w.scope, session, w.say("note", alone), parley.ID{})
	})
	for _, err := range errs {
		must(t, "PostMessage", err)
	}
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	if applied := w.drainOutbox(t); applied < 2 {
		t.Errorf("%d messages were purged by %d transactions", n, applied)
	}
	_, err := w.store.Session(w.ctx, w.scope, session)
	refused(t, "the purged session", err, parley.CodeNotFound)
	_, more, err := w.store.ApplyOutbox(w.ctx, parley.ID{})
	if err != nil || more {
		t.Errorf("the drained outbox has more: %t, %v", more, err)
	}
}

func deleteTwice(t *testing.T, w *world) {
	session := w.session(t)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	refused(t, "a second deletion", w.store.DeleteSession(w.ctx, w.scope, session), parley.CodeNotFound)
}

func deletePurgeRace(t *testing.T, w *world) {
	for range 8 {
		session := w.session(t)
		w.exchange(t, session, "one", "1")
		must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	}
	errs := make([]error, 4)
	atOnce(len(errs), func(i int) {
		for more := true; more && errs[i] == nil; {
			_, more, errs[i] = w.store.ApplyOutbox(w.ctx, parley.ID{})
		}
	})
	for _, err := range errs {
		must(t, "ApplyOutbox", err)
	}
}

func deleteOthersStay(t *testing.T, w *world) {
	kept, session := w.session(t), w.session(t)
	w.exchange(t, kept, "one", "1")
	w.exchange(t, session, "one", "1")
	before := w.check(t, kept)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	w.drainOutbox(t)
	w.unchanged(t, "another session's purge", kept, before)
	call := before.Calls[0]
	if _, err := w.store.CallText(w.ctx, w.scope.WorkspaceID, call.SystemHash); err != nil {
		t.Errorf("the text that a kept call names is gone: %v", err)
	}
}

// deleteWhileChildren deletes sessions while tool calls open children and grandchildren: in any order, no child
// outlives its parent.
func deleteWhileChildren(t *testing.T, w, other *world) {
	const rounds, makers = 12, 4
	for range rounds {
		parent := w.session(t)
		nearer := w.session(t, func(s *parley.Session) { s.Kind, s.ParentSessionID = parley.KindTool, parent })
		made := make([]parley.ID, makers)
		atOnce(makers+1, func(i int) {
			if i == makers {
				if err := w.store.DeleteSession(w.ctx, w.scope, parent); err != nil {
					t.Errorf("DeleteSession: %v", err)
				}
				return
			}
			child := w.newSession()
			child.Kind, child.ParentSessionID = parley.KindTool, []parley.ID{parent, nearer}[i%2]
			switch _, err := other.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: child},
				parley.ID{}); parley.ErrorCode(
				err,
			) {
			case "":
				made[i] = child.ID
			case parley.CodeNotFound: // its parent was gone
			default:
				t.Errorf("EnsureSession: %v", err)
			}
		})
		for _, id := range append(made, nearer) {
			if id.IsZero() {
				continue
			}
			_, err := w.store.Session(w.ctx, w.scope, id)
			refused(t, "the child of a deleted session", err, parley.CodeNotFound)
		}
	}
}
