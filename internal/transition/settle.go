package transition

import (
	"slices"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// SettleStep implements the transition of store.Turns.
func (t *Tx) SettleStep(fence store.Fence, settle store.StepSettle) (settled store.StepSettled, err error) {
	h, turn, err := t.lockTurn(fence)
	if err != nil {
		return settled, err
	}
	open, err := t.openOf(h, turn)
	if err != nil {
		return settled, err
	}
	rows := open.Rows
	if err := checkBlocks(rows, settle); err != nil {
		return settled, err
	}
	if settle.End != nil && len(settle.Asked) > 0 {
		return settled, parley.Errorf(parley.CodeConflict, "a turn that ends cannot ask for approvals")
	}
	if err := t.settleRows(h, turn, settle.Step, open, settle.Blocks, settle.Call.Error, &settle.Call); err != nil {
		return settled, err
	}
	h.settleCall(turn, open, settle.Call)
	if cut := settle.Call.Truncated; cut != nil && len(rows) > 0 {
		t.event(h, turn.ID, event.ContextTruncated{
			TurnID: turn.ID, CallID: settle.Call.CallID, Model: rows[0].Model,
			SentTokens: cut.SentTokens, ReadTokens: cut.ReadTokens,
		}.Encode())
	}
	h.clearSuspicion(turn)
	for _, callID := range settle.ToolsStarted {
		for i := range rows {
			if rows[i].ToolCallID == callID {
				t.event(h, turn.ID, toolStarted(turn.ID, rows[i].ID, callID, rows[i].ToolName))
			}
		}
	}
	if err := t.ask(h, turn, settle.Asked, rows, settle.Blocks); err != nil {
		return settled, err
	}
	if settle.End != nil && settle.End.Status == parley.TurnCancelled {
		proof := cancellation(turn)
		for i := range settle.Blocks {
			proof.Settled = append(slices.Clip(proof.Settled), settle.Blocks[i].MessageID)
		}
	}
	switch {
	case settle.End == nil:
		h.saveTurn(turn)
	case settle.End.Status == parley.TurnCompleted && h.Steers > 0:
		settled.More = true
		h.saveTurn(turn)
	default:
		err = t.end(h, turn, *settle.End)
	}
	settled.Turn = *turn
	return settled, err
}

// checkBlocks refuses a settle unless it names exactly the open rows, in order and with legal states.
func checkBlocks(rows []OpenRow, settle store.StepSettle) error {
	if len(rows) != len(settle.Blocks) {
		return parley.Errorf(
			parley.CodeConflict,
			"the step has %d open rows and %d were settled",
			len(rows),
			len(settle.Blocks),
		)
	}
	for i := range rows {
		block := &settle.Blocks[i]
		if rows[i].ID != block.MessageID {
			return parley.Errorf(parley.CodeConflict, "row %d of the step is a different message", i+1)
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

// settleRows settles open rows: contents, hash chain, settle event. call is the one whose answer they are; nil for
// none.
func (t *Tx) settleRows(
	h *Head,
	turn *parley.Turn,
	step int,
	open *Open,
	blocks []store.BlockSettled,
	failure *parley.Failure,
	call *store.CallSettled,
) error {
	rows := open.Rows
	open.Rows = nil
	if turn.WaitReason == parley.WaitOutside {
		h.outside, h.Changes.OutsideClosed = nil, true
	}
	messages := make([]event.SettledMessage, 0, len(rows))
	kind := parley.EventStepGenerated
	for i := range rows {
		block := &blocks[i]
		if rows[i].ToolName == "" || block.ToolName != "" {
			rows[i].ToolName = block.ToolName
		}
		m := rows[i].settled(block)
		if err := chain(h, &m); err != nil {
			return err
		}
		h.Changes.Head = true
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
		if block.TokenEstimate == 0 {
			block.TokenEstimate = parley.EstimateContent(block.Content)
		}
		h.countContext(0, block.TokenEstimate)
		t.noteAnswer(h, &rows[i], &m)
		row := SettledRow{BlockSettled: *block, ContentHash: m.ContentHash, ChainVersion: m.ChainVersion}
		row.ToolName = rows[i].ToolName
		h.Changes.Settled = append(h.Changes.Settled, row)
		if rows[i].opened && m.Role == parley.RoleToolCall && block.Status == parley.MessageCompleted {
			h.forgetAnswered(rows[i].ToolCallID)
			open.unanswered = append(open.unanswered, &parley.Message{
				ID:          rows[i].ID,
				TurnID:      turn.ID,
				Step:        step,
				Role:        m.Role,
				Status:      block.Status,
				ToolCallID:  rows[i].ToolCallID,
				ToolName:    row.ToolName,
				CallOrdinal: m.CallOrdinal,
				AgentType:   rows[i].agentType,
				Iteration:   turn.Iteration,
				Metadata:    row.Metadata,
			})
		}
		messages = append(messages, event.SettledMessage{
			MessageID: rows[i].ID, Role: m.Role, Status: block.Status, End: end,
			Content: parley.AppendContent(nil, m.Role, block.Content),
		})
		h.hint.Settled = append(h.hint.Settled, rows[i].ID)
	}
	if kind == parley.EventStepGenerated {
		failure = nil
	}
	said := event.Settled{TurnID: turn.ID, Step: step, Error: failure, Messages: messages}
	if call != nil {
		said.Finish, said.Usage = nilIfZero(&call.Finish), (*event.StepUsage)(&call.Usage)
	}
	settled, err := stepSettled(kind, said)
	if err != nil {
		return err
	}
	t.event(h, turn.ID, settled)
	return nil
}

// settleCall ends a call's record and adds its usage to turn and session. It ignores a settled call. The caller saves
// the turn.
func (h *Head) settleCall(turn *parley.Turn, open *Open, call store.CallSettled) {
	at := slices.IndexFunc(open.Calls, func(c OpenCall) bool { return c.ID == call.CallID })
	if at < 0 {
		return
	}
	h.spend(open.Calls[at], &call)
	open.Calls = slices.Delete(open.Calls, at, at+1)
	h.Changes.Calls = append(h.Changes.Calls, call)
	turn.Usage.Add(call.Usage)
	h.Statistics.Add(call.Usage)
	h.Statistics.AddCache(call.Usage, call.Saved)
	h.Changes.Head = true
	if call.Cost == nil {
		h.Statistics.Unpriced++
		return
	}
	h.Statistics.Cost += *call.Cost
	sum := *call.Cost
	if turn.Cost != nil {
		sum += *turn.Cost
	}
	turn.Cost = &sum
}

// SettleTool implements the transition of store.Turns.
func (t *Tx) SettleTool(fence store.Fence, settle store.ToolSettle) (parley.Message, error) {
	h, err := t.Holds(fence)
	if err != nil {
		return parley.Message{}, err
	}
	call := h.unansweredCall(settle.ToolCallID)
	if call == nil {
		if call, err = t.unanswered(h, settle.ToolCallID); err != nil {
			return parley.Message{}, err
		}
	}
	if call.TurnID != fence.TurnID {
		return parley.Message{}, parley.Errorf(parley.CodeConflict, "the call belongs to another turn")
	}
	if !settle.ApprovalID.IsZero() {
		a, err := t.rows.Approval(h.WorkspaceID, settle.ApprovalID)
		if err != nil {
			return parley.Message{}, err
		}
		if a != nil && a.MessageID == call.ID {
			t.cancelApproval(h, a)
		}
	}
	m := t.resultOf(h, call, settle.MessageID, settle.Author)
	m.Step, m.Content, m.TokenEstimate = settle.Step, settle.Content, settle.TokenEstimate
	if err := t.useFiles(h, m.ID, m.Content); err != nil {
		return parley.Message{}, err
	}
	if settle.Send != nil {
		if err := t.send(h, call, settle.Send); err != nil {
			return parley.Message{}, err
		}
	}
	if settle.Refused != nil {
		if err := t.alertChain(h, call, settle.Refused); err != nil {
			return parley.Message{}, err
		}
	}
	child := h.cancelChild(call)
	if err := t.recordResult(h, m); err != nil || h.Cancel != fence.TurnID {
		return *m, err
	}
	turn, err := t.currentTurn(h) // this result is the cancel's
	if err != nil {
		return *m, err
	}
	proof := cancellation(turn)
	proof.Settled = append(slices.Clip(proof.Settled), m.ID)
	if !child.IsZero() {
		proof.Children = append(slices.Clip(proof.Children), child)
	}
	h.saveTurn(turn)
	return *m, nil
}

// resultOf builds a result message for a call, without content.
func (t *Tx) resultOf(h *Head, call *parley.Message, id parley.ID, author parley.Author) *parley.Message {
	return &parley.Message{
		ID:          id,
		WorkspaceID: h.WorkspaceID,
		SessionID:   h.ID,
		LogID:       h.LogID,
		TurnID:      call.TurnID,
		Step:        call.Step,
		Role:        parley.RoleToolResult,
		Status:      parley.MessageCompleted,
		Author:      author,
		ToolCallID:  call.ToolCallID,
		ToolName:    call.ToolName,
		CallOrdinal: call.CallOrdinal,
		AgentType:   call.AgentType,
		Iteration:   call.Iteration,
		Metadata:    metadata(nil),
		CreatedAt:   t.now,
		UpdatedAt:   t.now,
	}
}

// recordResult records a tool's result with its events.
func (t *Tx) recordResult(h *Head, m *parley.Message) error {
	completed, err := toolCompleted(m)
	if err != nil {
		return parley.WrapError(parley.CodeInvalid, err, "content: is not a tool result")
	}
	if err := t.record(h, m, store.Idempotency{}); err != nil {
		return err
	}
	t.event(h, m.TurnID, completed)
	return nil
}

// ParkTurn implements the transition of store.Turns.
func (t *Tx) ParkTurn(fence store.Fence, reason parley.WaitReason) (parley.Turn, error) {
	h, turn, err := t.lockTurn(fence)
	if err != nil {
		return parley.Turn{}, err
	}
	if h.Cancel == h.TurnID { // nobody would stop it once it waits
		_, err := t.settleCancelled(h, parley.ByHolder)
		return *turn, err
	}
	if open, err := t.openOf(h, turn); err != nil {
		return parley.Turn{}, err
	} else if len(open.Rows) > 0 {
		return parley.Turn{}, parley.Errorf(parley.CodeConflict, "a step is open; settle it first")
	}
	if reason.Answered() {
		if err := t.stillOpen(h, turn); err != nil {
			return parley.Turn{}, err
		}
	}
	err = t.park(h, turn, reason)
	return *turn, err
}

// stillOpen returns CodeMore if a turn that asks to wait for its calls still has work.
func (t *Tx) stillOpen(h *Head, turn *parley.Turn) error {
	calls, err := t.rows.OpenToolCalls(h)
	if err != nil {
		return err
	}
	if len(calls) == 0 {
		return parley.Errorf(parley.CodeMore, "every tool call has its result")
	}
	approvals, err := t.rows.TurnApprovals(h, turn.ID)
	if err != nil {
		return err
	}
	for i := range approvals {
		a := &approvals[i]
		open := slices.ContainsFunc(calls, func(call parley.Message) bool { return call.ID == a.MessageID })
		if open && a.State != parley.ApprovalPending && a.UsedAt == 0 {
			return parley.Errorf(parley.CodeMore, "an approval was decided")
		}
	}
	return nil
}

// FinishTurn implements the transition of store.Turns.
func (t *Tx) FinishTurn(fence store.Fence, end store.TurnEnd) (store.StepSettled, error) {
	h, turn, err := t.lockTurn(fence)
	if err != nil {
		return store.StepSettled{}, err
	}
	if !end.Status.Finished() {
		return store.StepSettled{}, parley.Errorf(parley.CodeConflict, "a turn cannot end as %s", end.Status)
	}
	if open, err := t.openOf(h, turn); err != nil {
		return store.StepSettled{}, err
	} else if len(open.Rows) > 0 {
		return store.StepSettled{}, parley.Errorf(parley.CodeConflict, "a step is open; settle it with the turn")
	}
	if end.Status == parley.TurnCompleted && h.Steers > 0 {
		return store.StepSettled{Turn: *turn, More: true}, nil
	}
	if _, err := t.settleApprovals(h, turn); err != nil {
		return store.StepSettled{}, err
	}
	err = t.end(h, turn, end)
	return store.StepSettled{Turn: *turn}, err
}

// ReleaseTurn implements the transition of store.Turns.
func (t *Tx) ReleaseTurn(fence store.Fence) error {
	h, turn, err := t.lockTurn(fence)
	if err != nil {
		return err
	}
	if !h.Cancel.IsZero() && h.Cancel == h.TurnID {
		_, err = t.settleCancelled(h, parley.ByHolder)
		return err
	}
	return t.release(h, turn)
}
