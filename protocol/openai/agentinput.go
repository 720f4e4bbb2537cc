package openai

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
)

// unknownCall begins the sentence by which the vendor's helpers recognise a call that is not (yet) waited for. They
// compare the whole of it.
const unknownCall = "Unknown pending tool call: "

func decimal(n int) string { return strconv.Itoa(n) }

// agentInput takes what a client sends to a session. 202 says that everything is recorded.
func (a *api) agentInput(x *protocol.Exchange) error {
	events, err := decodeEvents(x.Body)
	if err != nil {
		return err
	}
	p, err := a.place(x)
	if err != nil {
		return err
	}
	ctx := x.R.Context()
	c := &chat{x: x, body: x.Body}
	for i := range events {
		switch e := &events[i]; e.Type {
		case inputMessage:
			err = a.steer(ctx, c, p, e)
		case inputCancel:
			err = a.cancelAgent(ctx, c, p)
		case inputResult:
			err = a.toolResult(ctx, c, p, e)
		case inputApproval:
			err = a.approve(ctx, c, p, e)
		}
		if err != nil {
			return err
		}
	}
	x.W.WriteHeader(http.StatusAccepted)
	return nil
}

// steer posts a message. It begins a turn, or the running one hears it at its next step.
func (a *api) steer(ctx context.Context, c *chat, p *agentPlace, e *agentEvent) error {
	c.said = []message{*e.said}
	input, err := a.userInput(ctx, c, 0)
	if err != nil {
		return err
	}
	input.During = parley.DuringSteer
	_, err = a.engine.PostMessage(ctx, c.x.Principal, p.session.ID, input, c.once())
	return err
}

// cancelAgent stops the session's turn; where nothing runs, there is nothing to do.
func (a *api) cancelAgent(ctx context.Context, c *chat, p *agentPlace) error {
	_, err := a.engine.Cancel(ctx, c.x.Principal, p.session.ID, engine.CancelInput{})
	switch parley.ErrorCode(err) {
	case parley.CodeNothingToCancel, parley.CodeConflict:
		err = nil
	}
	return err
}

// toolResult answers a call for which the turn waits. A request that is sent again is recognised by its key.
func (a *api) toolResult(ctx context.Context, c *chat, p *agentPlace, e *agentEvent) error {
	unknown := parley.Errorf(parley.CodeInvalid, "%s%s", unknownCall, parley.Clip(e.CallID, 128))
	turn := idOf(e.TurnID, turnPrefix)
	if turn.IsZero() {
		return unknown
	}
	rows, err := a.turnRows(ctx, c.x.Principal, p.session.ID, turn)
	if err != nil {
		return err
	}
	asked := slices.ContainsFunc(rows, func(m parley.Message) bool {
		return m.Role == parley.RoleToolCall && m.ToolCallID == e.CallID
	})
	repeated := c.x.R.Header.Get(idempotencyHeader) != ""
	if !asked || !repeated && (p.session.TurnID != turn || !slices.Contains(openCalls(rows), e.CallID)) {
		return unknown
	}
	input := resultInput(&message{ToolCallID: e.CallID, parts: e.output})
	if !e.Success {
		said := parley.ValueOf(e.Error)
		if said == "" {
			said = "The tool failed."
		}
		input.Content, err = parley.EncodeContent(parley.ToolResultContent{Error: &said})
		if err != nil {
			return err
		}
	}
	_, err = a.engine.PostMessage(ctx, c.x.Principal, p.session.ID, input, c.once())
	if code := parley.ErrorCode(err); code == parley.CodeConflict || code == parley.CodeNotFound {
		return unknown
	}
	return err
}

// approve answers the question about a call of one of the agent's own tools.
func (a *api) approve(ctx context.Context, c *chat, p *agentPlace, e *agentEvent) error {
	id := idOf(e.RequestID, approvalPrefix)
	approval, err := a.engine.Approval(ctx, c.x.Principal, id)
	if parley.ErrorCode(err) == parley.CodeNotFound ||
		err == nil && approval.SessionID != p.session.ID && approval.RootID != p.session.ID {
		return parley.Errorf(
			parley.CodeNotFound,
			"Approval request with id '%s' not found.",
			parley.Clip(e.RequestID, 64),
		)
	}
	if err != nil {
		return err
	}
	decision, state := parley.DecideDeny, parley.ApprovalDenied
	switch e.Response.Decision {
	case "cancel": // the question goes with its turn
		return a.cancelAgent(ctx, c, p)
	case "approve":
		decision, state = parley.DecideApprove, parley.ApprovalApproved
	}
	if approval.State == state { // the request was sent before
		return nil
	}
	_, err = a.engine.Decide(ctx, c.x.Principal, id, engine.DecisionInput{Decision: decision})
	return err
}
