package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/observe"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// diary is an observer that writes down its notices, each piece of work under the one whose context it began with.
type diary struct {
	mu     sync.Mutex // guards what follows
	lines  []string
	shown  []observe.Context                   // of the calls, in order
	stored map[observe.Operation][]parley.Code // of calls that failed or were refused
	ended  chan struct{}                       // receives one element per finished run
}

func newDiary() *diary {
	return &diary{stored: map[observe.Operation][]parley.Code{}, ended: make(chan struct{}, 100)}
}

type within struct{}

func (d *diary) note(ctx context.Context, format string, args ...any) context.Context {
	above, _ := ctx.Value(within{}).(string)
	here := above + "/" + fmt.Sprintf(format, args...)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, here)
	return context.WithValue(ctx, within{}, here)
}

func (d *diary) Contents() bool { return true }
func (d *diary) TurnBegan(ctx context.Context, claim *store.Claim) context.Context {
	return d.note(ctx, "turn %d", claim.Turn.Attempt)
}
func (d *diary) TurnEnded(ctx context.Context, ended observe.TurnRun) {
	class := parley.ErrorClass("")
	if ended.Failure != nil {
		class = ended.Failure.Class
	}
	d.note(ctx, "%s%s%s%s", ended.Outcome, class, ended.Waits, ended.Limit)
	d.ended <- struct{}{}
}
func (d *diary) StepBegan(ctx context.Context, step int) context.Context {
	return d.note(ctx, "step %d", step)
}
func (d *diary) StepEnded(ctx context.Context, broken error) {
	d.note(ctx, "ended%s", parley.ErrorCode(broken))
}
func (d *diary) CallBegan(ctx context.Context, begun observe.CallBegun) context.Context {
	return d.note(ctx, "call %d of %d messages", begun.Call.Attempt, len(begun.Request.Messages))
}
func (d *diary) CallEnded(ctx context.Context, ended observe.CallEnded) {
	d.mu.Lock()
	d.shown = append(d.shown, ended.Context)
	d.mu.Unlock()
	if ended.Broken != nil {
		d.note(ctx, "%s", parley.ErrorCode(ended.Broken))
		return
	}
	d.note(
		ctx,
		"%s %d parts, status %d, first %t",
		ended.Settled.Outcome,
		len(ended.Answer()),
		ended.Status,
		ended.FirstToken > 0 && ended.FirstToken <= ended.Took,
	)
}
func (d *diary) CallRetried(ctx context.Context, failed *parley.Call, notice store.RetryNotice) {
	d.note(ctx, "retry of %s for %s", failed.Model, notice.Class)
}
func (d *diary) ToolBegan(ctx context.Context, begun observe.ToolBegun) context.Context {
	return d.note(ctx, "%s %s", begun.Name, begun.Call.Arguments)
}
func (d *diary) ToolEnded(ctx context.Context, ended observe.ToolEnded) {
	d.note(ctx, "%s %s", ended.Outcome, ended.Result.Result)
}
func (d *diary) Claimed(turns int, posted bool) {
	d.note(context.Background(), "claimed %d %t", turns, posted)
}
func (d *diary) LeaseLost()                                        { d.note(context.Background(), "lease lost") }
func (d *diary) CachedResponses(observe.ResponseCacheOutcome, int) {}
func (d *diary) Swept(int)                                         {}
func (d *diary) Stored(operation observe.Operation, _ time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.stored[operation] = append(d.stored[operation], parley.ErrorCode(err))
	}
}

