package transition

import (
	"example.org/parley"
	"example.org/parley/store"
)

// expireDelegation ends a delegation whose deadline has passed by the database's clock. It reports whether it is not
// due yet, which a clock that was set back may cause.
func (t *Tx) expireDelegation(workspaceID, id parley.ID) (again bool, err error) {
	d, err := t.rows.Delegation(workspaceID, id)
	if err != nil || d == nil || d.Finished() {
		return false, err
	}
	if t.now < d.DeadlineAt {
		return true, nil
	}
	h, err := t.placeOfDelegation(d)
	if err != nil || h == nil {
		return false, err
	}
	return false, t.finishDelegation(h, d, parley.DelegationExpire, "")
}

// endOpenDelegation fails or cancels a delegation on behalf of an errand; it ignores a finished one.
func (t *Tx) endOpenDelegation(
	workspaceID, id parley.ID,
	move parley.DelegationMove,
	reason func(*parley.Delegation) string,
) error {
	d, err := t.rows.Delegation(workspaceID, id)
	if err != nil || d == nil || d.Finished() {
		return err
	}
	h, err := t.placeOfDelegation(d)
	if err != nil || h == nil {
		return err
	}
	return t.finishDelegation(h, d, move, reason(d))
}

// placeOfDelegation locks the session where a delegation stands or, if its rows are purged, the sender's; nil if both
// are.
func (t *Tx) placeOfDelegation(d *parley.Delegation) (*Head, error) {
	h, err := t.load(d.SessionID())
	if err == nil && h == nil {
		h, err = t.load(d.FromSessionID)
	}
	return h, err
}

// CancelDelegation implements the transition of store.Delegations.
func (t *Tx) CancelDelegation(scope store.Scope, id parley.ID) (parley.Delegation, error) {
	d, err := t.rows.Delegation(scope.WorkspaceID, id)
	if err == nil && d == nil {
		err = NotFound("delegation")
	}
	if err != nil {
		return parley.Delegation{}, err
	}
	h, err := t.lock(scope, d.SessionID())
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return parley.Delegation{}, NotFound("delegation")
	} else if err != nil {
		return parley.Delegation{}, err
	}
	t.about.TargetID = d.ID
	if d.Status == parley.DelegationCancelled {
		return *d, nil
	}
	if d.Finished() {
		return parley.Delegation{}, parley.Conflict(d.Status, "this %s has already ended: it is %s", d.Kind, d.Status)
	}
	err = t.finishDelegation(h, d, parley.DelegationCancel, "")
	return *d, err
}

// stopDelegated stops the turns that work for a delegation which ended otherwise. It reports whether another visit is
// needed.
func (t *Tx) stopDelegated(workspaceID, id parley.ID) (again bool, err error) {
	d, err := t.rows.Delegation(workspaceID, id)
	if err != nil || d == nil || d.ToSessionID.IsZero() {
		return false, err
	}
	h, err := t.load(d.ToSessionID)
	if err != nil || h == nil || h.DeletedAt != 0 || h.TurnID.IsZero() {
		return false, err
	}
	current, err := t.currentTurn(h)
	if err != nil {
		return false, err
	}
	at, err := t.assigned(h, current.TriggerMessageID)
	if err != nil {
		return false, err
	}
	if at.work == nil || at.work.ID != d.ID {
		turn, err := t.rows.Turn(h, d.TurnID)
		if err != nil || turn == nil || turn.Status.Finished() {
			return false, err
		}
		return false, t.stopWaiting(h, turn)
	}
	return t.stopCurrent(h)
}

// stopWaiting cancels a queued turn behind the first unfinished one on behalf of an errand.
func (t *Tx) stopWaiting(h *Head, turn *parley.Turn) error {
	if _, err := t.queueOf(h, true); err != nil {
		return err
	}
	return t.cancelWaiting(h, turn, parley.ID{})
}
