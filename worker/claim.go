package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"parley"
)

const (
	claimPoll  = time.Second     // how often the claimer looks without a hint
	claimBatch = 256             // sessions per claim at most
	outboxPoll = 2 * time.Second // how often the outbox is looked at without a hint
)

// claimLoop is the one claimer of the process. Stop ends it.
func (w *Worker) claimLoop() {
	ticker := time.NewTicker(claimPoll)
	defer ticker.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-w.claimNow:
		case <-ticker.C:
		}
		for w.claimOnce() {
		}
	}
}

// claimOnce takes as many ready sessions as there are free slots, up to a
// batch, and reports whether there may be more.
func (w *Worker) claimOnce() bool {
	n, held := w.reserve(claimBatch)
	if n == 0 {
		return false
	}
	claims, err := w.store.Claim(held.ctx, held.id, n)
	if err != nil {
		if held.ctx.Err() == nil {
			w.log.Warn("ready sessions could not be claimed", "error", err)
		}
		claims = nil
	}
	w.giveBack(n-len(claims), len(claims) == n)
	for _, claim := range claims {
		w.start(held, claim)
	}
	return len(claims) == n
}

// reserve takes up to n free slots for claims of the current lease.
func (w *Worker) reserve(n int) (int, *lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining || w.lease == nil {
		return 0, nil
	}
	n = min(n, w.free)
	w.free -= n
	if n == 0 {
		w.hungry = true
	}
	return n, w.lease
}

// giveBack returns slots that a claim did not need; hungry says that there may
// be more ready sessions than it got.
func (w *Worker) giveBack(n int, hungry bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hungry = hungry
	w.free += n
	w.noteIdle()
}

// noteIdle tells Stop when every slot is free. w.mu is held.
func (w *Worker) noteIdle() {
	if w.draining && w.free == w.options.Slots {
		select {
		case <-w.idle:
		default:
			close(w.idle)
		}
	}
}

// release gives a slot back. The claimer is woken when it wants slots, and when
// so many are taken that the shares of workspaces and background work may have
// kept it from claiming.
func (w *Worker) release() {
	w.mu.Lock()
	wake := w.hungry || (w.options.Slots-w.free)*2 > w.options.Slots
	w.free++
	w.noteIdle()
	w.mu.Unlock()
	if wake {
		poke(w.claimNow)
	}
}

// Offer implements parley.Runner.
func (w *Worker) Offer() (parley.Slot, bool) {
	n, held := w.reserve(1)
	if n == 0 {
		return nil, false
	}
	return &slot{w, held}, true
}

// slot implements parley.Slot.
type slot struct {
	w     *Worker
	lease *lease
}

func (s *slot) ProcessID() parley.ID   { return s.lease.id }
func (s *slot) Run(claim parley.Claim) { s.w.start(s.lease, claim) }
func (s *slot) Release()               { s.w.release() }

// start runs a claimed turn in a goroutine of its own, in a slot reserved
// before. A run of the same turn under an older claim lets go first.
func (w *Worker) start(held *lease, claim parley.Claim) {
	ctx, cancel := context.WithCancelCause(held.ctx)
	fresh := &run{claim: claim, lease: held, cancel: cancel, done: make(chan struct{})}
	w.mu.Lock()
	older := w.runs[claim.Fence.TurnID]
	w.runs[claim.Fence.TurnID] = fresh
	switch {
	case w.aborted != nil:
		cancel(w.aborted)
	case slices.Contains(w.early[:], claim.Fence.TurnID):
		cancel(ErrCancelled)
	}
	w.mu.Unlock()
	go w.run(ctx, fresh, older) // ends with the turn, its cancel, or Stop
}

func (w *Worker) run(ctx context.Context, running, older *run) {
	defer func() {
		running.cancel(nil)
		w.mu.Lock()
		if w.runs[running.claim.Fence.TurnID] == running {
			delete(w.runs, running.claim.Fence.TurnID)
		}
		w.mu.Unlock()
		close(running.done)
		w.release()
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
		w.log.Debug("a turn was lost to another holder", "turn_id", running.claim.Fence.TurnID)
		return
	}
	w.giveUp(ctx, running, err)
}

