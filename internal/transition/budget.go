package transition

import (
	"reflect"

	"example.org/parley"
	"example.org/parley/store"
)

// WokenAtOnce bounds how many sessions resume when a call frees room in their shared budget: further ones would find it
// taken.
const WokenAtOnce = 8

// OpenCall is a call without an outcome.
type OpenCall struct {
	ID       parley.ID
	Expected parley.Expected  // for its estimate, if nobody says what it used
	Reserved *parley.Reserved // nil: nothing was reserved
	From     []parley.ID      // the budgets with the reservation
}

// Spent ends the reservation of a call.
type Spent struct {
	From     []parley.ID // by subject
	Reserved parley.Reserved
	Used     parley.Reserved
}

// Parked marks a session as waiting for room in budgets. The write is void if a budget's revision has changed, or if
// none refuses any more.
type Parked struct {
	Refusal store.Refusal
}

// Warned records a warning about a budget's limit; void if it was recorded before.
type Warned struct {
	Subject parley.ID
	Limit   parley.Limit
}

// IDsOf splits the ids of one column.
func IDsOf(joined []byte) (ids []parley.ID) {
	for ; len(joined) >= len(parley.ID{}); joined = joined[len(parley.ID{}):] {
		ids = append(ids, parley.ID(joined[:len(parley.ID{})]))
	}
	return ids
}

// JoinIDs is the inverse of IDsOf.
func JoinIDs(ids []parley.ID) (joined []byte) {
	for _, id := range ids {
		joined = append(joined, id[:]...)
	}
	return joined
}

// reserve reserves a call's estimate or refuses the call. The store charges the budgets when it writes the new call.
func (t *Tx) reserve(h *Head, begin *store.StepBegin) (OpenCall, error) {
	call := OpenCall{ID: begin.Call.ID, Expected: begin.Call.Expected}
	if begin.Reservation == nil {
		return call, nil
	}
	reserved := begin.Reservation.Reserved
	call.Reserved = &reserved
	for i := range begin.Reservation.Charges {
		charge := &begin.Reservation.Charges[i]
		if charge.Watched {
			continue
		}
		call.From = append(call.From, charge.Subject)
		fits, err := t.rows.Fits(h.WorkspaceID, charge, reserved)
		if err != nil {
			return call, err
		}
		if !fits {
			return call, OverBudget()
		}
	}
	return call, nil
}

// OverBudget is the error for a call that a budget has no room for.
func OverBudget() error {
	return parley.Errorf(parley.CodeOverBudget, "a budget has no room for this call")
}

// spend ends the reservation of an open call, and estimates what nobody counted.
func (h *Head) spend(open OpenCall, call *store.CallSettled) {
	call.EstimateFrom(open.Expected, 0)
	if open.Reserved == nil {
		return
	}
	used, estimated := call.Charged(*open.Reserved)
	if estimated {
		call.Cost, call.Estimated = used.Cost, true
	}
	h.Changes.Spent = append(h.Changes.Spent, Spent{From: open.From, Reserved: *open.Reserved, Used: used})
}

// WarnLimit implements the transition of store.Budgets.
func (t *Tx) WarnLimit(fence store.Fence, warning parley.LimitWarning, subject parley.ID) error {
	h, err := t.Holds(fence)
	if err != nil {
		return err
	}
	if !subject.IsZero() {
		warned, err := t.rows.Warned(h.WorkspaceID, subject, warning.Limit)
		if err != nil {
			return err
		}
		if warned {
			return WarnedBefore()
		}
		h.Changes.Warned = &Warned{Subject: subject, Limit: warning.Limit}
	}
	t.event(h, fence.TurnID, limitWarning(fence.TurnID, warning))
	return nil
}

// WarnedBefore is the error for a repeated warning.
func WarnedBefore() error {
	return parley.Errorf(parley.CodeConflict, "this limit has been warned about already")
}

