package worker

import (
	"context"
	"encoding/json"
	"errors"

	"example.org/parley"
	"example.org/parley/runner"
	"example.org/parley/store"
)

var _ runner.Turn = (*turn)(nil)

// position is where a turn stands: before an attempt at a step.
type position struct {
	step, attempt int
	steers        bool // steers may be waiting
	answered      bool // the last answer was final: only a steer causes another step
}

// after returns the position after a step that has its results.
func after(step int) position { return position{step: step + 1, attempt: 1, steers: true} }

// Claim implements runner.Turn.
func (t *turn) Claim() *store.Claim { return &t.claim }

// Context implements runner.Turn.
func (t *turn) Context() context.Context { return t.ctx }

// Cancelled implements runner.Turn.
func (t *turn) Cancelled() bool { return errors.Is(context.Cause(t.ctx), ErrCancelled) }

// Project implements runner.Turn.
func (t *turn) Project() string { return t.project }

// Instructions implements runner.Turn.
func (t *turn) Instructions() string { return t.settings.System }

// Permits implements runner.Turn.
func (t *turn) Permits(name string) (bool, error) { return t.rules.permits(name) }

// Denies implements runner.Turn.
func (t *turn) Denies(name string, arguments json.RawMessage) bool {
	return t.rules.grants.Decide(name, arguments, parley.ToolAnnotations{}).Effect == parley.GrantDeny
}

// Record implements runner.Turn.
func (t *turn) Record(query store.MessageQuery) ([]parley.Message, error) {
	return t.w.store.Messages(t.writes, store.Scope{WorkspaceID: t.fence.WorkspaceID}, t.fence.SessionID, query)
}

// Begin implements runner.Turn.
func (t *turn) Begin(speaker runner.Speaker) (runner.Next, error) {
	t.speaker = speaker
	failure, err := t.prepare()
	if err != nil {
		return runner.Over, err
	}
	if err := t.limits.read(); err != nil {
		return runner.Over, err
	}
	next := runner.AskNext
	t.position = position{step: 1, attempt: 1, steers: t.claim.Steers}
	if t.claim.Turn.Attempt > 1 {
		if next, err = t.resume(failure); err != nil || next == runner.Over {
			return runner.Over, err
		}
	} else {
		t.limits.startClock()
	}
	if waits, err := t.keepPace(); err != nil || waits {
		return runner.Over, err
	}
	if failure == nil {
		return next, nil
	}
	for err == nil && (next == runner.CallNext || next == runner.WaitNext) {
		if next == runner.CallNext {
			next, err = t.Call()
		} else {
			next, err = t.Wait()
		}
	}
	if err != nil || next == runner.Over {
		return runner.Over, err
	}
	return t.finish(store.TurnEnd{Status: parley.TurnFailed, Failure: failure})
}

// Ask implements runner.Turn: it sends a request and stores its answer.
func (t *turn) Ask() (runner.Next, error) {
	if t.ctx.Err() != nil {
		return runner.Over, t.leave(nil)
	}
	if failure, err := t.limits.spent(t.position); err != nil {
		return runner.Over, err
	} else if failure != nil {
		return t.finish(store.TurnEnd{Status: parley.TurnFailed, Failure: failure})
	}
	var steers []parley.Message
	if t.position.steers && (t.speaker == nil || t.speaker.Listens()) {
		var err error
		if steers, err = t.w.store.PendingSteers(t.writes, t.fence); err != nil {
			return runner.Over, err
		}
	}
	if t.position.answered && len(steers) == 0 { // the steer was removed
		return t.complete()
	}
	if err := t.shortening.enterLate(); err != nil {
		return runner.Over, err
	}
	t.beginStep(t.position.step)
	next, err := t.take(steers)
	broken := err
	code := parley.ErrorCode(err)
	if code == parley.CodeMore || code == parley.CodeOverBudget {
		// A steer changed meanwhile, or other calls used up the rest of the budget.
		next, err, broken = runner.AskNext, nil, nil
		t.position.steers = true
	}
	if errors.Is(err, errFull) {
		t.position.steers = true
		err = t.shortening.awaitSummary()
		next, broken = runner.AskNext, err
	}
	if errors.Is(err, errNoRoom) {
		next, err, broken = runner.AskNext, nil, nil
		t.position.steers = true
		if !t.awaitRoom() {
			next, err = runner.Over, t.leave(nil)
		}
	}
	if next != runner.CallNext && next != runner.FinishNext {
		t.endStep(broken)
	}
	return next, err
}

// Call implements runner.Turn.
func (t *turn) Call() (next runner.Next, err error) {
	t.beginStep(t.position.step)
	defer func() {
		if next != runner.WaitNext {
			t.endStep(err)
		}
	}()
	if a := t.answer; a != nil {
		t.answer = nil
		if a.finish == parley.FinishLength {
			if _, err := t.asking.settleAs(a, parley.MessageCompleted, nil); err != nil {
				return runner.Over, err
			}
			return t.endTruncated(t.calls)
		}
		if err := t.settleCalls(a); err != nil {
			return runner.Over, err
		}
	}
	return t.runCalls()
}

