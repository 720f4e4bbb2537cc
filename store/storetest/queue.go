package storetest

import (
	"encoding/json"
	"strconv"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testQueue(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"AQueuedMessageIsEdited":       queueEdit,
		"OnlyItsAuthorEditsAMessage":   queueEditForeign,
		"AQueuedMessageIsRemoved":      queueRemove,
		"ASteerIsRemoved":              queueRemoveSteer,
		"TheRecordIsImmutable":         queueImmutable,
		"ForeignScopes":                queueForeign,
		"ConcurrentPostsHaveNoGap":     queueConcurrent,
		"EntriesWithoutATurnGoFirst":   queueEntriesBeforeTriggers,
		"EntriesEnterBeforeTheNext":    queueEntriesEnterAtTheEnd,
		"EntriesBehindARemovedTrigger": queueEntriesBehindRemoved,
		"ALongQueueKeepsItsOrder":      queueLong,
	})
}

func queueEdit(t *testing.T, w *world) {
	claim := w.started(t, "one")
	queued := w.post(t, claim.Fence.SessionID, w.say("two")).Message
	edited, err := w.store.EditQueued(w.ctx, w.scope, w.owner.ID, queued.ID, json.RawMessage(`{"text":"two, better"}`))
	must(t, "EditQueued", err)
	if string(edited.Content) != `{"text":"two, better"}` || edited.Status != parley.MessageQueued ||
		*edited.Position != *queued.Position ||
		edited.Revision == queued.Revision {
		t.Errorf("the edited message is %+v", edited)
	}
	w.answer(t, claim, "1")
	next := w.claim(t)
	if string(next.Trigger.Content) != `{"text":"two, better"}` {
		t.Errorf("the turn is triggered by %s", next.Trigger.Content)
	}
	w.check(t, claim.Fence.SessionID)
}

func queueEditForeign(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	theirs := w.post(t, session, w.say("two", func(m *store.NewMessage) {
		m.Author = parley.Author{Kind: parley.AuthorPerson, ID: parley.NewID(), Name: "bob"}
	})).Message
	before := w.snapshot(t, session)
	_, err := w.store.EditQueued(w.ctx, w.scope, w.owner.ID, theirs.ID, json.RawMessage(`{"text":"x"}`))
	refused(t, "an edit of another's message", err, parley.CodeForbidden)
	_, err = w.store.EditQueued(w.ctx, w.scope, parley.ID{}, theirs.ID, json.RawMessage(`{"text":"x"}`))
	refused(t, "an edit by nobody", err, parley.CodeForbidden)
	w.unchanged(t, "a refused edit", session, before)
	_, err = w.store.EditQueued(w.ctx, w.scope, theirs.Author.ID, theirs.ID, json.RawMessage(`{"text":"two, better"}`))
	must(t, "EditQueued by its author", err)
	_, err = w.store.RemoveQueued(w.ctx, w.scope, theirs.ID)
	must(t, "RemoveQueued by another", err)
	w.check(t, session)
}

func queueRemove(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	second, third := w.post(t, session, w.say("two")), w.post(t, session, w.say("three"))
	removed, err := w.store.RemoveQueued(w.ctx, w.scope, second.Message.ID)
	must(t, "RemoveQueued", err)
	if removed.Status != parley.MessageCancelled || removed.Sequence != 0 || removed.Position != nil {
		t.Errorf("the removed message is %+v; want it cancelled, outside record and queue", removed)
	}
	if turn := w.turn(t, second.Turn.ID); turn.Status != parley.TurnCancelled {
		t.Errorf("its turn is %s", turn.Status)
	}
	if kept := w.message(t, second.Message.ID); kept.Status != parley.MessageCancelled {
		t.Errorf("the removed message reads as %s", kept.Status)
	}
	s := w.check(t, session)
	if len(s.Queue) != 1 || s.Queue[0].ID != third.Message.ID {
		t.Errorf("the queue holds %+v", s.Queue)
	}
	if !hasEvent(s.Events, parley.EventMessageRemoved, 1) {
		t.Errorf("message.removed was not announced")
	}
	before := s
	_, err = w.store.RemoveQueued(w.ctx, w.scope, second.Message.ID)
	refused(t, "removing it again", err, parley.CodeConflict)
	_, err = w.store.EditQueued(w.ctx, w.scope, w.owner.ID, second.Message.ID, json.RawMessage(`{"text":"x"}`))
	refused(t, "editing a removed message", err, parley.CodeConflict)
	w.unchanged(t, "a second removal", session, before)
	w.answer(t, claim, "1")
	if next := w.claim(t); next.Turn.ID != third.Turn.ID || next.Trigger.Sequence != 3 {
		t.Errorf(
			"turn %s runs with sequence %d; want the one after the removed one",
			next.Turn.ID,
			next.Trigger.Sequence,
		)
	}
	w.check(t, session)
}

