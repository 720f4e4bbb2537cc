package agui

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
	"example.org/parley/store"
)

// The kinds of interrupts: they begin the ids by which clients answer.
const (
	kindApproval = "approval"
	kindQuestion = "question"
	kindLimit    = "limit"
)

// The reasons of interrupts: three of the protocol, and one of Parley.
const (
	reasonCall    = "tool_call"
	reasonConfirm = "confirmation"
	reasonInput   = "input_required"
	reasonLimit   = "parley:limit"
)

// The bounds of interrupts.
const (
	maxInterrupts = 32
	maxAskedRows  = 64   // of a turn that are searched for questions
	maxShownInput = 2048 // bytes of a call's arguments that an interrupt shows
)

// The JSON schemas of answers.
const (
	approvalSchema = `{"type":"object","required":["approved"],"properties":{"approved":{"type":"boolean"},` +
		`"comment":{"type":"string","description":"The agent reads it if you deny."}}}`
	questionSchema = `{"type":"object","required":["answer"],"properties":{"answer":{"type":"string"%s}}}`
)

// interrupt is something that the turn waits for and the client's user can answer.
type interrupt struct {
	SubagentID string          `json:"subagentRunId,omitempty"`
	ID         string          `json:"id"`
	Reason     string          `json:"reason"`
	Message    string          `json:"message,omitempty"`
	CallID     string          `json:"toolCallId,omitempty"`
	Schema     json.RawMessage `json:"responseSchema,omitempty"`
	ExpiresAt  string          `json:"expiresAt,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`

	target parley.ID // the approval, or the message that asks
}

// pending reads what a turn of the thread waits for: approvals, of its tool sessions too, and questions of the agent.
func (a *api) pending(ctx context.Context, principal parley.Principal, session, turn parley.ID) ([]interrupt, error) {
	var found []interrupt
	held, err := a.engine.SessionApprovals(ctx, principal, session, engine.ApprovalList{
		Paging: engine.Paging{Limit: maxInterrupts}, States: []parley.ApprovalState{parley.ApprovalPending},
	})
	if err != nil {
		return nil, err
	}
	for i := range held.Data {
		h := &held.Data[i]
		if h.SessionID == session && h.TurnID != turn {
			continue
		}
		made := interrupt{
			ID:        kindApproval + ":" + h.ID.String(),
			Reason:    reasonCall,
			CallID:    h.ToolCallID,
			target:    h.ID,
			ExpiresAt: h.ExpiresAt.String(),
			Schema: json.RawMessage(
				approvalSchema,
			),
			Message: strings.TrimSpace("The agent wants to call " + h.ToolName +
				" with " + parley.Clip(string(h.Arguments), maxShownInput) + ". Allow it? " + h.Why()),
			Metadata: parley.AppendJSONString([]byte(`{"parley":{"tool":`), h.ToolName),
		}
		made.Metadata = append(made.Metadata, "}}"...)
		if h.SessionID != session { // the stream has no such call
			made.SubagentID, made.Reason, made.CallID = h.SessionID.String(), reasonConfirm, ""
		}
		found = append(found, made)
	}
	rows, err := a.engine.Messages(ctx, principal, session, engine.MessageList{
		Paging: engine.Paging{Limit: maxAskedRows, Order: engine.Descending}, TurnIDs: []parley.ID{turn},
		Roles: []parley.Role{parley.RoleToolCall, parley.RoleToolResult},
	})
	if err != nil {
		return nil, err
	}
	answered := map[string]bool{}
	for i := range rows.Data { // the newest first: a result comes before its call
		m := &rows.Data[i]
		answered[m.ToolCallID] = answered[m.ToolCallID] || m.Role == parley.RoleToolResult
		var call parley.ToolCallContent
		if m.Role != parley.RoleToolCall || m.ToolName != parley.AskUserTool || answered[m.ToolCallID] ||
			json.Unmarshal(m.Content, &call) != nil || len(found) >= maxInterrupts {
			continue
		}
		if asked, err := parley.ReadQuestion(call.Arguments); err == nil {
			hint := ""
			if len(asked.Options) > 0 {
				hint = `,"description":` + string(parley.AppendJSONString(nil,
					"Suggested: "+parley.Clip(strings.Join(asked.Options, "; "), maxShownInput)))
			}
			found = append(found, interrupt{
				ID: kindQuestion + ":" + m.ID.String(), Reason: reasonInput, Message: asked.Question, target: m.ID,
				CallID: m.ToolCallID, Schema: fmt.Appendf(nil, questionSchema, hint),
			})
		}
	}
	return found, nil
}

