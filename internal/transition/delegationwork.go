package transition

import (
	"example.org/parley"
)

// beginDelegated notes that a claimed turn works on the delegation that its trigger carries, or reads answers.
func (t *Tx) beginDelegated(h *Head, turn *parley.Turn, trigger *parley.Message) error {
	if h.Mode != parley.ModeBackground || !carriesDelegation(trigger) {
		return nil
	}
	d, err := t.rows.DelegationOf(h, trigger.ID)
	if err != nil || d == nil {
		return err
	}
	if d.ReturnMessageID == trigger.ID || !d.Kind.Asks() {
		if d.HeardAt == 0 {
			h.Changes.Heard = append(h.Changes.Heard, Heard{TurnID: turn.ID})
		}
		return nil
	}
	if d.Status != parley.DelegationDelivered {
		return nil
	}
	if d.Status, err = d.Status.After(d.Kind, parley.DelegationBegin); err != nil {
		return err
	}
	h.moved(d, parley.DelegationDelivered)
	t.tellDelegation(h, d)
	return nil
}

// endDelegated settles what an ended turn worked for, unless something that it asked of others is still open: then a
// later turn goes on. The first turn that ends with nothing open answers.
func (t *Tx) endDelegated(h *Head, turn *parley.Turn) error {
	if h.Mode != parley.ModeBackground || !h.InBackground() {
		return nil
	}
	at, err := t.assigned(h, turn.TriggerMessageID)
	if err != nil || at.carried == nil {
		return err
	}
	if at.carried != at.work && at.carried.HeardAt == 0 { // a turn that was cancelled before it began
		h.Changes.Heard = append(h.Changes.Heard, Heard{TurnID: turn.ID})
	}
	if at.work == nil || at.work.Finished() || at.work.ToSessionID != h.ID {
		return nil
	}
	if turn.ID != h.TurnID && !h.TurnID.IsZero() { // cancelled behind another, which may be for the same work
		current, err := t.currentTurn(h)
		if err != nil {
			return err
		}
		if ahead, err := t.assigned(h, current.TriggerMessageID); err != nil {
			return err
		} else if ahead.work != nil && ahead.work.ID == at.work.ID {
			return nil
		}
	}
	unheard, err := t.rows.UnheardBelow(h, at.work.ID)
	if err != nil {
		return err
	}
	for _, one := range unheard {
		if one.ReturnTurnID.IsZero() || one.ReturnTurnID != turn.ID {
			return nil
		}
	}
	switch turn.Status {
	case parley.TurnFailed:
		return t.finishDelegation(h, at.work, parley.DelegationFail, failureText(turn.Error))
	case parley.TurnCancelled:
		return t.finishDelegation(h, at.work, parley.DelegationCancel, "its turn was cancelled")
	}
	at.work.AnswerTurnID, at.work.AnswerStep = turn.ID, turn.Step
	return t.finishDelegation(h, at.work, parley.DelegationAnswer, "")
}
