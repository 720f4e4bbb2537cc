package transition

import (
	"encoding/json"
	"slices"
	"sort"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// PendingSteers implements the query of store.Turns.
func (t *Tx) PendingSteers(fence store.Fence) ([]parley.Message, error) {
	h, err := t.Holds(fence)
	if err != nil || h.Steers == 0 {
		return nil, err
	}
	q, err := t.queueOf(h, true)
	if err != nil {
		return nil, err
	}
	return t.rows.Queued(h, idsOf(q.steers(fence.TurnID)))
}

func idsOf(entries []Entry) []parley.ID {
	ids := make([]parley.ID, len(entries))
	for i := range entries {
		ids[i] = entries[i].ID
	}
	return ids
}

// BeginStep implements the transition of store.Turns.
func (t *Tx) BeginStep(fence store.Fence, begin store.StepBegin) (begun store.StepBegun, err error) {
	h, turn, err := t.lockTurn(fence)
	if err != nil {
		return begun, err
	}
	if begin.Call.Step != turn.Step && begin.Call.Step != turn.Step+1 {
		return begun, parley.Errorf(parley.CodeConflict, "step %d cannot follow step %d", begin.Call.Step, turn.Step)
	}
	open, err := t.openOf(h, turn)
	if err != nil {
		return begun, err
	}
	if len(open.Rows) > 0 {
		return begun, parley.Errorf(parley.CodeConflict, "the previous step is still open")
	}
	steers, err := t.namedSteers(h, fence.TurnID, begin.Steers)
	if err != nil {
		return begun, err
	}
	call, err := t.reserve(h, &begin)
	if err != nil {
		return begun, err
	}
	shown := h.show(begin.Window)
	for i := range steers {
		h.Steers--
		if err := t.enterRecord(h, &steers[i]); err != nil {
			return begun, err
		}
	}
	begun.Steered = steers
	t.openCall(h, open, call, fence.TurnID, begin)
	for _, told := range shown.events(fence.TurnID, &begin.Call) {
		t.event(h, fence.TurnID, told)
	}
	m := &parley.Message{
		ID:          begin.Call.MessageID,
		WorkspaceID: h.WorkspaceID,
		SessionID:   h.ID,
		LogID:       h.LogID,
		TurnID:      fence.TurnID,
		Step:        begin.Call.Step,
		Role:        parley.RoleAssistant,
		Status:      parley.MessageStreaming,
		Author:      begin.Author,
		Content:     parley.EmptyContent(),
		Model:       begin.Call.Model,
		AgentType:   begin.AgentType,
		Iteration:   turn.Iteration,
		Metadata:    metadata(nil),
		CreatedAt:   t.now,
		UpdatedAt:   t.now,
	}
	if err := t.openRow(h, open, m, store.Idempotency{}); err != nil {
		return begun, err
	}
	begun.Message = *m
	if turn.Step != begin.Call.Step {
		turn.Step = begin.Call.Step
		h.saveTurn(turn)
	}
	return begun, nil
}

// news is what a request shows of the record otherwise than the one before.
type news struct {
	dropped []*parley.Dropped // left out for length from now on
	assumed int64             // the context length that was never said to be assumed
}

// show notes the window of a request.
func (h *Head) show(w *store.Window) (n news) {
	if w == nil || h.Context.Cleared {
		return n
	}
	var from int64
	if w.Dropped != nil {
		from = w.Dropped.From
	}
	if from > 0 && (from != h.Context.Dropped || w.Anchor != h.Context.Anchor) {
		n.dropped = append(n.dropped, w.Dropped)
	}
	if w.Steps != nil {
		n.dropped = append(n.dropped, w.Steps)
	}
	if w.Assumed > 0 && !h.Context.Assumed {
		n.assumed, h.Context.Assumed = w.Assumed, true
	}
	h.Context.Anchor, h.Context.Dropped, h.Context.Stubbed = w.Anchor, from, w.Stubbed
	h.Context.Messages, h.Context.Tokens = w.Messages, w.Tokens
	return n
}

// events returns what watchers are told of it.
func (n news) events(turnID parley.ID, call *parley.Call) (told []event.Encoded) {
	for _, d := range n.dropped {
		told = append(told, event.ContextDropped{
			TurnID: turnID, CallID: call.ID, Model: call.Model,
			From: d.From, To: d.To, Count: d.Count, Reason: d.Reason,
		}.Encode())
	}
	if n.assumed > 0 {
		told = append(told, event.ContextAssumed{
			TurnID: turnID, Model: call.Model, ContextLength: n.assumed,
		}.Encode())
	}
	return told
}

// openRow records a streaming message of the running step.
func (t *Tx) openRow(h *Head, open *Open, m *parley.Message, idempotency store.Idempotency) error {
	if err := t.record(h, m, idempotency); err != nil {
		return err
	}
	open.Rows = append(open.Rows, OpenRow{
		ID:         m.ID,
		Sequence:   m.Sequence,
		Ordinal:    m.CallOrdinal,
		Role:       m.Role,
		ToolCallID: m.ToolCallID,
		ToolName:   m.ToolName,
		Author:     m.Author,
		Model:      m.Model,
		Metadata:   m.Metadata,
		CreatedAt:  m.CreatedAt,
		opened:     true,
		agentType:  m.AgentType,
	})
	return nil
}

// openCall opens the record of a call.
func (t *Tx) openCall(h *Head, open *Open, call OpenCall, turnID parley.ID, begin store.StepBegin) {
	t.event(h, turnID, stepStarted(&begin.Call, turnID))
	begin.Call.Ordinal = h.LastEvent
	open.Calls = append(open.Calls, call)
	h.Changes.NewCalls = append(h.Changes.NewCalls, NewCall{StepBegin: begin, TurnID: turnID})
}

// namedSteers reads the steers that a request includes: CodeMore if one was edited or removed since the worker read it.
func (t *Tx) namedSteers(h *Head, turnID parley.ID, named []store.Steered) ([]parley.Message, error) {
	if len(named) == 0 {
		return nil, nil
	}
	q, err := t.queueOf(h, true)
	if err != nil {
		return nil, err
	}
	waiting := q.steers(turnID)
	ids := make([]parley.ID, 0, len(named))
	for _, name := range named {
		found := slices.ContainsFunc(
			waiting,
			func(e Entry) bool { return e.ID == name.MessageID && e.Revision == name.Revision },
		)
		if !found {
			return nil, parley.Errorf(parley.CodeMore, "a steer was edited or removed meanwhile; read the steers again")
		}
		ids = append(ids, name.MessageID)
	}
	steers, err := t.rows.Queued(h, ids)
	if err != nil {
		return nil, err
	}
	sort.Slice(steers, func(i, j int) bool { // as the request includes them
		return slices.Index(ids, steers[i].ID) < slices.Index(ids, steers[j].ID)
	})
	return steers, nil
}

// NoteProgress implements the transition of store.Turns.
func (t *Tx) NoteProgress(fence store.Fence, note store.ProgressNote) error {
	h, _, err := t.lockTurn(fence)
	if err != nil {
		return err
	}
	t.event(h, fence.TurnID, toolProgress(fence.TurnID, note))
	return nil
}

// RetryCall implements the transition of store.Turns.
func (t *Tx) RetryCall(fence store.Fence, step int, failed store.CallSettled, notice store.RetryNotice) error {
	h, turn, err := t.lockTurn(fence)
	if err != nil {
		return err
	}
	open, err := t.openOf(h, turn)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(open.Calls, func(c OpenCall) bool { return c.ID == failed.CallID }) {
		return parley.Errorf(parley.CodeConflict, "this call is not open")
	}
	h.settleCall(turn, open, failed)
	t.event(h, fence.TurnID, stepRetrying(fence.TurnID, step, notice))
	h.saveTurn(turn)
	return nil
}

// BeginCall implements the transition of store.Turns.
func (t *Tx) BeginCall(fence store.Fence, begin store.StepBegin) error {
	h, turn, err := t.lockTurn(fence)
	if err != nil {
		return err
	}
	open, err := t.openOf(h, turn)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(open.Rows, func(r OpenRow) bool { return r.ID == begin.Call.MessageID }) {
		return parley.Errorf(parley.CodeConflict, "the message of this attempt is not open")
	}
	call, err := t.reserve(h, &begin)
	if err != nil {
		return err
	}
	t.openCall(h, open, call, fence.TurnID, begin)
	return nil
}

// OpenBlock implements the transition of store.Turns.
func (t *Tx) OpenBlock(fence store.Fence, block store.BlockOpen) (parley.Message, error) {
	h, turn, err := t.lockTurn(fence)
	if err != nil {
		return parley.Message{}, err
	}
	if block.Step != turn.Step {
		return parley.Message{}, parley.Errorf(parley.CodeConflict, "step %d is not running", block.Step)
	}
	open, err := t.openOf(h, turn)
	if err != nil {
		return parley.Message{}, err
	}
	if len(open.Rows) == 0 {
		return parley.Message{}, parley.Errorf(parley.CodeConflict, "step %d has already settled", block.Step)
	}
	m := &parley.Message{
		ID:          block.MessageID,
		WorkspaceID: h.WorkspaceID,
		SessionID:   h.ID,
		LogID:       h.LogID,
		TurnID:      fence.TurnID,
		Step:        block.Step,
		Role:        block.Role,
		Status:      parley.MessageStreaming,
		Author:      block.Author,
		Content:     parley.EmptyContent(),
		ToolCallID:  block.ToolCallID,
		ToolName:    block.ToolName,
		Model:       block.Model,
		AgentType:   block.AgentType,
		Iteration:   turn.Iteration,
		Metadata:    metadata(nil),
		CreatedAt:   t.now,
		UpdatedAt:   t.now,
	}
	if m.Role == parley.RoleToolCall {
		if m.Content, err = parley.EncodeContent(
			parley.ToolCallContent{Arguments: json.RawMessage("null"), ID: m.ToolCallID, Name: m.ToolName},
		); err != nil {
			return parley.Message{}, err
		}
	}
	err = t.openRow(h, open, m, store.Idempotency{})
	return *m, err
}
