package sqlite

import (
	"context"

	"parley"
)

// SettleStep implements parley.TurnStore.
func (s *Store) SettleStep(ctx context.Context, fence parley.Fence, settle parley.StepSettle) (parley.StepSettled, error) {
	return transact(ctx, s, func(tx *txn) (settled parley.StepSettled, err error) {
		h, turn, err := tx.lockTurn(fence)
		if err != nil {
			return settled, err
		}
		rows, err := tx.openRows(h, fence.TurnID)
		if err != nil {
			return settled, err
		}
		if err := checkBlocks(rows, settle); err != nil {
			return settled, err
		}
		if err := tx.settleRows(h, turn, settle.Step, rows, settle.Blocks, settle.Call.Error); err != nil {
			return settled, err
		}
		if err := tx.settleCall(h, turn, settle.Call); err != nil {
			return settled, err
		}
		turn.Takeovers = 0
		for _, callID := range settle.ToolsStarted {
			for i := range rows {
				if rows[i].callID == callID {
					tx.event(h, parley.EventToolStarted, turn.ID, toolStartedData(turn.ID, rows[i].id, callID, rows[i].toolName))
				}
			}
		}
		switch {
		case settle.End == nil:
			err = tx.saveTurn(turn)
		case settle.End.Status == parley.TurnCompleted && h.steers > 0:
			settled.More = true
			err = tx.saveTurn(turn)
		default:
			err = tx.end(h, turn, *settle.End)
		}
		settled.Turn = *turn
		return settled, err
	})
}

// openRow is a streaming row of the running step.
type openRow struct {
	id       parley.ID
	sequence int64
	ordinal  int64
	role     parley.Role
	callID   string
	toolName string
}

// openRows are the streaming rows of a turn in the order of their sequence.
func (t *txn) openRows(h *head, turnID parley.ID) (rows []openRow, err error) {
	err = t.each(`SELECT id, sequence, call_ordinal, role, tool_call_id, tool_name FROM messages
 WHERE log_id = ? AND status = 'streaming' AND status <> 'completed' AND turn_id = ? ORDER BY sequence`, func(r *row) error {
		rows = append(rows, openRow{id: r.id(), sequence: r.int64(), ordinal: r.int64(), role: parley.Role(r.text()), callID: r.text(), toolName: r.text()})
		return nil
	}, h.LogID, turnID)
	return rows, err
}

// checkBlocks refuses a settle that does not name exactly the open rows, in
// order and with legal states.
func checkBlocks(rows []openRow, settle parley.StepSettle) error {
	if len(rows) != len(settle.Blocks) {
		return parley.Errorf(parley.CodeConflict, "the step has %d open rows and %d were settled", len(rows), len(settle.Blocks))
	}
	for i := range rows {
		block := &settle.Blocks[i]
		if rows[i].id != block.MessageID {
			return parley.Errorf(parley.CodeConflict, "row %d of the step is another message", i+1)
		}
		if err := parley.MessageStreaming.To(block.Status); err != nil {
			return err
		}
	}
	if settle.End != nil && !settle.End.Status.Finished() {
		return parley.Errorf(parley.CodeConflict, "a turn cannot end as %s", settle.End.Status)
	}
	return nil
}

