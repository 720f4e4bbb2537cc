package storetest

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testRecovery(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"AStreamingMessageFailsInterrupted": recoverStreaming,
		"WithoutVersionsItIsEmpty":          recoverEmpty,
		"EveryRowOfTheStep":                 recoverBlocks,
		"SettledStepsAreKept":               recoverSettled,
		"NothingWasBegun":                   recoverNothing,
		"RecoveringTwice":                   recoverTwice,
	})
}

// takenOver loses a claim to an expired lease and claims the turn again.
func (w *world) takenOver(t reporter, claim store.Claim) store.Claim {
	t.Helper()
	w.expire(t, w.process)
	w.check(t, claim.Fence.SessionID)
	w.process = w.register(t)
	again := w.claim(t)
	if again.Turn.ID != claim.Turn.ID || again.Turn.Attempt != claim.Turn.Attempt+1 ||
		again.Fence.Epoch <= claim.Fence.Epoch {
		t.Fatalf("the claim after a takeover is %+v", again)
	}
	return again
}

func recoverStreaming(t *testing.T, w *world) {
	claim := w.started(t, "one")
	begin := w.begin(t, claim.Fence, 1)
	w.flush(t, claim.Fence, begin.Call.MessageID, 1, 0, "Half an ")
	w.flush(t, claim.Fence, begin.Call.MessageID, 2, 8, "answ")
	again := w.takenOver(t, claim)
	state, err := w.store.RecoverTurn(w.ctx, again.Fence)
	must(t, "RecoverTurn", err)
	s := w.check(t, claim.Fence.SessionID)
	m := s.Record[1]
	if m.Status != parley.MessageFailed || m.Error == nil || m.Error.Class != parley.ClassInterrupted ||
		string(m.Content) != `{"parts":[{"text":"Half an answ","type":"text"}]}` {
		t.Errorf("the message is %s with %s and %+v", m.Status, m.Content, m.Error)
	}
	if s.Calls[0].Outcome != parley.CallInterrupted || s.Calls[0].Usage != (parley.Usage{}) {
		t.Errorf("the call is %+v", s.Calls[0])
	}
	if len(state.Messages) != 2 || state.Messages[1].Status != parley.MessageFailed || state.Attempts != 1 ||
		!hasEvent(s.Events, parley.EventStepError, 1) {
		t.Errorf("the turn has %+v", state)
	}
	w.answer(t, store.Claim{Fence: again.Fence}, "a whole answer")
	if s := w.check(t, claim.Fence.SessionID); s.Session.Status != parley.SessionCompleted || len(s.Record) != 3 {
		t.Errorf("after the second attempt the session is %s with %d messages", s.Session.Status, len(s.Record))
	}
}

func recoverEmpty(t *testing.T, w *world) {
	claim := w.started(t, "one")
	w.begin(t, claim.Fence, 1)
	again := w.takenOver(t, claim)
	_, err := w.store.RecoverTurn(w.ctx, again.Fence)
	must(t, "RecoverTurn", err)
	if m := w.check(t, claim.Fence.SessionID).Record[1]; m.Status != parley.MessageFailed ||
		string(m.Content) != `{"parts":[]}` {
		t.Errorf("the message is %s with %s", m.Status, m.Content)
	}
}

