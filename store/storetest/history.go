package storetest

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testHistory(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"AForkSharesAndGoesOn":          forkGoesOn,
		"AForkOfAForkReadsBoth":         forkOfFork,
		"AForkCutsOnWholeSteps":         forkWholeSteps,
		"ACutInAnOpenStepIsRefused":     forkOpenStep,
		"ACallsResultMayComeLater":      forkPairs,
		"AnEditTakesTheMessagesPlace":   forkEdits,
		"TheFirstMessageIsEdited":       forkEditsFirst,
		"WhatCannotBeForked":            forkRefused,
		"MarksAreTheForksOwn":           forkMarks,
		"AnEdgeOfTheParentEndsTheTail":  forkEdge,
		"FiltersReadAllParts":           forkFilters,
		"WhatStandsBeforeItsWindow":     forkHead,
		"TheParentIsDeleted":            forkOutlives,
		"TheForkIsDeletedFirst":         forkGoesFirst,
		"FilesOfSharedMessagesStay":     forkFiles,
		"AForkIsIdempotent":             forkAgain,
		"ForksRaceTheParentsTurns":      forkRaces,
		"BranchesOfAMessage":            forkBranches,
		"OldVersionsThinOut":            thinVersions,
		"ASharedMessageIsSeenByItsFork": forkSeen,
		"ForkedTooOften":                forkDepth,
	})
}

// newFork describes a fork of a session at a sequence.
func (w *world) newFork(parent parley.ID, sequence int64, changes ...func(*store.NewFork)) store.NewFork {
	fork := store.NewFork{Session: w.newSession(), Sequence: sequence}
	fork.Session.ParentSessionID = parent
	for _, change := range changes {
		change(&fork)
	}
	return fork
}

// fork makes a fork.
func (w *world) fork(t reporter, parent parley.ID, sequence int64, changes ...func(*store.NewFork)) parley.Session {
	t.Helper()
	opened, err := w.store.Fork(w.ctx, w.scope, w.newFork(parent, sequence, changes...), parley.ID{})
	must(t, "Fork", err)
	if !opened.Created || opened.Session.ForkedThrough == nil {
		t.Fatalf("Fork returned %+v", opened)
	}
	return opened.Session
}

// asking makes a fork ask a user's message again.
func asking(first store.NewMessage) func(*store.NewFork) {
	return func(f *store.NewFork) { f.Before, f.First = true, &first }
}

func forkGoesOn(t *testing.T, w *world) {
	parent := w.session(t)
	w.exchange(t, parent, "one", "1")
	w.exchange(t, parent, "two", "2")
	before := w.check(t, parent)
	fork := w.fork(t, parent, 2)
	w.unchanged(t, "being forked", parent, before)
	if *fork.ForkedThrough != 2 || fork.ParentSessionID != parent || fork.ParentMessageID != before.Record[1].ID ||
		fork.LastSequence != 2 ||
		fork.LastEvent != 0 || fork.Status != parley.SessionPending ||
		fork.Statistics != (parley.Statistics{Messages: 2, UserFacing: 2}) {
		t.Errorf("the fork is %+v", fork)
	}
	s := w.check(t, fork.ID)
	if diff := cmp.Diff(before.Record[:2], s.Record); diff != "" {
		t.Errorf("the shared record (-parent +fork):\n%s", diff)
	}
	w.exchange(t, fork.ID, "two", "2")
	s = w.check(t, fork.ID)
	if len(s.Record) != 4 { // check verifies each hash against the parent's
		t.Errorf("the fork continued to %d messages; want 4", len(s.Record))
	}
	w.exchange(t, parent, "three", "3")
	if again := w.check(t, fork.ID); len(again.Record) != 4 {
		t.Errorf("the parent continued and the fork has %d messages", len(again.Record))
	}
}

func forkOfFork(t *testing.T, w *world) {
	parent := w.session(t)
	for i := range 3 {
		w.exchange(t, parent, "p"+strconv.Itoa(i), "-")
	}
	child := w.fork(t, parent, 4)
	root, below, read := w.check(t, parent).Session.LogID, w.fork(t, child.ID, 2), w.check(t, child.ID).Session
	if child.RootLog() != root || read.RootLog() != root || below.RootLog() != root {
		t.Errorf("the fork's root is the log %s, read %s, its fork's %s; want %s",
			child.RootLog(), read.RootLog(), below.RootLog(), root)
	}
	w.exchange(t, child.ID, "c0", "-")
	w.exchange(t, child.ID, "c1", "-")
	grandchild := w.fork(t, child.ID, 6)
	w.exchange(t, grandchild.ID, "g0", "-")
	early := w.fork(t, grandchild.ID, 2) // inside what its grandparent shares
	w.exchange(t, early.ID, "e0", "-")
	for id, want := range map[parley.ID][]string{
		grandchild.ID: {"p0", "p1", "c0", "g0"},
		early.ID:      {"p0", "e0"},
	} {
		if diff := cmp.Diff(want, questions(w.check(t, id).Record)); diff != "" {
			t.Errorf("the questions (-want +got):\n%s", diff)
		}
		tail, _, err := w.store.ContextTail(w.ctx, w.scope.WorkspaceID, id, 0, 100, parley.MaxPageBytes)
		must(t, "ContextTail", err)
		slices.Reverse(tail)
		if diff := cmp.Diff(want, questions(tail)); diff != "" {
			t.Errorf("the questions of the tail (-want +got):\n%s", diff)
		}
	}
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, child.ID))
	w.drainOutbox(t)
	if diff := cmp.Diff([]string{"p0", "p1", "c0", "g0"}, questions(w.check(t, grandchild.ID).Record)); diff != "" {
		t.Errorf("with the session between deleted (-want +got):\n%s", diff)
	}
}

