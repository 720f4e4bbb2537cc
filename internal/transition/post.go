package transition

import (
	"slices"

	"example.org/parley"
	"example.org/parley/store"
)

// PostMessage implements the transition of store.Turns.
func (t *Tx) PostMessage(
	scope store.Scope,
	sessionID parley.ID,
	posting store.NewMessage,
	claimBy parley.ID,
) (store.Posted, error) {
	h, err := t.lock(scope, sessionID)
	if err != nil {
		return store.Posted{}, err
	}
	return t.post(h, posting, claimBy)
}

// post applies a message to a locked session.
func (t *Tx) post(h *Head, posting store.NewMessage, claimBy parley.ID) (store.Posted, error) {
	if posted, err := t.postedBefore(h, posting.Idempotency); err != nil || posted != nil {
		if posted == nil {
			return store.Posted{}, err
		}
		return *posted, err
	}
	if h.ArchivedAt != 0 {
		return store.Posted{}, parley.Errorf(
			parley.CodeArchived,
			"this session is archived; reopen it with PATCH {\"archived\": false}, then post again",
		)
	}
	if posting.Follows > 0 && posting.Follows != h.LastSequence {
		return store.Posted{}, parley.Errorf(
			parley.CodeChanged,
			"this session has moved on: its last message is no longer number %d",
			posting.Follows,
		)
	}
	if !posting.OfAgent.IsZero() && posting.OfAgent != h.AgentID {
		return store.Posted{}, parley.InvalidField("agent_id", "this session is of another agent")
	}
	if posting.Role == parley.RoleUser && !posting.Internal {
		var err error
		if posting.ContextNote, err = t.contextNote(h, posting.Author, posting.ContextNote); err != nil {
			return store.Posted{}, err
		}
	}
	m := t.messageOf(h, posting)
	t.about.TargetID = m.ID
	if err := t.useFiles(h, m.ID, m.Content); err != nil {
		return store.Posted{}, err
	}
	posted := store.Posted{EventSequence: h.LastEvent}
	t.touch(h)
	titled := h.Title == "" && posting.Title != ""
	if titled {
		h.Title = posting.Title
	}
	var err error
	switch {
	case posting.Streaming:
		err = t.postOutside(h, m, posting, &posted)
	case m.Role == parley.RoleToolResult:
		err = t.postResult(h, m, posting, claimBy, &posted)
	case m.Role == parley.RoleUser && !posting.TurnID.IsZero():
		err = t.postTurn(h, m, posting, claimBy, &posted)
	default:
		if m.Role == parley.RoleToolCall && m.ToolCallID == "" {
			m.ToolCallID, m.ToolName, err = callOf(m.Content)
		}
		if err == nil {
			err = t.freshCall(h, m)
		}
		if err == nil {
			err = t.postAlone(h, m, posting)
		}
	}
	if err != nil {
		return store.Posted{}, err
	}
	if err := t.countPost(h, m, posting, &posted); err != nil {
		return store.Posted{}, err
	}
	if titled {
		t.updatedFeed(h)
	}
	posted.Message = *m
	if posted.Turn != nil { // the head keeps its own copy
		turn := *posted.Turn
		posted.Turn = &turn
	}
	return posted, nil
}

// freshCall refuses a tool call with the id of another that still lacks its result: a result could answer either.
func (t *Tx) freshCall(h *Head, m *parley.Message) error {
	if m.Role != parley.RoleToolCall {
		return nil
	}
	call, answered, err := t.rows.ToolCall(h, m.ToolCallID)
	if err != nil || call == nil || answered {
		return err
	}
	return parley.InvalidField(
		"content.id",
		"another tool call %q of this session still lacks its result: post that first, or choose another id",
		parley.Clip(m.ToolCallID, 64),
	)
}

// messageOf builds a message from a post.
func (t *Tx) messageOf(h *Head, posting store.NewMessage) *parley.Message {
	return &parley.Message{
		ID:            posting.ID,
		WorkspaceID:   h.WorkspaceID,
		SessionID:     h.ID,
		LogID:         h.LogID,
		Role:          posting.Role,
		Status:        parley.MessageCompleted,
		Author:        posting.Author,
		Content:       posting.Content,
		ContextNote:   posting.ContextNote,
		ToolCallID:    posting.ToolCallID,
		ToolName:      posting.ToolName,
		Internal:      posting.Internal,
		AgentType:     posting.AgentType,
		Iteration:     posting.Iteration,
		Model:         posting.Model,
		Settings:      posting.Settings,
		Metadata:      metadata(posting.Metadata),
		TokenEstimate: posting.TokenEstimate,
		CreatedAt:     t.now,
		UpdatedAt:     t.now,
	}
}