// hasEvent reports whether there are n events of a type.
func hasEvent(events []parley.Event, kind parley.EventType, n int) bool {
	for _, event := range events {
		if event.Type == kind {
			n--
		}
	}
	return n == 0
}

func queueRemoveSteer(t *testing.T, w *world) {
	claim := w.started(t, "one")
	steer := w.post(t, claim.Fence.SessionID, w.say("by the way", during(parley.DuringSteer))).Message
	_, err := w.store.RemoveQueued(w.ctx, w.scope, steer.ID)
	must(t, "RemoveQueued", err)
	if turn := w.turn(t, claim.Turn.ID); turn.Status != parley.TurnRunning {
		t.Errorf("removing a steer made its turn %s", turn.Status)
	}
	steers, err := w.store.PendingSteers(w.ctx, claim.Fence)
	if err != nil || len(steers) != 0 {
		t.Errorf("PendingSteers reads %+v, %v", steers, err)
	}
	w.answer(t, claim, "1") // nothing undelivered is left
	w.check(t, claim.Fence.SessionID)
}

func queueImmutable(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	begin := w.begin(t, claim.Fence, 1)
	before := w.snapshot(t, session)
	for name, id := range map[string]parley.ID{"the trigger": claim.Trigger.ID,
		"a streaming message": begin.Call.MessageID} {
		_, err := w.store.EditQueued(w.ctx, w.scope, w.owner.ID, id, json.RawMessage(`{"text":"x"}`))
		refused(t, "editing "+name, err, parley.CodeConflict)
		_, err = w.store.RemoveQueued(w.ctx, w.scope, id)
		refused(t, "removing "+name, err, parley.CodeConflict)
	}
	w.unchanged(t, "a change of the record", session, before)
}

func queueForeign(t *testing.T, w *world) {
	claim := w.started(t, "one")
	queued := w.post(t, claim.Fence.SessionID, w.say("two")).Message
	before := w.snapshot(t, claim.Fence.SessionID)
	for name, scope := range map[string]store.Scope{
		"another workspace": w.neighbour(t, "other").scope,
		"another principal": {WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()},
	} {
		_, err := w.store.EditQueued(w.ctx, scope, w.owner.ID, queued.ID, json.RawMessage(`{"text":"x"}`))
		refused(t, "an edit from "+name, err, parley.CodeNotFound)
		_, err = w.store.RemoveQueued(w.ctx, scope, queued.ID)
		refused(t, "a removal from "+name, err, parley.CodeNotFound)
		_, err = w.store.RequestCancel(w.ctx, scope, claim.Fence.SessionID, parley.ID{}, false)
		refused(t, "a cancel from "+name, err, parley.CodeNotFound)
		_, err = w.store.TakeCancel(w.ctx, scope, claim.Fence.SessionID, claim.Turn.ID)
		refused(t, "a taken cancel from "+name, err, parley.CodeNotFound)
		refused(
			t,
			"a deletion from "+name,
			w.store.DeleteSession(w.ctx, scope, claim.Fence.SessionID),
			parley.CodeNotFound,
		)
	}
	w.unchanged(t, "a foreign change", claim.Fence.SessionID, before)
}

func queueConcurrent(t *testing.T, w *world) {
	const n = 100
	session := w.session(t)
	errs := make([]error, n)
	atOnce(n, func(i int) {
		message := w.say(strconv.Itoa(i))
		if i%2 == 0 {
			message = w.say(strconv.Itoa(i), alone)
		}
		_, errs[i] = w.store.PostMessage(w.ctx, w.scope, session, message, parley.ID{})
	})
	for _, err := range errs {
		must(t, "a concurrent post", err)
	}
	if s := w.check(t, session); len(s.Record)+len(s.Queue) != n {
		t.Errorf("%d of %d messages exist", len(s.Record)+len(s.Queue), n)
	}
	for range n / 2 {
		w.answer(t, w.claim(t), "ok")
	}
	w.claimsNothing(t)
	if s := w.check(t, session); len(s.Record) != n+n/2 || len(s.Queue) != 0 {
		t.Errorf("at the end there are %d messages and %d queued", len(s.Record), len(s.Queue))
	}
}

