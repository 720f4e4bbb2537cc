package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/internal/caught"
	"example.org/parley/internal/dryrun"
	"example.org/parley/internal/inflight"
	"example.org/parley/live"
	"example.org/parley/model"
	"example.org/parley/observe"
	"example.org/parley/prompt"
	"example.org/parley/runner"
	"example.org/parley/runner/standard"
	"example.org/parley/store"
	"example.org/parley/tool"
)

var _ runner.DryRunner = (*Worker)(nil)

// resultDry tells the model that a call without a script did not run.
const resultDry = "Not run: this is a dry run, in which no tool runs and nothing is written."

// dry is a worker for one turn that leaves no trace: the same code path over a store in memory, a hub of its own, and
// tools that answer from a script.
type dry struct {
	*Worker
	memory *dryrun.Memory
	own    *live.Hub
}

// rehearse makes the worker of a dry run. close ends its hub.
func (w *Worker) rehearse(of *runner.DryTurn) *dry {
	memory := dryrun.New(w.store, of.Session, of.Agent, of.Fresh, w.log)
	memory.Change(of.Changed)
	hub := live.New(memory, live.Options{Log: w.log, Poll: time.Hour}) // every commit notifies it
	memory.Tell(hub)
	d := &Worker{
		store:     memory,
		observer:  w.observer,
		models:    w.models,
		hub:       hub,
		options:   w.options,
		log:       w.log,
		tools:     w.tools,
		script:    newScript(of.Script),
		toolsets:  w.toolsets,
		missed:    w.missed,
		pauses:    w.pauses,
		cacheKeys: w.cacheKeys,
		answers:   w.answers,
		prompts:   w.prompts,
		compactor: newCompactor(),
		weights:   w.weights,
		ratios:    w.ratios,
		runs:      map[parley.ID]*run{},
		places:    store.Occupancy{Slots: 1},
	}
	d.flusher = newFlusher(d) // its loop does not run: the hub has the text
	return &dry{Worker: d, memory: memory, own: hub}
}

// checkDry refuses turns that cannot be run dry.
func checkDry(of *runner.DryTurn) error {
	if name := of.Agent.Runtime; name != "" && name != parley.StandardRuntime {
		return parley.InvalidField(
			"dry_run",
			"the agent's runtime %q runs its turns by itself; only %q can be run dry",
			parley.Clip(name, 64),
			parley.StandardRuntime,
		)
	}
	return nil
}

// DryRun implements runner.DryRunner. It uses one of the worker's slots, and Stop ends it like any other run.
func (w *Worker) DryRun(ctx context.Context, of runner.DryTurn) (runner.DryOutcome, error) {
	if err := checkDry(&of); err != nil {
		return runner.DryOutcome{}, err
	}
	slot, ok := w.Offer(of.Session.WorkspaceID)
	if !ok {
		return runner.DryOutcome{}, parley.Errorf(
			parley.CodeUnavailable,
			"This process has no free place for a dry run now. Try again.",
		)
	}
	defer slot.Release()
	return w.dryRun(ctx, &of)
}

// dryRun runs a turn dry in a slot that is reserved.
func (w *Worker) dryRun(ctx context.Context, of *runner.DryTurn) (runner.DryOutcome, error) {
	d := w.rehearse(of)
	defer d.own.Close()
	d.memory.Charge(w.store)
	posted, err := d.memory.Post(of.Message)
	if err != nil {
		return runner.DryOutcome{}, err
	}
	posted.Claim.Session.Mode = of.Session.Mode // the policy and the cache key of its kind
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer w.admitDry(posted.Claim, stop)()
	err = gone(d.runDry(ctx, stop, &posted, of))
	d.toolCalls.Wait()
	turn, messages, calls := d.memory.Outcome(posted.Turn.ID)
	outcome := runner.DryOutcome{Message: posted.Message, Turn: turn, Messages: messages, Calls: calls}
	outcome.Message.ContentHash, outcome.Message.ChainVersion = parley.Hash{}, 0
	if err == nil && !turn.Status.Finished() && turn.Status != parley.TurnWaiting {
		err = parley.WrapError(parley.CodeUnavailable, context.Cause(ctx), "The dry run was ended before its turn was.")
	}
	return outcome, err
}

