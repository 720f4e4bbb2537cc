package dryrun

import (
	"context"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// holder is the process that claims a dry run's turn.
var holder = parley.NewID() //nolint:gochecknoglobals // a name, never written

// Post records the message in memory and claims its turn.
func (m *Memory) Post(message store.NewMessage) (store.Posted, error) {
	scope := store.Scope{WorkspaceID: m.head.WorkspaceID}
	return transact(m, func(tx *transition.Tx) (store.Posted, error) {
		return tx.PostMessage(scope, m.head.ID, message, holder)
	})
}

// Events implements the source of a hub.
func (m *Memory) Events(
	_ context.Context,
	_ store.Scope,
	_ parley.ID,
	after int64,
	limit int,
) (events []parley.Event, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.events {
		if m.events[i].Sequence > after && len(events) < limit {
			events = append(events, m.events[i])
		}
	}
	return events, nil
}

// Heads implements the source of a hub.
func (m *Memory) Heads(context.Context, []parley.ID) ([]store.HeadState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return []store.HeadState{
		{SessionID: m.head.ID, LastEvent: m.head.LastEvent, OwnerID: m.head.OwnerID, Visibility: m.head.Visibility},
	}, nil
}

// Session returns the dry run's state of its session, or a real session.
func (m *Memory) Session(ctx context.Context, scope store.Scope, id parley.ID) (parley.Session, error) {
	if id != m.head.ID {
		return m.Reads.Session(ctx, scope, id)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.head.Session, nil
}

// Turn returns a turn of the dry run, or a real one.
func (m *Memory) Turn(ctx context.Context, scope store.Scope, id parley.ID) (parley.Turn, error) {
	m.mu.Lock()
	turn, own := m.turns[id]
	m.mu.Unlock()
	if own {
		return turn, nil
	}
	return m.Reads.Turn(ctx, scope, id)
}

// Calls lists the dry run's calls of its turn.
func (m *Memory) Calls(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	query store.CallQuery,
) ([]parley.Call, error) {
	m.mu.Lock()
	_, own := m.turns[query.TurnID]
	calls := slices.Clone(m.calls)
	m.mu.Unlock()
	if own {
		return calls, nil
	}
	return m.Reads.Calls(ctx, scope, sessionID, query)
}

// ContextTail reads the dry run's messages, newest first, followed by the record as it was when the dry run began.
func (m *Memory) ContextTail(
	ctx context.Context,
	workspaceID, sessionID parley.ID,
	before int64,
	limit, most int,
) (tail []parley.Message, more bool, err error) {
	m.mu.Lock()
	size := 0
	for i := len(m.messages) - 1; i >= 0 && len(tail) < limit && size < most; i-- { // which are in memory already
		one := m.messages[i]
		if !one.Internal && one.Status.Settled() && one.Status != parley.MessageQueued &&
			(before == 0 || one.Sequence < before) {
			tail = append(tail, one)
			size += one.Size()
		}
	}
	m.mu.Unlock()
	if len(tail) == limit || size >= most {
		return tail, true, nil
	}
	if m.fresh || m.base == 0 {
		return tail, false, nil
	}
	if before == 0 || before > m.base+1 {
		before = m.base + 1
	}
	older, more, err := m.Reads.ContextTail(ctx, workspaceID, sessionID, before, limit-len(tail), most)
	for i := range older {
		older[i].Marks = m.marksOf(&older[i])
	}
	return append(tail, older...), more, err
}

// Budgets returns the real budgets plus what the dry run has spent. Nobody is charged for a preview: there missing
// budgets count as made.
func (m *Memory) Budgets(
	ctx context.Context,
	workspaceID parley.ID,
	subjects []store.BudgetSubject,
) ([]store.Budget, error) {
	budgets, err := m.Reads.Budgets(ctx, workspaceID, subjects)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fresh && slices.ContainsFunc(subjects, func(s store.BudgetSubject) bool { return s.ID == m.head.ID }) {
		own := store.Budget{
			BudgetSubject: store.BudgetSubject{ID: m.head.ID, Scope: parley.BudgetOfSession},
			AgentID:       m.head.AgentID,
		}
		if m.head.Limits != nil {
			own.Limits = *m.head.Limits
		}
		budgets = append(budgets, own)
	}
	for i := range budgets {
		b := &budgets[i]
		if !b.Made && b.ID == m.head.ID {
			b.Tokens, b.Cost = m.head.Statistics.InputTokens+m.head.Statistics.OutputTokens, m.head.Statistics.Cost
			b.Tokens, b.Cost = b.Tokens-m.spent.Tokens, b.Cost-m.cost() // they include the spending of this dry run
		}
		b.Made = b.Made || m.charges == nil || m.fresh && b.ID == m.head.ID
		b.Tokens, b.DayTokens = b.Tokens+m.spent.Tokens, b.DayTokens+m.spent.Tokens
		b.Cost, b.DayCost = b.Cost+m.cost(), b.DayCost+m.cost()
	}
	return budgets, err
}

func (m *Memory) cost() parley.Money {
	if m.spent.Cost == nil {
		return 0
	}
	return *m.spent.Cost
}

// Transitions of a running turn, as in store.Turns.

// RecoverTurn implements store.Turns.
func (m *Memory) RecoverTurn(_ context.Context, fence store.Fence) (store.TurnState, error) {
	return transact(m, func(tx *transition.Tx) (store.TurnState, error) { return tx.RecoverTurn(fence) })
}

// PendingSteers implements store.Turns: nobody steers a dry run.
func (m *Memory) PendingSteers(context.Context, store.Fence) ([]parley.Message, error) {
	return nil, nil
}

// BeginStep implements store.Turns.
func (m *Memory) BeginStep(_ context.Context, fence store.Fence, begin store.StepBegin) (store.StepBegun, error) {
	if begin.Reservation != nil {
		begin.Call.Reserved = &begin.Reservation.Reserved
	}
	return transact(m, func(tx *transition.Tx) (store.StepBegun, error) { return tx.BeginStep(fence, begin) })
}

// BeginCall implements store.Turns.
func (m *Memory) BeginCall(_ context.Context, fence store.Fence, begin store.StepBegin) error {
	if begin.Reservation != nil {
		begin.Call.Reserved = &begin.Reservation.Reserved
	}
	return m.write(func(tx *transition.Tx) error { return tx.BeginCall(fence, begin) })
}

func (m *Memory) write(step func(*transition.Tx) error) error {
	_, err := transact(m, func(tx *transition.Tx) (struct{}, error) { return struct{}{}, step(tx) })
	return err
}

// NoteProgress implements store.Turns.
func (m *Memory) NoteProgress(_ context.Context, fence store.Fence, note store.ProgressNote) error {
	return m.write(func(tx *transition.Tx) error { return tx.NoteProgress(fence, note) })
}

// RetryCall implements store.Turns.
func (m *Memory) RetryCall(
	_ context.Context,
	fence store.Fence,
	step int,
	failed store.CallSettled,
	notice store.RetryNotice,
) error {
	return m.write(func(tx *transition.Tx) error { return tx.RetryCall(fence, step, failed, notice) })
}

// OpenBlock implements store.Turns.
func (m *Memory) OpenBlock(_ context.Context, fence store.Fence, open store.BlockOpen) (parley.Message, error) {
	return transact(m, func(tx *transition.Tx) (parley.Message, error) { return tx.OpenBlock(fence, open) })
}

// AppendVersions implements store.Turns: the text is in the hub.
func (m *Memory) AppendVersions(context.Context, []store.FencedVersion) (store.Appended, error) {
	return store.Appended{}, nil
}

// SettleStep implements store.Turns.
func (m *Memory) SettleStep(_ context.Context, fence store.Fence, settle store.StepSettle) (store.StepSettled, error) {
	return transact(m, func(tx *transition.Tx) (store.StepSettled, error) { return tx.SettleStep(fence, settle) })
}

// SettleTool implements store.Turns.
func (m *Memory) SettleTool(_ context.Context, fence store.Fence, settle store.ToolSettle) (parley.Message, error) {
	return transact(m, func(tx *transition.Tx) (parley.Message, error) { return tx.SettleTool(fence, settle) })
}

// ParkTurn implements store.Turns.
func (m *Memory) ParkTurn(_ context.Context, fence store.Fence, reason parley.WaitReason) (parley.Turn, error) {
	return transact(m, func(tx *transition.Tx) (parley.Turn, error) { return tx.ParkTurn(fence, reason) })
}

// FinishTurn implements store.Turns.
func (m *Memory) FinishTurn(_ context.Context, fence store.Fence, end store.TurnEnd) (store.StepSettled, error) {
	return transact(m, func(tx *transition.Tx) (store.StepSettled, error) { return tx.FinishTurn(fence, end) })
}

// ReleaseTurn implements store.Turns.
func (m *Memory) ReleaseTurn(_ context.Context, fence store.Fence) error {
	return m.write(func(tx *transition.Tx) error { return tx.ReleaseTurn(fence) })
}

// OpenChild implements store.Children: a dry run opens no session.
func (m *Memory) OpenChild(context.Context, store.Fence, store.NewSession) (parley.Session, error) {
	return parley.Session{}, parley.Errorf(parley.CodeConflict, "a dry run opens no tool session")
}

// AskTool implements store.Approvals: a dry run runs no tool that could ask.
func (m *Memory) AskTool(context.Context, store.Fence, store.Ask) error { return nil }

// UseApprovals implements store.Approvals: a dry run asks nobody.
func (m *Memory) UseApprovals(context.Context, store.Fence, []store.ApprovalUse) error { return nil }

// Chain implements store.Budgets: a dry run works for nobody else.
func (m *Memory) Chain(context.Context, parley.ID, parley.ID) (parley.ID, error) {
	return parley.ID{}, nil
}

// WarnLimit implements store.Budgets.
func (m *Memory) WarnLimit(_ context.Context, fence store.Fence, warning parley.LimitWarning, subject parley.ID) error {
	return m.write(func(tx *transition.Tx) error { return tx.WarnLimit(fence, warning, subject) })
}

// ParkRefused implements store.Budgets.
func (m *Memory) ParkRefused(_ context.Context, fence store.Fence, refusal store.Refusal) (parley.Turn, error) {
	return transact(m, func(tx *transition.Tx) (parley.Turn, error) { return tx.ParkRefused(fence, refusal) })
}

// MakeBudgets implements store.Budgets: it makes the real ones of a dry run that is charged for, so that they know what
// it spent before the first real call does.
func (m *Memory) MakeBudgets(ctx context.Context, workspaceID parley.ID, subjects []store.BudgetSubject) error {
	if m.charges == nil {
		return nil
	}
	return m.charges.MakeBudgets(ctx, workspaceID, slices.DeleteFunc(
		slices.Clone(subjects),
		func(s store.BudgetSubject) bool { return m.fresh && s.ID == m.head.ID },
	))
}

// TakeRate implements store.Budgets: nothing is counted.
func (m *Memory) TakeRate(context.Context, parley.ID, parley.ID, int) (time.Duration, error) {
	return 0, nil
}

// RateWait implements store.Budgets.
func (m *Memory) RateWait(context.Context, parley.ID, parley.ID, int) (time.Duration, error) {
	return 0, nil
}

// What belongs to processes or to other turns is not available here.

// errNoProcess is the error of methods that no turn calls.
func errNoProcess() error {
	return parley.Errorf(parley.CodeInternal, "a dry run has no process, no lease and no outbox")
}

// RegisterProcess implements store.Leases.
func (m *Memory) RegisterProcess(context.Context, store.Process, time.Duration) error {
	return errNoProcess()
}

// RenewLease implements store.Leases.
func (m *Memory) RenewLease(context.Context, parley.ID, time.Duration) ([]parley.ID, error) {
	return nil, errNoProcess()
}

// ReleaseProcess implements store.Leases.
func (m *Memory) ReleaseProcess(context.Context, parley.ID) error { return errNoProcess() }

// HeldTurns implements store.Leases.
func (m *Memory) HeldTurns(context.Context, parley.ID) ([]store.Fence, error) {
	return nil, errNoProcess()
}

// NextExpiry implements store.Leases.
func (m *Memory) NextExpiry(context.Context) (time.Duration, error) { return 0, errNoProcess() }

// Sweep implements store.Leases.
func (m *Memory) Sweep(context.Context) (int, error) { return 0, errNoProcess() }

// ThinVersions implements store.Retention.
func (m *Memory) ThinVersions(context.Context, parley.Time) (bool, error) {
	return false, errNoProcess()
}

// ExpireClients implements store.ClientSweep.
func (m *Memory) ExpireClients(context.Context, parley.Time) (bool, error) {
	return false, errNoProcess()
}

// ApplyOutbox implements store.Outbox.
func (m *Memory) ApplyOutbox(context.Context, parley.ID) (*store.Claim, bool, error) {
	return nil, false, errNoProcess()
}

// Claim implements store.Turns.
func (m *Memory) Claim(context.Context, parley.ID, int, store.Occupancy) ([]store.Claim, error) {
	return nil, errNoProcess()
}

// ChooseKnowledge implements the worker's store: a block that a dry run chooses is for that run alone.
func (m *Memory) ChooseKnowledge(context.Context, store.Fence, parley.KnowledgeBlock) error {
	return nil
}
