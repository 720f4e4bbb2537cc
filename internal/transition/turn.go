package transition

import (
	"encoding/json"
	"slices"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// addTurn makes a turn the newest of its session.
func (h *Head) addTurn(turn *parley.Turn) {
	h.Statistics.Turns++
	turn.Ordinal = h.Statistics.Turns
	h.Changes.NewTurns = append(h.Changes.NewTurns, turn)
}

// saveTurn has changes of a turn written, in their final state.
func (h *Head) saveTurn(turn *parley.Turn) {
	c := &h.Changes
	for _, made := range c.NewTurns {
		if made == turn {
			return
		}
	}
	for _, saved := range c.Turns {
		if saved == turn {
			return
		}
	}
	c.Turns = append(c.Turns, turn)
}

// move applies a move of the state machine to a turn and its head.
func (h *Head) move(turn *parley.Turn, move parley.TurnMove) error {
	next, err := turn.Status.After(move)
	if err != nil {
		return err
	}
	turn.Status = next
	if turn.ID == h.TurnID {
		h.TurnStatus, h.Changes.Head = next, true
	}
	return nil
}

// park makes the running turn wait, without a holder.
func (t *Tx) park(h *Head, turn *parley.Turn, reason parley.WaitReason) error {
	return t.parkWith(h, turn, reason, waiting(turn.ID, reason))
}

// parkWith is park with a given event.
func (t *Tx) parkWith(h *Head, turn *parley.Turn, reason parley.WaitReason, told event.Encoded) error {
	if err := h.move(turn, parley.MovePark); err != nil {
		return err
	}
	turn.WaitReason, h.Holder, h.carried = reason, parley.ID{}, nil
	if h.open != nil {
		h.open.unanswered = nil // the wait may be long
	}
	h.Status, h.WaitReason = parley.SessionWaiting, reason
	t.touch(h)
	t.event(h, turn.ID, told)
	h.saveTurn(turn)
	return nil
}

// answer makes a waiting turn ready after its wait ends.
func (t *Tx) answer(h *Head, turn *parley.Turn) error {
	if err := h.move(turn, parley.MoveAnswer); err != nil {
		return err
	}
	turn.WaitReason = ""
	h.Status, h.WaitReason = parley.SessionRunning, ""
	h.saveTurn(turn)
	h.Changes.Ready = true
	return nil
}

// release makes the running turn ready again and its claim void.
func (t *Tx) release(h *Head, turn *parley.Turn) error {
	if err := h.move(turn, parley.MoveRelease); err != nil {
		return err
	}
	h.Holder = parley.ID{}
	h.Epoch++
	h.saveTurn(turn)
	h.Changes.Ready = true
	return nil
}

// end finishes the session's first unfinished turn: it writes the terminal event, converts undelivered steers, and
// advances the queue.
func (t *Tx) end(h *Head, turn *parley.Turn, end store.TurnEnd) error {
	move := parley.MoveFinish
	switch end.Status {
	case parley.TurnFailed:
		move = parley.MoveFail
	case parley.TurnCancelled:
		move = parley.MoveCancel
	}
	if move == parley.MoveFinish && turn.WaitReason == parley.WaitOutside {
		move = parley.MoveDeliver
	}
	if _, err := t.queueOf(h, h.Steers > 0); err != nil {
		return err
	}
	if end.Status != parley.TurnCompleted && turn.Step > 0 {
		children, err := t.cancelChildren(h)
		if err != nil {
			return err
		}
		if len(children) > 0 && end.Status == parley.TurnCancelled {
			proof := cancellation(turn)
			proof.Children = slices.Concat(proof.Children, children)
		}
	}
	if end.Status == parley.TurnCancelled && (turn.Cancelled == nil || turn.Cancelled.By == "") {
		cancellation(turn).By = parley.ByHolder
	}
	if turn.Ordinal == 1 {
		h.leaveChildHome()
	}
	wasReady := turn.Status == parley.TurnQueued
	if err := h.move(turn, move); err != nil {
		return err
	}
	turn.WaitReason, turn.FinishedAt, turn.Error = "", t.now, end.Failure
	h.Holder, h.Cancel = parley.ID{}, parley.ID{}
	h.Status, h.WaitReason, h.FinishedAt = parley.SessionStatusOf(turn.Status), "", t.now
	t.touch(h)
	last, err := ended(turn)
	if err != nil {
		return err
	}
	t.event(h, turn.ID, last)
	h.saveTurn(turn)
	if wasReady {
		h.unready()
	}
	t.endTransform(h, turn, &end)
	if err := t.endDelegated(h, turn); err != nil {
		return err
	}
	if err := t.leaveDrawing(h, turn); err != nil {
		return err
	}
	if err := t.alertFailedRun(h, turn); err != nil {
		return err
	}
	if h.Steers > 0 {
		t.convertSteers(h, turn)
	}
	archive, err := t.iterate(h, turn, end)
	if err != nil {
		return err
	}
	if err := t.advance(h); err != nil || !archive || h.InBackground() { // an agent's own work goes on
		return err
	}
	t.archiveDone(h)
	return nil
}

// convertSteers turns each undelivered steer of an ended turn into the trigger of a new queued turn.
func (t *Tx) convertSteers(h *Head, ended *parley.Turn) {
	for i := range h.queue.entries {
		e := &h.queue.entries[i]
		if !e.Steer || e.TurnID != ended.ID {
			continue
		}
		turn := &parley.Turn{ID: parley.NewID(), WorkspaceID: h.WorkspaceID, SessionID: h.ID, TriggerMessageID: e.ID,
			Status: parley.TurnQueued, Iteration: e.Iteration, Urgent: ended.Urgent, CreatedAt: t.now}
		h.addTurn(turn)
		e.TurnID, e.Steer = turn.ID, false
		h.Changes.Requeued = append(h.Changes.Requeued, *e)
		position := e.Position
		t.event(h, turn.ID, messageQueued(&parley.Message{ID: e.ID, TurnID: turn.ID, Position: &position}))
	}
	h.queue.changed = true
	h.Steers = 0
}

// callOf reads id and name from a tool_call's content.
func callOf(content json.RawMessage) (id, name string, err error) {
	var call parley.ToolCallContent
	if err := json.Unmarshal(content, &call); err != nil {
		return "", "", parley.WrapError(parley.CodeInvalid, err, "content: is not a tool call")
	}
	return call.ID, call.Name, nil
}