// settleRows settles open rows: contents, the hash chain, the settle event.
func (t *txn) settleRows(h *head, turn *parley.Turn, step int, rows []openRow, blocks []parley.BlockSettled, failure *parley.Failure) error {
	messages := make([]parley.SettledMessage, 0, len(rows))
	kind := parley.EventStepGenerated
	for i := range rows {
		block := &blocks[i]
		if rows[i].toolName == "" || block.ToolName != "" {
			rows[i].toolName = block.ToolName
		}
		m := parley.Message{Role: rows[i].role, Status: block.Status, Content: block.Content, CallOrdinal: rows[i].ordinal, ProviderData: block.ProviderData}
		if err := chain(h, &m); err != nil {
			return err
		}
		h.dirty = true
		end, err := endOf(m.Role, m.Content)
		if err != nil {
			return err
		}
		if block.Status != parley.MessageCompleted {
			kind = parley.EventStepError
			if failure == nil {
				failure = block.Error
			}
		}
		usage, err := encodeMaybe(block.Usage)
		if err != nil {
			return err
		}
		problem, err := encodeMaybe(block.Error)
		if err != nil {
			return err
		}
		if _, err := t.exec(`UPDATE messages SET status = ?, content = ?, provider_data = ?, tool_name = ?, error = ?, usage = ?, metadata = ?,
 token_estimate = ?, chunks = ?, content_hash = ?, updated_at = ? WHERE id = ?`,
			string(block.Status), block.Content, block.ProviderData, rows[i].toolName, problem, usage, metadata(block.Metadata),
			block.TokenEstimate, block.Chunks, m.ContentHash, t.now, rows[i].id); err != nil {
			return err
		}
		if _, err := t.exec("UPDATE versions SET text = NULL WHERE message_id = ?", rows[i].id); err != nil {
			return err
		}
		messages = append(messages, parley.SettledMessage{MessageID: rows[i].id, Role: m.Role, Status: block.Status, End: end, Content: block.Content})
		h.hint.Settled = append(h.hint.Settled, rows[i].id)
	}
	if kind == parley.EventStepGenerated {
		failure = nil
	}
	complete, stored, err := settledData(turn.ID, step, failure, messages)
	if err != nil {
		return err
	}
	t.eventStored(h, kind, turn.ID, complete, stored)
	return nil
}

// checkOpenCall refuses to settle a call that is not open.
func (t *txn) checkOpenCall(turnID, callID parley.ID) error {
	open, err := t.has("SELECT 1 FROM calls WHERE id = ? AND turn_id = ? AND outcome = 'open'", callID, turnID)
	if err == nil && !open {
		err = parley.Errorf(parley.CodeConflict, "this call is not open")
	}
	return err
}

// settleCall ends a call's record and counts its usage into turn and session.
// A call settled before counts nothing. The caller saves the turn.
func (t *txn) settleCall(h *head, turn *parley.Turn, call parley.CallSettled) error {
	if call.CallID.IsZero() {
		return nil
	}
	failure, err := encodeMaybe(call.Error)
	if err != nil {
		return err
	}
	var usage arg
	if !call.Usage.IsZero() {
		if usage, err = encode(call.Usage); err != nil {
			return err
		}
	}
	changed, err := t.exec(`UPDATE calls SET outcome = ?, usage = ?, cost = ?, finish_reason = ?, error = ?, first_token_ms = ?, total_ms = ?
 WHERE id = ? AND turn_id = ? AND outcome = 'open'`,
		string(call.Outcome), usage, call.Cost, string(call.Finish), failure, call.FirstTokenMS, call.TotalMS, call.CallID, turn.ID)
	if err != nil || changed == 0 {
		return err
	}
	turn.Usage.Add(call.Usage)
	h.Statistics.Add(call.Usage)
	h.dirty = true
	if call.Cost == nil {
		h.Statistics.Unpriced++
		return nil
	}
	h.Statistics.Cost += *call.Cost
	sum := *call.Cost
	if turn.Cost != nil {
		sum += *turn.Cost
	}
	turn.Cost = &sum
	return nil
}

// SettleTool implements parley.TurnStore.
func (s *Store) SettleTool(ctx context.Context, fence parley.Fence, settle parley.ToolSettle) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) {
		h, err := tx.lockClaim(fence)
		if err != nil {
			return parley.Message{}, err
		}
		call, err := tx.openCall(h, settle.ToolCallID)
		if err != nil {
			return parley.Message{}, err
		}
		if call.TurnID != fence.TurnID {
			return parley.Message{}, parley.Errorf(parley.CodeConflict, "the call belongs to another turn")
		}
		m := tx.resultOf(h, call, settle.MessageID, settle.Author)
		m.Step, m.Content = settle.Step, settle.Content
		return m, tx.recordResult(h, &m)
	})
}

