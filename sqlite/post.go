package sqlite

import (
	"context"

	"parley"
)

// PostMessage implements parley.TurnStore.
func (s *Store) PostMessage(ctx context.Context, scope parley.Scope, sessionID parley.ID, posting parley.NewMessage, claimBy parley.ID) (parley.Posted, error) {
	return transact(ctx, s, func(tx *txn) (parley.Posted, error) {
		h, err := tx.lock(scope, sessionID)
		if err != nil {
			return parley.Posted{}, err
		}
		return tx.post(h, posting, claimBy)
	})
}

// post applies a message to a locked session.
func (t *txn) post(h *head, posting parley.NewMessage, claimBy parley.ID) (parley.Posted, error) {
	if posted, err := t.postedBefore(h, posting.Idempotency); err != nil || posted != nil {
		if posted == nil {
			return parley.Posted{}, err
		}
		return *posted, err
	}
	if h.ArchivedAt != 0 {
		return parley.Posted{}, parley.Errorf(parley.CodeArchived, "this session is archived; reopen it with PATCH {\"archived\": false}, then post again")
	}
	m := &parley.Message{
		ID: posting.ID, WorkspaceID: h.WorkspaceID, SessionID: h.ID, LogID: h.LogID, Role: posting.Role, Status: parley.MessageCompleted, Author: posting.Author,
		Content: posting.Content, ContextNote: posting.ContextNote, ToolCallID: posting.ToolCallID, ToolName: posting.ToolName, Internal: posting.Internal,
		AgentType: posting.AgentType, Iteration: posting.Iteration, Overrides: posting.Overrides, Metadata: metadata(posting.Metadata), CreatedAt: t.now, UpdatedAt: t.now,
	}
	posted := parley.Posted{EventSequence: h.LastEvent}
	t.touch(h)
	titled := h.Title == "" && posting.Title != ""
	if titled {
		h.Title = posting.Title
	}
	var err error
	switch {
	case m.Role == parley.RoleToolResult:
		err = t.postResult(h, m, posting, claimBy, &posted)
	case m.Role == parley.RoleUser && !posting.TurnID.IsZero():
		err = t.postTurn(h, m, posting, claimBy, &posted)
	default:
		if m.Role == parley.RoleToolCall && m.ToolCallID == "" {
			m.ToolCallID, m.ToolName, err = callOf(m.Content)
		}
		if err == nil {
			err = t.postAlone(h, m, posting)
		}
	}
	if err != nil {
		return parley.Posted{}, err
	}
	if titled {
		t.updatedFeed(h)
	}
	posted.Message = *m
	return posted, nil
}

// postedBefore rebuilds the first answer to an idempotency key; nil when the key
// is new, CodeKeyReused when its body was another one.
func (t *txn) postedBefore(h *head, idempotency parley.Idempotency) (*parley.Posted, error) {
	if idempotency.Key == "" {
		return nil, nil
	}
	var id parley.ID
	var fingerprint parley.Hash
	posted := parley.Posted{Replayed: true}
	found, err := t.one("SELECT id, fingerprint, posted_event FROM messages WHERE session_id = ? AND idempotency_key = ?", func(r *row) error {
		id, fingerprint, posted.EventSequence = r.id(), r.hash(), r.int64()
		return nil
	}, h.ID, idempotency.Key)
	if err != nil || !found {
		return nil, err
	}
	if fingerprint != idempotency.Fingerprint {
		return nil, errKeyReused()
	}
	m, err := t.readMessage("m.id = ?", id)
	if err != nil {
		return nil, err
	}
	posted.Message = *m
	if !m.TurnID.IsZero() {
		turn, err := readTurn(t.conn, h.ID, m.TurnID)
		if err != nil {
			return nil, err
		}
		posted.Turn = &turn
	}
	return &posted, nil
}

func errKeyReused() error {
	return parley.Errorf(parley.CodeKeyReused, "this idempotency key was used before with another request; use a new key for a new request")
}

