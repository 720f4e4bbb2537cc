package worker

import (
	"context"
	"encoding/json"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// TestSingleReadsItsOwnTurn: where a model sees nothing of other turns, a further step reads none of their rows, and
// misses none of its own if others have written to the turn.
func TestSingleReadsItsOwnTurn(t *testing.T) {
	r := newRig(t)
	r.tools = fakeTools{
		{
			"look",
			readOnly(),
			func(context.Context, tool.Call) (json.RawMessage, error) { return json.RawMessage(`1`), nil },
		},
	}
	r.start(nil)
	single := parley.Policy{Kind: parley.PolicySingle}
	session := r.session(tooled("look"), func(s *parley.Session) { s.Policy = &single })
	var last store.Posted
	for range 3 {
		r.model.play(calls(parley.FinishToolCalls, "look", `{}`), says("seen"))
		last = r.post(session, "Look", "")
		r.ended(last.Turn.ID)
	}
	if asked := r.model.asked(); len(asked[5].Messages) != 3 { // task, call, result
		t.Errorf("the last request shows %d messages", len(asked[5].Messages))
	}
	rows, _, err := r.store.ContextTail(t.Context(), r.scope.WorkspaceID, session, 0, 100, parley.MaxPageBytes)
	r.must(err)
	const written = 5 // task, answer, call, result, answer
	for known, want := range map[int64]int{written: written, written - 1: len(rows)} {
		reading := requests{claimed: &claimed{
			w:      r.worker,
			claim:  *last.Claim,
			fence:  last.Claim.Fence,
			writes: t.Context(),
			last:   last.Message.Sequence + known - 1,
		}}
		reading.settings.Policy = single
		got, _, err := reading.tail(0, 100)
		r.must(err)
		if len(got) != want || got[min(written, len(got))-1].ID != last.Message.ID {
			t.Errorf("knowing %d rows of the turn it reads %d, want %d", known, len(got), want)
		}
	}
}
