package anthropic

import (
	"encoding/json"
	"fmt"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
)

// maxSent bounds the events of one request.
const maxSent = 64

// sentEvent is what a client sends. Members that its type does not use are ignored.
type sentEvent struct {
	Type     string          `json:"type"`
	Content  json.RawMessage `json:"content"`
	CustomID string          `json:"custom_tool_use_id"`
	UseID    string          `json:"tool_use_id"`
	IsError  bool            `json:"is_error"`
	Result   string          `json:"result"`
	Deny     string          `json:"deny_message"`
	Thread   *string         `json:"session_thread_id"`
}

// sendEvents does what a client sends, in order; the first that is refused ends it.
func (a *api) sendEvents(x *protocol.Exchange) error {
	var r struct {
		Events []json.RawMessage `json:"events"`
	}
	if err := read(x.Body, &r, "events"); err != nil {
		return err
	}
	if len(r.Events) == 0 || len(r.Events) > maxSent {
		return parley.InvalidField("events", "must be from 1 to %d", maxSent)
	}
	session, err := a.managedSession(x)
	if err != nil {
		return err
	}
	c := &history.Request{X: x}
	var answer struct {
		Data []json.RawMessage `json:"data"`
	}
	for i := range r.Events {
		var sent sentEvent
		member := fmt.Sprintf("events[%d]", i)
		if json.Unmarshal(r.Events[i], &sent) != nil {
			return parley.InvalidField(member, "is not an event")
		}
		id, err := a.sendEvent(x, c, &session, &sent)
		if err != nil {
			return history.Within(member, err)
		}
		echo := map[string]json.RawMessage{}
		_ = json.Unmarshal(r.Events[i], &echo) // as above
		echo["id"] = parley.AppendJSONString(nil, eventPrefix+id)
		one, err := parley.EncodeJSON(echo)
		if err != nil {
			return err
		}
		answer.Data = append(answer.Data, one)
	}
	return send(x, answer)
}

// sendEvent does one thing, and returns the id of what the record has of it.
func (a *api) sendEvent(
	x *protocol.Exchange, c *history.Request, s *parley.Session, sent *sentEvent,
) (string, error) {
	ctx := x.R.Context()
	call := sent.CustomID
	switch sent.Type {
	case "user.message":
	case "user.interrupt":
		cancelled, err := a.engine.Cancel(ctx, x.Principal, s.ID, engine.CancelInput{})
		if code := parley.ErrorCode(err); code == parley.CodeNothingToCancel || code == parley.CodeConflict {
			return "interrupt", nil // the turn is over: nothing is left to interrupt
		}
		return cancelled.Turn.ID.String(), err
	case "user.tool_confirmation":
		return a.confirm(x, s, sent)
	case "user.custom_tool_result":
	case "user.tool_result":
		call = sent.UseID
	default:
		return "", parley.InvalidField("type", "%q is not supported", parley.Clip(sent.Type, 32))
	}
	b := block{Type: "tool_result", UseID: callOf(call), Content: sent.Content, IsError: sent.IsError}
	if sent.Type != "user.message" {
		m, err := b.result("", "content")
		if err != nil {
			return "", err
		}
		c.Said = []history.Message{m}
	} else {
		m := message{Role: history.User, Content: sent.Content}
		said, err := m.read("", nil)
		if err != nil {
			return "", err
		}
		if c.Said = said; len(said) != 1 || said[0].Role != history.User {
			return "", parley.InvalidField("content", "must be of text, images and documents")
		}
	}
	turn, err := a.book.GoOn(ctx, c, s.ID, 0)
	return turn.Last.ID.String(), err
}

// confirm decides about a call of the agent's own tools.
func (a *api) confirm(x *protocol.Exchange, s *parley.Session, sent *sentEvent) (string, error) {
	decision := engine.DecisionInput{Decision: parley.DecideApprove}
	switch sent.Result {
	case "allow":
	case "deny":
		decision.Decision, decision.Comment = parley.DecideDeny, sent.Deny
	default:
		return "", parley.InvalidField("result", "is not one of allow, deny")
	}
	ctx := x.R.Context()
	waiting, err := a.pending(ctx, x.Principal, s.ID)
	if err != nil {
		return "", err
	}
	for i := range waiting {
		if waiting[i].ToolCallID == callOf(sent.UseID) {
			_, err := a.engine.Decide(ctx, x.Principal, waiting[i].ID, decision)
			return waiting[i].ID.String(), err
		}
	}
	return "", parley.InvalidField("tool_use_id", "names no call that waits for a confirmation")
}
