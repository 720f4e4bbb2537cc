package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// The kinds of questions to a client: they begin the ids by which it answers.
const (
	approvalQuestion = "approval"
	inputQuestion    = "input"
)

// The bounds of questions.
const (
	maxQuestions  = 32   // of one call, at once
	maxShownInput = 2048 // bytes of a call's arguments that a question shows
)

// question is something that a turn waits for and a client's user can answer.
type question struct {
	kind    string
	id      parley.ID // of the approval, or of the message that asks
	text    string
	options []string
}

// name identifies the question among those of its call.
func (q *question) name() string { return q.kind + ":" + q.id.String() }

// form is a request for input as clients show it.
type form struct {
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`
}

// form returns what the client's user fills in.
func (q *question) form() form {
	if q.kind == approvalQuestion {
		return form{q.text, json.RawMessage(`{"type":"object","required":["decision"],"properties":{` +
			`"decision":{"type":"string","title":"Decision","enum":["approve","deny"]},` +
			`"comment":{"type":"string","title":"Comment","description":"The agent reads it if you deny."}}}`)}
	}
	hint := "Any answer."
	if len(q.options) > 0 {
		hint = "Suggested: " + parley.Clip(strings.Join(q.options, "; "), maxShownInput)
	}
	schema := parley.AppendJSONString([]byte(`{"type":"object","required":["answer"],"properties":{"answer":{`+
		`"type":"string","title":"Answer","description":`), hint)
	return form{q.text, append(schema, "}}}"...)}
}

// pending reads what the turn waits for: approvals, of its tool sessions too, and questions of the agent.
func (k *asking) pending(ctx context.Context) ([]question, error) {
	var found []question
	held, err := k.a.engine.SessionApprovals(ctx, k.r.x.Principal, k.session, engine.ApprovalList{
		Paging: engine.Paging{Limit: maxQuestions}, States: []parley.ApprovalState{parley.ApprovalPending},
	})
	if err != nil {
		return nil, err
	}
	for i := range held.Data {
		h := &held.Data[i]
		if h.SessionID == k.session && h.TurnID != k.turn {
			continue
		}
		found = append(found, question{kind: approvalQuestion, id: h.ID, text: strings.TrimSpace(
			"The agent wants to call " + h.ToolName + " with " + parley.Clip(string(h.Arguments), maxShownInput) +
				". Allow it? " + h.Why())})
	}
	rows, err := k.a.engine.Messages(ctx, k.r.x.Principal, k.session, engine.MessageList{
		Paging:  engine.Paging{Limit: mostRows, Order: engine.Descending},
		Roles:   []parley.Role{parley.RoleToolCall, parley.RoleToolResult},
		TurnIDs: []parley.ID{k.turn},
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
			json.Unmarshal(m.Content, &call) != nil || len(found) >= maxQuestions {
			continue
		}
		if asked, err := parley.ReadQuestion(call.Arguments); err == nil {
			found = append(found, question{inputQuestion, m.ID, asked.Question, asked.Options})
		}
	}
	return found, nil
}

// waits says what the turn waits for, and what to do about it.
func (k *asking) waits(pending []question) string {
	if len(pending) == 0 {
		if k.holds != "" {
			return k.holds
		}
		return "The turn waits for somebody (" + string(k.reason) + "). Answer it in Parley."
	}
	said := []string{"The agent waits for a person."}
	for i := range pending {
		said = append(said, pending[i].text)
	}
	return strings.Join(append(said, "Answer in Parley: on its page, or with `parley chat --session "+
		k.session.String()+"`."), "\n")
}

// elicit asks the user of a client of an older version, who answers with a message of its own. The call then goes on.
// Clients of newer versions get the questions as the call's result.
func (k *asking) elicit(ctx context.Context) {
	if !k.r.elicits || k.frames == nil {
		return
	}
	if k.r.standsAlone() {
		k.over, k.reason = true, parley.WaitApproval
		return
	}
	pending, err := k.pending(ctx)
	if err != nil || len(pending) == 0 {
		return // the answer says what the turn waits for
	}
	for i := range pending {
		q := &pending[i]
		id := q.name()
		if k.asks[id] {
			continue
		}
		k.asks[id] = true
		k.listen(id)
		shown, err := parley.EncodeJSON(q.form())
		if err != nil {
			return
		}
		b := parley.AppendJSONString([]byte(`{"jsonrpc":"2.0","id":`), id)
		b = append(append(b, `,"method":"elicitation/create","params":`...), shown...)
		k.send(append(b, '}'))
	}
	k.over = false // the answers resume the turn
}

// listen waits for the client to dismiss a question.
func (k *asking) listen(question string) {
	k.a.mu.Lock()
	defer k.a.mu.Unlock()
	own := k.a.asking[k.r.x.Principal.ID]
	if own == nil {
		own = map[string]func(){}
		k.a.asking[k.r.x.Principal.ID] = own
	}
	own[question] = k.stop
}

// forget ends what listen began.
func (k *asking) forget() {
	k.a.mu.Lock()
	defer k.a.mu.Unlock()
	own := k.a.asking[k.r.x.Principal.ID]
	for question := range k.asks {
		delete(own, question)
	}
	if len(own) == 0 {
		delete(k.a.asking, k.r.x.Principal.ID)
	}
}

// dismissed ends the call that asked a question, if it is of this process. Elsewhere it ends by its own time.
func (a *api) dismissed(r *request, question string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if stop := a.asking[r.x.Principal.ID][question]; stop != nil {
		stop()
	}
}

// reply is a client's answer to a question.
type reply struct {
	Action  string `json:"action"`
	Content struct {
		Decision parley.ApprovalDecision `json:"decision"`
		Comment  string                  `json:"comment"`
		Answer   string                  `json:"answer"`
	} `json:"content"`
}

// The actions of replies.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// answered takes a message that answers a question. One that answers nothing is dropped.
func (a *api) answered(r *request) error {
	var name string
	_ = json.Unmarshal(r.ID, &name) // a number names no question
	kind, text, _ := strings.Cut(name, ":")
	id, _ := parley.ParseID(text)
	if id.IsZero() || kind != approvalQuestion && kind != inputQuestion {
		return nil
	}
	if r.Error != nil {
		a.dismissed(r, name)
		return nil
	}
	over, err := a.settle(r.x.R.Context(), r, kind, id, r.Result)
	if over {
		a.dismissed(r, name)
	}
	return err
}

// settle does what a reply says. dismissed reports that it leaves the question open. What was settled before stays.
func (a *api) settle(
	ctx context.Context, r *request, kind string, id parley.ID, raw json.RawMessage,
) (dismissed bool, err error) {
	var said reply
	if err := json.Unmarshal(raw, &said); err != nil {
		return true, parley.Errorf(parley.CodeInvalid, "The answer to %s is not one to a form.", kind)
	}
	switch said.Action {
	case actionAccept:
	case actionDecline:
		said.Content.Decision, said.Content.Answer = parley.DecideDeny, "The user declined to answer."
	case actionCancel:
		return true, nil
	default:
		return true, parley.InvalidField("action", "must be accept, decline or cancel")
	}
	if kind == approvalQuestion {
		_, err = a.engine.Decide(ctx, r.x.Principal, id, engine.DecisionInput{
			Decision: said.Content.Decision, Comment: said.Content.Comment,
		})
	} else {
		err = a.input(ctx, r, id, said.Content.Answer)
	}
	if parley.ErrorCode(err) == parley.CodeConflict {
		err = nil
	}
	return err != nil, err
}

// input answers a question of the agent.
func (a *api) input(ctx context.Context, r *request, id parley.ID, said string) error {
	m, err := a.engine.Message(ctx, r.x.Principal, id)
	if err != nil {
		return err
	}
	content, err := parley.EncodeContent(parley.ToolResultContent{
		Success: true, Result: parley.AppendJSONString(nil, said),
	})
	if err != nil {
		return err
	}
	_, err = a.engine.PostMessage(ctx, r.x.Principal, m.SessionID, engine.MessageInput{
		Role: parley.RoleToolResult, ToolCallID: m.ToolCallID, Content: content,
	}, store.Idempotency{})
	return err
}

// inputRequired is the result of a call that waits for its client's user. Its state is a random name: what it stands
// for is kept as a foreign id of the caller, with the tool in it, so one that was altered or stolen stands for nothing.
func (k *asking) inputRequired(ctx context.Context, pending []question) ([]byte, error) {
	type input struct {
		Method string `json:"method"`
		Params any    `json:"params"`
	}
	inputs := map[string]input{}
	for i := range pending {
		inputs[pending[i].name()] = input{"elicitation/create", struct {
			Mode string `json:"mode"`
			form
		}{"form", pending[i].form()}}
	}
	state := rand.Text()
	err := k.a.engine.KeepForeignIDs(ctx, k.r.x.Principal, k.session, []parley.ForeignID{{
		Protocol: foreignProtocol, Name: stateName(k.r.Name, state), TargetID: k.turn,
	}})
	if err != nil {
		return nil, err
	}
	out := k.a.completed(k.r, false)
	out.Type = "input_required"
	return response(k.r.ID, struct {
		outcome
		Inputs map[string]input `json:"inputRequests"`
		State  string           `json:"requestState"`
	}{out, inputs, state})
}

// stateName is the foreign id of a state.
func stateName(tool, state string) string {
	return parley.HashOf([]byte(tool + "\n" + strconv.Quote(state))).String()
}

// resume takes up a call that waited for its client's user.
func (k *asking) resume(ctx context.Context) error {
	unknown := invalid("requestState is not one that this server gave for a call of this tool by this key")
	if len(k.r.State) > maxState {
		return unknown
	}
	x := k.r.x
	found, err := k.a.engine.ForeignIDs(ctx, x.Principal, foreignProtocol, []string{stateName(k.r.Name, k.r.State)})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return unknown
	}
	s, err := k.sessionOf(ctx, found[0].SessionID)
	if err != nil {
		return err
	}
	k.session, k.turn, k.after = s.ID, found[0].TargetID, s.LastEvent
	pending, err := k.pending(ctx)
	if err != nil {
		return err
	}
	for i := range pending {
		q := &pending[i]
		if raw := k.r.Responses[q.name()]; raw != nil {
			dismissed, err := k.a.settle(ctx, k.r, q.kind, q.id, raw)
			if err != nil {
				return err
			}
			k.dismissed = k.dismissed || dismissed
		}
	}
	return k.look(ctx)
}