// runTurn hands the claim to the agent's runtime. A panic in there is an error
// of this turn alone.
func (w *Worker) runTurn(ctx context.Context, running *run) (err error) {
	claim := running.claim
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic while running a turn: %v\n%s", value, debug.Stack())
		}
	}()
	name := claim.Agent.Runtime
	if name == "" {
		name = parley.StandardRuntime
	}
	runtime, ok := w.runtimes[name]
	if !ok {
		_, err := w.store.FinishTurn(running.lease.ctx, claim.Fence, parley.TurnEnd{Status: parley.TurnFailed, Failure: &parley.Failure{
			Class: parley.ClassInternal,
			Sentence: fmt.Sprintf("The agent %q asks for the runtime %q, which this server does not have. Change the agent's runtime.",
				claim.Agent.Slug, parley.Clip(name, parley.MaxNameBytes)),
		}})
		return err
	}
	if err := runtime.Open(ctx, claim.Session); err != nil {
		return err
	}
	return runtime.RunTurn(ctx, claim)
}

// brokenFailure is what people are told of an error inside.
func brokenFailure(broken error) *parley.Failure {
	failure := &parley.Failure{Class: parley.ClassInternal, Sentence: parley.ClassInternal.Sentence()}
	if parley.ErrorCode(broken) == parley.CodeStorageFull {
		failure.Sentence = "The server's disk is full, so this answer could not be kept. Free some space and try again."
	}
	return failure
}

// giveUp ends a turn whose run broke on something inside: what is open is
// settled from the store's own versions, and the turn fails. It goes on trying
// until the store lets it, the claim is lost or the process stops; then the turn
// is left to the sweep.
func (w *Worker) giveUp(ctx context.Context, running *run, broken error) {
	fence := running.claim.Fence
	w.log.Error("a turn broke on an error inside", "turn_id", fence.TurnID, "session_id", fence.SessionID, "error", broken)
	w.flusher.forget(fence.TurnID)
	failure, status := brokenFailure(broken), parley.TurnFailed
	for wait := giveUpPause; ; wait = min(2*wait, longestGiveUpPause) {
		if errors.Is(context.Cause(ctx), ErrCancelled) {
			status, failure = parley.TurnCancelled, nil
		}
		_, err := w.store.RecoverTurn(running.lease.ctx, fence)
		if err == nil {
			_, err = w.store.FinishTurn(running.lease.ctx, fence, parley.TurnEnd{Status: status, Failure: failure})
		}
		if err == nil || parley.ErrorCode(err) == parley.CodeFenced {
			return
		}
		if !transient(err) {
			w.log.Error("a broken turn could not be ended; a cancel will, or the sweep when this process has ended", "turn_id", fence.TurnID, "error", err)
			return
		}
		stopped := w.options.sleep(running.lease.ctx, wait)
		if stopped != nil || errors.Is(context.Cause(ctx), ErrStopped) {
			return
		}
	}
}

// sweepLoop takes over what dead processes left. After a sleep of the machine
// the renewal of the own lease goes first, or the sweep would take over what
// this process still runs. Stop ends it.
func (w *Worker) sweepLoop() {
	ticker := time.NewTicker(w.options.Lease / 2)
	defer ticker.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-ticker.C:
		}
		if held := w.currentLease(); held != nil && held.expired() {
			continue
		}
		ctx, stop := context.WithTimeout(context.Background(), w.options.Lease)
		touched, err := w.store.Sweep(ctx)
		stop()
		if err != nil {
			w.log.Warn("the sweep failed", "error", err)
		}
		if touched > 0 {
			poke(w.claimNow)
		}
	}
}

// outboxLoop applies what transactions left to be done elsewhere. Stop ends it.
func (w *Worker) outboxLoop() {
	ticker := time.NewTicker(outboxPoll)
	defer ticker.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-w.outboxNow:
		case <-ticker.C:
		}
		for more := true; more; {
			var err error
			if more, err = w.store.ApplyOutbox(context.Background()); err != nil {
				w.log.Warn("the outbox could not be applied", "error", err)
				break
			}
			select {
			case <-w.stopping:
				return
			default:
			}
		}
	}
}