// questions returns the texts of the users' messages.
func questions(messages []parley.Message) (texts []string) {
	for _, m := range messages {
		if m.Role == parley.RoleUser {
			text, _ := parley.PlainText(m.Content)
			texts = append(texts, text)
		}
	}
	return texts
}

// forkWholeSteps: wherever a step with tools is cut, the fork has all of it; cuts at the message before it and at the
// answer after it stay where they are.
func forkWholeSteps(t *testing.T, w *world) {
	claim := w.started(t, "question")
	calls := w.callTools(t, claim.Fence, 1, 2)
	for _, call := range calls {
		_, err := w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(1, call))
		must(t, "SettleTool", err)
	}
	w.answer(t, store.Claim{Fence: claim.Fence, Turn: parley.Turn{Step: 1}}, "done")
	session := claim.Fence.SessionID
	record := w.check(t, session).Record // user, assistant, call, call, result, result, assistant
	for at, want := range map[int]int64{1: 1, 2: 6, 3: 6, 4: 6, 5: 6, 6: 6, 7: 7} {
		fork := w.fork(t, session, 0, func(f *store.NewFork) { f.At = record[at-1].ID })
		if *fork.ForkedThrough != want || fork.ParentMessageID != record[at-1].ID {
			t.Errorf("forked at message %d the cut is after %d; want %d", at, *fork.ForkedThrough, want)
		}
		w.check(t, fork.ID)
	}
	fork := w.fork(t, session, 6)
	next := w.session2(t, fork.ID, "again")
	more := w.callTools(t, next.Fence, 1, 1)
	_, err := w.store.SettleTool(w.ctx, next.Fence, w.toolSettle(1, more[0]))
	must(t, "SettleTool", err)
	w.answer(t, store.Claim{Fence: next.Fence, Turn: parley.Turn{Step: 1}}, "done")
	w.check(t, fork.ID) // its calls continue the numbering
}

// session2 starts a turn in a session.
func (w *world) session2(t reporter, session parley.ID, text string) store.Claim {
	t.Helper()
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, w.say(text), w.process)
	must(t, "PostMessage", err)
	if posted.Claim == nil {
		t.Fatalf("a post to an idle session was not claimed")
	}
	return *posted.Claim
}

func forkOpenStep(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "one", "1")
	claim := w.session2(t, session, "two")
	begin := w.begin(t, claim.Fence, 1)
	before := w.check(t, session)
	_, err := w.store.Fork(w.ctx, w.scope, w.newFork(session, 4), parley.ID{})
	refused(t, "a fork at a streaming message", err, parley.CodeConflict)
	w.unchanged(t, "a fork at a streaming message", session, before)
	for _, at := range []int64{1, 2, 3} {
		if fork := w.fork(t, session, at); *fork.ForkedThrough != at {
			t.Errorf("forked at message %d while a later one streams, the cut is after %d", at, *fork.ForkedThrough)
		}
	}
	settle := settlement(begin, "2")
	settle.End = completed()
	w.settle(t, claim.Fence, settle)

	waiting, _ := w.parked(t, 1)
	_, err = w.store.Fork(w.ctx, w.scope, w.newFork(waiting.Fence.SessionID, 3), parley.ID{})
	refused(t, "a fork at a call that waits for its result", err, parley.CodeConflict)
	w.fork(t, waiting.Fence.SessionID, 1)
}