// postAlone records a message that starts nothing: at once when no turn is
// unfinished, else through the queue.
func (t *txn) postAlone(h *head, m *parley.Message, posting parley.NewMessage) error {
	if h.TurnID.IsZero() {
		return t.record(h, m, posting.Idempotency)
	}
	if err := h.checkQueue(); err != nil {
		return err
	}
	return t.enqueue(h, m, h.takeBack(), posting.Idempotency)
}

// postTurn records a message that starts a turn, or joins the unfinished one.
func (t *txn) postTurn(h *head, m *parley.Message, posting parley.NewMessage, claimBy parley.ID, posted *parley.Posted) error {
	turn := &parley.Turn{
		ID: posting.TurnID, WorkspaceID: h.WorkspaceID, SessionID: h.ID, TriggerMessageID: m.ID, Status: parley.TurnQueued,
		Iteration: posting.Iteration, CreatedAt: t.now,
	}
	m.TurnID = turn.ID
	if h.TurnID.IsZero() {
		return t.postIdle(h, m, turn, posting, claimBy, posted)
	}
	during := posting.During
	if during == "" {
		during = h.During
	}
	if during == parley.DuringReject {
		return parley.Errorf(parley.CodeBusy, "a turn of this session is unfinished; wait for it, cancel it, or post with during=queue")
	}
	if err := h.checkQueue(); err != nil {
		return err
	}
	if during == parley.DuringSteer {
		running, err := t.currentTurn(h)
		if err != nil {
			return err
		}
		joined := *running
		m.TurnID, m.Steer, posted.Turn = running.ID, true, &joined
		h.steers++
		return t.enqueue(h, m, h.takeBack(), posting.Idempotency)
	}
	var position int64
	if during == parley.DuringInterrupt {
		position = h.takeFront()
	} else {
		position = h.takeBack()
	}
	h.Statistics.Turns++
	if err := t.insertTurn(turn); err != nil {
		return err
	}
	if err := t.enqueue(h, m, position, posting.Idempotency); err != nil {
		return err
	}
	posted.Turn = turn
	if during != parley.DuringInterrupt {
		return nil
	}
	held, err := t.held(h)
	if err != nil {
		return err
	}
	if held {
		h.cancel, h.hint.Cancel = h.TurnID, h.TurnID
		return nil
	}
	if _, err := t.settleCancelled(h); err != nil {
		return err
	}
	if h.TurnID != turn.ID {
		return nil
	}
	return t.claimPosted(h, m, turn, claimBy, posted)
}

// postIdle starts a turn at once.
func (t *txn) postIdle(h *head, m *parley.Message, turn *parley.Turn, posting parley.NewMessage, claimBy parley.ID, posted *parley.Posted) error {
	h.Statistics.Turns++
	h.TurnID, h.turnStatus, h.turn = turn.ID, parley.TurnQueued, turn
	h.Status, h.WaitReason, h.FinishedAt = parley.SessionRunning, "", 0
	if err := t.record(h, m, posting.Idempotency); err != nil {
		return err
	}
	claimed, err := t.claimsDirectly(h, claimBy)
	if err != nil {
		return err
	}
	if claimed {
		if err := t.start(h, turn, claimBy); err != nil {
			return err
		}
	} else if err := t.ready(h); err != nil {
		return err
	}
	if err := t.insertTurn(turn); err != nil {
		return err
	}
	made := *turn
	posted.Turn = &made
	if !claimed {
		return nil
	}
	posted.Claim, err = t.claimOf(h, turn, m)
	return err
}

// claimPosted claims a queued turn that became the first one by this very post.
func (t *txn) claimPosted(h *head, m *parley.Message, turn *parley.Turn, claimBy parley.ID, posted *parley.Posted) error {
	claimed, err := t.claimsDirectly(h, claimBy)
	if err != nil || !claimed {
		return err
	}
	claim, err := t.claim(h, claimBy)
	if err != nil {
		return err
	}
	*m = claim.Trigger
	*turn = claim.Turn
	posted.Claim = &claim
	return nil
}

