package worker

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// Retrying a failed turn resumes where it failed: its tools do not run again, the model sees their results but not the
// broken answer, and the record stays one.
func TestRetryGoesOnWhereItFailed(t *testing.T) {
	r := newRig(t)
	var ran atomic.Int64
	r.tools = fakeTools{{name: "send", call: func(context.Context, tool.Call) (json.RawMessage, error) {
		ran.Add(1)
		return json.RawMessage(`"sent"`), nil
	}}}
	r.start(nil)
	broken := fails(model.NewError(parley.ClassStream, false, "cut", nil), text(0, "half an ans"))
	r.model.play(calls(parley.FinishToolCalls, "send", `{}`), broken)
	sessionID := r.session(tooled("send"), nil)
	first := r.ended(r.post(sessionID, "Send it", "").Turn.ID)
	if first.Status != parley.TurnFailed {
		t.Fatalf("the turn is %+v", first)
	}
	r.model.play(says("It is sent."))
	resumed, err := r.store.RetryTurn(
		t.Context(),
		r.scope,
		sessionID,
		first.ID,
		store.TurnAgain{TurnID: parley.NewID()},
		parley.ID{},
	)
	r.must(err)
	second := r.ended(resumed.Turn.ID)
	if second.Status != parley.TurnCompleted || second.ContinuesID != first.ID || ran.Load() != 1 {
		t.Errorf("the retry is %+v; the tool ran %d times", second, ran.Load())
	}
	asked := r.model.asked()
	if got, want := roles(asked[2]), roles(asked[1]); !slices.Equal(got, want) {
		t.Errorf("the retry asks with %v, the failed attempt with %v", got, want)
	}
	if got := r.record(sessionID); len(got) != 6 {
		t.Errorf("the record %+v", got)
	}
}

func roles(request model.Request) (roles []string) {
	for _, m := range request.Messages {
		roles = append(roles, string(m.Role))
	}
	return roles
}

// The retry of a cancelled turn leaves out the partial answer.
func TestRetryOfACancelledTurn(t *testing.T) {
	r := newRig(t)
	w := r.start(nil)
	reached := make(chan struct{})
	r.model.play(hangs(reached, text(0, "I was about to")))
	sessionID := r.session(parley.Settings{}, nil)
	first := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the model", reached)
	_, err := r.store.RequestCancel(t.Context(), r.scope, sessionID, first, false)
	r.must(err)
	w.Cancel(first)
	r.ended(first)
	r.model.play(says("Gone."))
	resumed, err := r.store.RetryTurn(
		t.Context(),
		r.scope,
		sessionID,
		first,
		store.TurnAgain{TurnID: parley.NewID()},
		parley.ID{},
	)
	r.must(err)
	if second := r.ended(resumed.Turn.ID); second.Status != parley.TurnCompleted {
		t.Errorf("the retry is %+v", second)
	}
	if got := roles(r.model.asked()[1]); !slices.Equal(got, []string{"user"}) {
		t.Errorf("the retry asks with %v", got)
	}
}

// A turn that ran out of steps resumes where it stopped, with as many steps again.
func TestContinueBeyondTheSteps(t *testing.T) {
	r := newRig(t)
	r.tools = fakeTools{
		{
			name:        "look",
			annotations: parley.ToolAnnotations{ReadOnly: true},
			call: func(context.Context, tool.Call) (json.RawMessage, error) {
				return json.RawMessage(`"nothing"`), nil
			},
		},
	}
	r.start(nil)
	for range parley.DefaultMaxSteps {
		r.model.play(calls(parley.FinishToolCalls, "look", `{}`))
	}
	sessionID := r.session(tooled("look"), nil)
	first := r.ended(r.post(sessionID, "Search", "").Turn.ID)
	if first.Status != parley.TurnFailed || first.Error.Class != parley.ClassLimit {
		t.Fatalf("the turn is %+v", first)
	}
	r.model.play(says("Found."))
	resumed, err := r.store.ContinueTurn(
		t.Context(),
		r.scope,
		sessionID,
		first.ID,
		store.TurnAgain{TurnID: parley.NewID()},
		parley.ID{},
	)
	r.must(err)
	if second := r.ended(resumed.Turn.ID); second.Status != parley.TurnCompleted || second.Step != 1 {
		t.Errorf("the turn goes on as %+v", second)
	}
	if asked := r.model.asked(); len(asked[parley.DefaultMaxSteps].Messages) != 1+2*parley.DefaultMaxSteps {
		t.Errorf(
			"it is asked with %d messages; want the one that began it and %d calls with results",
			len(asked[parley.DefaultMaxSteps].Messages),
			parley.DefaultMaxSteps,
		)
	}
}

// A steer posted while the turn is queued is shown at its first step.
func TestSteerBeforeTheFirstStep(t *testing.T) {
	r := newRig(t)
	sessionID := r.session(parley.Settings{}, nil)
	turn := r.postElsewhere(sessionID, "One").Turn.ID
	message := r.said("also", parley.DuringSteer)
	_, err := r.store.PostMessage(t.Context(), r.scope, sessionID, message, parley.ID{})
	r.must(err)
	r.model.play(says("Both."))
	r.start(nil)
	r.ended(turn)
	if got := roles(r.model.asked()[0]); !slices.Equal(got, []string{"user", "user"}) {
		t.Errorf("the first step asks with %v", got)
	}
}
