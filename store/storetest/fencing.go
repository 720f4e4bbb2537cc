package storetest

import (
	"slices"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// fenced lists every method that carries a claim, with arguments that a valid claim would make legal.
func (w *world) fenced(fence store.Fence, begin store.StepBegin, call string) map[string]func() error {
	settle := settlement(begin, "late")
	finish := settlement(begin, "late")
	finish.End = completed()
	return map[string]func() error{
		"RecoverTurn":   func() error { _, err := w.store.RecoverTurn(w.ctx, fence); return err },
		"PendingSteers": func() error { _, err := w.store.PendingSteers(w.ctx, fence); return err },
		"BeginStep": func() error {
			_, err := w.store.BeginStep(w.ctx, fence, w.stepBegin(begin.Call.Step+1, 1))
			return err
		},
		"NoteProgress": func() error {
			return w.store.NoteProgress(w.ctx, fence, store.ProgressNote{ToolCallID: call, ToolName: "look"})
		},
		"RetryCall": func() error {
			return w.store.RetryCall(
				w.ctx,
				fence,
				begin.Call.Step,
				callEnd(begin.Call.ID, parley.CallFailed),
				store.RetryNotice{Attempt: 2, Class: parley.ClassNetwork},
			)
		},
		"BeginCall": func() error {
			next := w.stepBegin(begin.Call.Step, 2)
			next.Call.MessageID = begin.Call.MessageID
			return w.store.BeginCall(w.ctx, fence, next)
		},
		"OpenBlock": func() error {
			_, err := w.store.OpenBlock(
				w.ctx,
				fence,
				store.BlockOpen{
					MessageID: parley.NewID(),
					Step:      begin.Call.Step,
					Role:      parley.RoleAssistant,
					Author:    w.author(),
					Model:     modelID,
				},
			)
			return err
		},
		"SettleStep":         func() error { _, err := w.store.SettleStep(w.ctx, fence, settle); return err },
		"SettleStep and end": func() error { _, err := w.store.SettleStep(w.ctx, fence, finish); return err },
		"SettleTool": func() error {
			_, err := w.store.SettleTool(w.ctx, fence, w.toolSettle(begin.Call.Step, call))
			return err
		},
		"ParkTurn":    func() error { _, err := w.store.ParkTurn(w.ctx, fence, parley.WaitToolResult); return err },
		"FinishTurn":  func() error { _, err := w.store.FinishTurn(w.ctx, fence, *completed()); return err },
		"ReleaseTurn": func() error { return w.store.ReleaseTurn(w.ctx, fence) },
		"AppendVersions": func() error {
			appended, err := w.store.AppendVersions(w.ctx, []store.FencedVersion{{Fence: fence, Version: parley.Version{
				MessageID: begin.Call.MessageID, N: 9, Kind: parley.KindText, End: 4, Text: "late",
			}}})
			if err == nil && skipped(appended) == 1 && slices.Contains(appended.Fenced, fence) {
				return parley.Errorf(parley.CodeFenced, "skipped")
			}
			return err
		},
	}
}

func testFencing(t *testing.T, open Open) {
	// Each way ends the claim of a turn whose first step called a tool and whose second step is streaming.
	ways := map[string]func(*testing.T, *world, store.Claim){
		"taken over": func(t *testing.T, w *world, c store.Claim) { w.expire(t, w.process) },
		"claimed by another": func(t *testing.T, w *world, c store.Claim) {
			w.expire(t, w.process)
			w.claimAs(t, w.register(t))
		},
		"released": func(t *testing.T, w *world, c store.Claim) {
			must(t, "ReleaseTurn", w.store.ReleaseTurn(w.ctx, c.Fence))
		},
		"cancelled": func(t *testing.T, w *world, c store.Claim) {
			_, err := w.store.RequestCancel(w.ctx, w.scope, c.Fence.SessionID, parley.ID{}, false)
			must(t, "RequestCancel", err)
			_, err = w.store.TakeCancel(w.ctx, w.scope, c.Fence.SessionID, c.Turn.ID)
			must(t, "TakeCancel", err)
		},
		"finished": func(t *testing.T, w *world, c store.Claim) {
			s := w.snapshot(t, c.Fence.SessionID)
			call := s.Calls[len(s.Calls)-1]
			settle := settlement(store.StepBegin{Call: call}, "done")
			settle.End = completed()
			w.settle(t, c.Fence, settle)
		},
		"deleted": func(t *testing.T, w *world, c store.Claim) {
			must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, c.Fence.SessionID))
		},
		"deleted and purged": func(t *testing.T, w *world, c store.Claim) {
			must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, c.Fence.SessionID))
			w.drainOutbox(t)
		},
	}
	tests := map[string]func(*testing.T, *world){
		"OfAnotherWorkspace": fenceOfAnotherWorkspace,
		"OfAnotherTurn":      fenceOfAnotherTurn,
		"SkipsAloneInABatch": fenceInABatch,
	}
	for name, lose := range ways {
		tests["Claim "+name] = func(t *testing.T, w *world) {
			claim := w.started(t, "one")
			calls := w.callTools(t, claim.Fence, 1, 1)
			_, err := w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(1, calls[0]))
			must(t, "SettleTool", err)
			begin := w.begin(t, claim.Fence, 2)
			w.flush(t, claim.Fence, begin.Call.MessageID, 1, 0, "part")
			lose(t, w, claim)
			w.allFenced(t, claim.Fence, begin, calls[0], name != "deleted" && name != "deleted and purged")
		}
	}
	cases(t, open, tests)
}