// resultOf is a result message for a call, without content.
func (t *txn) resultOf(h *head, call *parley.Message, id parley.ID, author parley.Author) parley.Message {
	return parley.Message{
		ID: id, WorkspaceID: h.WorkspaceID, SessionID: h.ID, LogID: h.LogID, TurnID: call.TurnID, Step: call.Step, Role: parley.RoleToolResult,
		Status: parley.MessageCompleted, Author: author, ToolCallID: call.ToolCallID, ToolName: call.ToolName, CallOrdinal: call.CallOrdinal,
		AgentType: call.AgentType, Iteration: call.Iteration, Metadata: metadata(nil), CreatedAt: t.now, UpdatedAt: t.now,
	}
}

// recordResult records a tool's result with its events.
func (t *txn) recordResult(h *head, m *parley.Message) error {
	data, err := toolCompletedData(m)
	if err != nil {
		return parley.WrapError(parley.CodeInvalid, err, "content: is not a tool result")
	}
	if err := t.record(h, m, parley.Idempotency{}); err != nil {
		return err
	}
	t.event(h, parley.EventToolCompleted, m.TurnID, data)
	return nil
}

// ParkTurn implements parley.TurnStore.
func (s *Store) ParkTurn(ctx context.Context, fence parley.Fence, reason parley.WaitReason) (parley.Turn, error) {
	return transact(ctx, s, func(tx *txn) (parley.Turn, error) {
		h, turn, err := tx.lockTurn(fence)
		if err != nil {
			return parley.Turn{}, err
		}
		if h.cancel == h.TurnID { // nobody would come back to stop a turn that waits
			_, err := tx.settleCancelled(h)
			return *turn, err
		}
		if h.steers > 0 {
			return parley.Turn{}, parley.Errorf(parley.CodeMore, "a steer is undelivered")
		}
		if open, err := tx.streaming(h, fence.TurnID); err != nil {
			return parley.Turn{}, err
		} else if open {
			return parley.Turn{}, parley.Errorf(parley.CodeConflict, "a step is open; settle it first")
		}
		if reason == parley.WaitToolResult {
			open, err := tx.openCalls(h)
			if err != nil {
				return parley.Turn{}, err
			}
			if len(open) == 0 {
				return parley.Turn{}, parley.Errorf(parley.CodeMore, "every tool call has its result")
			}
		}
		err = tx.park(h, turn, reason)
		return *turn, err
	})
}

// FinishTurn implements parley.TurnStore.
func (s *Store) FinishTurn(ctx context.Context, fence parley.Fence, end parley.TurnEnd) (parley.StepSettled, error) {
	return transact(ctx, s, func(tx *txn) (parley.StepSettled, error) {
		h, turn, err := tx.lockTurn(fence)
		if err != nil {
			return parley.StepSettled{}, err
		}
		if !end.Status.Finished() {
			return parley.StepSettled{}, parley.Errorf(parley.CodeConflict, "a turn cannot end as %s", end.Status)
		}
		if open, err := tx.streaming(h, fence.TurnID); err != nil {
			return parley.StepSettled{}, err
		} else if open {
			return parley.StepSettled{}, parley.Errorf(parley.CodeConflict, "a step is open; settle it with the turn")
		}
		if end.Status == parley.TurnCompleted && h.steers > 0 {
			return parley.StepSettled{Turn: *turn, More: true}, nil
		}
		err = tx.end(h, turn, end)
		return parley.StepSettled{Turn: *turn}, err
	})
}

// ReleaseTurn implements parley.TurnStore.
func (s *Store) ReleaseTurn(ctx context.Context, fence parley.Fence) error {
	return s.write(ctx, func(tx *txn) error {
		h, turn, err := tx.lockTurn(fence)
		if err != nil {
			return err
		}
		if !h.cancel.IsZero() && h.cancel == h.TurnID {
			_, err = tx.settleCancelled(h)
			return err
		}
		return tx.release(h, turn)
	})
}
