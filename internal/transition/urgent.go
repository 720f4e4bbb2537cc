package transition

import "example.org/parley"

// In an agent's background session a person does not wait behind the agent's own work: their message goes first in the
// queue, and whatever must run before it runs at foreground priority too.

// hurry raises the first unfinished turn to foreground priority.
func (t *Tx) hurry(h *Head) error {
	turn, err := t.currentTurn(h)
	if err != nil || turn.Urgent {
		return err
	}
	turn.Urgent = true
	h.saveTurn(turn)
	if h.TurnStatus == parley.TurnQueued { // its row among the ready ones changes its rank
		h.Changes.Unready, h.Changes.Ready = true, true
	}
	return nil
}

// placeOf returns the position in the queue of the message of a new turn: the back or, for an urgent one, before all
// others but earlier urgent ones, which move to the front before it.
func (t *Tx) placeOf(h *Head, turn *parley.Turn) (int64, error) {
	if !turn.Urgent || h.Queued == 0 {
		return h.takeBack(), nil
	}
	q, err := t.queueOf(h, true)
	if err != nil {
		return 0, err
	}
	waiting, err := t.rows.QueuedTurns(h)
	if err != nil {
		return 0, err
	}
	urgent := map[parley.ID]bool{}
	for i := range waiting {
		urgent[waiting[i].ID] = waiting[i].Urgent && waiting[i].ID != h.TurnID
	}
	var earlier []Entry
	for _, e := range q.entries {
		if !e.Steer && urgent[e.TurnID] {
			earlier = append(earlier, e)
		}
	}
	position := h.takeFront()
	for i := len(earlier) - 1; i >= 0; i-- {
		earlier[i].Position = h.takeFront()
		t.replace(h, earlier[i])
	}
	return position, nil
}
