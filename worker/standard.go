package worker

import (
	"context"
	"errors"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/runner"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// standard is the built-in runtime: it asks the model, runs the tools that the
// answer asks for, and asks again, until an answer asks for none.
type standard struct{ w *Worker }

var _ runner.Runtime = (*standard)(nil)

func (s *standard) Name() string { return parley.StandardRuntime }

// Open has nothing to prepare.
func (s *standard) Open(context.Context, parley.Session) error { return nil }

// Close has nothing to forget.
func (s *standard) Close(context.Context, parley.ID) error { return nil }

func (s *standard) Cancel(turnID parley.ID) bool { return s.w.Cancel(turnID) != nil }

func (s *standard) State(sessionID parley.ID) runner.State {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for _, running := range s.w.runs {
		if running.claim.Fence.SessionID == sessionID {
			return runner.Running
		}
	}
	return runner.Idle
}

// RunTurn implements runner.Runtime.
func (s *standard) RunTurn(ctx context.Context, claim store.Claim) error {
	return s.runTurn(ctx, &claim)
}

// runTurn is RunTurn without a copy of the claim, which is large; there is nothing to
// open before it.
func (s *standard) runTurn(ctx context.Context, claim *store.Claim) error {
	t, failure, err := s.begin(ctx, claim)
	if err != nil {
		return err
	}
	if err := t.limits.read(); err != nil { //nolint:contextcheck // the turn holds its contexts
		return err
	}
	defer t.limits.stop()
	defer t.asking.release()
	defer t.responses.keep() //nolint:contextcheck // the turn holds its contexts
	at := place{step: 1, attempt: 1, steers: claim.Steers}
	if claim.Turn.Attempt > 1 {
		if at, err = t.resume(failure); err != nil { //nolint:contextcheck // the turn holds its contexts
			return err
		}
	} else {
		t.limits.within()
	}
	if waits, err := t.keepPace(); err != nil || waits { //nolint:contextcheck // as above
		return err
	}
	if failure != nil && !at.over {
		_, err := t.finish(at, store.TurnEnd{Status: parley.TurnFailed, Failure: failure})
		return err
	}
	for !at.over && err == nil {
		at, err = t.advance(at) //nolint:contextcheck // the turn holds its contexts
	}
	if err == nil {
		t.shortening.keepShort() //nolint:contextcheck // as above
	}
	return err
}

// begin makes a claim's turn and resolves what it runs with, as prepare says.
func (s *standard) begin(ctx context.Context, claim *store.Claim) (t *turn, failure *parley.Failure, err error) {
	t = newTurn(&claimed{
		w: s.w, claim: *claim, fence: claim.Fence, ctx: ctx, writes: s.w.writesOf(ctx, claim),
		author: parley.Author{Kind: parley.AuthorAgent, ID: claim.Agent.ID, Name: claim.Agent.Name},
		last:   max(claim.Session.LastSequence, claim.Trigger.Sequence),
	})
	failure, err = t.prepare()
	return t, failure, err
}

// writesOf is the context of a claim's writes: it outlives a cancel of the turn
// and ends with the lease.
func (w *Worker) writesOf(ctx context.Context, claim *store.Claim) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if running := w.runs[claim.Fence.TurnID]; running != nil {
		return running.lease.ctx
	}
	return context.WithoutCancel(ctx)
}

// place is where a turn stands: before the attempt of a step, or over.
type place struct {
	step, attempt int
	steers        bool // some may wait
	answered      bool // the last answer was final: only a steer is a reason for another step
	over          bool
}

// over is where a turn is that was finished, parked, or given back.
func over() place { return place{over: true} }

// wrote notes a sequence number that the store gave out.
func (c *claimed) wrote(sequence int64) { c.last = max(c.last, sequence) }

