package transition

import (
	"encoding/json"
	"slices"

	"example.org/parley"
	"example.org/parley/store"
)

// RequestCancel implements the transition of store.Turns.
func (t *Tx) RequestCancel(
	scope store.Scope,
	sessionID, turnID parley.ID,
	alsoQueued bool,
) (cancelled store.Cancelled, err error) {
	h, err := t.lock(scope, sessionID)
	if err != nil {
		return cancelled, err
	}
	target, err := t.cancelTarget(h, turnID)
	if err != nil {
		return cancelled, err
	}
	switch {
	case target.Status == parley.TurnCancelled:
		if c := target.Cancelled; turnID.IsZero() && c != nil && !c.With.IsZero() { // it was cancelled with this one
			if target, err = t.readTurn(h, c.With); err != nil {
				return cancelled, err
			}
		}
		return store.Cancelled{Turn: *target, Before: true}, nil
	case target.Status.Finished():
		return cancelled, parley.Conflict(target.Status, "the turn has already ended: it is %s", target.Status)
	}
	if alsoQueued { // first, so that none of them becomes the next turn
		if err := t.cancelQueued(h, target); err != nil {
			return cancelled, err
		}
	}
	if target.ID != h.TurnID {
		err = t.cancelWaiting(h, target, parley.ID{})
		return store.Cancelled{Turn: *target}, err
	}
	held, err := t.held(h)
	if err != nil {
		return cancelled, err
	}
	if held {
		h.Cancel, h.hint.Cancel, h.Changes.Head = h.TurnID, h.TurnID, true
		return store.Cancelled{Turn: *target, Held: true}, nil
	}
	return t.settleCancelled(h, parley.ByCanceller)
}

// cancellation returns what a turn's cancel has settled so far, to be added to and saved with the turn.
func cancellation(turn *parley.Turn) *parley.Cancellation {
	if turn.Cancelled == nil {
		turn.Cancelled = &parley.Cancellation{}
	} else {
		again := *turn.Cancelled // a copy: the turn as read may be kept elsewhere
		turn.Cancelled = &again
	}
	return turn.Cancelled
}

// cancelTarget finds the turn to cancel: the named one, else the first unfinished one, else the last one.
func (t *Tx) cancelTarget(h *Head, turnID parley.ID) (*parley.Turn, error) {
	if turnID.IsZero() {
		turnID = h.TurnID
	}
	switch {
	case turnID.IsZero():
		last, err := t.rows.LastTurn(h)
		if err == nil && last == nil {
			err = parley.Errorf(parley.CodeNothingToCancel, "nothing ever ran in this session")
		}
		return last, err
	case turnID == h.TurnID:
		return t.currentTurn(h)
	}
	return t.readTurn(h, turnID)
}

// held reports whether a process with a live lease runs the turn.
func (t *Tx) held(h *Head) (bool, error) {
	if h.Holder.IsZero() {
		return false, nil
	}
	return t.rows.Alive(h.Holder)
}

// settleCancelled cancels the first unfinished turn, whoever holds it: its rows settle from their versions, its open
// tools as "effect unknown", and the queue advances. by says who does it.
func (t *Tx) settleCancelled(h *Head, by parley.CancelledBy) (store.Cancelled, error) {
	turn, err := t.currentTurn(h)
	if err != nil {
		return store.Cancelled{}, err
	}
	if err := t.queueToEnd(h); err != nil {
		return store.Cancelled{}, err
	}
	if !h.Holder.IsZero() {
		h.Epoch++
	}
	settled, err := t.settleOpen(h, turn, parley.MessageCancelled, parley.CallCancelled, nil)
	if err != nil {
		return store.Cancelled{}, err
	}
	results, err := t.settleTools(h, turn)
	if err != nil {
		return store.Cancelled{}, err
	}
	if err := t.enterUnbegun(h, turn); err != nil {
		return store.Cancelled{}, err
	}
	proof := cancellation(turn)
	proof.By, proof.Settled = by, slices.Concat(proof.Settled, settled, results)
	if err := t.end(h, turn, store.TurnEnd{Status: parley.TurnCancelled}); err != nil {
		return store.Cancelled{}, err
	}
	return store.Cancelled{Turn: *turn, Settled: append(settled, results...)}, nil
}

// enterUnbegun enters into the record what a turn was about to begin with: a stop just before the claim loses no more
// than one just after.
func (t *Tx) enterUnbegun(h *Head, turn *parley.Turn) error {
	if turn.Status != parley.TurnQueued || h.queue.find(turn.TriggerMessageID) == nil {
		return nil
	}
	trigger := h.Changes.made(turn.TriggerMessageID)
	if trigger == nil {
		var err error
		if trigger, err = t.rows.Message(h.WorkspaceID, turn.TriggerMessageID); err != nil {
			return err
		}
	}
	if trigger == nil {
		return NotFound("message")
	}
	if err := t.enterRecord(h, trigger); err != nil {
		return err
	}
	return t.enterMembers(h, turn)
}