// Wait implements runner.Turn.
func (t *turn) Wait() (runner.Next, error) {
	err := t.persist(func() error {
		_, err := t.w.store.ParkTurn(t.writes, t.fence, waitReason(t.calls))
		return err
	})
	if parley.ErrorCode(err) == parley.CodeMore {
		if err = t.tools.reconsider(t.position.step, t.calls); err == nil {
			return runner.CallNext, nil
		}
	}
	t.endStep(err)
	return runner.Over, err
}

// Finish implements runner.Turn.
func (t *turn) Finish(failure *parley.Failure) (next runner.Next, err error) {
	defer func() { t.endStep(err) }()
	a := t.answer
	if a == nil && failure != nil {
		return t.finish(store.TurnEnd{Status: parley.TurnFailed, Failure: failure})
	}
	if a == nil {
		return t.complete()
	}
	t.answer = nil
	end := store.TurnEnd{Status: parley.TurnFailed, Failure: failure}
	if failure == nil {
		if end, err = t.until.completed(a); err != nil {
			a.drop()
			return runner.Over, err
		}
		end.Transform = t.transforms.end
	}
	more, err := t.asking.settleAs(a, parley.MessageCompleted, &end)
	if err != nil || !more {
		return runner.Over, err
	}
	t.position = after(a.step)
	t.position.answered = true
	return runner.AskNext, nil
}

// close releases what a run has held.
func (t *turn) close() {
	t.responses.keep()
	t.asking.release()
	t.unreserve()
	t.limits.stop()
}

// beginStep tells the observer of a step, once.
func (t *turn) beginStep(step int) {
	if !t.stepping {
		t.stepping, t.at = true, t.w.observer.StepBegan(t.ctx, step)
	}
}

func (t *turn) endStep(broken error) {
	if t.stepping {
		t.stepping = false
		t.w.observer.StepEnded(t.at, broken)
	}
}

// take asks for the answer of a step that shows steers. CodeMore asks for another call.
func (t *turn) take(steers []parley.Message) (runner.Next, error) {
	q, failure, err := t.requests.question(t.position, steers)
	if err != nil && t.ctx.Err() != nil { // the turn's time ended, or it was cancelled, inside middleware
		return runner.Over, t.leave(nil)
	}
	if err != nil {
		return runner.Over, err
	}
	if failure != nil {
		return t.finish(store.TurnEnd{Status: parley.TurnFailed, Failure: failure})
	}
	var refusal *store.Refusal
	if t.responses.lookUp(q); q.served == nil { // a cached answer costs nothing
		if q.reservation, refusal, err = t.budgets.afford(q); err != nil {
			return runner.Over, err
		}
	}
	if refusal != nil {
		if over := t.budgets.chainOver(refusal); over != nil {
			return t.finish(store.TurnEnd{Status: parley.TurnFailed, Failure: over})
		}
		return t.parkRefused(refusal)
	}
	if t.speaker != nil {
		if failure, err = t.requests.speak(q); err != nil && t.ctx.Err() != nil {
			return runner.Over, t.leave(nil)
		} else if err != nil {
			return runner.Over, err
		} else if failure != nil {
			return t.finish(store.TurnEnd{Status: parley.TurnFailed, Failure: failure})
		}
	}
	a, err := t.asking.ask(q)
	if a != nil && a.begun {
		t.requests.told = t.requests.cut.Dropped
	}
	q.encoded.Body = nil
	t.unreserve()
	switch {
	case err != nil:
		return runner.Over, err
	case a.failure == nil && a.finish == "":
		return runner.Over, t.leave(a)
	case t.shortening.overflows(a):
		return t.shorten(a)
	}
	t.shortening.noteUsed(a.usage)
	if a.failure != nil {
		end := store.TurnEnd{Status: parley.TurnFailed, Failure: a.failure}
		_, err := t.asking.settleAs(a, parley.MessageFailed, &end)
		return runner.Over, err
	}
	t.answer, t.calls = a, a.calls()
	if len(t.calls) > 0 {
		return runner.CallNext, nil
	}
	if t.outputs.wanted() {
		wrong, err := t.outputs.check(a)
		if err != nil {
			a.finish, a.call.Outcome, t.answer = "", parley.CallCancelled, nil // the turn was interrupted
			return runner.Over, t.leave(a)
		}
		if wrong != "" {
			t.answer = nil
			return t.reject(a, wrong)
		}
	}
	if wrong, failure, err := t.transforms.written(a); err != nil && t.ctx.Err() != nil {
		a.finish, a.call.Outcome, t.answer = "", parley.CallCancelled, nil // the turn was interrupted
		return runner.Over, t.leave(a)
	} else if err != nil {
		a.drop()
		return runner.Over, err
	} else if wrong != "" || failure != nil {
		return t.refuse(a, wrong, failure)
	}
	return runner.FinishNext, nil
}