// prepare resolves what the turn runs with. A failure ends the turn; an error is
// the store's.
func (t *turn) prepare() (*parley.Failure, error) {
	var project *parley.Project
	if id := t.claim.Session.ProjectID; !id.IsZero() {
		found, err := t.w.store.Project(t.writes, t.fence.WorkspaceID, id)
		switch {
		case err == nil:
			project, t.project = &found, found.Path
		case parley.ErrorCode(err) != parley.CodeNotFound: // deleted meanwhile: as without one
			return nil, err
		}
	}
	err := t.rules.read()
	if err != nil {
		return nil, err
	}
	t.settings, err = prompt.Resolve(t.claim.Agent, t.claim.Session, project, t.claim.Trigger, t.w.models.Default())
	if loop := t.claim.Loop; loop != nil {
		t.settings.Policy = loop.Context.Policy()
	}
	if err == nil {
		t.model, t.info, err = t.w.models.Resolve(t.settings.Model)
	}
	if err == nil {
		t.layers, err = t.w.layersOf(&t.claim.Session, &t.claim.Agent, &t.info)
	}
	if err == nil {
		t.responses.choose()
		t.tools.await()
		err = t.tools.find()
	}
	if err != nil {
		return t.unusable(err), nil
	}
	return nil, nil
}

// unusable is the failure of a turn whose settings make no request.
func (c *claimed) unusable(err error) *parley.Failure {
	detail := err.Error()
	var known *parley.Error
	if errors.As(err, &known) {
		detail = known.Message
	}
	return &parley.Failure{
		Class:    parley.ClassModel,
		Sentence: c.settings.Retry.Sentence(parley.ClassModel),
		Detail:   parley.Clip(detail, 1024),
	}
}

// await gives servers of tools that this process has just started the time
// to answer for the first time. A turn that is resumed at the start would else go
// on without them.
func (t *tools) await() {
	missing := func(ref parley.ToolRef) bool {
		if ref.Definition != nil {
			return false
		}
		prefix, pattern := ref.Pattern()
		return pattern || t.w.tools.Expects(prefix)
	}
	if !slices.ContainsFunc(t.settings.Tools, missing) {
		return
	}
	ctx, stop := context.WithTimeout(t.ctx, toolsPatience)
	defer stop()
	t.w.tools.Await(ctx)
}

// find collects the definitions that the model is shown: in the agent's
// order, those of a pattern by name, each name once.
func (t *tools) find() error {
	seen := make(map[string]bool, len(t.settings.Tools))
	var definitions []parley.ToolDefinition
	add := func(definition parley.ToolDefinition) {
		if seen[definition.Name] {
			return
		}
		seen[definition.Name] = true
		definitions = append(definitions, definition)
	}
	for _, ref := range t.settings.Tools {
		switch {
		case ref.Agent != nil && t.claim.Session.Depth >= parley.MaxToolDepth:
			continue // a call of it would be refused
		case ref.Agent != nil:
			add(ref.Agent.Definition())
			continue
		case ref.Definition != nil:
			add(*ref.Definition)
			continue
		}
		found := t.serverTools(ref)
		if len(found) == 0 {
			t.log().WarnContext(t.ctx, "an agent names a tool that this server does not have",
				"agent_id", t.claim.Agent.ID, "tool", ref.Name)
		}
		for _, tool := range found {
			add(tool.Definition())
		}
	}
	if n := len(definitions); n > parley.MaxTools {
		t.log().WarnContext(t.ctx, "an agent's patterns stand for more tools than a model is shown",
			"agent_id", t.claim.Agent.ID, "tools", n, "shown", parley.MaxTools)
		definitions = definitions[:parley.MaxTools]
	}
	var err error
	t.definitions, err = t.w.toolsets.of(definitions)
	return err
}

// serverTools are the tools of the server that an entry stands for, by name.
func (t *tools) serverTools(ref parley.ToolRef) (found []tool.Tool) {
	prefix, pattern := ref.Pattern()
	if !pattern {
		if tool, ok := t.w.tools.Tool(ref.Name); ok {
			found = append(found, tool)
		}
		return found
	}
	for _, tool := range t.w.tools.Tools() {
		if strings.HasPrefix(tool.Definition().Name, prefix) {
			found = append(found, tool)
		}
	}
	return found
}

