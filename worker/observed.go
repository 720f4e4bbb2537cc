package worker

import (
	"context"
	"time"

	"parley"
)

// unobserved is the observer of a worker that has none.
type unobserved struct{}

var _ parley.Observer = unobserved{}

func (unobserved) Contents() bool                                                    { return false }
func (unobserved) TurnBegan(ctx context.Context, _ *parley.Claim) context.Context    { return ctx }
func (unobserved) TurnEnded(context.Context, parley.TurnRun)                         {}
func (unobserved) StepBegan(ctx context.Context, _ int) context.Context              { return ctx }
func (unobserved) StepEnded(context.Context, error)                                  {}
func (unobserved) CallBegan(ctx context.Context, _ parley.CallBegun) context.Context { return ctx }
func (unobserved) CallEnded(context.Context, parley.CallEnded)                       {}
func (unobserved) CallRetried(context.Context, *parley.Call, parley.RetryNotice)     {}
func (unobserved) ToolBegan(ctx context.Context, _ parley.ToolBegun) context.Context { return ctx }
func (unobserved) ToolEnded(context.Context, parley.ToolEnded)                       {}
func (unobserved) Claimed(int, bool)                                                 {}
func (unobserved) LeaseLost()                                                        {}
func (unobserved) CachedResponses(parley.ResponseCacheOutcome, int)                  {}
func (unobserved) Swept(int)                                                         {}
func (unobserved) Stored(parley.Operation, time.Duration, error)                     {}

// observe sets who is told of what the worker does.
func (w *Worker) observe(observer parley.Observer) {
	w.observer = unobserved{}
	if observer != nil {
		w.observer = observer
		w.store = &observedStore{turnStore: w.store, observer: observer, ended: w.noteEnd}
	}
}

// noteEnd notes how the store left a turn that runs here.
func (w *Worker) noteEnd(turnID parley.ID, end parley.TurnRun) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if running := w.runs[turnID]; running != nil {
		running.outcome, running.failure, running.waits, running.limit = end.Outcome, end.Failure, end.Waits, end.Limit
	}
}

// endOf is what the observer is told of a run that is over.
func (w *Worker) endOf(running *run, took time.Duration) parley.TurnRun {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended := parley.TurnRun{
		Claim: &running.claim, Outcome: running.outcome, Failure: running.failure, Waits: running.waits, Limit: running.limit, Took: took,
	}
	if ended.Outcome == "" {
		ended.Outcome = parley.RunLeft
	}
	return ended
}

// Stats tells what the worker has to do.
func (w *Worker) Stats() parley.WorkerStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return parley.WorkerStats{Slots: w.options.Slots, Running: w.places.Taken, Draining: w.draining}
}

// observedStore is a Store whose writes an observer is told of. It also notes
// how the runs of its worker ended, whichever runtime ran them.
type observedStore struct {
	turnStore

	observer parley.Observer
	ended    func(turnID parley.ID, end parley.TurnRun)
}

// stored makes a call of the store and tells of it.
func stored[T any](s *observedStore, operation parley.Operation, call func() (T, error)) (T, error) {
	started := time.Now()
	answer, err := call()
	s.observer.Stored(operation, time.Since(started), err)
	return answer, err
}

// wrote is stored for a call without an answer.
func (s *observedStore) wrote(operation parley.Operation, call func() error) error {
	started := time.Now()
	err := call()
	s.observer.Stored(operation, time.Since(started), err)
	return err
}

// over notes the end of a run whose turn the store has left in a state; limit is
// the one that left no room, if that is so.
func (s *observedStore) over(turn *parley.Turn, limit parley.Limit) {
	switch turn.Status {
	case parley.TurnCompleted:
		s.ended(turn.ID, parley.TurnRun{Outcome: parley.RunCompleted})
	case parley.TurnFailed:
		s.ended(turn.ID, parley.TurnRun{Outcome: parley.RunFailed, Failure: turn.Error})
	case parley.TurnCancelled:
		s.ended(turn.ID, parley.TurnRun{Outcome: parley.RunCancelled})
	case parley.TurnWaiting:
		s.ended(turn.ID, parley.TurnRun{Outcome: parley.RunParked, Waits: turn.WaitReason, Limit: limit})
	}
}

func (s *observedStore) Claim(ctx context.Context, processID parley.ID, n int, occupancy parley.Occupancy) ([]parley.Claim, error) {
	claims, err := stored(s, parley.OperationClaim, func() ([]parley.Claim, error) { return s.turnStore.Claim(ctx, processID, n, occupancy) })
	if len(claims) > 0 {
		s.observer.Claimed(len(claims), false)
	}
	return claims, err
}

func (s *observedStore) RecoverTurn(ctx context.Context, fence parley.Fence) (parley.TurnState, error) {
	return stored(s, parley.OperationRecoverTurn, func() (parley.TurnState, error) { return s.turnStore.RecoverTurn(ctx, fence) })
}

func (s *observedStore) BeginStep(ctx context.Context, fence parley.Fence, begin parley.StepBegin) (parley.StepBegun, error) {
	return stored(s, parley.OperationBeginStep, func() (parley.StepBegun, error) { return s.turnStore.BeginStep(ctx, fence, begin) })
}