// limitReached is the interrupt of a turn that waits for a limit: raising it is not for the client, leaving it is.
func limitReached(turn parley.ID, sentence string) interrupt {
	if sentence == "" {
		sentence = "The turn waits for a limit to be raised in Parley."
	}
	return interrupt{ID: kindLimit + ":" + turn.String(), Reason: reasonLimit, Message: sentence}
}

// decision does what an entry of a resume says, in the thread's session.
type decision func(ctx context.Context, a *api, x *protocol.Exchange, session parley.ID) error

// decisions returns what the entries of a resume decide about the interrupts that are open: all are checked before the
// first is done. An entry that names no open interrupt, perhaps since it was answered before, is left out with a
// warning.
func (r *request) decisions(open []interrupt) ([]decision, error) {
	var do []decision
	for i := range r.Resume {
		entry := &r.Resume[i]
		at := 0
		for at < len(open) && open[at].ID != entry.ID {
			at++
		}
		if at == len(open) {
			r.warnings = append(
				r.warnings,
				parley.Clip(entry.ID, 64)+" is not an open interrupt: its answer is ignored.",
			)
			continue
		}
		one, err := entry.decision(&open[at], fmt.Sprintf("resume[%d].payload", i))
		if err != nil {
			return nil, err
		}
		do = append(do, one)
	}
	return do, nil
}

// decision returns what an entry decides about its interrupt. field names its payload.
func (e *resumeEntry) decision(to *interrupt, field string) (decision, error) {
	cancelled := e.Status == statusCancelled
	switch kind, _, _ := strings.Cut(to.ID, ":"); kind {
	case kindApproval:
		var said struct {
			Approved *bool           `json:"approved"`
			Comment  string          `json:"comment"`
			Edited   json.RawMessage `json:"editedArgs"`
		}
		if !cancelled && (!e.reads(&said, &said.Approved) || said.Approved == nil) {
			return nil, parley.InvalidField(field, "must be an object with the boolean approved")
		}
		if len(said.Edited) > 0 && string(said.Edited) != "null" {
			return nil, parley.InvalidField(field, "cannot edit arguments: deny the call, and say why in comment")
		}
		input := engine.DecisionInput{Decision: parley.DecideDeny, Comment: said.Comment}
		if !cancelled && *said.Approved {
			input.Decision = parley.DecideApprove
		}
		return func(ctx context.Context, a *api, x *protocol.Exchange, _ parley.ID) error {
			_, err := a.engine.Decide(ctx, x.Principal, to.target, input)
			return err
		}, nil
	case kindQuestion:
		said := struct {
			Answer *string `json:"answer"`
		}{}
		if cancelled {
			declined := "The user declined to answer."
			said.Answer = &declined
		} else if !e.reads(&said, &said.Answer) || said.Answer == nil {
			return nil, parley.InvalidField(field, "must be an object with the text answer")
		}
		return func(ctx context.Context, a *api, x *protocol.Exchange, session parley.ID) error {
			_, err := a.result(ctx, x, session, to.CallID, parley.AppendJSONString(nil, *said.Answer), nil, nil)
			return err
		}, nil
	}
	return func(ctx context.Context, a *api, x *protocol.Exchange, session parley.ID) error {
		if !cancelled {
			return nil
		}
		_, err := a.engine.Cancel(ctx, x.Principal, session, engine.CancelInput{})
		return err
	}, nil
}

// reads reads a payload, which may be the value of its one required member alone.
func (e *resumeEntry) reads(object, value any) bool {
	return json.Unmarshal(e.Payload, object) == nil || json.Unmarshal(e.Payload, value) == nil
}

// result posts the result of a call that the client has answered; failed says why it has none.
func (a *api) result(
	ctx context.Context, x *protocol.Exchange, session parley.ID, call string, value json.RawMessage, failed *string,
	metadata json.RawMessage,
) (store.Posted, error) {
	made := parley.ToolResultContent{Result: value, Success: failed == nil, Error: failed}
	if failed != nil {
		made.Result = nil
	}
	content, err := parley.EncodeContent(made)
	if err != nil {
		return store.Posted{}, err
	}
	return a.engine.PostMessage(ctx, x.Principal, session, engine.MessageInput{
		Role: parley.RoleToolResult, ToolCallID: call, Content: content, Metadata: metadata,
	}, store.Idempotency{})
}