// advance takes one step: a request, its answer, and the tools that it asks for.
func (t *turn) advance(at place) (place, error) {
	if t.ctx.Err() != nil {
		return over(), t.leave(nil)
	}
	if failure, err := t.limits.spent(at); err != nil {
		return over(), err
	} else if failure != nil {
		return t.finish(at, store.TurnEnd{Status: parley.TurnFailed, Failure: failure})
	}
	var steers []parley.Message
	if at.steers {
		var err error
		if steers, err = t.w.store.PendingSteers(t.writes, t.fence); err != nil {
			return over(), err
		}
	}
	if at.answered && len(steers) == 0 { // it was taken back
		return t.complete(at)
	}
	t.at = t.w.observer.StepBegan(t.ctx, at.step)
	next, err := t.take(at, steers)
	broken := err
	if code := parley.ErrorCode(
		err,
	); code == parley.CodeMore ||
		code == parley.CodeOverBudget { // a steer changed meanwhile, or others took what was left
		next, err, broken = at, nil, nil
		next.steers = true
	}
	t.w.observer.StepEnded(t.at, broken)
	return next, err
}

// take takes a step that shows steers. CodeMore asks for it to be taken again.
func (t *turn) take(at place, steers []parley.Message) (place, error) {
	q, failure, err := t.requests.question(at, steers)
	if err != nil && t.ctx.Err() != nil { // middleware was at it when the turn's time was over, or it was cancelled
		return over(), t.leave(nil)
	}
	if err != nil {
		return over(), err
	}
	if failure != nil {
		return t.finish(at, store.TurnEnd{Status: parley.TurnFailed, Failure: failure})
	}
	var refusal *store.Refusal
	if t.responses.lookUp(q); q.served == nil { // what was kept costs nothing
		if q.reservation, refusal, err = t.budgets.afford(q); err != nil {
			return over(), err
		}
	}
	if refusal != nil {
		return t.parkRefused(at, refusal)
	}
	a, err := t.asking.ask(q)
	switch {
	case err != nil:
		return over(), err
	case a.failure == nil && a.finish == "":
		return over(), t.leave(a)
	case t.shortening.overflows(a):
		return t.shorten(a)
	}
	t.shortening.noteUsed(a.usage)
	return t.settle(a)
}

// complete ends a turn whose last answer is in the record.
func (t *turn) complete(at place) (place, error) {
	end, err := t.until.completed(nil)
	if err != nil {
		return over(), err
	}
	return t.finish(at, end)
}

// finish ends the turn outside any step; completed, it goes on at a place when a
// steer came first.
func (t *turn) finish(at place, end store.TurnEnd) (place, error) {
	var settled store.StepSettled
	err := t.persist(func() (err error) {
		settled, err = t.w.store.FinishTurn(t.writes, t.fence, end)
		return err
	})
	if err == nil && settled.More && end.Status == parley.TurnCompleted {
		at.steers, at.answered = true, true
		return at, nil
	}
	return over(), err
}

// leave lets go of an interrupted turn: cancelled, it is settled as far as it
// came; on a stop it is given back; after the loss of the lease nothing is
// written.
func (t *turn) leave(a *answer) error {
	switch cause := context.Cause(t.ctx); {
	case errors.Is(cause, ErrCancelled):
		if a == nil || !a.begun {
			_, err := t.finish(over(), store.TurnEnd{Status: parley.TurnCancelled})
			return err
		}
		_, err := t.asking.settleAs(a, parley.MessageCancelled, &store.TurnEnd{Status: parley.TurnCancelled})
		return err
	case errors.Is(cause, errOutOfTime):
		end := store.TurnEnd{Status: parley.TurnFailed, Failure: t.limits.overdue()}
		if a == nil || !a.begun {
			_, err := t.finish(over(), end)
			return err
		}
		a.failure = end.Failure
		a.record()
		_, err := t.asking.settleAs(a, parley.MessageFailed, &end)
		return err
	case errors.Is(cause, ErrStopped):
		if a != nil && a.begun {
			t.w.flusher.flush(t.writes, a.rows)
			a.drop()
		}
		return t.persist(func() error { return t.w.store.ReleaseTurn(t.writes, t.fence) })
	default:
		if a != nil {
			a.drop()
		}
		return parley.Errorf(parley.CodeFenced, "the claim was lost")
	}
}
