package editor

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/internal/acpwire"
)

// The options of a request for permission.
const (
	optionOnce    = "once"
	optionCall    = "session_call"
	optionTool    = "session_tool"
	optionChange  = "change"
	optionReject  = "reject"
	maxShownInput = 64 << 10 // bytes of a call's arguments that the editor is shown
	notAsked      = "The editor could not ask its user."
)

// permission asks the editor's user.
type permission struct {
	Session string             `json:"sessionId"`
	Call    *callUpdate        `json:"toolCall"`
	Options []permissionOption `json:"options"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// permit asks the editor's user, and returns the chosen option. "" means that the user dismissed the question.
func (t *turn) permit(ctx context.Context, asks permission) (option string, err error) {
	asks.Session = t.x.id
	var answer struct {
		Outcome struct {
			Kind   string `json:"outcome"`
			Option string `json:"optionId"`
		} `json:"outcome"`
	}
	if err := t.x.server.conn.Ask(ctx, acpwire.MethodPermission, asks, &answer); err != nil {
		return "", err
	}
	if answer.Outcome.Kind != acpwire.OutcomeSelected {
		return "", nil
	}
	for _, offered := range asks.Options {
		if offered.ID == answer.Outcome.Option {
			return offered.ID, nil
		}
	}
	return "", errors.New("the editor chose an option that it was not offered")
}

// askLeave asks the editor's user about an approval, until somebody has decided it.
func (t *turn) askLeave(ctx context.Context, id parley.ID) {
	if t.asks[id] != nil {
		return
	}
	ctx, withdraw := context.WithCancel(ctx)
	t.asks[id] = withdraw
	t.x.server.work.Go(func() { // ends with the decision, or with the turn
		defer withdraw()
		t.decide(ctx, id)
	})
}

// withdraw takes back the question about an approval that somebody has decided.
func (t *turn) withdraw(id parley.ID) {
	if stop := t.asks[id]; stop != nil {
		stop()
		delete(t.asks, id)
	}
}

// decide asks about an approval and passes on the decision.
func (t *turn) decide(ctx context.Context, id parley.ID) {
	s := t.x.server
	var held parley.Approval
	err := s.patiently(ctx, func() (err error) {
		held, err = s.api.Approval(ctx, id)
		return err
	})
	if err != nil || held.State != parley.ApprovalPending {
		return
	}
	call := t.v.describe(held.ToolCallID, held.ToolName, held.Arguments)
	t.v.shows(ctx, call, held.ToolName, held.Arguments)
	if held.Explanation != "" {
		call.Content = append(call.Content, textContent(held.Explanation))
	}
	call.Status = acpwire.StatusPending
	option, err := t.permit(ctx, permission{Call: call, Options: optionsOf(&held)})
	if ctx.Err() != nil {
		return
	}
	input := client.DecisionInput{Decision: parley.DecideApprove}
	switch {
	case err != nil:
		input.Decision, input.Comment = parley.DecideDeny, notAsked
	case option == "": // the protocol has this answer for turns that are cancelled
		t.cancel()
		return
	case option == optionReject:
		input.Decision = parley.DecideDeny
	case option == optionCall:
		input.Scope = parley.ScopeSession
	case option == optionTool:
		input.Scope, input.Covers = parley.ScopeSession, parley.CoversTool
	case option == optionChange:
		input.Scope = parley.ScopeChange
	}
	err = s.patiently(ctx, func() error {
		_, err := s.api.DecideApproval(ctx, id, input)
		return err
	})
	if err != nil && ctx.Err() == nil && parley.ErrorCode(err) != parley.CodeConflict { // somebody else must decide
		t.v.says(err.Error())
	}
}

// optionsOf are the answers that an approval takes.
func optionsOf(held *parley.Approval) []permissionOption {
	options := []permissionOption{{optionOnce, "Allow once", acpwire.AllowOnce}}
	switch {
	case held.Explanation != "":
		options = append(options, permissionOption{optionChange, "Allow, and accept the change", acpwire.AllowAlways})
	case held.Approvers > 1 || len(held.RequesterIDs) > 0: // for this call only
	default:
		options = append(options,
			permissionOption{optionCall, "Allow these arguments in this session", acpwire.AllowAlways},
			permissionOption{optionTool, "Allow " + held.ToolName + " in this session", acpwire.AllowAlways})
	}
	return append(options, permissionOption{optionReject, "Reject", acpwire.RejectOnce})
}

// question is a call of ask_user that waits for its answer.
type question struct {
	call string
	parley.Question
}

// text is the question with its suggestions.
func (q *question) text() string {
	said := q.Question.Question
	for _, option := range q.Options {
		said += "\n- " + option
	}
	return said
}

// questions reads what the agent asks, in order.
func (t *turn) questions(ctx context.Context) (asked []question, err error) {
	of, err := t.x.server.api.Turn(ctx, t.id)
	if err != nil {
		return nil, err
	}
	calls, err := t.unanswered(ctx, of.Step)
	for _, call := range calls {
		if call.Name != parley.AskUserTool {
			continue
		}
		if of, err := parley.ReadQuestion(call.Arguments); err == nil {
			asked = append(asked, question{call.ID, of})
		}
	}
	return asked, err
}

// askQuestions asks the editor's user what the agent asks. An editor without forms shows the question as the answer:
// the prompt ends, and the next one answers it.
func (t *turn) askQuestions(ctx context.Context) *end {
	s := t.x.server
	var asked []question
	err := s.patiently(ctx, func() (err error) {
		asked, err = t.questions(ctx)
		return err
	})
	if err != nil {
		return &end{err: err}
	}
	if len(asked) == 0 {
		return nil
	}
	if offers := s.editorOffers(); offers.Elicitation != nil && offers.Elicitation.Form != nil {
		t.x.server.work.Go(func() { // ends with the answers, or with the turn
			for i := range asked {
				t.fill(ctx, &asked[i])
			}
		})
		return nil
	}
	t.v.says(asked[0].text())
	return &end{reason: acpwire.StopTurn}
}

// fill asks one question by a form.
func (t *turn) fill(ctx context.Context, asked *question) {
	if ctx.Err() != nil {
		return
	}
	hint := "Any answer."
	if len(asked.Options) > 0 {
		hint = "Suggested: " + strings.Join(asked.Options, "; ")
	}
	schema := parley.AppendJSONString([]byte(`{"type":"object","required":["answer"],"properties":{"answer":{`+
		`"type":"string","title":"Answer","description":`), parley.Clip(hint, 2<<10))
	var answer struct {
		Action  string `json:"action"`
		Content struct {
			Answer string `json:"answer"`
		} `json:"content"`
	}
	err := t.x.server.conn.Ask(ctx, acpwire.MethodElicitation, struct {
		Session string          `json:"sessionId"`
		Call    string          `json:"toolCallId"`
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}{t.x.id, asked.call, "form", asked.Question.Question, append(schema, "}}}"...)}, &answer)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		t.post(ctx, asked.call, nil, parley.Errorf(parley.CodeUnsupported, notAsked))
	case answer.Action == "accept":
		t.post(ctx, asked.call, answer.Content.Answer, nil)
	case answer.Action == "decline":
		t.post(ctx, asked.call, nil, parley.Errorf(parley.CodeForbidden, "The user declined to answer."))
	default:
		t.cancel()
	}
}
