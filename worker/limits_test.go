package worker

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/tool"
)

// limited returns overrides that limit turns, with tools of the server.
func limited(limits parley.Limits, names ...string) parley.Settings {
	overrides := tooled(names...)
	overrides.Limits = &limits
	return overrides
}

// warnings returns the limits named by limit.warning events.
func (r *rig) warnings(sessionID parley.ID) (limits []string) {
	r.Helper()
	events, err := r.store.Events(r.Context(), r.scope, sessionID, 0, parley.MaxPage)
	r.must(err)
	for _, event := range events {
		var data struct{ Limit, Scope string }
		if event.Type == parley.EventLimitWarning {
			r.must(json.Unmarshal(event.Data, &data))
			limits = append(limits, data.Scope+" "+data.Limit)
		}
	}
	return limits
}

func noop(context.Context, tool.Call) (json.RawMessage, error) {
	return json.RawMessage(`"done"`), nil
}

func TestStepsAreLimited(t *testing.T) {
	r := newRig(t)
	r.tools = fakeTools{{"act", parley.ToolAnnotations{}, noop}}
	r.start(nil)
	for range 7 {
		r.model.play(calls(parley.FinishToolCalls, "act", `{}`))
	}
	sessionID := r.session(limited(parley.Limits{MaxSteps: new(5)}, "act"), nil)
	turn := r.ended(r.post(sessionID, "Go", "").Turn.ID)
	if turn.Status != parley.TurnFailed || turn.Error.Class != parley.ClassLimit ||
		!strings.HasPrefix(turn.Error.Detail, "max_steps:") ||
		r.model.sent() != 5 {
		t.Errorf("turn %s, %+v after %d requests", turn.Status, turn.Error, r.model.sent())
	}
	if diff := cmp.Diff([]string{"turn max_steps"}, r.warnings(sessionID)); diff != "" {
		t.Error(diff)
	}
}

func TestToolCallsAreLimited(t *testing.T) {
	r := newRig(t)
	ran := 0
	r.tools = fakeTools{{"act", parley.ToolAnnotations{}, func(context.Context, tool.Call) (json.RawMessage, error) {
		ran++
		return json.RawMessage(`"done"`), nil
	}}}
	r.start(nil)
	r.model.play(
		calls(parley.FinishToolCalls, "act", `{}`, "act", `{}`),
		calls(parley.FinishToolCalls, "act", `{}`, "act", `{}`),
		says("no"),
	)
	sessionID := r.session(limited(parley.Limits{MaxToolCalls: new(3)}, "act"), nil)
	turn := r.ended(r.post(sessionID, "Go", "").Turn.ID)
	if turn.Status != parley.TurnFailed || turn.Error.Class != parley.ClassLimit ||
		!strings.HasPrefix(turn.Error.Detail, "max_tool_calls:") ||
		ran != 3 {
		t.Errorf("turn %s, %+v after %d calls", turn.Status, turn.Error, ran)
	}
	refused := 0
	for _, l := range r.record(sessionID) {
		if l.Role == parley.RoleToolResult && strings.Contains(l.Says, "max_tool_calls") {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("%d calls were refused, want the one beyond the limit", refused)
	}
}

func TestTimeIsLimitedInTheMiddleOfAnAnswer(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	reached := make(chan struct{})
	r.model.play(hangs(reached, text(0, "Half of")))
	sessionID := r.session(limited(parley.Limits{MaxSeconds: new(1)}), nil)
	turn := r.ended(r.post(sessionID, "Go", "").Turn.ID)
	if turn.Status != parley.TurnFailed || turn.Error.Class != parley.ClassLimit ||
		!strings.HasPrefix(turn.Error.Detail, "max_seconds:") {
		t.Errorf("turn %s, %+v", turn.Status, turn.Error)
	}
	record := r.record(sessionID)
	if last := record[len(record)-1]; last.Status != parley.MessageFailed || last.Says != "Half of" {
		t.Errorf("the partial answer was stored as %+v", last)
	}
	if call := r.callLog(sessionID)[0]; call.Outcome != parley.CallFailed || call.Error == nil ||
		call.Error.Class != parley.ClassLimit {
		t.Errorf("the call ended %s, %+v", call.Outcome, call.Error)
	}
}

func TestTimeIsLimitedInTheMiddleOfATool(t *testing.T) {
	r := newRig(t)
	r.tools = fakeTools{
		{"act", parley.ToolAnnotations{}, func(ctx context.Context, _ tool.Call) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "act", `{}`), says("no"))
	sessionID := r.session(limited(parley.Limits{MaxSeconds: new(1)}, "act"), nil)
	turn := r.ended(r.post(sessionID, "Go", "").Turn.ID)
	if turn.Status != parley.TurnFailed || turn.Error.Class != parley.ClassLimit || r.model.sent() != 1 {
		t.Errorf("turn %s, %+v after %d requests", turn.Status, turn.Error, r.model.sent())
	}
	record := r.record(sessionID)
	if last := record[len(record)-1]; last.Role != parley.RoleToolResult ||
		!strings.Contains(last.Says, "max_seconds") {
		t.Errorf("the tool's call was answered %+v", last)
	}
}

// A turn ends even where nobody set a limit, and each attempt after a fruitless one has less patience.
func TestTurnsHaveAnEndByDefault(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	type seen struct {
		left time.Duration
		less bool
	}
	asked := make(chan seen, 2)
	note := func(ctx context.Context) {
		deadline, _ := ctx.Deadline()
		asked <- seen{time.Until(deadline), model.LessPatience(ctx)}
	}
	r.model.play(func(ctx context.Context, yield func(model.Chunk, error) bool) {
		note(ctx)
		yield(model.Chunk{}, model.NewError(parley.ClassNetwork, true, "the provider sent no content", nil))
	}, func(ctx context.Context, yield func(model.Chunk, error) bool) {
		note(ctx)
		says("Here.")(ctx, yield)
	})
	if turn := r.ended(
		r.post(r.session(parley.Settings{Model: scriptedID}, nil), "Go", "").Turn.ID,
	); turn.Status != parley.TurnCompleted {
		t.Fatalf("turn %s, %+v", turn.Status, turn.Error)
	}
	const most = parley.DefaultMaxSeconds * time.Second
	first, second := <-asked, <-asked
	if first.left <= 0 || first.left > most || second.left <= 0 || second.left > most {
		t.Errorf("the requests have %s and %s", first.left, second.left)
	}
	if first.less || !second.less {
		t.Errorf("less patience: %v, then %v", first.less, second.less)
	}
}

// A provider that trickles endlessly is ended by the turn's time: the turn says so, and the text shown so far stays.
func TestTricklesEnd(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	r.model.play(func(ctx context.Context, yield func(model.Chunk, error) bool) {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				yield(model.Chunk{}, context.Cause(ctx))
				return
			case <-tick.C:
				if !yield(text(0, "drip "), nil) {
					return
				}
			}
		}
	})
	sessionID := r.session(limited(parley.Limits{MaxSeconds: new(1)}), nil)
	turn := r.ended(r.post(sessionID, "Go", "").Turn.ID)
	if turn.Status != parley.TurnFailed || turn.Error.Class != parley.ClassLimit || turn.Error.Sentence == "" ||
		!strings.Contains(turn.Error.Detail, "raise limits.max_seconds") {
		t.Errorf("turn %s, %+v", turn.Status, turn.Error)
	}
	record := r.record(sessionID)
	if last := record[len(record)-1]; last.Status != parley.MessageFailed ||
		!strings.HasPrefix(last.Says, "drip drip ") {
		t.Errorf("the partial answer was stored as %+v", last)
	}
}
