package a2a

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// The bounds of questions.
const (
	maxQuestions  = 32   // of one task, at once
	maxShownInput = 2048 // bytes of a call's arguments that a question shows
)

// question is something that a task waits for and its client can answer: with the member that names it, in a data part.
type question struct {
	ApprovalID parley.ID       `json:"approvalId,omitzero"`
	CallID     string          `json:"toolCallId,omitempty"`
	Tool       string          `json:"tool"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	text       string
}

func (q *question) data() json.RawMessage {
	raw, err := parley.EncodeJSON(q)
	if err != nil { // what the record holds always encodes
		return json.RawMessage("{}")
	}
	return raw
}

// reply is a data part that answers a question.
type reply struct {
	ApprovalID parley.ID               `json:"approvalId"`
	Decision   parley.ApprovalDecision `json:"decision"`
	Comment    string                  `json:"comment"`
	CallID     string                  `json:"toolCallId"`
	Result     json.RawMessage         `json:"result"`
	Error      *string                 `json:"error"`
}

// pending reads what a task waits for: approvals, of its tool sessions too, questions, and calls whose tools the client
// has.
func (a *api) pending(ctx context.Context, r *request, f *found) ([]question, error) {
	if err := a.read(ctx, r, f); err != nil {
		return nil, err
	}
	held, err := a.engine.SessionApprovals(ctx, r.x.Principal, f.session.ID, engine.ApprovalList{
		Paging: engine.Paging{Limit: maxQuestions}, States: []parley.ApprovalState{parley.ApprovalPending},
	})
	if err != nil {
		return nil, err
	}
	var asks []question
	answered := map[string]bool{}
	for i := range held.Data {
		h := &held.Data[i]
		if h.SessionID == f.session.ID {
			if h.TurnID != f.turn.ID {
				continue
			}
			answered[h.ToolCallID] = true
		}
		asks = append(asks, question{
			ApprovalID: h.ID, Tool: h.ToolName, Arguments: h.Arguments, text: strings.TrimSpace(
				"The agent wants to call " + h.ToolName + " with " + parley.Clip(string(h.Arguments), maxShownInput) +
					". Allow it? " + h.Why()),
		})
	}
	for i := range f.rows {
		if m := &f.rows[i]; m.Role == parley.RoleToolResult {
			answered[m.ToolCallID] = true
		}
	}
	for i := range f.rows {
		m := &f.rows[i]
		var call parley.ToolCallContent
		if m.Role != parley.RoleToolCall || !settledWell(m.Status) || answered[m.ToolCallID] ||
			len(asks) >= maxQuestions || json.Unmarshal(m.Content, &call) != nil {
			continue
		}
		q := question{
			CallID: call.ID, Tool: call.Name, Arguments: call.Arguments,
			text: "The agent calls " + call.Name + ". Send its result.",
		}
		if call.Name == parley.AskUserTool {
			if asked, err := parley.ReadQuestion(call.Arguments); err == nil {
				q.text = asked.Question
			}
		}
		asks = append(asks, q)
	}
	return asks, nil
}

// answer passes the parts of a message on to what a task waits for. What was settled before stays.
func (a *api) answer(ctx context.Context, r *request, f *found, parts []part) error {
	asks, err := a.pending(ctx, r, f)
	if err != nil {
		return err
	}
	replies, text := []reply{}, ""
	for i := range parts {
		switch p := &parts[i]; {
		case p.Text != nil:
			text += *p.Text
		case p.Data != nil:
			var one reply
			if json.Unmarshal(p.Data, &one) != nil || one.ApprovalID.IsZero() == (one.CallID == "") {
				return invalid("message.parts: a data part that answers needs approvalId and decision, or toolCallId " +
					"and result or error")
			}
			replies = append(replies, one)
		default:
			return invalid("message.parts: answer with text or data")
		}
	}
	if len(replies) == 0 {
		one, err := replyOf(asks, text)
		if err != nil {
			return err
		}
		replies = append(replies, one)
	}
	for i := range replies {
		if err := a.settle(ctx, r, f, &replies[i]); err != nil && parley.ErrorCode(err) != parley.CodeConflict {
			return err
		}
	}
	return nil
}

// replyOf reads a text as the answer to the only question.
func replyOf(asks []question, text string) (reply, error) {
	switch {
	case len(asks) == 0:
		return reply{}, &fault{codeUnsupported, "The task waits for what no message can answer. See its status."}
	case len(asks) > 1:
		return reply{}, invalid(
			"The task waits for several answers: send a data part for each, with its approvalId or " +
				"toolCallId",
		)
	case asks[0].CallID != "":
		return reply{CallID: asks[0].CallID, Result: parley.AppendJSONString(nil, text)}, nil
	}
	made := reply{ApprovalID: asks[0].ApprovalID}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "approve", "allow", "yes":
		made.Decision = parley.DecideApprove
	case "deny", "no":
		made.Decision = parley.DecideDeny
	default:
		return reply{}, invalid("The task waits for an approval: answer approve or deny")
	}
	return made, nil
}

// settle does what a reply says.
func (a *api) settle(ctx context.Context, r *request, f *found, one *reply) error {
	if !one.ApprovalID.IsZero() {
		_, err := a.engine.Decide(ctx, r.x.Principal, one.ApprovalID, engine.DecisionInput{
			Decision: one.Decision, Comment: one.Comment,
		})
		return err
	}
	made := parley.ToolResultContent{Result: one.Result, Error: one.Error, Success: one.Error == nil}
	if made.Success && len(made.Result) == 0 {
		made.Result = json.RawMessage("null")
	}
	content, err := parley.EncodeContent(made)
	if err != nil {
		return err
	}
	_, err = a.engine.PostMessage(ctx, r.x.Principal, f.session.ID, engine.MessageInput{
		Role: parley.RoleToolResult, ToolCallID: one.CallID, Content: content,
	}, store.Idempotency{})
	return err
}

// input makes the user's message, and uploads its files.
func (a *api) input(ctx context.Context, r *request, parts []part) (engine.MessageInput, error) {
	var content parley.UserContent
	for i := range parts {
		made, err := a.partOf(ctx, r, &parts[i])
		if err != nil {
			return engine.MessageInput{}, err
		}
		content.Parts = append(content.Parts, made)
	}
	encoded, err := parley.EncodeContent(content)
	return engine.MessageInput{
		Role: parley.RoleUser, Content: encoded, Settings: parley.Settings{Model: r.Metadata.Model},
	}, err
}

// partOf returns a part as the record keeps it.
func (a *api) partOf(ctx context.Context, r *request, p *part) (parley.Part, error) {
	switch {
	case p.Text != nil:
		return parley.Part{Type: parley.PartText, Text: *p.Text}, nil
	case p.Data != nil:
		return parley.Part{Type: parley.PartText, Text: string(p.Data)}, nil
	case p.URL != nil:
		link, err := url.Parse(*p.URL)
		if err != nil || link.Scheme != "https" && link.Scheme != "http" {
			return parley.Part{}, invalid("message.parts: url must be one of http or https")
		}
		return parley.Part{Type: parley.PartLink, URL: *p.URL, Title: p.Filename}, nil
	}
	raw, err := base64.StdEncoding.DecodeString(*p.Raw)
	if err != nil {
		return parley.Part{}, invalid("message.parts: raw is not base64")
	}
	name := p.Filename
	if name == "" {
		name = "file"
	}
	file, _, err := a.engine.UploadFile(ctx, r.x.Principal, name, bytes.NewReader(raw))
	if err != nil {
		return parley.Part{}, err
	}
	return parley.FilePart(file), nil
}