func recoverBlocks(t *testing.T, w *world) {
	claim := w.started(t, "one")
	begin := w.begin(t, claim.Fence, 1)
	call := parley.NewID()
	_, err := w.store.OpenBlock(w.ctx, claim.Fence, store.BlockOpen{
		MessageID:  call,
		Step:       1,
		Role:       parley.RoleToolCall,
		Author:     w.author(),
		Model:      modelID,
		ToolCallID: "call_1",
		ToolName:   "clock",
	})
	must(t, "OpenBlock", err)
	appended, err := w.store.AppendVersions(w.ctx, []store.FencedVersion{
		{
			Fence: claim.Fence,
			Version: parley.Version{
				MessageID: begin.Call.MessageID,
				N:         1,
				Kind:      parley.KindReasoning,
				End:       4,
				Text:      "hmm ",
				Chunks:    1,
			},
		},
		{
			Fence: claim.Fence,
			Version: parley.Version{
				MessageID: begin.Call.MessageID,
				N:         2,
				Kind:      parley.KindText,
				End:       2,
				Text:      "So",
				Chunks:    2,
			},
		},
		{
			Fence: claim.Fence,
			Version: parley.Version{
				MessageID: call,
				N:         1,
				Kind:      parley.KindArguments,
				End:       5,
				Text:      `{"a":`,
				Chunks:    1,
			},
		},
	})
	if err != nil || skipped(appended) != 0 {
		t.Fatalf("AppendVersions: %+v, %v", appended, err)
	}
	again := w.takenOver(t, claim)
	_, err = w.store.RecoverTurn(w.ctx, again.Fence)
	must(t, "RecoverTurn", err)
	s := w.check(t, claim.Fence.SessionID)
	if string(s.Record[1].Content) != `{"parts":[{"text":"hmm ","type":"reasoning"},{"text":"So","type":"text"}]}` {
		t.Errorf("the assistant's row is %s", s.Record[1].Content)
	}
	if m := s.Record[2]; m.Status != parley.MessageFailed || m.Role != parley.RoleToolCall {
		t.Errorf("the call's row is %s %s", m.Status, m.Content)
	}
	w.answer(t, store.Claim{Fence: again.Fence}, "done")
	w.check(t, claim.Fence.SessionID)
}

func recoverSettled(t *testing.T, w *world) {
	claim := w.started(t, "one")
	calls := w.callTools(t, claim.Fence, 1, 1)
	again := w.takenOver(t, claim)
	before := w.snapshot(t, claim.Fence.SessionID)
	state, err := w.store.RecoverTurn(w.ctx, again.Fence)
	must(t, "RecoverTurn", err)
	w.unchanged(t, "a recovery with nothing open", claim.Fence.SessionID, before)
	if len(state.Messages) != 3 || state.Messages[2].ToolCallID != calls[0] ||
		state.Messages[2].Status != parley.MessageCompleted ||
		again.Turn.Step != 1 {
		t.Errorf("the turn has %+v at step %d; want its settled step", state.Messages, again.Turn.Step)
	}
	for i := range state.Messages { // all texts of a turn may be larger than the memory
		m := &state.Messages[i]
		if isCall := m.Role == parley.RoleToolCall; isCall != (string(m.Content) != "null") || m.ProviderData != nil {
			t.Errorf("a recovery reads the %s with %.100s", m.Role, m.Content)
		}
	}
	_, err = w.store.SettleTool(w.ctx, again.Fence, w.toolSettle(1, calls[0]))
	must(t, "SettleTool", err)
	w.answer(t, again, "done")
	w.check(t, claim.Fence.SessionID)
}

func recoverNothing(t *testing.T, w *world) {
	claim := w.started(t, "one")
	again := w.takenOver(t, claim)
	state, err := w.store.RecoverTurn(w.ctx, again.Fence)
	must(t, "RecoverTurn", err)
	if len(state.Messages) != 1 || state.Messages[0].ID != claim.Trigger.ID || state.Attempts != 0 {
		t.Errorf("the turn has %+v", state)
	}
	w.answer(t, again, "done")
	w.check(t, claim.Fence.SessionID)
}

func recoverTwice(t *testing.T, w *world) {
	claim := w.started(t, "one")
	w.begin(t, claim.Fence, 1)
	again := w.takenOver(t, claim)
	_, err := w.store.RecoverTurn(w.ctx, again.Fence)
	must(t, "RecoverTurn", err)
	before := w.snapshot(t, claim.Fence.SessionID)
	_, err = w.store.RecoverTurn(w.ctx, again.Fence)
	must(t, "RecoverTurn again", err)
	w.unchanged(t, "a second recovery", claim.Fence.SessionID, before)
}