// ParkRefused implements the transition of store.Budgets. A steer does not keep the turn from waiting, because the
// model could not see it either.
func (t *Tx) ParkRefused(fence store.Fence, refusal store.Refusal) (parley.Turn, error) {
	h, turn, err := t.lockTurn(fence)
	if err != nil {
		return parley.Turn{}, err
	}
	if h.Cancel == h.TurnID { // nobody would stop it once it waits
		_, err := t.settleCancelled(h, parley.ByHolder)
		return *turn, err
	}
	if open, err := t.openOf(h, turn); err != nil {
		return parley.Turn{}, err
	} else if len(open.Rows) > 0 {
		return parley.Turn{}, parley.Errorf(parley.CodeConflict, "a step is open; settle it first")
	}
	if refusal.Reason == parley.WaitBudget && (h.Model != refusal.Model || !SameLimits(h.Limits, refusal.Session)) {
		return parley.Turn{}, FitsAgain()
	}
	if len(refusal.Charges) > 0 {
		holds, err := t.rows.Refuses(h.WorkspaceID, &refusal)
		if err != nil {
			return parley.Turn{}, err
		}
		if !holds {
			return parley.Turn{}, FitsAgain()
		}
		h.Changes.Parked = &Parked{Refusal: refusal}
	}
	if refusal.After > 0 {
		h.Changes.Outbox = append(
			h.Changes.Outbox,
			Errand{WorkspaceID: h.WorkspaceID, Work: WakeSession{SessionID: h.ID}, Delay: refusal.After},
		)
	}
	if err := t.parkWith(h, turn, refusal.Reason, refused(turn.ID, &refusal)); err != nil {
		return *turn, err
	}
	return *turn, t.alertBudget(h, turn, &refusal)
}

// SameLimits reports whether two sets of limits are equal.
func SameLimits(a, b *parley.Limits) bool { return reflect.DeepEqual(a, b) }

// FitsAgain is the error for parking a turn whose obstacle is gone.
func FitsAgain() error {
	return parley.Errorf(parley.CodeMore, "the limits or the budgets changed meanwhile; try again")
}

// Wake resumes a turn that waits for a budget or a rate limit; it ignores any other state.
func (t *Tx) Wake(sessionID parley.ID) error {
	h, err := t.load(sessionID)
	if err != nil || h == nil || h.DeletedAt != 0 || h.TurnStatus != parley.TurnWaiting ||
		h.WaitReason != parley.WaitBudget && h.WaitReason != parley.WaitRateLimit {
		return err
	}
	turn, err := t.currentTurn(h)
	if err != nil {
		return err
	}
	return t.answer(h, turn)
}

// limitsChanged reacts to changed limits of a session: its own turn resumes in this transaction, those of its tree by
// errands.
func (t *Tx) limitsChanged(h *Head, before *parley.Session) error {
	sameLimit := SameLimits(before.Limits, h.Limits)
	if !sameLimit {
		h.Changes.Relimited = true
	}
	if sameLimit && before.Model == h.Model {
		return nil
	}
	return t.Wake(h.ID)
}

// abandon ends the reservations of a deleted session: what its open calls may have used stays spent.
func (t *Tx) abandon(h *Head) error {
	c, err := t.rows.Compaction(h)
	if err != nil {
		return err
	}
	if c != nil && c.State == parley.CompactionRunning {
		open, err := t.rows.OpenCall(h, c.CallID)
		if err != nil {
			return err
		}
		if open != nil {
			h.spend(*open, &store.CallSettled{CallID: open.ID, Outcome: parley.CallInterrupted})
		}
	}
	if h.TurnID.IsZero() {
		return nil
	}
	turn, err := t.currentTurn(h)
	if err != nil {
		return err
	}
	open, err := t.openOf(h, turn)
	if err != nil {
		return err
	}
	for _, call := range open.Calls {
		h.spend(call, &store.CallSettled{CallID: call.ID, Outcome: parley.CallInterrupted})
	}
	return nil
}

// Rated counts a request of a session; void if it exceeds the rate.
type Rated struct {
	PerMinute int
}

// countPost counts a message that starts a turn, if the session or its agent has a rate limit.
func (t *Tx) countPost(h *Head, m *parley.Message, posting store.NewMessage, posted *store.Posted) error {
	if m.Role != parley.RoleUser || posting.TurnID.IsZero() || h.Changes.New != nil {
		return nil
	}
	limits := parley.ValueOf(h.Limits)
	if limits.RequestsPerMinute == nil {
		agent, err := t.agentOf(h, posted)
		if err != nil || agent == nil {
			return err
		}
		if limits = parley.ValueOf(agent.Limits); limits.RequestsPerMinute == nil {
			return nil
		}
	}
	perMinute := *limits.RequestsPerMinute
	wait, err := t.rows.Rate(h.WorkspaceID, h.ID, perMinute)
	if err != nil {
		return err
	}
	if wait > 0 {
		return parley.RateLimited("This session", perMinute, wait)
	}
	h.Changes.Rated = &Rated{PerMinute: perMinute}
	return nil
}

// agentOf returns the session's agent in its current version, taken from a claim if possible.
func (t *Tx) agentOf(h *Head, posted *store.Posted) (*parley.Agent, error) {
	if posted.Claim != nil {
		return &posted.Claim.Agent, nil
	}
	version, _, err := t.agent(h.WorkspaceID, h.AgentID)
	if err != nil {
		return nil, err
	}
	return t.rows.AgentVersion(h.WorkspaceID, h.AgentID, version)
}