func (w *world) allFenced(t *testing.T, fence store.Fence, begin store.StepBegin, call string, readable bool) {
	t.Helper()
	var before Snapshot
	if readable {
		before = w.check(t, fence.SessionID)
	}
	for name, run := range w.fenced(fence, begin, call) {
		refused(t, name, run(), parley.CodeFenced)
		if readable {
			w.unchanged(t, name, fence.SessionID, before)
		}
	}
}

func fenceOfAnotherWorkspace(t *testing.T, w *world) {
	claim := w.started(t, "one")
	begin := w.begin(t, claim.Fence, 1)
	fence := claim.Fence
	fence.WorkspaceID = w.neighbour(t, "other").scope.WorkspaceID
	w.allFenced(t, fence, begin, "call", true)
	fence = claim.Fence
	fence.SessionID = parley.NewID()
	for name, run := range w.fenced(fence, begin, "call") {
		refused(t, name+" of an unknown session", run(), parley.CodeFenced)
	}
}

func fenceOfAnotherTurn(t *testing.T, w *world) {
	claim := w.started(t, "one")
	begin := w.begin(t, claim.Fence, 1)
	queued := w.post(t, claim.Fence.SessionID, w.say("two"))
	fence := claim.Fence
	fence.TurnID = queued.Turn.ID
	w.allFenced(t, fence, begin, "call", true)
	fence = claim.Fence
	fence.Epoch++
	w.allFenced(t, fence, begin, "call", true)
}

func fenceInABatch(t *testing.T, w *world) {
	stale, valid := w.started(t, "one"), w.started(t, "two")
	lost, kept := w.begin(t, stale.Fence, 1), w.begin(t, valid.Fence, 1)
	must(t, "ReleaseTurn", w.store.ReleaseTurn(w.ctx, stale.Fence))
	version := func(fence store.Fence, message parley.ID) store.FencedVersion {
		return store.FencedVersion{
			Fence:   fence,
			Version: parley.Version{MessageID: message, N: 1, Kind: parley.KindText, End: 4, Text: "text", Chunks: 1},
		}
	}
	appended, err := w.store.AppendVersions(
		w.ctx,
		[]store.FencedVersion{version(stale.Fence, lost.Call.MessageID), version(valid.Fence, kept.Call.MessageID)},
	)
	must(t, "AppendVersions", err)
	if skipped(appended) != 1 || !slices.Contains(appended.Fenced, stale.Fence) {
		t.Errorf("skipped: %+v; want only the released claim", appended)
	}
	for message, want := range map[parley.ID]int{lost.Call.MessageID: 0, kept.Call.MessageID: 1} {
		versions, err := w.store.Versions(w.ctx, w.scope, message)
		if err != nil || len(versions) != want {
			t.Errorf("message %s has %d versions, %v; want %d", message, len(versions), err, want)
		}
	}
}
