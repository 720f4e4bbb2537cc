package worker

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// TestWhateverHappens posts, steers, interrupts and cancels at random against a model that answers at random, and
// checks the invariants of the record.
func TestWhateverHappens(t *testing.T) {
	r := newRig(t)
	r.tools = fakeTools{
		{
			"look",
			readOnly(),
			func(context.Context, tool.Call) (json.RawMessage, error) { return json.RawMessage("1"), nil },
		},
		{
			"act",
			parley.ToolAnnotations{},
			func(context.Context, tool.Call) (json.RawMessage, error) { return json.RawMessage("2"), nil },
		},
	}
	r.start(nil)
	rapid.Check(t, func(rt *rapid.T) {
		moods := rapid.SliceOfN(rapid.IntRange(0, 9), 8, 24).Draw(rt, "moods")
		var asked atomic.Int64
		r.model.mu.Lock()
		r.model.endless = func(ctx context.Context, yield func(model.Chunk, error) bool) {
			moody(moods[int(asked.Add(1))%len(moods)])(ctx, yield)
		}
		r.model.mu.Unlock()
		agent := tooled("look", "act")
		agent.Limits = &parley.Limits{MaxSteps: new(8)} // moods without a last answer would go on to the default
		sessions := []parley.ID{r.session(agent, nil), r.session(agent, nil)}
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 11), 1, 12).Draw(rt, "steps") {
			sessionID := sessions[step%2]
			switch step / 2 {
			case 0:
				_, err := r.store.RequestCancel(t.Context(), r.scope, sessionID, parley.ID{}, false)
				if code := parley.ErrorCode(
					err,
				); code != "" && code != parley.CodeNothingToCancel &&
					code != parley.CodeConflict {
					rt.Fatalf("cancel: %v", err)
				}
			default:
				during := []parley.During{"", "", parley.DuringQueue, parley.DuringSteer,
					parley.DuringInterrupt, ""}[step/2]
				r.post(sessionID, "Go", during)
			}
		}
		for _, sessionID := range sessions {
			for id := r.unfinished(sessionID); !id.IsZero(); id = r.unfinished(sessionID) {
				r.ended(id)
			}
		}
		r.idleSlots(r.worker)
		for _, sessionID := range sessions {
			checkRecord(rt, r, sessionID)
		}
	})
}

// unfinished returns a session's first unfinished turn: a steer that was never shown has become a turn of its own.
func (r *rig) unfinished(sessionID parley.ID) parley.ID {
	r.Helper()
	session, err := r.store.Session(r.Context(), r.scope, sessionID)
	r.must(err)
	return session.TurnID
}

// moody returns an answer by number.
func moody(mood int) answerFunc {
	broken := model.NewError(parley.ClassNetwork, true, "down", nil)
	switch mood {
	case 0:
		return calls(parley.FinishToolCalls, "look", "{}", "act", "{}")
	case 1:
		return calls(parley.FinishToolCalls, "act", `{"a`)
	case 2:
		return fails(broken)
	case 3:
		return fails(broken, text(0, "Half"))
	case 4:
		return calls(parley.FinishLength, "look", "{}")
	case 5:
		return chunks(done(parley.FinishStop))
	default:
		return says("Fine.")
	}
}

// checkRecord checks the invariants of a session that is at rest.
func checkRecord(rt *rapid.T, r *rig, sessionID parley.ID) {
	wants := map[string]int{} // results by completed call
	for i, m := range r.messages(sessionID) {
		if m.Sequence != int64(i+1) {
			rt.Fatalf("message %d has sequence %d", i+1, m.Sequence)
		}
		if !m.Status.Settled() || m.ContentHash.IsZero() {
			rt.Fatalf("message %d is %s", i+1, m.Status)
		}
		switch {
		case m.Role == parley.RoleToolCall && m.Status == parley.MessageCompleted:
			wants[m.ToolCallID]++
		case m.Role == parley.RoleToolResult:
			wants[m.ToolCallID]--
		}
	}
	for id, open := range wants {
		if open != 0 {
			rt.Fatalf("call %s lacks %d results", id, open)
		}
	}
	for _, call := range r.callLog(sessionID) {
		// Summaries are written beside the turns, even when the session is idle.
		if call.Outcome == parley.CallOpen && call.Purpose != parley.PurposeCompaction {
			rt.Fatalf("call %d of turn %s is open", call.Ordinal, call.TurnID)
		}
	}
	ends := map[parley.ID]int{}
	r.seen.mu.Lock()
	for i, last := 0, int64(0); i < len(r.seen.events); i++ {
		event := r.seen.events[i]
		if event.SessionID != sessionID {
			continue
		}
		if event.Sequence != last+1 {
			rt.Fatalf("event %d after %d", event.Sequence, last)
		}
		last = event.Sequence
		if event.Type.EndsTurn() {
			ends[event.TurnID]++
		}
	}
	r.seen.mu.Unlock()
	turns, err := r.store.Turns(r.Context(), r.scope, sessionID, store.TurnQuery{Limit: parley.MaxPage})
	r.must(err)
	for _, turn := range turns {
		if !turn.Status.Finished() || ends[turn.ID] != 1 {
			rt.Fatalf("turn %s is %s and ended %d times", turn.ID, turn.Status, ends[turn.ID])
		}
	}
}
