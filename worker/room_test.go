package worker

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/inflight"
	"example.org/parley/model"
	"example.org/parley/runner"
)

// TestLongPromptsWaitForRoom: a turn with a long conversation asks its model once there is room for the prompt; a
// preview of it is refused meanwhile, a short turn needs no room, and a prompt gives its room back.
func TestLongPromptsWaitForRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.start(nil)
	w.prompts = inflight.NewBytes(promptsHold, promptsOfOne)
	workspace := r.scope.WorkspaceID
	if !w.prompts.Take(workspace, promptsOfOne) {
		t.Fatal("no room at the start")
	}
	r.model.play(says("Short."), says("Long."))
	long := r.session(parley.Settings{}, nil)
	waits := r.post(long, strings.Repeat("word ", 2*promptFree), "").Turn.ID
	short := r.ended(r.post(r.session(parley.Settings{}, nil), "Hello", "").Turn.ID)
	if short.Status != parley.TurnCompleted {
		t.Errorf("the short turn is %s, %+v", short.Status, short.Error)
	}
	if asked := r.model.asked(); len(asked) != 1 {
		t.Errorf("the model was asked %d times; want once, for the short turn", len(asked))
	}
	session, err := r.store.Session(t.Context(), r.scope, long)
	r.must(err)
	agent, err := r.store.Agent(t.Context(), workspace, session.AgentID.String())
	r.must(err)
	_, err = w.Preview(t.Context(), runner.DryTurn{Session: session, Agent: agent})
	if parley.ErrorCode(err) != parley.CodeRateLimited {
		t.Errorf("a preview without room: %v; want %s", err, parley.CodeRateLimited)
	}
	w.prompts.Give(workspace, promptsOfOne)
	if turn := r.ended(waits); turn.Status != parley.TurnCompleted {
		t.Errorf("the long turn is %s, %+v", turn.Status, turn.Error)
	}
	r.idleSlots(w)
	if !w.prompts.Take(workspace, promptsOfOne) {
		t.Error("something is still held")
	}
}

// TestAPromptForWhichThereIsNoRoomEver: it fails its turn, and says what to do.
func TestAPromptForWhichThereIsNoRoomEver(t *testing.T) {
	t.Parallel()
	reading := claimed{w: &Worker{prompts: newPrompts()}}
	err := reading.reserve(promptsOfOne*int(inflight.Scale()) + promptFree + 1)
	if _, failure, err := noQuestion(err); err != nil || failure == nil ||
		failure.Class != parley.ClassContextLength {
		t.Errorf("%+v, %v; want a failure of class %s", failure, err, parley.ClassContextLength)
	}
}

// TestRowsAndProviderDataCount: an answer counts with more than its text.
func TestRowsAndProviderDataCount(t *testing.T) {
	t.Parallel()
	data := make([]byte, answerFree+1)
	for name, fill := range map[string]func(a *answer) error{
		"provider data": func(a *answer) error {
			return a.take(&model.Chunk{Kind: model.ChunkProviderData, Data: data})
		},
		"rows": func(a *answer) error {
			for range 1 + answerFree/rowHolds {
				a.rows = append(a.rows, &row{})
			}
			a.blocks = a.rows[:1]
			return a.take(&model.Chunk{Kind: model.ChunkReasoning})
		},
	} {
		w := &Worker{answers: inflight.NewBytes(0, 0)}
		if err := fill(newAnswer(&claimed{w: w}, 1)); err == nil || err.Error() != errCrowded.Error() {
			t.Errorf("%s beyond the free part: %v; want %v", name, err, errCrowded)
		}
	}
}