// forkPairs: what an outside agent records between its calls and their results is shared with them, and nothing in
// between can be asked again.
func forkPairs(t *testing.T, w *world) {
	session := w.session(t)
	call := func(id string) {
		w.post(t, session, w.say("", alone, func(m *store.NewMessage) {
			m.Role, m.Content = parley.RoleToolCall, json.RawMessage(`{"arguments":{},"id":"`+id+`","name":"search"}`)
		}))
	}
	w.post(t, session, w.say("note", alone)) // 1
	call("a")                                // 2
	w.post(t, session, w.say("note", alone)) // 3
	call("b")                                // 4
	w.post(t, session, w.result("a"))        // 5
	w.post(t, session, w.result("b"))        // 6
	w.post(t, session, w.say("note", alone)) // 7
	call("open")                             // 8: never answered
	w.post(t, session, w.say("note", alone)) // 9
	for at, want := range map[int64]int64{1: 1, 2: 6, 3: 6, 4: 6, 5: 6, 6: 6, 7: 7, 8: 8, 9: 9} {
		fork := w.fork(t, session, at)
		if *fork.ForkedThrough != want {
			t.Errorf("forked at message %d the cut is after %d; want %d", at, *fork.ForkedThrough, want)
		}
		w.check(t, fork.ID)
	}
	_, err := w.store.Fork(w.ctx, w.scope, w.newFork(session, 3, asking(w.say("x"))), parley.ID{})
	refused(t, "an edit between a call and its result", err, parley.CodeConflict)
	w.fork(t, session, 7, asking(w.say("x")))
}

func forkEdits(t *testing.T, w *world) {
	parent := w.session(t)
	w.exchange(t, parent, "one", "1")
	w.exchange(t, parent, "two", "2")
	before := w.check(t, parent)
	first := w.say("two, but better")
	opened, err := w.store.Fork(w.ctx, w.scope, w.newFork(parent, 3, asking(first)), w.process)
	must(t, "Fork", err)
	w.unchanged(t, "an edit", parent, before)
	switch posted := opened.Posted; {
	case posted == nil || posted.Claim == nil || posted.Message.Sequence != 3 || posted.Message.ID != first.ID:
		t.Fatalf("the edited message was posted as %+v", posted)
	case *opened.Session.ForkedThrough != 2 || opened.Session.ParentMessageID != before.Record[2].ID ||
		opened.Session.Status != parley.SessionRunning:
		t.Errorf("the branch is %+v", opened.Session)
	}
	w.answer(t, *opened.Posted.Claim, "2, but better")
	if diff := cmp.Diff(
		[]string{"one", "two, but better"},
		questions(w.check(t, opened.Session.ID).Record),
	); diff != "" {
		t.Errorf("the branch's questions (-want +got):\n%s", diff)
	}
	_, err = w.store.Fork(w.ctx, w.scope, w.newFork(parent, 2, asking(w.say("x"))), parley.ID{})
	refused(t, "an edit of an answer", err, parley.CodeConflict)
}

func forkEditsFirst(t *testing.T, w *world) {
	parent := w.session(t)
	w.exchange(t, parent, "one", "1")
	opened, err := w.store.Fork(w.ctx, w.scope, w.newFork(parent, 1, asking(w.say("uno"))), w.process)
	must(t, "Fork", err)
	if *opened.Session.ForkedThrough != 0 || opened.Posted.Message.Sequence != 1 {
		t.Errorf("the branch is %+v", opened.Session)
	}
	w.answer(t, *opened.Posted.Claim, "1")
	w.check(t, opened.Session.ID)
}

func forkRefused(t *testing.T, w *world) {
	parent, stranger := w.session(t), w.neighbour(t, "acme")
	w.exchange(t, parent, "one", "1")
	elsewhere := stranger.session(t)
	theirs := stranger.exchange(t, elsewhere, "theirs", "-").Message.ID
	other := w.exchange(t, w.session(t), "other", "-").Message.ID
	claim := w.session2(t, parent, "two")
	queued := w.post(t, parent, w.say("queued")).Message.ID
	before := w.check(t, parent)
	archived := w.createAgent(t, "archived")
	archived.Status = parley.AgentArchived
	_, err := w.store.UpdateAgent(w.ctx, archived)
	must(t, "UpdateAgent", err)
	at := func(id parley.ID) func(*store.NewFork) { return func(f *store.NewFork) { f.At = id } }
	for name, c := range map[string]struct {
		fork store.NewFork
		want parley.Code
	}{
		"another workspace's session": {w.newFork(elsewhere, 1), parley.CodeNotFound},
		"another workspace's message": {w.newFork(parent, 0, at(theirs)), parley.CodeNotFound},
		"another session's message":   {w.newFork(parent, 0, at(other)), parley.CodeNotFound},
		"a message that is queued":    {w.newFork(parent, 0, at(queued)), parley.CodeConflict},
		"behind the record's end":     {w.newFork(parent, 100), parley.CodeConflict},
		"another workspace's agent": {w.newFork(parent, 1, func(f *store.NewFork) {
			f.Session.AgentID = stranger.agent.ID
		}),
			parley.CodeNotFound},
		"an archived agent": {w.newFork(parent, 1, func(f *store.NewFork) {
			f.Session.AgentID = archived.ID
		}), parley.CodeArchived},
		"another workspace's project": {w.newFork(parent, 1, func(f *store.NewFork) {
			f.Session.ProjectID = parley.NewID()
		}),
			parley.CodeNotFound},
	} {
		_, err := w.store.Fork(w.ctx, w.scope, c.fork, parley.ID{})
		refused(t, name, err, c.want)
		_, err = w.store.Session(w.ctx, w.scope, c.fork.Session.ID)
		refused(t, "the session of "+name, err, parley.CodeNotFound)
	}
	w.unchanged(t, "what cannot be forked", parent, before)
	w.answer(t, claim, "2")
	empty := w.session(t)
	_, err = w.store.Fork(w.ctx, w.scope, w.newFork(empty, 0), parley.ID{})
	refused(t, "an empty session", err, parley.CodeConflict)
	_, err = w.store.Fork(w.ctx, w.guest(), w.newFork(parent, 1), parley.ID{})
	refused(t, "a session that the viewer may not see", err, parley.CodeNotFound)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, empty))
	_, err = w.store.Fork(w.ctx, w.scope, w.newFork(empty, 0), parley.ID{})
	refused(t, "a deleted session", err, parley.CodeNotFound)
}