// settleCalls settles a step whose answer has calls, and decides about each call.
func (t *turn) settleCalls(a *answer) error {
	var started []string
	for i := range t.calls {
		t.tools.sort(&t.calls[i])
		if err := t.rules.permit(&t.calls[i]); err != nil {
			a.drop()
			return err
		}
	}
	t.limits.allow(t.calls)
	for i := range t.calls {
		call := &t.calls[i]
		if call.inSession() {
			a.link(call.messageID)
		}
		if call.runs() || call.opens() {
			started = append(started, call.id)
		}
	}
	settle := store.StepSettle{ToolsStarted: started, Asked: t.rules.asks(t.calls)}
	_, err := t.asking.settleWith(a, settle, parley.MessageCompleted)
	return err
}

// runCalls runs the settled calls of a step as far as nobody has to be asked.
func (t *turn) runCalls() (runner.Next, error) {
	step, calls := t.position.step, t.calls
	if err := t.tools.refuseThose(step, calls); err != nil {
		return runner.Over, err
	}
	// agents first, so that they work while the tools run
	if err := t.tools.openChildren(step, calls, false); err != nil {
		return runner.Over, err
	}
	for from := 0; from < len(calls); {
		to := batchEnd(calls, from)
		if err := t.tools.runBatch(step, calls[from:to]); err != nil {
			return runner.Over, err
		}
		if t.ctx.Err() != nil {
			return runner.Over, t.leaveCalls()
		}
		from = to
	}
	// transforms last, because they read what the tools have written
	if err := t.tools.openChildren(step, calls, true); err != nil {
		return runner.Over, err
	}
	if waitReason(calls) != "" {
		return runner.WaitNext, nil
	}
	t.position = after(step)
	return runner.AskNext, nil
}

// leaveCalls releases a turn that was interrupted while its tools ran. A cancel, or the end of the turn's time, settles
// the calls without results; otherwise they stay open for the run that resumes the turn.
func (t *turn) leaveCalls() error {
	overdue := t.limits.overdue() != nil
	if overdue || t.Cancelled() {
		for i := range t.calls {
			call := &t.calls[i]
			if call.settled {
				continue
			}
			text := resultNeverRun
			switch {
			case overdue:
				text = resultOutOfTime
			case call.started || call.waitsFor() == parley.WaitToolResult:
				text = resultCancelled
			}
			if err := t.tools.refuse(t.position.step, call, text); err != nil {
				return err
			}
		}
	}
	return t.leave(nil)
}

// endTruncated answers calls that were cut off and never run, and completes the turn.
func (t *turn) endTruncated(calls []toolCall) (runner.Next, error) {
	for i := range calls {
		if err := t.tools.refuse(t.position.step, &calls[i], resultTruncated); err != nil {
			return runner.Over, err
		}
	}
	t.position = position{step: t.position.step + 1, attempt: 1}
	return t.complete()
}

// complete ends a turn whose last answer is in the record.
func (t *turn) complete() (runner.Next, error) {
	end, err := t.until.completed(nil)
	if err != nil {
		return runner.Over, err
	}
	wrong, failure, err := t.transforms.written(nil)
	if err != nil {
		return runner.Over, err
	}
	if wrong != "" && failure == nil {
		failure = t.unwritable(wrong)
	}
	if failure != nil {
		return t.finish(store.TurnEnd{Status: parley.TurnFailed, Failure: failure})
	}
	end.Transform = t.transforms.end
	return t.finish(end)
}

// finish ends the turn outside a step; a completed turn continues if a steer came first.
func (t *turn) finish(end store.TurnEnd) (runner.Next, error) {
	var settled store.StepSettled
	err := t.persist(func() (err error) {
		settled, err = t.w.store.FinishTurn(t.writes, t.fence, end)
		return err
	})
	if err == nil && settled.More && end.Status == parley.TurnCompleted {
		t.position.steers, t.position.answered = true, true
		return runner.AskNext, nil
	}
	return runner.Over, err
}

// leave releases an interrupted turn. Cancelled, it is settled as far as it came; on a stop it is given back; after the
// loss of the lease nothing is written.
func (t *turn) leave(a *answer) error {
	switch cause := context.Cause(t.ctx); {
	case errors.Is(cause, ErrCancelled):
		if a == nil || !a.begun {
			_, err := t.finish(store.TurnEnd{Status: parley.TurnCancelled})
			return err
		}
		_, err := t.asking.settleAs(a, parley.MessageCancelled, &store.TurnEnd{Status: parley.TurnCancelled})
		return err
	case errors.Is(cause, errOutOfTime):
		end := store.TurnEnd{Status: parley.TurnFailed, Failure: t.limits.overdue()}
		if a == nil || !a.begun {
			_, err := t.finish(end)
			return err
		}
		a.failure = end.Failure
		a.record()
		_, err := t.asking.settleAs(a, parley.MessageFailed, &end)
		return err
	case t.w.script != nil && a != nil && a.begun: // nobody takes up a dry run again: its call ends with it
		if _, err := t.asking.settleAs(a, parley.MessageCancelled, nil); err != nil {
			return err
		}
		return t.leave(nil)
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
