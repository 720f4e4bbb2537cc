package worker

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/observe"
	"example.org/parley/store"
)

// unobserved is the observer of a worker without one.
type unobserved struct{}

var _ observe.Observer = unobserved{}

func (unobserved) Contents() bool                                                     { return false }
func (unobserved) TurnBegan(ctx context.Context, _ *store.Claim) context.Context      { return ctx }
func (unobserved) TurnEnded(context.Context, observe.TurnRun)                         {}
func (unobserved) StepBegan(ctx context.Context, _ int) context.Context               { return ctx }
func (unobserved) StepEnded(context.Context, error)                                   {}
func (unobserved) CallBegan(ctx context.Context, _ observe.CallBegun) context.Context { return ctx }
func (unobserved) CallEnded(context.Context, observe.CallEnded)                       {}
func (unobserved) CallRetried(context.Context, *parley.Call, store.RetryNotice)       {}
func (unobserved) ToolBegan(ctx context.Context, _ observe.ToolBegun) context.Context { return ctx }
func (unobserved) ToolEnded(context.Context, observe.ToolEnded)                       {}
func (unobserved) Claimed(int, bool)                                                  {}
func (unobserved) LeaseLost()                                                         {}
func (unobserved) CachedResponses(observe.ResponseCacheOutcome, int)                  {}
func (unobserved) Swept(int)                                                          {}
func (unobserved) Stored(observe.Operation, time.Duration, error)                     {}

// observe sets the observer of the worker's work.
func (w *Worker) observe(observer observe.Observer) {
	w.observer = unobserved{}
	if observer != nil {
		w.observer, w.prefixes = observer, newPrefixes()
		w.store = &observedStore{turnStore: w.store, observer: observer, ended: w.noteEnd}
	}
}

// noteEnd records how the store left a turn that runs here.
func (w *Worker) noteEnd(turnID parley.ID, end observe.TurnRun) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if running := w.runs[turnID]; running != nil {
		running.outcome, running.failure, running.waits, running.limit = end.Outcome, end.Failure, end.Waits, end.Limit
	}
}

// endOf returns the observer's view of a run that is over.
func (w *Worker) endOf(running *run, took time.Duration) observe.TurnRun {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended := observe.TurnRun{
		Claim:   &running.claim,
		Outcome: running.outcome,
		Failure: running.failure,
		Waits:   running.waits,
		Limit:   running.limit,
		Took:    took,
	}
	if ended.Outcome == "" {
		ended.Outcome = observe.RunLeft
	}
	return ended
}

// Stats returns how much work the worker has.
func (w *Worker) Stats() observe.WorkerStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return observe.WorkerStats{Slots: w.options.Slots, Running: w.places.Taken, Draining: w.draining}
}

// observedStore is a Store that reports its writes to an observer. It also records how the worker's runs ended,
// whatever runtime ran them.
type observedStore struct {
	turnStore

	observer observe.Observer
	ended    func(turnID parley.ID, end observe.TurnRun)
}

// stored makes a call of the store and reports it.
func stored[T any](s *observedStore, operation observe.Operation, call func() (T, error)) (T, error) {
	started := time.Now()
	answer, err := call()
	s.observer.Stored(operation, time.Since(started), err)
	return answer, err
}

// wrote is stored for a call without a result.
func (s *observedStore) wrote(operation observe.Operation, call func() error) error {
	started := time.Now()
	err := call()
	s.observer.Stored(operation, time.Since(started), err)
	return err
}

// over records the end of a run whose turn the store has left in a final or waiting state; limit is the limit that left
// no room, if any.
func (s *observedStore) over(turn *parley.Turn, limit parley.Limit) {
	switch turn.Status {
	case parley.TurnCompleted:
		s.ended(turn.ID, observe.TurnRun{Outcome: observe.RunCompleted})
	case parley.TurnFailed:
		s.ended(turn.ID, observe.TurnRun{Outcome: observe.RunFailed, Failure: turn.Error})
	case parley.TurnCancelled:
		s.ended(turn.ID, observe.TurnRun{Outcome: observe.RunCancelled})
	case parley.TurnWaiting:
		s.ended(turn.ID, observe.TurnRun{Outcome: observe.RunParked, Waits: turn.WaitReason, Limit: limit})
	}
}

func (s *observedStore) Claim(
	ctx context.Context,
	processID parley.ID,
	n int,
	occupancy store.Occupancy,
) ([]store.Claim, error) {
	claims, err := stored(
		s,
		observe.OperationClaim,
		func() ([]store.Claim, error) { return s.turnStore.Claim(ctx, processID, n, occupancy) },
	)
	if len(claims) > 0 {
		s.observer.Claimed(len(claims), false)
	}
	return claims, err
}

func (s *observedStore) RecoverTurn(ctx context.Context, fence store.Fence) (store.TurnState, error) {
	return stored(
		s,
		observe.OperationRecoverTurn,
		func() (store.TurnState, error) { return s.turnStore.RecoverTurn(ctx, fence) },
	)
}

func (s *observedStore) BeginStep(
	ctx context.Context,
	fence store.Fence,
	begin store.StepBegin,
) (store.StepBegun, error) {
	return stored(
		s,
		observe.OperationBeginStep,
		func() (store.StepBegun, error) { return s.turnStore.BeginStep(ctx, fence, begin) },
	)
}

func (s *observedStore) RetryCall(
	ctx context.Context,
	fence store.Fence,
	step int,
	failed store.CallSettled,
	notice store.RetryNotice,
) error {
	return s.wrote(
		observe.OperationRetryCall,
		func() error { return s.turnStore.RetryCall(ctx, fence, step, failed, notice) },
	)
}

