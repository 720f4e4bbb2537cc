package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/parley"
	"example.org/parley/internal/caught"
	"example.org/parley/observe"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// run runs a turn and gives its slot back.
func (w *Worker) run(ctx context.Context, running, older *run) {
	began := time.Now()
	ctx = w.observer.TurnBegan(ctx, &running.claim)
	defer func() {
		running.cancel(nil)
		w.observer.TurnEnded(ctx, w.endOf(running, time.Since(began)))
		w.mu.Lock()
		if w.runs[running.claim.Fence.TurnID] == running {
			delete(w.runs, running.claim.Fence.TurnID)
		}
		w.mu.Unlock()
		close(running.done)
		w.release(running.claim.Fence.WorkspaceID, running.claim.Mode())
		if running.claim.Turn.Suspicion() != parley.Unsuspected { // few of these run at once
			poke(w.claimNow)
		}
	}()
	if older != nil {
		older.cancel(ErrLeaseLost)
		<-older.done
	}
	err := w.runTurn(ctx, running)
	if err == nil {
		return
	}
	if parley.ErrorCode(err) == parley.CodeFenced || running.lease.ctx.Err() != nil {
		w.logOf(running.claim.Fence).DebugContext(ctx, "a turn was lost to another holder")
		w.noteEnd(running.claim.Fence.TurnID, observe.TurnRun{Outcome: observe.RunLost})
		return
	}
	w.giveUp(ctx, running, err)
}

// runTurn passes the claim to the agent's runtime. A panic in it is an error of this turn alone.
func (w *Worker) runTurn(ctx context.Context, running *run) (err error) {
	claim := &running.claim
	defer func() {
		if value := recover(); value != nil {
			err = caught.New(value)
		}
	}()
	name := claim.Agent.Runtime
	if name == "" {
		name = parley.StandardRuntime
	}
	runtime, ok := w.runtimes[name]
	if !ok {
		//nolint:contextcheck // a cancel of the turn must not keep it from being ended
		return w.unready(running.lease.ctx, claim, name)
	}
	return w.runOn(ctx, claim, runtime)
}

// runOn runs a claim on a runtime.
func (w *Worker) runOn(ctx context.Context, claim *store.Claim, runtime runner.Runtime) error {
	t := w.begin(ctx, claim)
	defer t.close() //nolint:contextcheck // the turn holds its contexts
	err := runtime.RunTurn(t)
	if err == nil {
		t.shortening.compactAtEnd() //nolint:contextcheck // as above
	}
	return err
}

// unready fails a turn whose agent asks for a runtime that this server lacks.
//
//go:noinline
func (w *Worker) unready(ctx context.Context, claim *store.Claim, name string) error {
	_, err := w.store.FinishTurn(ctx, claim.Fence, store.TurnEnd{Status: parley.TurnFailed, Failure: &parley.Failure{
		Class: parley.ClassInternal,
		Sentence: fmt.Sprintf(
			"The agent %q asks for the runtime %q, which this server does not have. Change the agent's runtime.",
			claim.Agent.Slug,
			parley.Clip(name, parley.MaxNameBytes),
		),
	}})
	return err
}

// brokenFailure returns what people are told of an internal error.
func brokenFailure(broken error) *parley.Failure {
	failure := &parley.Failure{Class: parley.ClassInternal, Sentence: parley.ClassInternal.Sentence()}
	if parley.ErrorCode(broken) == parley.CodeStorageFull {
		failure.Sentence = "The server's disk is full, so this answer could not be kept. Free some space and try again."
	}
	return failure
}

// maxRestarts is how often a turn restarts because the database was unreachable, before it fails.
const maxRestarts = 10

// giveUp ends a turn whose run broke on an internal error: what is open is settled from the store's versions, and the
// turn fails. If the run broke because the database was unreachable, the turn is given back instead and resumes from
// its record. giveUp keeps trying until the store accepts, the claim is lost or the process stops; then the sweep takes
// the turn.
func (w *Worker) giveUp(ctx context.Context, running *run, broken error) {
	fence := running.claim.Fence
	w.logOf(fence).ErrorContext(ctx, "a turn broke on an internal error", "error", broken)
	w.flusher.forget(fence.TurnID)
	failure, status := brokenFailure(broken), parley.TurnFailed
	again := parley.ErrorCode(broken) == parley.CodeUnavailable && running.claim.Turn.Attempt < maxRestarts
	for wait := giveUpPause; ; wait = min(2*wait, longestGiveUpPause) {
		if errors.Is(context.Cause(ctx), ErrCancelled) {
			status, failure, again = parley.TurnCancelled, nil, false
		}
		//nolint:contextcheck // a cancel of the turn must not keep it from being ended
		err := w.letGo(running.lease.ctx, fence, again, store.TurnEnd{Status: status, Failure: failure})
		if parley.ErrorCode(err) == parley.CodeFenced {
			w.noteEnd(fence.TurnID, observe.TurnRun{Outcome: observe.RunLost})
			return
		}
		if err == nil {
			return
		}
		if !transient(err) {
			w.logOf(fence).
				ErrorContext(ctx, "a broken turn could not be ended; a cancel will, or the sweep when this process "+
					"has ended", "error", err)
			return
		}
		//nolint:contextcheck // as above
		if !w.options.sleep(running.lease.ctx, wait) || errors.Is(context.Cause(ctx), ErrStopped) {
			return
		}
	}
}

// letGo gives a turn back, or ends it and settles what is open.
func (w *Worker) letGo(ctx context.Context, fence store.Fence, again bool, end store.TurnEnd) error {
	if again {
		return w.store.ReleaseTurn(ctx, fence)
	}
	_, err := w.store.RecoverTurn(ctx, fence)
	if err == nil {
		_, err = w.store.FinishTurn(ctx, fence, end)
	}
	return err
}
