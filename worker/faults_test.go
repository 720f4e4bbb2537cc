package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// faults is a store between a worker and the real one. A hook may make each call wait or fail.
type faults struct {
	Store
	mu      sync.Mutex // guards what follows
	hook    func(method string) error
	process parley.ID // of the worker that uses it
}

// errLocked, returned by a flush, means that every session is locked by somebody else.
var errLocked = errors.New("the session is locked")

// set replaces the hook; nil lets everything pass.
func (f *faults) set(hook func(method string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// kill makes every further call fail, as if the process were gone: earlier writes stay, later ones fail.
func (f *faults) kill() {
	f.set(func(string) error { return parley.Errorf(parley.CodeInternal, "killed") })
}

func (f *faults) before(method string) error {
	f.mu.Lock()
	hook := f.hook
	f.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(method)
}

func (f *faults) RenewLease(ctx context.Context, id parley.ID, lease time.Duration) ([]parley.ID, error) {
	if err := f.before("RenewLease"); err != nil {
		return nil, err
	}
	return f.Store.RenewLease(ctx, id, lease)
}

func (f *faults) ReleaseProcess(ctx context.Context, id parley.ID) error {
	if f.before("ReleaseProcess") == nil {
		return f.Store.ReleaseProcess(ctx, id)
	}
	return nil // the killed process does not report
}

func (f *faults) RegisterProcess(ctx context.Context, process store.Process, lease time.Duration) error {
	if err := f.before("RegisterProcess"); err != nil {
		return err
	}
	f.mu.Lock()
	f.process = process.ID
	f.mu.Unlock()
	return f.Store.RegisterProcess(ctx, process, lease)
}

func (f *faults) Sweep(ctx context.Context) (int, error) {
	if err := f.before("Sweep"); err != nil {
		return 0, err
	}
	return f.Store.Sweep(ctx)
}

func (f *faults) Claim(ctx context.Context, id parley.ID, n int, occupancy store.Occupancy) ([]store.Claim, error) {
	if err := f.before("Claim"); err != nil {
		return nil, err
	}
	claims, err := f.Store.Claim(ctx, id, n, occupancy)
	if err == nil && len(claims) > 0 {
		err = f.before("Claimed")
	}
	return claims, err
}

func (f *faults) RecoverTurn(ctx context.Context, fence store.Fence) (store.TurnState, error) {
	if err := f.before("RecoverTurn"); err != nil {
		return store.TurnState{}, err
	}
	return f.Store.RecoverTurn(ctx, fence)
}

func (f *faults) BeginStep(ctx context.Context, fence store.Fence, begin store.StepBegin) (store.StepBegun, error) {
	if err := f.before("BeginStep"); err != nil {
		return store.StepBegun{}, err
	}
	return f.Store.BeginStep(ctx, fence, begin)
}

func (f *faults) OpenBlock(ctx context.Context, fence store.Fence, open store.BlockOpen) (parley.Message, error) {
	if err := f.before("OpenBlock"); err != nil {
		return parley.Message{}, err
	}
	return f.Store.OpenBlock(ctx, fence, open)
}

func (f *faults) AppendVersions(ctx context.Context, versions []store.FencedVersion) (store.Appended, error) {
	if err := f.before("AppendVersions"); errors.Is(err, errLocked) {
		var appended store.Appended
		for i := range versions {
			appended.Locked = append(appended.Locked, versions[i].Fence)
		}
		return appended, nil
	} else if err != nil {
		return store.Appended{}, err
	}
	appended, err := f.Store.AppendVersions(ctx, versions)
	if err == nil {
		err = f.before("AppendedVersions")
	}
	return appended, err
}

func (f *faults) SettleStep(
	ctx context.Context,
	fence store.Fence,
	settle store.StepSettle,
) (store.StepSettled, error) {
	if err := f.before("SettleStep"); err != nil {
		return store.StepSettled{}, err
	}
	settled, err := f.Store.SettleStep(ctx, fence, settle)
	if err == nil {
		err = f.before("SettledStep")
	}
	return settled, err
}

func (f *faults) SettleTool(ctx context.Context, fence store.Fence, settle store.ToolSettle) (parley.Message, error) {
	if err := f.before("SettleTool"); err != nil {
		return parley.Message{}, err
	}
	message, err := f.Store.SettleTool(ctx, fence, settle)
	if err == nil {
		err = f.before("SettledTool")
	}
	return message, err
}

func (f *faults) FinishTurn(ctx context.Context, fence store.Fence, end store.TurnEnd) (store.StepSettled, error) {
	if err := f.before("FinishTurn"); err != nil {
		return store.StepSettled{}, err
	}
	return f.Store.FinishTurn(ctx, fence, end)
}

func (f *faults) ReleaseTurn(ctx context.Context, fence store.Fence) error {
	if err := f.before("ReleaseTurn"); err != nil {
		return err
	}
	return f.Store.ReleaseTurn(ctx, fence)
}

func (f *faults) PendingSteers(ctx context.Context, fence store.Fence) ([]parley.Message, error) {
	if err := f.before("PendingSteers"); err != nil {
		return nil, err
	}
	return f.Store.PendingSteers(ctx, fence)
}

func (f *faults) AskTool(ctx context.Context, fence store.Fence, ask store.Ask) error {
	if err := f.before("AskTool"); err != nil {
		return err
	}
	return f.Store.AskTool(ctx, fence, ask)
}

func (f *faults) UseApprovals(ctx context.Context, fence store.Fence, uses []store.ApprovalUse) error {
	if err := f.before("UseApprovals"); err != nil {
		return err
	}
	return f.Store.UseApprovals(ctx, fence, uses)
}

func (f *faults) ParkTurn(ctx context.Context, fence store.Fence, reason parley.WaitReason) (parley.Turn, error) {
	if err := f.before("ParkTurn"); err != nil {
		return parley.Turn{}, err
	}
	turn, err := f.Store.ParkTurn(ctx, fence, reason)
	if err == nil {
		err = f.before("ParkedTurn")
	}
	return turn, err
}

func (f *faults) OpenChild(ctx context.Context, fence store.Fence, child store.NewSession) (parley.Session, error) {
	if err := f.before("OpenChild"); err != nil {
		return parley.Session{}, err
	}
	session, err := f.Store.OpenChild(ctx, fence, child)
	if err == nil {
		err = f.before("OpenedChild")
	}
	return session, err
}

func (f *faults) ApplyOutbox(ctx context.Context, claimBy parley.ID) (*store.Claim, bool, error) {
	if err := f.before("ApplyOutbox"); err != nil {
		return nil, false, err
	}
	claim, more, err := f.Store.ApplyOutbox(ctx, claimBy)
	if err == nil {
		err = f.before("AppliedOutbox")
	}
	if err != nil {
		return nil, false, err
	}
	return claim, more, nil
}

// killBefore kills the process right before the nth call of a method from now on, and returns a channel that tells
// when.
func (f *faults) killBefore(method string, nth int) <-chan struct{} {
	dead := make(chan struct{})
	var mu sync.Mutex // guards seen
	seen := 0
	f.set(func(called string) error {
		mu.Lock()
		defer mu.Unlock()
		if called == method && seen < nth {
			if seen++; seen == nth {
				close(dead)
			}
		}
		if seen == nth {
			return parley.Errorf(parley.CodeInternal, "killed")
		}
		return nil
	})
	return dead
}

// killWhen kills the process in the first call for which now is true, and returns a channel that tells when.
func (f *faults) killWhen(now func(method string) bool) <-chan struct{} {
	dead := make(chan struct{})
	var mu sync.Mutex // guards killed
	killed := false
	f.set(func(called string) error {
		mu.Lock()
		defer mu.Unlock()
		if !killed && now(called) {
			killed = true
			close(dead)
		}
		if killed {
			return parley.Errorf(parley.CodeInternal, "killed")
		}
		return nil
	})
	return dead
}