// gone translates the error of a dry run whose session was deleted meanwhile: such a run holds no claim that it could
// lose.
func gone(err error) error {
	if parley.ErrorCode(err) == parley.CodeFenced {
		return parley.WrapError(
			parley.CodeNotFound,
			err,
			"This session no longer exists: it was deleted a moment ago.",
		)
	}
	return err
}

// maxDryRuns bounds the dry runs of a process that runs no other turns.
const maxDryRuns = 32

// DryRunner runs turns dry, and previews them, in a process that runs no others.
type DryRunner struct {
	w    *Worker
	free chan struct{} // capacity maxDryRuns; each dry run holds one element
}

var _ runner.DryRunner = (*DryRunner)(nil)

// NewDryRunner makes one. Its only goroutines are those of its dry runs, which end with their contexts.
func NewDryRunner(store Store, models model.Source, tools tool.Source, options Options) *DryRunner {
	options = options.withDefaults()
	w := &Worker{
		store:     store,
		models:    models,
		tools:     tools,
		options:   options,
		log:       options.Log,
		toolsets:  newToolsets(),
		missed:    &missed{},
		pauses:    &pauses{},
		cacheKeys: &cacheKeys{},
		answers:   inflight.NewBytes(answersBytes, 0),
		results:   newResults(),
		prompts:   newPrompts(),
		compactor: newCompactor(),
		weights:   &weights{},
		ratios:    &prompt.Ratios{},
		runs:      map[parley.ID]*run{},
		observer:  unobserved{},
	}
	if options.Observer != nil {
		w.observer = options.Observer
	}
	return &DryRunner{w: w, free: make(chan struct{}, maxDryRuns)}
}

// DryRun implements runner.DryRunner.
func (d *DryRunner) DryRun(ctx context.Context, of runner.DryTurn) (runner.DryOutcome, error) {
	if err := checkDry(&of); err != nil {
		return runner.DryOutcome{}, err
	}
	select {
	case d.free <- struct{}{}:
	default:
		return runner.DryOutcome{}, parley.Errorf(
			parley.CodeUnavailable,
			"This process has no free place for a dry run now. Try again.",
		)
	}
	defer func() { <-d.free }()
	return d.w.dryRun(ctx, &of)
}

// Preview implements runner.DryRunner.
func (d *DryRunner) Preview(ctx context.Context, of runner.DryTurn) (runner.Previewed, error) {
	return d.w.Preview(ctx, of)
}

// admitDry lets Stop and the deletion of the session end a dry run. The returned function removes it again.
func (w *Worker) admitDry(claim *store.Claim, stop context.CancelCauseFunc) func() {
	turnID := claim.Fence.TurnID
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.aborted != nil {
		stop(w.aborted)
	}
	w.runs[turnID] = &run{claim: *claim, lease: w.lease, cancel: stop, done: make(chan struct{})}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		close(w.runs[turnID].done)
		delete(w.runs, turnID)
	}
}

// runDry runs the turn and passes on what its watchers would see.
func (d *dry) runDry(
	ctx context.Context,
	stop context.CancelCauseFunc,
	posted *store.Posted,
	of *runner.DryTurn,
) error {
	watcher := d.own.Watch(live.WatchRequest{
		Scope:    store.Scope{WorkspaceID: of.Session.WorkspaceID},
		Sessions: []live.Place{{SessionID: of.Session.ID, After: posted.EventSequence}}, Flush: of.Flush,
	})
	defer watcher.Close()
	watching, enough := context.WithCancel(ctx)
	defer enough()
	var broken error // of the run, once done is closed
	done := make(chan struct{})
	go func() { // ends with the turn, or ctx; this dry run waits for it
		defer close(done)
		defer enough()
		broken = d.runWhole(ctx, posted.Claim)
	}()
	told := relayDry(watching, watcher, of.Sink)
	if told != nil {
		stop(told)
	}
	<-done
	if told == nil {
		told = relayDry(watching, watcher, of.Sink) // the remaining frames
	}
	return errors.Join(told, broken)
}