func queueEntriesBeforeTriggers(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	note := w.post(t, session, w.say("a note", alone)).Message
	second := w.post(t, session, w.say("another note", alone)).Message
	trigger := w.post(t, session, w.say("two")).Message
	later := w.post(t, session, w.say("a later note", alone)).Message
	last := w.post(t, session, w.say("three")).Message
	if note.Status != parley.MessageQueued || trigger.Status != parley.MessageQueued {
		t.Fatalf("during a turn a message alone is %s", note.Status)
	}
	w.answer(t, claim, "1")
	s := w.check(t, session)
	if len(s.Record) < 4 || s.Record[2].ID != note.ID || s.Record[3].ID != second.ID ||
		w.message(t, trigger.ID).Status != parley.MessageQueued {
		t.Fatalf(
			"after the turn the record has %d messages; want both notes in, in their order, and the trigger waiting",
			len(s.Record),
		)
	}
	next := w.claim(t)
	if next.Trigger.ID != trigger.ID {
		t.Errorf("the next turn begins with %s", next.Trigger.ID)
	}
	w.answer(t, next, "2")
	w.check(t, session)
	if third := w.claim(
		t,
	); third.Trigger.ID != last.ID || third.Trigger.Sequence != 8 ||
		w.message(t, later.ID).Sequence == 0 {
		t.Errorf(
			"the last turn begins with %s at %d; want the later note before it",
			third.Trigger.ID,
			third.Trigger.Sequence,
		)
	}
	w.check(t, session)
}

func queueEntriesEnterAtTheEnd(t *testing.T, w *world) {
	for name, end := range map[string]func(*testing.T, store.Claim){
		"completed": func(t *testing.T, c store.Claim) { w.answer(t, c, "1") },
		"failed": func(t *testing.T, c store.Claim) {
			_, err := w.store.FinishTurn(w.ctx, c.Fence, *failed(parley.ClassNetwork))
			must(t, "FinishTurn", err)
		},
		"taken": func(t *testing.T, c store.Claim) {
			_, err := w.store.RequestCancel(w.ctx, w.scope, c.Fence.SessionID, c.Turn.ID, false)
			must(t, "RequestCancel", err)
			_, err = w.store.TakeCancel(w.ctx, w.scope, c.Fence.SessionID, c.Turn.ID)
			must(t, "TakeCancel", err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			claim := w.started(t, "one")
			note := w.post(t, claim.Fence.SessionID, w.say("a note", alone)).Message
			end(t, claim)
			s := w.check(t, claim.Fence.SessionID)
			if len(s.Queue) != 0 || s.Record[len(s.Record)-1].ID != note.ID {
				t.Errorf("the note is not at the end of the record; %d are queued", len(s.Queue))
			}
		})
	}
}

func queueEntriesBehindRemoved(t *testing.T, w *world) {
	session := w.session(t)
	first := w.post(t, session, w.say("one"))
	note := w.post(t, session, w.say("a note", alone)).Message
	if note.Status != parley.MessageQueued {
		t.Fatalf("while a turn is queued a message alone is %s", note.Status)
	}
	_, err := w.store.RequestCancel(w.ctx, w.scope, session, first.Turn.ID, false)
	must(t, "RequestCancel", err)
	if s := w.check(t, session); len(s.Queue) != 0 || len(s.Record) != 2 {
		t.Errorf("after the cancel the record has %d messages and the queue %d", len(s.Record), len(s.Queue))
	}
}

// queueLong: more entries than one read returns, of every kind, enter in order.
func queueLong(t *testing.T, w *world) {
	const notes = 100
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	var posted []parley.ID
	write := func() {
		for range notes {
			posted = append(posted, w.post(t, session, w.say("a note", alone)).Message.ID)
		}
	}
	write()
	second := w.post(t, session, w.say("two"))
	write()
	third := w.post(t, session, w.say("three"))
	steer := w.post(t, session, w.say("by the way", during(parley.DuringSteer))).Message
	_, err := w.store.FinishTurn(w.ctx, claim.Fence, *failed(parley.ClassNetwork)) // the steer becomes the last trigger
	must(t, "FinishTurn", err)
	for i, trigger := range []parley.ID{second.Message.ID, third.Message.ID, steer.ID} {
		s := w.check(t, session)
		if entered := min(i+1, 2) * notes; len(s.Queue) != 3-i+2*notes-entered {
			t.Fatalf(
				"before turn %d the queue holds %d entries, and %d notes should have entered",
				i+2,
				len(s.Queue),
				entered,
			)
		}
		next := w.claim(t)
		if next.Trigger.ID != trigger {
			t.Fatalf("turn %d begins with a different message", i+2)
		}
		w.answer(t, next, "ok")
	}
	w.claimsNothing(t)
	at := 0
	for _, m := range w.check(t, session).Record {
		if at < len(posted) && m.ID == posted[at] {
			at++
		}
	}
	if at != len(posted) {
		t.Errorf("%d of %d notes are in the record in order", at, len(posted))
	}
}