// read returns the diary once the given number of runs is over.
func (d *diary) read(r *rig, runs int) []string {
	r.Helper()
	for range runs {
		r.wait("the end of a run", d.ended)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

func TestObserverFollowsATurn(t *testing.T) {
	r := newRig(t)
	book := newDiary()
	r.options.Observer = book
	r.tools = fakeTools{
		{
			"look",
			readOnly(),
			func(context.Context, tool.Call) (json.RawMessage, error) { return json.RawMessage(`1`), nil },
		},
		{
			"act",
			parley.ToolAnnotations{},
			func(context.Context, tool.Call) (json.RawMessage, error) { return nil, errors.New("no") },
		},
	}
	r.start(nil)
	broken := model.NewError(parley.ClassNetwork, true, "down", nil)
	broken.Status = 502
	r.model.play(fails(broken), calls(parley.FinishToolCalls, "look", `{}`, "act", `{"a":1}`), says("Done."))
	r.post(r.session(tooled("look", "act"), nil), "Go", "")
	want := []string{
		"/claimed 1 true",
		"/turn 1",
		"/turn 1/step 1",
		"/turn 1/step 1/call 1 of 1 messages",
		"/turn 1/step 1/call 1 of 1 messages/failed 0 parts, status 502, first false",
		"/turn 1/step 1/retry of test/script for network",
		"/turn 1/step 1/call 2 of 1 messages",
		"/turn 1/step 1/call 2 of 1 messages/completed 2 parts, status 0, first true",
		"/turn 1/step 1/look {}",
		"/turn 1/step 1/look {}/ok 1",
		`/turn 1/step 1/act {"a":1}`,
		`/turn 1/step 1/act {"a":1}/error null`,
		"/turn 1/step 1/ended",
		"/turn 1/step 2",
		"/turn 1/step 2/call 1 of 3 messages",
		"/turn 1/step 2/call 1 of 3 messages/completed 1 parts, status 0, first true",
		"/turn 1/step 2/ended",
		"/turn 1/completed",
	}
	if diff := cmp.Diff(want, book.read(r, 1)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A run whose claim was taken ends as lost, and each write that the store refused counts as fenced; a failed turn is
// reported with its class, a waiting one as parked.
func TestObserverIsToldHowRunsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		play func(r *rig, sessionID parley.ID)
		want string
	}{
		"failed": {func(r *rig, sessionID parley.ID) {
			r.model.play(fails(model.NewError(parley.ClassAuth, false, "no", nil)))
			r.post(sessionID, "Go", "")
		}, "/turn 1/failedauth"},
		"parked": {func(r *rig, sessionID parley.ID) {
			r.model.play(calls(parley.FinishToolCalls, "ask", `{}`))
			r.post(sessionID, "Go", "")
		}, "/turn 1/parkedtool_result"},
		"without room": {func(r *rig, sessionID parley.ID) {
			limits := parley.Change[*parley.LimitsPatch]{}
			r.must(json.Unmarshal([]byte(`{"max_tokens":5}`), &limits))
			_, err := r.store.UpdateSession(r.Context(), r.scope, sessionID,
				store.SessionChange{Settings: parley.SettingsPatch{Limits: limits}})
			r.must(err)
			r.post(sessionID, "Go", "")
		}, "/turn 1/parkedbudgetmax_tokens"},
		"cancelled": {func(r *rig, sessionID parley.ID) {
			reached := make(chan struct{})
			r.model.play(hangs(reached))
			turnID := r.post(sessionID, "Go", "").Turn.ID
			r.wait("the stream", reached)
			r.worker.Cancel(turnID)
		}, "/turn 1/cancelled"},
		"lost": {func(r *rig, sessionID parley.ID) {
			reached, goOn := make(chan struct{}), make(chan struct{})
			r.model.play(func(_ context.Context, yield func(model.Chunk, error) bool) {
				yield(text(0, "Half"), nil)
				close(reached)
				<-goOn // ignores its context, like a stopped process
				_ = yield(text(0, " and more"), nil) && yield(done(parley.FinishStop), nil)
			})
			turnID := r.post(sessionID, "Go", "").Turn.ID
			r.wait("the stream", reached)
			r.running.Store(nil)
			_, err := r.store.RequestCancel(r.Context(), r.scope, sessionID, turnID, false)
			r.must(err)
			_, err = r.store.TakeCancel(r.Context(), r.scope, sessionID, turnID)
			r.must(err)
			close(goOn)
		}, "/turn 1/lost"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			book := newDiary()
			r.options.Observer = book
			r.start(nil)
			asked := parley.ToolDefinition{Name: "ask", Parameters: json.RawMessage(`{"type":"object"}`)}
			c.play(r, r.session(parley.Settings{Tools: &[]parley.ToolRef{{Name: "ask", Definition: &asked}}}, nil))
			lines := book.read(r, 1)
			if got := lines[len(lines)-1]; got != c.want {
				t.Errorf("the run ended with %q; want %q", got, c.want)
			}
			book.mu.Lock()
			defer book.mu.Unlock()
			fenced := slices.Contains(book.stored[observe.OperationSettleStep], parley.CodeFenced)
			if fenced != (name == "lost") {
				t.Errorf("refused or failed: %v", book.stored)
			}
		})
	}
}
