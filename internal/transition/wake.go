package transition

import (
	"example.org/parley"
	"example.org/parley/store"
)

// enter posts a delegation's message: into a turn that has not begun, or with a turn of its own.
func (t *Tx) enter(h *Head, m *parley.Message, wake *parley.Turn) error {
	t.touch(h)
	if wake == nil {
		var posted store.Posted
		return t.postTurn(
			h, m, store.NewMessage{TurnID: parley.NewID(), During: parley.DuringQueue}, parley.ID{}, &posted,
		)
	}
	m.TurnID = wake.ID
	status, err := t.rows.MessageStatus(h.WorkspaceID, wake.TriggerMessageID)
	if err != nil {
		return err
	}
	if status == parley.MessageQueued {
		t.enqueue(h, m, h.takeBack(), store.Idempotency{})
		return nil
	}
	return t.record(h, m, store.Idempotency{}) // the turn is the session's next, and nobody has claimed it
}

// wakeTurn finds a turn of the session that has not begun and reads answers and reports for the same work of the same
// root, if it has room for another; nil if there is none.
func (t *Tx) wakeTurn(h *Head, rootID, workID parley.ID) (*parley.Turn, error) {
	if h.TurnID.IsZero() { // no turn waits
		return nil, nil
	}
	turns, err := t.rows.WakeTurns(h, rootID, workID)
	if err != nil {
		return nil, err
	}
	counts := map[parley.ID]int{}
	for _, id := range turns {
		counts[id]++
	}
	for id, n := range counts {
		if n >= parley.MaxDelegationBatch {
			continue
		}
		turn, err := t.rows.Turn(h, id)
		if err != nil {
			return nil, err
		}
		if turn != nil && turn.Status == parley.TurnQueued && turn.Attempt == 0 {
			return turn, nil
		}
	}
	return nil, nil
}

// members returns the queued messages that enter with a turn's trigger; the queue has been read as a whole.
func (q *queue) members(turn *parley.Turn) (members []Entry) {
	for _, e := range q.entries {
		if e.TurnID == turn.ID && !e.Steer && e.ID != turn.TriggerMessageID {
			members = append(members, e)
		}
	}
	return members
}

// member returns the turn that a queued message enters without being its trigger; nil for any other message.
func (t *Tx) member(h *Head, m *parley.Message) (*parley.Turn, error) {
	if h.Mode != parley.ModeBackground || m.Steer || m.TurnID.IsZero() || !CarriesDelegation(m) {
		return nil, nil
	}
	turn, err := t.readTurn(h, m.TurnID)
	if err != nil || turn.TriggerMessageID == m.ID {
		return nil, err
	}
	return turn, nil
}

// apart takes a queued message out of those that begin a turn together, as long as others are left, and reports whether
// it did: the work does not wait for the message any more, and the first of the others becomes the turn's trigger.
func (t *Tx) apart(h *Head, m *parley.Message) (bool, error) {
	if h.Mode != parley.ModeBackground || m.Steer || m.TurnID.IsZero() || !CarriesDelegation(m) {
		return false, nil
	}
	turn, err := t.turnOf(h, m.TurnID)
	if err != nil {
		return false, err
	}
	if turn.TriggerMessageID == m.ID {
		q, err := t.queueOf(h, true)
		if err != nil {
			return false, err
		}
		others := q.members(turn)
		if len(others) == 0 {
			return false, nil
		}
		turn.TriggerMessageID = others[0].ID
		h.saveTurn(turn)
	}
	h.Changes.Heard = append(h.Changes.Heard, Heard{MessageID: m.ID})
	return true, nil
}

// turnOf returns an unfinished turn of a session.
func (t *Tx) turnOf(h *Head, turnID parley.ID) (*parley.Turn, error) {
	if turnID == h.TurnID {
		return t.currentTurn(h)
	}
	return t.readTurn(h, turnID)
}

// enterMembers enters what waits to begin a turn with its trigger.
func (t *Tx) enterMembers(h *Head, turn *parley.Turn) error {
	if h.Queued == 0 || h.Mode != parley.ModeBackground {
		return nil
	}
	q, err := t.queueOf(h, true)
	if err != nil {
		return err
	}
	members := q.members(turn)
	if len(members) == 0 {
		return nil
	}
	messages, err := t.rows.Queued(h, idsOf(members))
	if err != nil {
		return err
	}
	for i := range messages {
		if err := t.enterRecord(h, &messages[i]); err != nil {
			return err
		}
	}
	return nil
}

// removeMembers removes what would have begun a queued turn with its trigger.
func (t *Tx) removeMembers(h *Head, turn *parley.Turn) error {
	if h.Queued == 0 || h.Mode != parley.ModeBackground {
		return nil
	}
	q, err := t.queueOf(h, true)
	if err != nil {
		return err
	}
	for _, member := range q.members(turn) {
		t.removeQueued(h, member.ID)
	}
	return nil
}