// postedBefore rebuilds the first result under an idempotency key; nil if the key is new, CodeKeyReused if its body was
// different.
func (t *Tx) postedBefore(h *Head, idempotency store.Idempotency) (*store.Posted, error) {
	if idempotency.Key == "" || h.Changes.New != nil {
		return nil, nil
	}
	earlier, err := t.rows.Posted(h, idempotency.Key)
	if err != nil || earlier.ID.IsZero() {
		return nil, err
	}
	if earlier.Fingerprint != idempotency.Fingerprint {
		return nil, KeyReused()
	}
	m, err := t.rows.Message(h.WorkspaceID, earlier.ID)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, NotFound("message")
	}
	posted := &store.Posted{Message: *m, EventSequence: earlier.PostedEvent, Replayed: true}
	if !m.TurnID.IsZero() {
		if posted.Turn, err = t.readTurn(h, m.TurnID); err != nil {
			return nil, err
		}
	}
	return posted, nil
}

// postAlone records a message that starts no turn: immediately if no turn is unfinished, else through the queue.
func (t *Tx) postAlone(h *Head, m *parley.Message, posting store.NewMessage) error {
	if h.TurnID.IsZero() {
		return t.record(h, m, posting.Idempotency)
	}
	if err := t.checkQueue(h, m); err != nil {
		return err
	}
	t.enqueue(h, m, h.takeBack(), posting.Idempotency)
	return nil
}

// postTurn records a message that starts a turn or joins the unfinished one.
func (t *Tx) postTurn(
	h *Head,
	m *parley.Message,
	posting store.NewMessage,
	claimBy parley.ID,
	posted *store.Posted,
) error {
	turn := &parley.Turn{
		ID:               posting.TurnID,
		WorkspaceID:      h.WorkspaceID,
		SessionID:        h.ID,
		TriggerMessageID: m.ID,
		Status:           parley.TurnQueued,
		LoopID:           posting.LoopID,
		Iteration:        posting.Iteration,
		CreatedAt:        t.now,
	}
	if opened := h.Changes.NewTransform; opened != nil {
		turn.TransformID = opened.ID
	}
	m.TurnID = turn.ID
	turn.Urgent = posting.Urgent && h.InBackground()
	if h.TurnID.IsZero() {
		return t.postIdle(h, m, turn, posting, claimBy, posted)
	}
	during := posting.During
	if during == "" {
		during = h.During
	}
	if during == parley.DuringReject {
		return parley.Errorf(
			parley.CodeBusy,
			"a turn of this session is unfinished; wait for it, cancel it, or post with during=queue",
		)
	}
	if err := t.checkQueue(h, m); err != nil {
		return err
	}
	if turn.Urgent {
		if err := t.hurry(h); err != nil {
			return err
		}
	}
	if during == parley.DuringSteer && h.WaitReason != parley.WaitOutside { // an outside agent cannot be steered
		running, err := t.currentTurn(h)
		if err != nil {
			return err
		}
		m.TurnID, m.Steer, posted.Turn = running.ID, true, running
		h.Steers++
		t.enqueue(h, m, h.takeBack(), posting.Idempotency)
		return nil
	}
	h.addTurn(turn)
	posted.Turn = turn
	if during != parley.DuringInterrupt {
		position, err := t.placeOf(h, turn)
		if err != nil {
			return err
		}
		t.enqueue(h, m, position, posting.Idempotency)
		return nil
	}
	return t.interrupt(h, m, turn, posting, claimBy, posted)
}

// interrupt puts a message at the front of the queue and asks the running turn to stop.
func (t *Tx) interrupt(
	h *Head,
	m *parley.Message,
	turn *parley.Turn,
	posting store.NewMessage,
	claimBy parley.ID,
	posted *store.Posted,
) error {
	held, err := t.held(h)
	if err != nil {
		return err
	}
	if held {
		t.enqueue(h, m, h.takeFront(), posting.Idempotency)
		h.Cancel, h.hint.Cancel = h.TurnID, h.TurnID
		return nil
	}
	if err := t.queueToEnd(h); err != nil {
		return err
	}
	t.enqueue(h, m, h.takeFront(), posting.Idempotency)
	if _, err := t.settleCancelled(h, parley.ByCanceller); err != nil {
		return err
	}
	if h.TurnID != turn.ID {
		return nil
	}
	return t.claimPosted(h, claimBy, posted)
}

// postIdle starts a turn immediately.
func (t *Tx) postIdle(
	h *Head,
	m *parley.Message,
	turn *parley.Turn,
	posting store.NewMessage,
	claimBy parley.ID,
	posted *store.Posted,
) error {
	h.addTurn(turn)
	h.TurnID, h.TurnStatus, h.turn, h.open = turn.ID, parley.TurnQueued, turn, nil
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
	} else {
		h.Changes.Ready = true
	}
	posted.Turn = turn
	if !claimed {
		return nil
	}
	posted.Claim, err = t.claimOf(h, turn, m)
	return err
}

