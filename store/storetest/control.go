package storetest

import (
	"slices"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testControl(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"AQueuedMessageBecomesASteer":     sendAsSteer,
		"AQueuedMessageInterrupts":        sendAsInterrupt,
		"ASteerInterrupts":                sendSteerAsInterrupt,
		"AWaitingTurnIsInterruptedAtOnce": sendToWaiting,
		"WhatCannotBeSent":                sendRefused,
		"QueuedMessagesAreMoved":          moveQueued,
		"WhatCannotBeMoved":               moveRefused,
		"ForeignScopesControlNothing":     controlForeign,
	})
}

func (w *world) send(t reporter, message parley.ID, how parley.During) store.Posted {
	t.Helper()
	posted, err := w.store.SendQueued(w.ctx, w.scope, message, how, parley.ID{})
	must(t, "SendQueued", err)
	return posted
}

func sendAsSteer(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	queued := w.post(t, session, w.say("two"))
	behind := w.post(t, session, w.say("three"))
	sent := w.send(t, queued.Message.ID, parley.DuringSteer)
	if sent.Turn == nil || sent.Turn.ID != claim.Turn.ID || !sent.Message.Steer ||
		sent.Message.TurnID != claim.Turn.ID ||
		sent.Message.Status != parley.MessageQueued {
		t.Fatalf("the sent message is %+v of turn %+v; want a steer of the running turn", sent.Message, sent.Turn)
	}
	if turn := w.turn(t, queued.Turn.ID); turn.Status != parley.TurnCancelled {
		t.Errorf("the turn that the message waited for is %s", turn.Status)
	}
	s := w.check(t, session)
	w.send(t, queued.Message.ID, parley.DuringSteer) // again: already on its way
	w.unchanged(t, "sending a steer as a steer", session, s)
	steers, err := w.store.PendingSteers(w.ctx, claim.Fence)
	if err != nil || len(steers) != 1 || steers[0].ID != queued.Message.ID {
		t.Fatalf("PendingSteers reads %+v, %v", steers, err)
	}
	begin := w.begin(t, claim.Fence, 1, steers[0])
	settle := settlement(begin, "both")
	settle.End = completed()
	w.settle(t, claim.Fence, settle)
	if next := w.claim(t); next.Turn.ID != behind.Turn.ID {
		t.Errorf("turn %s follows; want the message that stayed queued", next.Turn.ID)
	}
	w.check(t, session)
}

func sendAsInterrupt(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	second := w.post(t, session, w.say("two"))
	third := w.post(t, session, w.say("three"))
	sent := w.send(t, third.Message.ID, parley.DuringInterrupt)
	if sent.Turn == nil || sent.Turn.ID != third.Turn.ID || sent.Message.Status != parley.MessageQueued ||
		sent.Claim != nil {
		t.Fatalf("while a worker holds the turn the sent message is %+v", sent)
	}
	w.check(t, session)
	taken, err := w.store.TakeCancel(w.ctx, w.scope, session, claim.Turn.ID)
	if err != nil || taken.Turn.Status != parley.TurnCancelled {
		t.Fatalf("the running turn was not asked to stop: %+v, %v", taken, err)
	}
	for _, want := range []store.Posted{third, second} {
		next := w.claim(t)
		if next.Turn.ID != want.Turn.ID || next.Trigger.ID != want.Message.ID {
			t.Fatalf("turn %s runs; want %s", next.Turn.ID, want.Turn.ID)
		}
		w.answer(t, next, "ok")
	}
	w.check(t, session)
}

func sendSteerAsInterrupt(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	steer := w.steer(t, session, "stop that")
	sent := w.send(t, steer.ID, parley.DuringInterrupt)
	if sent.Message.Steer || sent.Turn == nil || sent.Turn.ID == claim.Turn.ID || sent.Message.TurnID != sent.Turn.ID {
		t.Fatalf("the steer became %+v of turn %+v", sent.Message, sent.Turn)
	}
	w.check(t, session)
	_, err := w.store.TakeCancel(w.ctx, w.scope, session, claim.Turn.ID)
	must(t, "TakeCancel", err)
	if next := w.claim(
		t,
	); next.Turn.ID != sent.Turn.ID || next.Trigger.ID != steer.ID ||
		next.Trigger.TurnID != sent.Turn.ID {
		t.Errorf("turn %s runs with trigger %+v", next.Turn.ID, next.Trigger)
	}
	w.check(t, session)
}

func sendToWaiting(t *testing.T, w *world) {
	for name, message := range map[string]func(parley.ID) parley.ID{
		"queued": func(session parley.ID) parley.ID { return w.post(t, session, w.say("two")).Message.ID },
		"steer":  func(session parley.ID) parley.ID { return w.steer(t, session, "two").ID },
	} {
		claim := w.started(t, "one")
		session := claim.Fence.SessionID
		w.callTools(t, claim.Fence, 1, 1)
		_, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitToolResult)
		must(t, "ParkTurn", err)
		id := message(session)
		sent, err := w.store.SendQueued(w.ctx, w.scope, id, parley.DuringInterrupt, w.process)
		must(t, "SendQueued", err)
		if sent.Claim == nil || sent.Claim.Turn.ID != sent.Turn.ID || sent.Message.Status != parley.MessageCompleted ||
			sent.Message.TurnID != sent.Turn.ID {
			t.Fatalf(
				"%s: nobody held the waiting turn, and the message is %+v, claimed %t",
				name,
				sent.Message,
				sent.Claim != nil,
			)
		}
		if turn := w.turn(t, claim.Turn.ID); turn.Status != parley.TurnCancelled {
			t.Errorf("%s: the waiting turn is %s", name, turn.Status)
		}
		w.answer(t, *sent.Claim, "ok")
		w.check(t, session)
	}
}