// postResult records a client's answer to a tool call.
func (t *txn) postResult(h *head, m *parley.Message, posting parley.NewMessage, claimBy parley.ID, posted *parley.Posted) error {
	call, err := t.openCall(h, m.ToolCallID)
	if err != nil {
		return err
	}
	m.ToolName, m.TurnID, m.CallOrdinal = call.ToolName, call.TurnID, call.CallOrdinal
	switch {
	case call.TurnID.IsZero(): // an outside agent's own record
		return t.postAlone(h, m, posting)
	case call.TurnID != h.TurnID: // later turns were told that there is no result
		return parley.Errorf(parley.CodeConflict, "the turn of the tool call %q is over; its result comes too late", parley.Clip(m.ToolCallID, 64))
	}
	turn, err := t.currentTurn(h)
	if err != nil {
		return err
	}
	if turn.Status != parley.TurnWaiting || turn.WaitReason != parley.WaitToolResult {
		return parley.Errorf(parley.CodeConflict, "this call's turn is %s and does not wait for tool results from outside", turn.Status)
	}
	if err := t.record(h, m, posting.Idempotency); err != nil {
		return err
	}
	data, err := toolCompletedData(m)
	if err != nil {
		return err
	}
	t.event(h, parley.EventToolCompleted, m.TurnID, data)
	open, err := t.openCalls(h)
	if err != nil {
		return err
	}
	if len(open) == 0 {
		if err := t.answer(h, turn); err != nil {
			return err
		}
		claimed, err := t.claimsDirectly(h, claimBy)
		if err != nil {
			return err
		}
		if claimed {
			claim, err := t.claim(h, claimBy)
			if err != nil {
				return err
			}
			posted.Claim = &claim
		}
	}
	resumed := *turn
	posted.Turn = &resumed
	return nil
}

// openCall finds the call that a result answers: CodeConflict for an unknown
// call and for one that has its result.
func (t *txn) openCall(h *head, callID string) (*parley.Message, error) {
	if callID == "" {
		return nil, parley.InvalidField("tool_call_id", "is missing; name the call that this result answers")
	}
	call, err := t.readMessage("m.log_id = ? AND m.tool_call_id = ? AND m.role = 'tool_call' ORDER BY m.sequence DESC LIMIT 1", h.LogID, callID)
	if err != nil {
		return nil, err
	}
	if call == nil {
		return nil, parley.Errorf(parley.CodeConflict, "this session has no tool call %q", parley.Clip(callID, 64))
	}
	if !call.Status.Settled() {
		return nil, parley.Errorf(parley.CodeConflict, "the tool call %q is still being written", parley.Clip(callID, 64))
	}
	answered, err := t.has("SELECT 1 FROM messages m WHERE m.log_id = ? AND m.tool_call_id = ? AND m.role = 'tool_result' AND m.status <> 'cancelled' AND m.call_ordinal = ? LIMIT 1",
		h.LogID, callID, call.CallOrdinal)
	if err != nil {
		return nil, err
	}
	if answered {
		return nil, parley.Errorf(parley.CodeConflict, "the tool call %q has its result already", parley.Clip(callID, 64))
	}
	return call, nil
}

// openCalls are the completed tool calls of the unfinished turn that have no result.
func (t *txn) openCalls(h *head) ([]parley.Message, error) {
	return readMessages(t.conn, `m.turn_id = ? AND m.role = 'tool_call' AND m.status = 'completed' AND m.sequence IS NOT NULL
 AND NOT EXISTS (SELECT 1 FROM messages x WHERE x.log_id = m.log_id AND x.tool_call_id = m.tool_call_id AND x.role = 'tool_result'
 AND x.status <> 'cancelled' AND x.call_ordinal = m.call_ordinal AND x.tool_call_id <> '') ORDER BY m.sequence`, h.TurnID)
}
