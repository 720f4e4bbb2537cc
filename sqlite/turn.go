package sqlite

import (
	"encoding/json"

	"parley"
)

func (t *txn) insertTurn(turn *parley.Turn) error {
	_, err := t.exec(`INSERT INTO turns (id, workspace_id, session_id, trigger_message_id, status, attempt, agent_id, agent_version, loop_id,
 iteration, created_at, started_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		turn.ID, turn.WorkspaceID, turn.SessionID, turn.TriggerMessageID, string(turn.Status), turn.Attempt, turn.AgentID, turn.AgentVersion,
		turn.LoopID, turn.Iteration, turn.CreatedAt, turn.StartedAt)
	return err
}

// saveTurn writes all that changes in a turn.
func (t *txn) saveTurn(turn *parley.Turn) error {
	failure, err := encodeMaybe(turn.Error)
	if err != nil {
		return err
	}
	u := &turn.Usage
	_, err = t.exec(`UPDATE turns SET status = ?, wait_reason = ?, attempt = ?, takeovers = ?, step = ?, agent_id = ?, agent_version = ?, error = ?,
 input_tokens = ?, output_tokens = ?, cached_tokens = ?, unknown_calls = ?, cost = ?, started_at = ?, finished_at = ? WHERE id = ?`,
		string(turn.Status), string(turn.WaitReason), turn.Attempt, turn.Takeovers, turn.Step, turn.AgentID, turn.AgentVersion, failure,
		u.InputTokens, u.OutputTokens, u.CachedTokens, u.Unknown, turn.Cost, turn.StartedAt, turn.FinishedAt, turn.ID)
	return err
}

// move takes a turn through its state machine, and the head with it.
func (h *head) move(turn *parley.Turn, move parley.TurnMove) error {
	next, err := turn.Status.After(move)
	if err != nil {
		return err
	}
	turn.Status = next
	if turn.ID == h.TurnID {
		h.turnStatus, h.dirty = next, true
	}
	return nil
}

// park makes the running turn wait; nobody holds it from then on.
func (t *txn) park(h *head, turn *parley.Turn, reason parley.WaitReason) error {
	if err := h.move(turn, parley.MovePark); err != nil {
		return err
	}
	turn.WaitReason, h.holder = reason, parley.ID{}
	h.Status, h.WaitReason = parley.SessionWaiting, reason
	t.touch(h)
	t.event(h, parley.EventSessionWaiting, turn.ID, waitingData(turn))
	return t.saveTurn(turn)
}

// answer makes a waiting turn ready: what it waited for is there.
func (t *txn) answer(h *head, turn *parley.Turn) error {
	if err := h.move(turn, parley.MoveAnswer); err != nil {
		return err
	}
	turn.WaitReason = ""
	h.Status, h.WaitReason = parley.SessionRunning, ""
	if err := t.saveTurn(turn); err != nil {
		return err
	}
	return t.ready(h)
}

// release gives the running turn back: it is ready again, and the old claim is
// void.
func (t *txn) release(h *head, turn *parley.Turn) error {
	if err := h.move(turn, parley.MoveRelease); err != nil {
		return err
	}
	h.holder = parley.ID{}
	h.epoch++
	if err := t.saveTurn(turn); err != nil {
		return err
	}
	return t.ready(h)
}

// end finishes the session's first unfinished turn: its terminal event, its
// undelivered steers, and what comes next in the queue.
func (t *txn) end(h *head, turn *parley.Turn, end parley.TurnEnd) error {
	move := parley.MoveFinish
	kind := parley.EventSessionCompleted
	switch end.Status {
	case parley.TurnFailed:
		move, kind = parley.MoveFail, parley.EventSessionFailed
	case parley.TurnCancelled:
		move, kind = parley.MoveCancel, parley.EventSessionCancelled
	}
	wasReady := turn.Status == parley.TurnQueued
	if err := h.move(turn, move); err != nil {
		return err
	}
	turn.WaitReason, turn.FinishedAt, turn.Error = "", t.now, end.Failure
	h.holder, h.cancel = parley.ID{}, parley.ID{}
	h.Status, h.WaitReason, h.FinishedAt = parley.SessionStatusOf(turn.Status), "", t.now
	t.touch(h)
	data, err := endedData(turn)
	if err != nil {
		return err
	}
	t.event(h, kind, turn.ID, data)
	if err := t.saveTurn(turn); err != nil {
		return err
	}
	if wasReady {
		if err := t.unready(h); err != nil {
			return err
		}
	}
	if h.steers > 0 {
		if err := t.convertSteers(h, turn.ID); err != nil {
			return err
		}
	}
	return t.advance(h)
}

// convertSteers makes each undelivered steer of an ended turn the trigger of a
// new queued turn.
func (t *txn) convertSteers(h *head, ended parley.ID) error {
	steers, err := t.undelivered(h, ended)
	if err != nil {
		return err
	}
	for i := range steers {
		m := &steers[i]
		turn := &parley.Turn{ID: parley.NewID(), WorkspaceID: h.WorkspaceID, SessionID: h.ID, TriggerMessageID: m.ID,
			Status: parley.TurnQueued, Iteration: m.Iteration, CreatedAt: t.now}
		if err := t.insertTurn(turn); err != nil {
			return err
		}
		m.TurnID, m.Steer = turn.ID, false
		if _, err := t.exec("UPDATE messages SET turn_id = ?, steer = 0, updated_at = ? WHERE id = ?", turn.ID, t.now, m.ID); err != nil {
			return err
		}
		h.Statistics.Turns++
		t.event(h, parley.EventMessageQueued, turn.ID, queuedData(m))
	}
	h.steers = 0
	h.dirty = true
	return nil
}

// undelivered are the steers of a turn that wait in the queue, in its order.
func (t *txn) undelivered(h *head, turnID parley.ID) ([]parley.Message, error) {
	return readMessages(t.conn, "m.session_id = ? AND m.position IS NOT NULL AND m.steer = 1 AND m.turn_id = ? ORDER BY m.position", h.ID, turnID)
}

// updatedFeed tells the lists that a session changed.
func (t *txn) updatedFeed(h *head) {
	encoded, err := h.Session.MarshalJSON()
	if err != nil { // its parts were decoded from JSON before: a hint may be lost
		t.store.log.Warn("a session could not be encoded for the feed", "session", h.ID.String(), "error", err)
		return
	}
	t.feed(h, parley.FeedSessionUpdated, append(append([]byte(`{"session":`), encoded...), '}'))
}

// callOf reads id and name from a tool_call's content.
func callOf(content json.RawMessage) (id, name string, err error) {
	var call parley.ToolCallContent
	if err := json.Unmarshal(content, &call); err != nil {
		return "", "", parley.WrapError(parley.CodeInvalid, err, "content: is not a tool call")
	}
	return call.ID, call.Name, nil
}