func sendRefused(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	note := w.post(t, session, w.say("a note", alone)).Message
	removed := w.post(t, session, w.say("two")).Message
	_, err := w.store.RemoveQueued(w.ctx, w.scope, removed.ID)
	must(t, "RemoveQueued", err)
	before := w.check(t, session)
	for name, id := range map[string]parley.ID{"a note": note.ID, "a removed message": removed.ID,
		"the trigger": claim.Trigger.ID} {
		for _, how := range []parley.During{parley.DuringSteer, parley.DuringInterrupt} {
			_, err := w.store.SendQueued(w.ctx, w.scope, id, how, w.process)
			refused(t, "sending "+name, err, parley.CodeConflict)
		}
		w.unchanged(t, "sending "+name, session, before)
	}
	queued := w.post(t, session, w.say("three"))
	w.answer(t, claim, "1")
	s := w.check(t, session)
	if sent := w.send(
		t,
		queued.Message.ID,
		parley.DuringInterrupt,
	); sent.Turn.ID != queued.Turn.ID ||
		sent.Turn.Status != parley.TurnQueued {
		t.Errorf("the message that already runs next was sent as %+v", sent.Turn)
	}
	w.unchanged(t, "sending what runs next", session, s)
}

func queueOrder(s Snapshot) (ids []parley.ID) {
	for _, m := range s.Queue {
		ids = append(ids, m.ID)
	}
	return ids
}

func moveQueued(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	var ids []parley.ID
	for _, text := range []string{"a", "b", "c", "d"} {
		ids = append(ids, w.post(t, session, w.say(text)).Message.ID)
	}
	a, b, c, d := ids[0], ids[1], ids[2], ids[3]
	for _, step := range []struct {
		move, before parley.ID
		want         []parley.ID
	}{
		{d, a, []parley.ID{d, a, b, c}},           // to the front
		{a, parley.ID{}, []parley.ID{d, b, c, a}}, // to the end
		{a, c, []parley.ID{d, b, a, c}},           // between
		{a, c, []parley.ID{d, b, a, c}},           // already there
		{c, c, []parley.ID{d, b, a, c}},           // before itself
		{d, c, []parley.ID{b, a, d, c}},           // away from the front
	} {
		moved, err := w.store.MoveQueued(w.ctx, w.scope, step.move, step.before)
		must(t, "MoveQueued", err)
		s := w.check(t, session)
		if got := queueOrder(s); !slices.Equal(got, step.want) {
			t.Fatalf("after the move the queue is %v; want %v", got, step.want)
		}
		if at := slices.Index(step.want, step.move); moved.Position == nil || *moved.Position != *s.Queue[at].Position {
			t.Errorf("the moved message has position %v, stored %d", moved.Position, *s.Queue[at].Position)
		}
	}
	w.answer(t, claim, "1")
	for _, want := range []parley.ID{b, a, d, c} {
		next := w.claim(t)
		if next.Trigger.ID != want {
			t.Fatalf("message %s runs; want %s", next.Trigger.ID, want)
		}
		w.answer(t, next, "ok")
	}
	w.check(t, session)
}

func moveRefused(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	first := w.post(t, session, w.say("a")).Message
	second := w.post(t, session, w.say("b")).Message
	other := w.started(t, "elsewhere")
	foreign := w.post(t, other.Fence.SessionID, w.say("c")).Message
	before := w.check(t, session)
	_, err := w.store.MoveQueued(w.ctx, w.scope, first.ID, foreign.ID)
	refused(t, "a move before another session's message", err, parley.CodeNotFound)
	_, err = w.store.MoveQueued(w.ctx, w.scope, claim.Trigger.ID, first.ID)
	refused(t, "a move of the record", err, parley.CodeConflict)
	w.unchanged(t, "a refused move", session, before)
	w.answer(t, claim, "1") // the first one is about to start
	before = w.check(t, session)
	for name, move := range map[string][2]parley.ID{"the first": {first.ID, {}},
		"one before the first": {second.ID, first.ID}} {
		_, err = w.store.MoveQueued(w.ctx, w.scope, move[0], move[1])
		refused(t, "moving "+name, err, parley.CodeConflict)
		w.unchanged(t, "moving "+name, session, before)
	}
}

func controlForeign(t *testing.T, w *world) {
	claim := w.started(t, "one")
	queued := w.post(t, claim.Fence.SessionID, w.say("two")).Message
	before := w.snapshot(t, claim.Fence.SessionID)
	for name, scope := range map[string]store.Scope{
		"another workspace": w.neighbour(t, "other").scope,
		"another principal": {WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()},
	} {
		_, err := w.store.SendQueued(w.ctx, scope, queued.ID, parley.DuringSteer, parley.ID{})
		refused(t, "a send from "+name, err, parley.CodeNotFound)
		_, err = w.store.MoveQueued(w.ctx, scope, queued.ID, parley.ID{})
		refused(t, "a move from "+name, err, parley.CodeNotFound)
	}
	w.unchanged(t, "foreign control", claim.Fence.SessionID, before)
}