// cancelWaiting cancels a queued turn behind the first unfinished one; with is the turn whose cancel asks for it, zero
// if nobody cancels another.
func (t *Tx) cancelWaiting(h *Head, turn *parley.Turn, with parley.ID) error {
	if err := t.removeMembers(h, turn); err != nil {
		return err
	}
	t.removeQueued(h, turn.TriggerMessageID)
	proof := cancellation(turn)
	proof.By, proof.With = parley.ByCanceller, with
	proof.Removed = append(slices.Clip(proof.Removed), turn.TriggerMessageID)
	return t.cancelUnbegun(h, turn)
}

// cancelQueued cancels every queued turn behind the first unfinished one except the given one, which notes them. If the
// exception is the first one, it also removes its undelivered steers.
func (t *Tx) cancelQueued(h *Head, except *parley.Turn) error {
	q, err := t.queueOf(h, true)
	if err != nil {
		return err
	}
	queued, err := t.rows.QueuedTurns(h)
	if err != nil {
		return err
	}
	proof := cancellation(except)
	for i := range queued {
		turn := &queued[i]
		if turn.ID == except.ID || turn.ID == h.TurnID {
			continue
		}
		if err := t.cancelWaiting(h, turn, except.ID); err != nil {
			return err
		}
		proof.Turns, proof.Removed = append(proof.Turns, turn.ID), append(proof.Removed, turn.TriggerMessageID)
	}
	if except.ID == h.TurnID && h.Steers > 0 {
		for _, steer := range q.steers(h.TurnID) { // they would become turns
			h.Steers--
			t.removeQueued(h, steer.ID)
			proof.Removed = append(proof.Removed, steer.ID)
		}
	}
	h.saveTurn(except)
	return nil
}

// TakeCancel implements the transition of store.Turns.
func (t *Tx) TakeCancel(scope store.Scope, sessionID, turnID parley.ID) (store.Cancelled, error) {
	h, err := t.lock(scope, sessionID)
	if err != nil {
		return store.Cancelled{}, err
	}
	turn, err := t.readTurn(h, turnID)
	if err != nil {
		return store.Cancelled{}, err
	}
	switch {
	case turn.Status.Finished():
		return store.Cancelled{Turn: *turn}, nil
	case h.TurnID != turnID || h.Cancel != turnID:
		return store.Cancelled{}, parley.Errorf(parley.CodeConflict, "nobody asked this turn to stop")
	}
	return t.settleCancelled(h, parley.ByCanceller)
}

// EditQueued implements the transition of store.Turns.
func (t *Tx) EditQueued(
	scope store.Scope,
	author, messageID parley.ID,
	content json.RawMessage,
) (parley.Message, error) {
	h, m, err := t.lockQueued(scope, messageID)
	if err != nil {
		return parley.Message{}, err
	}
	if m.Author.ID != author { // the record would name them as the writer
		return parley.Message{}, parley.Errorf(
			parley.CodeForbidden,
			"only the author of a queued message may edit it; you may remove it and post your own",
		)
	}
	if more := len(content) - len(m.Content); more > 0 {
		if err := t.checkQueuedBytes(h, more); err != nil {
			return parley.Message{}, err
		}
	}
	if err := t.replaceFiles(h, m.ID, m.Content, content); err != nil {
		return parley.Message{}, err
	}
	m.Content, m.TokenEstimate, m.UpdatedAt = content, parley.EstimateContent(content), t.now
	m.Revision++
	if h.queue != nil {
		if e := h.queue.find(m.ID); e != nil {
			e.Revision = m.Revision
		}
	}
	h.Changes.Edited = append(h.Changes.Edited, m)
	t.event(h, m.TurnID, messageQueued(m))
	return *m, nil
}

// RemoveQueued implements the transition of store.Turns.
func (t *Tx) RemoveQueued(scope store.Scope, messageID parley.ID) (parley.Message, error) {
	h, m, err := t.lockQueued(scope, messageID)
	if err != nil {
		return parley.Message{}, err
	}
	apart, err := t.apart(h, m)
	if err != nil {
		return parley.Message{}, err
	}
	switch {
	case apart:
		t.removeQueued(h, m.ID)
	case m.Steer:
		h.Steers--
		t.removeQueued(h, m.ID)
	case m.TurnID.IsZero():
		t.removeQueued(h, m.ID)
	case m.TurnID == h.TurnID:
		if err = t.queueToEnd(h); err == nil {
			t.removeQueued(h, m.ID)
			_, err = t.settleCancelled(h, parley.ByCanceller)
		}
	default:
		var turn *parley.Turn
		if turn, err = t.readTurn(h, m.TurnID); err == nil {
			err = t.cancelWaiting(h, turn, parley.ID{})
		}
	}
	m.Status, m.Position, m.UpdatedAt = parley.MessageCancelled, nil, t.now
	return *m, err
}

// lockQueued locks the session of a queued message: CodeConflict if it is in the record or was removed.
func (t *Tx) lockQueued(scope store.Scope, messageID parley.ID) (*Head, *parley.Message, error) {
	h, m, err := t.lockMessage(scope, messageID)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case m.Status == parley.MessageQueued:
		return h, m, t.checkQueued(h, m)
	case m.Sequence == 0:
		return nil, nil, parley.Conflict(m.Status, "this message was already removed from the queue")
	}
	return nil, nil, parley.Conflict(m.Status, "this message has entered the record and cannot be changed")
}