func forkBranches(t *testing.T, w *world) {
	parent := w.session(t)
	w.exchange(t, parent, "one", "1")
	record := w.check(t, parent).Record
	edited := w.fork(t, parent, 1, asking(w.say("uno")))
	again := w.fork(t, parent, 1, asking(w.say("one")))
	forked := w.fork(t, parent, 2)
	for message, want := range map[parley.ID][]parley.ID{record[0].ID: {edited.ID, again.ID},
		record[1].ID: {forked.ID}} {
		listed, err := w.store.Sessions(w.ctx, w.scope, store.SessionQuery{BranchesOf: message, Limit: 10})
		must(t, "Sessions", err)
		got := make([]parley.ID, 0, len(listed))
		for _, s := range listed {
			got = append(got, s.ID)
		}
		slices.SortFunc(got, parley.ID.Compare)
		slices.SortFunc(want, parley.ID.Compare)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the branches of a message (-want +got):\n%s", diff)
		}
	}
}

func forkAgain(t *testing.T, w *world) {
	parent := w.session(t)
	w.exchange(t, parent, "one", "1")
	first := w.say("two")
	wanted := func(body string) store.NewFork {
		return w.newFork(parent, 2, func(f *store.NewFork) {
			f.First, f.Idempotency = &first, store.Idempotency{Key: "once", Fingerprint: parley.HashOf([]byte(body))}
		})
	}
	made, err := w.store.Fork(w.ctx, w.scope, wanted("body"), parley.ID{})
	must(t, "Fork", err)
	again, err := w.store.Fork(w.ctx, w.scope, wanted("body"), parley.ID{})
	must(t, "Fork", err)
	if !again.Replayed || again.Session.ID != made.Session.ID || again.Posted == nil ||
		again.Posted.Message.ID != first.ID {
		t.Errorf("the same key made %+v; want %s again", again, made.Session.ID)
	}
	_, err = w.store.Fork(w.ctx, w.scope, wanted("another body"), parley.ID{})
	refused(t, "the key with another body", err, parley.CodeKeyReused)
}

// forkRaces: a fork is complete, whatever a turn does meanwhile.
func forkRaces(t *testing.T, w *world) {
	parent := w.session(t)
	w.exchange(t, parent, "zero", "0")
	const turns = 6
	forks := make([]parley.ID, 4*turns)
	atOnce(len(forks)+1, func(i int) {
		if i == len(forks) {
			for n := range turns {
				w.exchange(t, parent, "question "+strconv.Itoa(n), "-")
			}
			return
		}
		opened, err := w.store.Fork(w.ctx, w.scope, w.newFork(parent, 0), parley.ID{})
		if err != nil { // it hit an unfinished step
			refused(t, "Fork", err, parley.CodeConflict)
			return
		}
		forks[i] = opened.Session.ID
	})
	for _, id := range forks {
		if !id.IsZero() {
			w.check(t, id)
		}
	}
	w.check(t, parent)
}

func forkDepth(t *testing.T, w *world) {
	session := w.session(t)
	w.post(t, session, w.say("note", alone))
	for n := range store.MaxForkedLogs + 1 {
		opened, err := w.store.Fork(w.ctx, w.scope, w.newFork(session, 0), parley.ID{})
		if n == store.MaxForkedLogs-1 {
			refused(t, "one fork too many", err, parley.CodeConflict)
			break
		}
		must(t, "Fork", err)
		session = opened.Session.ID
		w.post(t, session, w.say("note", alone))
	}
	if s := w.check(t, session); len(s.Record) != store.MaxForkedLogs {
		t.Errorf("the last fork has %d messages", len(s.Record))
	}
}