// claimPosted claims a queued turn that this post made the first unfinished one.
func (t *Tx) claimPosted(h *Head, claimBy parley.ID, posted *store.Posted) error {
	claimed, err := t.claimsDirectly(h, claimBy)
	if err != nil || !claimed {
		return err
	}
	claim, err := t.claim(h, claimBy)
	if err != nil {
		return err
	}
	posted.Claim = &claim
	return nil
}

// postResult records a client's answer to a tool call.
func (t *Tx) postResult(
	h *Head,
	m *parley.Message,
	posting store.NewMessage,
	claimBy parley.ID,
	posted *store.Posted,
) error {
	call, err := t.unanswered(h, m.ToolCallID)
	if err != nil {
		return err
	}
	m.ToolName, m.TurnID, m.CallOrdinal = call.ToolName, call.TurnID, call.CallOrdinal
	switch {
	case call.TurnID.IsZero(): // recorded by an outside agent
		return t.postAlone(h, m, posting)
	case call.TurnID != h.TurnID: // later turns were told that no result came
		return parley.Errorf(
			parley.CodeConflict,
			"the turn of the tool call %q is over; its result comes too late",
			parley.Clip(m.ToolCallID, 64),
		)
	}
	if !childOf(call).IsZero() {
		return parley.Errorf(
			parley.CodeConflict,
			"the tool call %q is answered by its tool session",
			parley.Clip(m.ToolCallID, 64),
		)
	}
	turn, err := t.currentTurn(h)
	if err != nil {
		return err
	}
	if err := t.mayAnswer(h, turn, call); err != nil {
		return err
	}
	if err := t.record(h, m, posting.Idempotency); err != nil {
		return err
	}
	completed, err := toolCompleted(m)
	if err != nil {
		return err
	}
	t.event(h, m.TurnID, completed)
	posted.Claim, err = t.resultArrived(h, turn, call, claimBy)
	posted.Turn = turn
	return err
}

// mayAnswer refuses a client's result for a call that a client may not answer: one that waits for an approval, or that
// the server runs.
func (t *Tx) mayAnswer(h *Head, turn *parley.Turn, call *parley.Message) error {
	approvals, err := t.rows.TurnApprovals(h, turn.ID)
	if err != nil {
		return err
	}
	for i := range approvals {
		a := &approvals[i]
		if a.MessageID != call.ID || a.UsedAt != 0 {
			continue
		}
		return parley.Conflict(
			a.State,
			"this call is subject to the approval %s, which is %s; decide there, not by a result",
			a.ID,
			a.State,
		)
	}
	if turn.Status == parley.TurnWaiting && turn.WaitReason.Answered() {
		return nil
	}
	outside, err := t.answeredOutside(h, turn, call)
	if err != nil || outside {
		return err
	}
	return parley.Errorf(
		parley.CodeConflict,
		"this call's turn is %s and does not wait for tool results from outside",
		turn.Status,
	)
}

// answeredOutside reports whether a client answers a call, judging by the turn's tools: an inline tool, or a question
// to the person.
func (t *Tx) answeredOutside(h *Head, turn *parley.Turn, call *parley.Message) (bool, error) {
	trigger, err := t.rows.Message(h.WorkspaceID, turn.TriggerMessageID)
	if err != nil {
		return false, err
	}
	var tools []parley.ToolRef
	switch {
	case trigger != nil && trigger.Settings.Tools != nil:
		tools = *trigger.Settings.Tools
	case h.Settings.Tools != nil:
		tools = *h.Settings.Tools
	default:
		agent, err := t.rows.AgentVersion(h.WorkspaceID, turn.AgentID, turn.AgentVersion)
		if err != nil || agent == nil {
			return false, err
		}
		tools = parley.ValueOf(agent.Tools)
	}
	return slices.ContainsFunc(tools, func(ref parley.ToolRef) bool {
		return ref.Offers(call.ToolName) && (ref.Definition != nil || call.ToolName == parley.AskUserTool)
	}), nil
}

// unanswered finds the call that a result answers: CodeConflict for an unknown call and for one with a result.
func (t *Tx) unanswered(h *Head, callID string) (*parley.Message, error) {
	if callID == "" {
		return nil, parley.InvalidField("tool_call_id", "is missing; name the call that this result answers")
	}
	call, answered, err := t.rows.ToolCall(h, callID)
	if err != nil {
		return nil, err
	}
	if call == nil {
		return nil, parley.Errorf(parley.CodeConflict, "this session has no tool call %q", parley.Clip(callID, 64))
	}
	if !call.Status.Settled() {
		return nil, parley.Errorf(
			parley.CodeConflict,
			"the tool call %q is still being written",
			parley.Clip(callID, 64),
		)
	}
	if answered {
		return nil, parley.Errorf(
			parley.CodeConflict,
			"the tool call %q has its result already",
			parley.Clip(callID, 64),
		)
	}
	return call, nil
}
