package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/bounded"
	"example.org/parley/store"
)

// lease outlives every test.
const lease = time.Hour

// A recorded call rebuilds to exactly the bytes that were sent.
func TestCallsRebuildExactly(t *testing.T) {
	t.Parallel()
	h := newHouse(t, realWorker)
	agent, _, err := h.CreateAgent(t.Context(), h.member, engine.AgentInput{
		Name: "Clock",
		Settings: parley.Settings{
			SystemPrompt: new("You are the clock of {{session.title}}."),
			Model:        "sim/tool",
			Tools:        &[]parley.ToolRef{{Name: "current_time"}},
		},
	}, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	session := h.open(t, engine.SessionInput{AgentID: agent.Slug, Title: "the hall"})
	for range 2 {
		if turn := h.finish(t, h.post(t, session.ID, say("What time is it?"))); turn.Status != parley.TurnCompleted {
			t.Fatalf("the turn is %s: %+v", turn.Status, turn.Error)
		}
	}
	calls, err := h.Calls(t.Context(), h.member, session.ID, engine.CallList{})
	if err != nil || len(calls.Data) != 4 {
		t.Fatalf("%d calls, %v; want 4", len(calls.Data), err)
	}
	for _, call := range calls.Data {
		detail, err := h.Call(t.Context(), h.member, call.ID)
		if err != nil {
			t.Fatal(err)
		}
		if !detail.Exact || detail.Reason != "" || !json.Valid(detail.Request) {
			t.Errorf("step %d: exact %v, %s", call.Step, detail.Exact, detail.Reason)
		}
		if detail.System != "You are the clock of the hall." ||
			!strings.Contains(string(detail.Tools), "current_time") {
			t.Errorf("system %q, tools %s", detail.System, detail.Tools)
		}
	}
	// A page never splits a turn, whatever its limit.
	list := engine.MessageList{Paging: engine.Paging{Limit: 1}}
	var kinds []string
	for {
		page, err := h.Transcript(t.Context(), h.member, session.ID, list)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range page.Data {
			line := string(entry.Role)
			for _, block := range entry.Blocks {
				line += " " + string(block.Type)
			}
			kinds = append(kinds, line)
		}
		if page.Next == nil {
			break
		}
		kinds, list.Cursor = append(kinds, "page"), *page.Next
	}
	answer := "assistant tool_call content"
	if diff := cmp.Diff([]string{"user", answer, "page", "user", answer}, kinds); diff != "" {
		t.Errorf("transcript by pages (-want +got):\n%s", diff)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	session := h.open(t, engine.SessionInput{})
	_, err := h.Cancel(t.Context(), h.member, session.ID, engine.CancelInput{})
	wantCode(t, err, parley.CodeNothingToCancel, "")

	// Nobody runs it: it is settled immediately; repeating gives the same answer.
	posted := h.post(t, session.ID, say("wait"))
	for range 2 {
		result, err := h.Cancel(t.Context(), h.member, session.ID, engine.CancelInput{TurnID: posted.Turn.ID})
		if err != nil || result.Turn.Status != parley.TurnCancelled || result.By != parley.ByCanceller {
			t.Fatalf("Cancel = %+v, %v", result, err)
		}
	}

	// Its holder settles it.
	runner, e := newSlots(t, h)
	posted, err = e.PostMessage(t.Context(), h.member, session.ID, say("run"), store.Idempotency{})
	if err != nil || len(runner.ran) != 1 {
		t.Fatalf("%d ran, %v", len(runner.ran), err)
	}
	fence := runner.ran[0].Fence
	runner.cancel = func(parley.ID) <-chan struct{} {
		done := make(chan struct{})
		if _, err := h.store.FinishTurn(t.Context(), fence, store.TurnEnd{Status: parley.TurnCancelled}); err != nil {
			t.Error(err)
		}
		close(done)
		return done
	}
	result, err := e.Cancel(t.Context(), h.member, session.ID, engine.CancelInput{})
	if err != nil || result.Turn.ID != posted.Turn.ID || result.Turn.Status != parley.TurnCancelled ||
		result.By != parley.ByHolder {
		t.Fatalf("Cancel = %+v, %v", result, err)
	}

	// Its holder ends without settling, like one that lost its database: the cancel takes the turn.
	posted, err = e.PostMessage(t.Context(), h.member, session.ID, say("stuck"), store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	runner.cancel = func(parley.ID) <-chan struct{} {
		done := make(chan struct{})
		close(done)
		return done
	}
	result, err = e.Cancel(t.Context(), h.member, session.ID, engine.CancelInput{})
	if err != nil || result.Turn.ID != posted.Turn.ID || result.Turn.Status != parley.TurnCancelled ||
		result.By != parley.ByCanceller {
		t.Fatalf("Cancel = %+v, %v", result, err)
	}

	// Its holder finishes the turn meanwhile.
	posted, err = e.PostMessage(t.Context(), h.member, session.ID, say("quick"), store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	fence = runner.ran[2].Fence
	runner.cancel = func(parley.ID) <-chan struct{} {
		done := make(chan struct{})
		if _, err := h.store.FinishTurn(t.Context(), fence, store.TurnEnd{Status: parley.TurnCompleted}); err != nil {
			t.Error(err)
		}
		close(done)
		return done
	}
	_, err = e.Cancel(t.Context(), h.member, session.ID, engine.CancelInput{TurnID: posted.Turn.ID})
	wantCode(t, err, parley.CodeConflict, "")
}

// The holder is another process: the cancel sees in the store that it settled, and takes the turn from a holder that
// never answers.
func TestCancelAcrossProcesses(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	runner, e := newSlots(t, h)
	start := func() store.Posted {
		posted, err := e.PostMessage(
			t.Context(),
			h.member,
			h.open(t, engine.SessionInput{}).ID,
			say("run"),
			store.Idempotency{},
		)
		if err != nil {
			t.Fatal(err)
		}
		return posted
	}
	type answer struct {
		result engine.CancelResult
		err    error
	}
	cancel := func(session parley.ID) <-chan answer {
		done := make(chan answer, 1)
		go func() { // ends with the cancel
			result, err := h.Cancel(t.Context(), h.member, session, engine.CancelInput{})
			done <- answer{result, err}
		}()
		return done
	}

	posted := start()
	done := cancel(posted.Message.SessionID)
	for asked := false; !asked; { // the holder learns of it when it renews its lease
		cancels, err := h.store.RenewLease(t.Context(), runner.process, lease)
		if err != nil {
			t.Fatal(err)
		}
		asked = len(cancels) == 1 && cancels[0] == posted.Turn.ID
	}
	if _, err := h.store.FinishTurn(
		t.Context(),
		runner.ran[0].Fence,
		store.TurnEnd{Status: parley.TurnCancelled},
	); err != nil {
		t.Fatal(err)
	}
	if got := bounded.Receive(
		t,
		done,
		"the cancel to return",
	); got.err != nil || got.result.By != parley.ByHolder ||
		got.result.Turn.Status != parley.TurnCancelled {
		t.Errorf("a holder that settles: %+v, %v", got.result, got.err)
	}

	posted = start()
	if got := <-cancel(
		posted.Message.SessionID,
	); got.err != nil || got.result.By != parley.ByCanceller ||
		got.result.Turn.Status != parley.TurnCancelled {
		t.Errorf("a holder that never answers: %+v, %v", got.result, got.err)
	}
	_, err := h.store.FinishTurn(t.Context(), runner.ran[1].Fence, store.TurnEnd{Status: parley.TurnCompleted})
	wantCode(t, err, parley.CodeFenced, "")
}
