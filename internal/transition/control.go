package transition

import (
	"slices"

	"example.org/parley"
	"example.org/parley/store"
)

// SendQueued implements the transition of store.Control.
func (t *Tx) SendQueued(
	scope store.Scope,
	messageID parley.ID,
	how parley.During,
	claimBy parley.ID,
) (store.Posted, error) {
	h, m, err := t.lockQueued(scope, messageID)
	if err != nil {
		return store.Posted{}, err
	}
	if m.TurnID.IsZero() {
		return store.Posted{}, parley.Conflict(
			m.Status,
			"this message starts no turn: it enters the record by itself when the running turn has ended",
		)
	}
	if member, err := t.member(h, m); err != nil {
		return store.Posted{}, err
	} else if member != nil {
		return store.Posted{}, parley.Conflict(m.Status, "this message enters the record with another one")
	}
	if _, err := t.queueOf(h, true); err != nil {
		return store.Posted{}, err
	}
	posted := store.Posted{EventSequence: h.LastEvent}
	if how == parley.DuringSteer && h.WaitReason == parley.WaitOutside {
		return store.Posted{}, parley.Conflict(
			m.Status,
			"an outside agent is writing, and cannot be steered; wait for it, or send this as an interrupt",
		)
	}
	switch {
	case m.TurnID == h.TurnID && (!m.Steer || how == parley.DuringSteer): // already on its way
		posted.Turn, err = t.currentTurn(h)
	case how == parley.DuringSteer:
		err = t.sendAsSteer(h, m, &posted)
	default:
		err = t.sendFirst(h, m, claimBy, &posted)
	}
	if err != nil {
		return store.Posted{}, err
	}
	posted.Message = *m
	if posted.Turn != nil { // the head keeps its own copy
		turn := *posted.Turn
		posted.Turn = &turn
	}
	return posted, nil
}

// sendAsSteer moves a queued message from its own turn to the first unfinished one.
func (t *Tx) sendAsSteer(h *Head, m *parley.Message, posted *store.Posted) error {
	own, err := t.readTurn(h, m.TurnID)
	if err != nil {
		return err
	}
	if !own.LoopID.IsZero() {
		return parley.Conflict(
			m.Status,
			"this message is iteration %d of a loop, which is a turn by itself; send it as an interrupt, or stop "+
				"the loop",
			own.Iteration,
		)
	}
	if posted.Turn, err = t.currentTurn(h); err != nil {
		return err
	}
	apart, err := t.apart(h, m)
	if err != nil {
		return err
	}
	m.TurnID, m.Steer = h.TurnID, true
	h.Steers++
	t.requeue(h, m, *m.Position)
	if apart {
		return nil
	}
	return t.cancelUnbegun(h, own)
}

// sendFirst moves a queued message to the front of the queue and asks the first unfinished turn to stop.
func (t *Tx) sendFirst(h *Head, m *parley.Message, claimBy parley.ID, posted *store.Posted) error {
	if m.Steer {
		posted.Turn = &parley.Turn{
			ID:               parley.NewID(),
			WorkspaceID:      h.WorkspaceID,
			SessionID:        h.ID,
			TriggerMessageID: m.ID,
			Status:           parley.TurnQueued,
			Iteration:        m.Iteration,
			CreatedAt:        t.now,
		}
		h.addTurn(posted.Turn)
		m.TurnID, m.Steer = posted.Turn.ID, false
		h.Steers--
	} else {
		var err error
		if posted.Turn, err = t.readTurn(h, m.TurnID); err != nil {
			return err
		}
	}
	held, err := t.held(h)
	if err != nil {
		return err
	}
	t.requeue(h, m, h.takeFront())
	if held {
		h.Cancel, h.hint.Cancel = h.TurnID, h.TurnID
		return nil
	}
	if _, err := t.settleCancelled(h, parley.ByCanceller); err != nil {
		return err
	}
	if h.TurnID != m.TurnID {
		return nil
	}
	h.turn = posted.Turn
	if err := t.claimPosted(h, claimBy, posted); err != nil || posted.Claim == nil {
		return err
	}
	*m = posted.Claim.Trigger
	return nil
}

// MoveQueued implements the transition of store.Control.
func (t *Tx) MoveQueued(scope store.Scope, messageID, before parley.ID) (parley.Message, error) {
	h, m, err := t.lockQueued(scope, messageID)
	if err != nil {
		return parley.Message{}, err
	}
	q, err := t.queueOf(h, true)
	if err != nil {
		return parley.Message{}, err
	}
	order := slices.DeleteFunc(slices.Clone(q.entries), func(e Entry) bool { return e.ID == m.ID })
	at := len(order)
	if !before.IsZero() && before != m.ID {
		if at = slices.IndexFunc(order, func(e Entry) bool { return e.ID == before }); at < 0 {
			return parley.Message{}, parley.Errorf(
				parley.CodeNotFound,
				"before: this message is not in the queue",
			)
		}
	}
	from := slices.IndexFunc(q.entries, func(e Entry) bool { return e.ID == m.ID })
	switch starts := func(e Entry) bool { return !e.Steer && e.TurnID == h.TurnID }; {
	case before == m.ID || at == from: // it is already there
		return *m, nil
	case !m.Steer && m.TurnID == h.TurnID, at < len(order) && starts(order[at]):
		return parley.Message{}, parley.Conflict(
			m.Status,
			"the first message of the queue is about to start and keeps its place",
		)
	case at == 0:
		t.requeue(h, m, h.takeFront())
		return *m, nil
	}
	moved := append(
		[]Entry{{ID: m.ID, TurnID: m.TurnID, Steer: m.Steer, Revision: m.Revision, Iteration: m.Iteration}},
		order[at:]...)
	for i := range moved { // after every position ever used, so that none is used twice
		moved[i].Position = h.takeBack()
		t.replace(h, moved[i])
	}
	position := moved[0].Position
	m.Position, m.UpdatedAt = &position, t.now
	return *m, nil
}

// requeue gives a queued message a new position, turn, or steer flag.
func (t *Tx) requeue(h *Head, m *parley.Message, position int64) {
	m.Position, m.UpdatedAt = &position, t.now
	t.replace(
		h,
		Entry{
			ID:        m.ID,
			TurnID:    m.TurnID,
			Position:  position,
			Steer:     m.Steer,
			Revision:  m.Revision,
			Iteration: m.Iteration,
		},
	)
}

// replace changes an entry of the queue, which has been read, and writes its event.
func (t *Tx) replace(h *Head, e Entry) {
	h.queue.remove(e.ID)
	h.queue.insert(e)
	h.Changes.Requeued = append(h.Changes.Requeued, e)
	t.event(
		h,
		e.TurnID,
		messageQueued(&parley.Message{ID: e.ID, TurnID: e.TurnID, Position: &e.Position, Steer: e.Steer}),
	)
}

// cancelUnbegun cancels a queued turn behind the first unfinished one whose trigger now belongs to another.
func (t *Tx) cancelUnbegun(h *Head, turn *parley.Turn) error {
	if err := h.move(turn, parley.MoveCancel); err != nil {
		return err
	}
	turn.FinishedAt = t.now
	cancelled, err := ended(turn)
	if err != nil {
		return err
	}
	t.event(h, turn.ID, cancelled)
	h.saveTurn(turn)
	if err := t.endDelegated(h, turn); err != nil {
		return err
	}
	_, err = t.iterate(h, turn, store.TurnEnd{Status: parley.TurnCancelled})
	return err
}
