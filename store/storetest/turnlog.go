package storetest

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testTurnLog(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"turns in pages":         testTurnPages,
		"calls in pages":         testCallPages,
		"texts of calls by hash": testCallTexts,
		"clocks order nothing":   testClocksOrderNothing,
	})
}

// testClocksOrderNothing writes the turns of a session as if by processes whose clocks are minutes apart, each with
// smaller ids than the one before.
func testClocksOrderNothing(t *testing.T, w *world) {
	const turns = 4
	session := w.session(t)
	ids := make([]parley.ID, 4*turns)
	for i := range ids {
		ids[len(ids)-1-i] = parley.NewID()
	}
	next := func() (id parley.ID) {
		id, ids = ids[0], ids[1:]
		return id
	}
	var turnIDs, callIDs []parley.ID
	for range turns {
		message := w.say("go")
		message.ID, message.TurnID = next(), next()
		posted, err := w.store.PostMessage(w.ctx, w.scope, session, message, w.process)
		must(t, "PostMessage", err)
		begin := w.stepBegin(1, 1)
		begin.Call.ID, begin.Call.MessageID = next(), next()
		_, err = w.store.BeginStep(w.ctx, posted.Claim.Fence, begin)
		must(t, "BeginStep", err)
		settle := settlement(begin, "done")
		settle.End = completed()
		w.settle(t, posted.Claim.Fence, settle)
		turnIDs, callIDs = append(turnIDs, message.TurnID), append(callIDs, begin.Call.ID)
	}
	listed, err := w.store.Turns(w.ctx, w.scope, session, store.TurnQuery{Ascending: true, AfterID: turnIDs[0]})
	must(t, "Turns", err)
	calls, err := w.store.Calls(w.ctx, w.scope, session, store.CallQuery{Ascending: true, AfterID: callIDs[0]})
	must(t, "Calls", err)
	if len(listed) != turns-1 || len(calls) != turns-1 {
		t.Fatalf("after the first there are %d turns and %d calls", len(listed), len(calls))
	}
	for i := range listed {
		if listed[i].ID != turnIDs[i+1] || calls[i].ID != callIDs[i+1] {
			t.Errorf("position %d has a different turn and call than were made then", i+1)
		}
	}
	last := w.post(t, session, w.say("wait"))
	_, err = w.store.RequestCancel(w.ctx, w.scope, session, last.Turn.ID, false)
	must(t, "RequestCancel", err)
	older := w.say("go")
	older.ID, older.TurnID = parley.ID{1}, parley.ID{2}
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, older, w.process)
	must(t, "PostMessage", err)
	w.answer(t, *posted.Claim, "done")
	_, err = w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, false)
	refused(t, "a cancel behind a completed turn", err, parley.CodeConflict)
}

func testTurnPages(t *testing.T, w *world) {
	id := w.session(t)
	w.exchange(t, w.session(t), "elsewhere", "answer")
	var made []string
	for i := range 5 {
		made = append(made, w.exchange(t, id, "question "+strconv.Itoa(i), "answer").Turn.ID.String())
	}
	queued := w.post(t, id, w.say("one more")).Turn.ID.String()
	made = append(made, queued)
	for _, ascending := range []bool{false, true} {
		query := store.TurnQuery{Ascending: ascending, Limit: 2}
		var got []string
		for range mostPages {
			page, err := w.store.Turns(w.ctx, w.scope, id, query)
			must(t, "Turns", err)
			for _, turn := range page {
				got = append(got, turn.ID.String())
				if diff := cmp.Diff(w.turn(t, turn.ID), turn); diff != "" {
					t.Errorf("a turn in the list differs from the turn alone (-alone +list):\n%s", diff)
				}
			}
			if len(page) < query.Limit {
				break
			}
			query.AfterID = page[len(page)-1].ID
		}
		want := slices.Clone(made)
		if !ascending {
			slices.Reverse(want)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ascending %t (-want +got):\n%s", ascending, diff)
		}
	}
	page, err := w.store.Turns(w.ctx, w.scope, id, store.TurnQuery{Status: parley.TurnQueued})
	must(t, "Turns", err)
	if len(page) != 1 || page[0].ID.String() != queued {
		t.Errorf("queued turns: %+v", page)
	}
}

func testCallPages(t *testing.T, w *world) {
	id := w.session(t)
	w.exchange(t, w.session(t), "elsewhere", "answer")
	var turns []parley.ID
	for i := range 4 {
		turns = append(turns, w.exchange(t, id, "question "+strconv.Itoa(i), "answer").Turn.ID)
	}
	all, err := w.store.Calls(w.ctx, w.scope, id, store.CallQuery{Ascending: true})
	must(t, "Calls", err)
	if len(all) != 4 {
		t.Fatalf("%d calls; want 4", len(all))
	}
	for i, call := range all {
		if call.TurnID != turns[i] || call.Outcome != parley.CallCompleted || call.Provider != modelID.Provider() ||
			call.Cost == nil ||
			*call.Cost != 7 {
			t.Errorf("call %d: %+v", i, call)
		}
		alone, err := w.store.Call(w.ctx, w.scope, call.ID)
		must(t, "Call", err)
		if diff := cmp.Diff(alone, call); diff != "" {
			t.Errorf("a call in the list differs from the call alone (-alone +list):\n%s", diff)
		}
		of, err := w.store.Calls(w.ctx, w.scope, id, store.CallQuery{TurnID: turns[i]})
		must(t, "Calls", err)
		if len(of) != 1 || of[0].ID != call.ID {
			t.Errorf("the calls of turn %d: %+v", i, of)
		}
	}
	older, err := w.store.Calls(w.ctx, w.scope, id, store.CallQuery{AfterID: all[2].ID, Limit: 1})
	must(t, "Calls", err)
	if len(older) != 1 || older[0].ID != all[1].ID {
		t.Errorf("the call before the third: %+v", older)
	}
	newer, err := w.store.Calls(w.ctx, w.scope, id, store.CallQuery{AfterID: all[2].ID, Ascending: true})
	must(t, "Calls", err)
	if len(newer) != 1 || newer[0].ID != all[3].ID {
		t.Errorf("the call after the third: %+v", newer)
	}
}

func testCallTexts(t *testing.T, w *world) {
	id := w.session(t)
	w.exchange(t, id, "question", "answer")
	calls, err := w.store.Calls(w.ctx, w.scope, id, store.CallQuery{})
	must(t, "Calls", err)
	system, err := w.store.CallText(w.ctx, w.scope.WorkspaceID, calls[0].SystemHash)
	must(t, "CallText", err)
	if want := "You are " + w.agent.Name + "."; string(system) != want {
		t.Errorf("the system prompt is %q; want %q", system, want)
	}
	tools, err := w.store.CallText(w.ctx, w.scope.WorkspaceID, calls[0].ToolsHash)
	must(t, "CallText", err)
	if string(tools) != "[]" {
		t.Errorf("the tools are %q", tools)
	}
	_, err = w.store.CallText(w.ctx, w.neighbour(t, "neighbour").scope.WorkspaceID, calls[0].SystemHash)
	refused(t, "a text of another workspace", err, parley.CodeNotFound)
	_, err = w.store.CallText(w.ctx, w.scope.WorkspaceID, parley.HashOf([]byte("never sent")))
	refused(t, "a text that never existed", err, parley.CodeNotFound)
}