// runWhole runs a claimed turn. It returns a panic as an error.
func (d *dry) runWhole(ctx context.Context, claim *store.Claim) (err error) {
	began := time.Now()
	ctx = d.observer.TurnBegan(ctx, claim)
	defer func() {
		if value := recover(); value != nil {
			err = parley.WrapError(parley.CodeInternal, caught.New(value), "panic in a dry run")
		}
		turn, _, _ := d.memory.Outcome(claim.Fence.TurnID)
		outcome := observe.RunLeft
		switch turn.Status {
		case parley.TurnCompleted:
			outcome = observe.RunCompleted
		case parley.TurnFailed:
			outcome = observe.RunFailed
		case parley.TurnCancelled:
			outcome = observe.RunCancelled
		case parley.TurnWaiting:
			outcome = observe.RunParked
		}
		d.observer.TurnEnded(
			ctx,
			observe.TurnRun{
				Claim:   claim,
				Outcome: outcome,
				Failure: turn.Error,
				Waits:   turn.WaitReason,
				Took:    time.Since(began),
			},
		)
	}()
	return d.runOn(ctx, claim, standard.Runtime{})
}

// relayDry passes frames on until ctx ends and no frame is left. Its error is the sink's.
func relayDry(ctx context.Context, watcher *live.Watcher, sink runner.DrySink) error {
	for ctx.Err() == nil || watcher.Buffered() {
		frame, err := watcher.Next(ctx)
		if errors.Is(err, io.EOF) || err != nil && ctx.Err() != nil {
			if !watcher.Buffered() {
				return nil
			}
			continue
		}
		switch {
		case err != nil:
			return err
		case sink == nil:
		case frame.Kind == live.EventFrame:
			err = sink.Event(frame.Event)
		case frame.Kind == live.DeltaFrame:
			delta := frame.Delta
			err = sink.Delta(
				runner.DryDelta{
					SessionID: delta.SessionID,
					MessageID: delta.MessageID,
					Kind:      delta.Kind,
					Offset:    delta.Offset,
					End:       delta.End,
					Text:      delta.Text,
				},
			)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Preview implements runner.DryRunner.
func (w *Worker) Preview(ctx context.Context, of runner.DryTurn) (runner.Previewed, error) {
	if err := checkDry(&of); err != nil {
		return runner.Previewed{}, err
	}
	d := w.rehearse(&of)
	defer d.own.Close()
	claim := &store.Claim{
		Fence:   store.Fence{WorkspaceID: of.Session.WorkspaceID, SessionID: of.Session.ID},
		Session: of.Session, Agent: of.Agent,
	}
	if !of.Message.ID.IsZero() {
		posted, err := d.memory.Post(of.Message)
		if err != nil {
			return runner.Previewed{}, err
		}
		claim = posted.Claim
		claim.Session.Mode = of.Session.Mode // the policy and the cache key of its kind
	}
	t, failure, err := d.prepared(ctx, claim)
	if err == nil && failure == nil {
		err = t.limits.read() //nolint:contextcheck // the turn holds its contexts
	}
	if err != nil || failure != nil {
		return runner.Previewed{}, refusedBy(failure, err)
	}
	t.limits.startClock()
	defer t.limits.stop()
	defer t.unreserve()
	shown, err := t.preview() //nolint:contextcheck // as above
	if errors.Is(err, errNoRoom) {
		return runner.Previewed{}, &parley.Error{
			Code: parley.CodeRateLimited, Message: noRoomSentence, RetryAfter: longestRoomPause,
		}
	}
	if late := t.limits.overdue(); err != nil && late != nil {
		return runner.Previewed{}, refusedBy(late, nil)
	}
	return shown, gone(err)
}

// refusedBy returns the error of a preview whose turn would fail.
func refusedBy(failure *parley.Failure, err error) error {
	if err != nil {
		return gone(err)
	}
	text := failure.Detail
	if text == "" {
		text = failure.Sentence
	}
	return parley.Errorf(parley.CodeInvalid, "This turn would fail: %s", text)
}

// preview returns the request of the turn's next step, and whether it would be sent.
func (t *turn) preview() (runner.Previewed, error) {
	t.requests.keepsInputs = true
	t.shortening.waited = true // it shows what there is
	q, failure, err := t.requests.question(position{step: 1, attempt: 1}, nil)
	if err != nil {
		return runner.Previewed{}, err
	}
	if failure != nil && q != nil && q.request != nil &&
		t.claim.Trigger.ID.IsZero() { // no message yet, which some wires cannot express
		return runner.Previewed{
			Call:    q.call,
			Info:    t.info,
			System:  q.system,
			Request: *q.request,
			Shown:   q.shown,
			Output:  t.budgets.longestAnswer(q),
			Tokens:  int(q.tokens),
			Outlook: q.outlook,
		}, nil
	}
	if failure != nil {
		return runner.Previewed{}, refusedBy(failure, nil)
	}
	out := runner.Previewed{
		Call: q.call, Info: t.info, System: q.system, Request: *q.request, Encoded: q.encoded.Body, Shown: q.shown,
		Output: t.budgets.longestAnswer(q), Tokens: int(q.tokens), Outlook: q.outlook,
	}
	_, refusal, err := t.budgets.afford(q)
	if refusal != nil {
		out.Refused = refusal.Sentence
	}
	return out, err
}

// script answers calls of tools in a dry run.
type script struct {
	mu      sync.Mutex // guards results
	results map[string][]parley.ScriptedResult
}

func newScript(results []parley.ScriptedResult) *script {
	s := &script{results: map[string][]parley.ScriptedResult{}}
	for _, result := range results {
		s.results[result.Name] = append(s.results[result.Name], result)
	}
	return s
}

// tool returns the scripted tool that replaces the named one.
func (s *script) tool(name string) tool.Tool { return scriptTool{s, name} }

// scriptTool is a scripted tool. Its calls run one at a time, so that results are taken in the order of the calls.
type scriptTool struct {
	script *script
	name   string
}

func (s scriptTool) Definition() parley.ToolDefinition   { return parley.ToolDefinition{Name: s.name} }
func (s scriptTool) Annotations() parley.ToolAnnotations { return parley.ToolAnnotations{} }
func (s scriptTool) Source() string                      { return "script" }

// sortDry makes the script answer every call of a dry run, whatever would answer it otherwise.
func (t *tools) sortDry(call *toolCall) {
	offers := func(ref parley.ToolRef) bool { return ref.Offers(call.name) }
	switch {
	case t.reader(call):
	case !slices.ContainsFunc(t.settings.Tools, offers):
		call.refusal = fmt.Sprintf(resultUnknown, parley.Clip(call.name, 64))
	case call.malformed:
		call.refusal = resultMalformed
	default:
		call.tool = t.w.script.tool(call.name)
	}
}

// Call takes the next result of the tool.
func (s scriptTool) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(s.answer(ctx, call))
}

func (s scriptTool) answer(context.Context, tool.Call) (json.RawMessage, error) {
	s.script.mu.Lock()
	defer s.script.mu.Unlock()
	left := s.script.results[s.name]
	if len(left) == 0 {
		return nil, parley.Errorf(parley.CodeUnavailable, resultDry)
	}
	next := left[0]
	if len(left) > 1 {
		s.script.results[s.name] = slices.Clone(left[1:])
	}
	if next.Error != "" {
		return nil, parley.Errorf(parley.CodeUnavailable, "%s", next.Error)
	}
	return next.Result, nil
}