func (s *observedStore) BeginCall(ctx context.Context, fence store.Fence, begin store.StepBegin) error {
	return s.wrote(observe.OperationBeginCall, func() error { return s.turnStore.BeginCall(ctx, fence, begin) })
}

func (s *observedStore) OpenBlock(
	ctx context.Context,
	fence store.Fence,
	open store.BlockOpen,
) (parley.Message, error) {
	return stored(
		s,
		observe.OperationOpenBlock,
		func() (parley.Message, error) { return s.turnStore.OpenBlock(ctx, fence, open) },
	)
}

// AppendVersions counts each fenced claim as a refused write.
func (s *observedStore) AppendVersions(ctx context.Context, versions []store.FencedVersion) (store.Appended, error) {
	started := time.Now()
	appended, err := s.turnStore.AppendVersions(ctx, versions)
	took := time.Since(started)
	if err != nil || len(appended.Fenced) == 0 {
		s.observer.Stored(observe.OperationAppendVersions, took, err)
		return appended, err
	}
	for range appended.Fenced {
		s.observer.Stored(observe.OperationAppendVersions, took, errVersionFenced)
	}
	return appended, nil
}

// errVersionFenced reports a skipped version to the observer.
var errVersionFenced = parley.Errorf(parley.CodeFenced, "a version was skipped")

func (s *observedStore) SettleStep(
	ctx context.Context,
	fence store.Fence,
	settle store.StepSettle,
) (store.StepSettled, error) {
	settled, err := stored(
		s,
		observe.OperationSettleStep,
		func() (store.StepSettled, error) { return s.turnStore.SettleStep(ctx, fence, settle) },
	)
	if err == nil && settle.End != nil && !settled.More {
		s.over(&settled.Turn, "")
	}
	return settled, err
}

func (s *observedStore) SettleTool(
	ctx context.Context,
	fence store.Fence,
	settle store.ToolSettle,
) (parley.Message, error) {
	return stored(
		s,
		observe.OperationSettleTool,
		func() (parley.Message, error) { return s.turnStore.SettleTool(ctx, fence, settle) },
	)
}

func (s *observedStore) ParkTurn(
	ctx context.Context,
	fence store.Fence,
	reason parley.WaitReason,
) (parley.Turn, error) {
	turn, err := stored(
		s,
		observe.OperationParkTurn,
		func() (parley.Turn, error) { return s.turnStore.ParkTurn(ctx, fence, reason) },
	)
	if err == nil {
		s.over(&turn, "")
	}
	return turn, err
}

func (s *observedStore) ParkRefused(
	ctx context.Context,
	fence store.Fence,
	refusal store.Refusal,
) (parley.Turn, error) {
	turn, err := stored(
		s,
		observe.OperationParkRefused,
		func() (parley.Turn, error) { return s.turnStore.ParkRefused(ctx, fence, refusal) },
	)
	if err == nil {
		s.over(&turn, refusal.Limit)
	}
	return turn, err
}

func (s *observedStore) OpenChild(
	ctx context.Context,
	fence store.Fence,
	child store.NewSession,
) (parley.Session, error) {
	return stored(
		s,
		observe.OperationOpenChild,
		func() (parley.Session, error) { return s.turnStore.OpenChild(ctx, fence, child) },
	)
}

func (s *observedStore) UseApprovals(ctx context.Context, fence store.Fence, uses []store.ApprovalUse) error {
	return s.wrote(observe.OperationUseApprovals, func() error { return s.turnStore.UseApprovals(ctx, fence, uses) })
}

func (s *observedStore) AskTool(ctx context.Context, fence store.Fence, ask store.Ask) error {
	return s.wrote(observe.OperationAskTool, func() error { return s.turnStore.AskTool(ctx, fence, ask) })
}

func (s *observedStore) FinishTurn(
	ctx context.Context,
	fence store.Fence,
	end store.TurnEnd,
) (store.StepSettled, error) {
	settled, err := stored(
		s,
		observe.OperationFinishTurn,
		func() (store.StepSettled, error) { return s.turnStore.FinishTurn(ctx, fence, end) },
	)
	if err == nil && !settled.More {
		s.over(&settled.Turn, "")
	}
	return settled, err
}

func (s *observedStore) ReleaseTurn(ctx context.Context, fence store.Fence) error {
	err := s.wrote(observe.OperationReleaseTurn, func() error { return s.turnStore.ReleaseTurn(ctx, fence) })
	if err == nil {
		s.ended(fence.TurnID, observe.TurnRun{Outcome: observe.RunReleased})
	}
	return err
}

func (s *observedStore) RenewLease(ctx context.Context, processID parley.ID, lease time.Duration) ([]parley.ID, error) {
	return stored(
		s,
		observe.OperationRenewLease,
		func() ([]parley.ID, error) { return s.turnStore.RenewLease(ctx, processID, lease) },
	)
}

func (s *observedStore) Sweep(ctx context.Context) (int, error) {
	touched, err := stored(s, observe.OperationSweep, func() (int, error) { return s.turnStore.Sweep(ctx) })
	if err == nil {
		s.observer.Swept(touched)
	}
	return touched, err
}

func (s *observedStore) ApplyOutbox(
	ctx context.Context,
	claimBy parley.ID,
) (claim *store.Claim, more bool, err error) {
	claim, err = stored(s, observe.OperationApplyOutbox, func() (claim *store.Claim, err error) {
		claim, more, err = s.turnStore.ApplyOutbox(ctx, claimBy)
		return claim, err
	})
	return claim, more, err
}