func (s *observedStore) RetryCall(ctx context.Context, fence parley.Fence, step int, failed parley.CallSettled, notice parley.RetryNotice) error {
	return s.wrote(parley.OperationRetryCall, func() error { return s.turnStore.RetryCall(ctx, fence, step, failed, notice) })
}

func (s *observedStore) BeginCall(ctx context.Context, fence parley.Fence, begin parley.StepBegin) error {
	return s.wrote(parley.OperationBeginCall, func() error { return s.turnStore.BeginCall(ctx, fence, begin) })
}

func (s *observedStore) OpenBlock(ctx context.Context, fence parley.Fence, open parley.BlockOpen) (parley.Message, error) {
	return stored(s, parley.OperationOpenBlock, func() (parley.Message, error) { return s.turnStore.OpenBlock(ctx, fence, open) })
}

// AppendVersions counts each claim that was fenced as a write refused.
func (s *observedStore) AppendVersions(ctx context.Context, versions []parley.FencedVersion) (parley.Appended, error) {
	started := time.Now()
	appended, err := s.turnStore.AppendVersions(ctx, versions)
	took := time.Since(started)
	if err != nil || len(appended.Fenced) == 0 {
		s.observer.Stored(parley.OperationAppendVersions, took, err)
		return appended, err
	}
	for range appended.Fenced {
		s.observer.Stored(parley.OperationAppendVersions, took, errVersionFenced)
	}
	return appended, nil
}

// errVersionFenced is what an observer is told of a skipped version.
var errVersionFenced = parley.Errorf(parley.CodeFenced, "a version was skipped")

func (s *observedStore) SettleStep(ctx context.Context, fence parley.Fence, settle parley.StepSettle) (parley.StepSettled, error) {
	settled, err := stored(s, parley.OperationSettleStep, func() (parley.StepSettled, error) { return s.turnStore.SettleStep(ctx, fence, settle) })
	if err == nil && settle.End != nil && !settled.More {
		s.over(&settled.Turn, "")
	}
	return settled, err
}

func (s *observedStore) SettleTool(ctx context.Context, fence parley.Fence, settle parley.ToolSettle) (parley.Message, error) {
	return stored(s, parley.OperationSettleTool, func() (parley.Message, error) { return s.turnStore.SettleTool(ctx, fence, settle) })
}

func (s *observedStore) ParkTurn(ctx context.Context, fence parley.Fence, reason parley.WaitReason) (parley.Turn, error) {
	turn, err := stored(s, parley.OperationParkTurn, func() (parley.Turn, error) { return s.turnStore.ParkTurn(ctx, fence, reason) })
	if err == nil {
		s.over(&turn, "")
	}
	return turn, err
}

func (s *observedStore) ParkRefused(ctx context.Context, fence parley.Fence, refusal parley.Refusal) (parley.Turn, error) {
	turn, err := stored(s, parley.OperationParkRefused, func() (parley.Turn, error) { return s.turnStore.ParkRefused(ctx, fence, refusal) })
	if err == nil {
		s.over(&turn, refusal.Limit)
	}
	return turn, err
}

func (s *observedStore) OpenChild(ctx context.Context, fence parley.Fence, child parley.NewSession) (parley.Session, error) {
	return stored(s, parley.OperationOpenChild, func() (parley.Session, error) { return s.turnStore.OpenChild(ctx, fence, child) })
}

func (s *observedStore) UseApprovals(ctx context.Context, fence parley.Fence, uses []parley.ApprovalUse) error {
	return s.wrote(parley.OperationUseApprovals, func() error { return s.turnStore.UseApprovals(ctx, fence, uses) })
}

func (s *observedStore) FinishTurn(ctx context.Context, fence parley.Fence, end parley.TurnEnd) (parley.StepSettled, error) {
	settled, err := stored(s, parley.OperationFinishTurn, func() (parley.StepSettled, error) { return s.turnStore.FinishTurn(ctx, fence, end) })
	if err == nil && !settled.More {
		s.over(&settled.Turn, "")
	}
	return settled, err
}

func (s *observedStore) ReleaseTurn(ctx context.Context, fence parley.Fence) error {
	err := s.wrote(parley.OperationReleaseTurn, func() error { return s.turnStore.ReleaseTurn(ctx, fence) })
	if err == nil {
		s.ended(fence.TurnID, parley.TurnRun{Outcome: parley.RunReleased})
	}
	return err
}

func (s *observedStore) RenewLease(ctx context.Context, processID parley.ID, lease time.Duration) ([]parley.ID, error) {
	return stored(s, parley.OperationRenewLease, func() ([]parley.ID, error) { return s.turnStore.RenewLease(ctx, processID, lease) })
}

func (s *observedStore) Sweep(ctx context.Context) (int, error) {
	touched, err := stored(s, parley.OperationSweep, func() (int, error) { return s.turnStore.Sweep(ctx) })
	if err == nil {
		s.observer.Swept(touched)
	}
	return touched, err
}

func (s *observedStore) ApplyOutbox(ctx context.Context) (bool, error) {
	return stored(s, parley.OperationApplyOutbox, func() (bool, error) { return s.turnStore.ApplyOutbox(ctx) })
}
