package transition

import (
	"example.org/parley"
)

// longestCarried bounds the text of a delegation that a head keeps while its turn runs, in bytes.
const longestCarried = 4 << 10

// carried is what the trigger of a running turn carries. Whatever moves it locks the session, so that it stays true for
// as long as the head does.
type carried struct {
	messageID  parley.ID
	delegation *parley.Delegation // that the message carries, or brings the end of; nil: none
	// nothing was sent on for it: the turn began it, so no other turn has done so
	nothingSent bool
}

// is reports whether a delegation is the one that is carried.
func (c *carried) is(delegationID parley.ID) bool {
	return c != nil && c.delegation != nil && c.delegation.ID == delegationID
}

// delegationOf returns the delegation that a message of the session carries, or brings the end of; nil if neither.
func (t *Tx) delegationOf(h *Head, messageID parley.ID) (*parley.Delegation, error) {
	if c := h.carried; c != nil && c.messageID == messageID {
		return c.delegation, nil
	}
	return t.rows.DelegationOf(h, messageID)
}

// unheardBelow returns what was sent on for the work of a turn, and that no turn has begun with yet.
func (t *Tx) unheardBelow(h *Head, work *parley.Delegation) ([]Unheard, error) {
	if h.carried.is(work.ID) && h.carried.nothingSent {
		return nil, nil
	}
	return t.rows.UnheardBelow(h, work.ID)
}

// beginDelegated notes that a claimed turn works on the delegation that its trigger carries, or reads answers.
func (t *Tx) beginDelegated(h *Head, turn *parley.Turn, trigger *parley.Message) error {
	h.carried = nil
	if h.Mode != parley.ModeBackground {
		return nil
	}
	if !CarriesDelegation(trigger) {
		h.carried = &carried{messageID: trigger.ID}
		return nil
	}
	d, err := t.rows.DelegationOf(h, trigger.ID)
	if err != nil || d == nil {
		return err
	}
	return t.beginCarried(h, turn, trigger, d)
}

// beginCarried notes that a claimed turn begins with a message that carries a delegation, or brings its end.
func (t *Tx) beginCarried(h *Head, turn *parley.Turn, trigger *parley.Message, d *parley.Delegation) (err error) {
	if len(d.Text) <= longestCarried {
		h.carried = &carried{messageID: trigger.ID, delegation: d}
	}
	if d.ReturnMessageID == trigger.ID || !d.Kind.Asks() {
		if d.HeardAt == 0 {
			h.Changes.Heard = append(h.Changes.Heard, Heard{TurnID: turn.ID, RootID: d.RootID})
			d.HeardAt = t.now
		}
		return nil
	}
	if d.Status != parley.DelegationDelivered {
		return nil
	}
	if d.Status, err = d.Status.After(d.Kind, parley.DelegationBegin); err != nil {
		return err
	}
	if h.carried != nil {
		h.carried.nothingSent = true
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
		h.Changes.Heard = append(h.Changes.Heard, Heard{TurnID: turn.ID, RootID: at.root})
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
	unheard, err := t.unheardBelow(h, at.work)
	if err != nil {
		return err
	}
	for _, one := range unheard {
		if one.ReturnTurnID != turn.ID {
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
