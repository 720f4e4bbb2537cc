package a2a

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/engine"
)

// The bounds of what is read of a turn.
const (
	maxRecordPages = 8
	maxRecordBytes = 2 * parley.MaxPageBytes // of content; the page that reaches it is the last

	recordHolds = 4 // times its content, a row takes: as a row, in the task, and in the answer
)

// taskState is a state of a task.
type taskState string

// The states that turns have as tasks.
const (
	submitted     taskState = "TASK_STATE_SUBMITTED"
	working       taskState = "TASK_STATE_WORKING"
	inputRequired taskState = "TASK_STATE_INPUT_REQUIRED"
	completed     taskState = "TASK_STATE_COMPLETED"
	failed        taskState = "TASK_STATE_FAILED"
	canceled      taskState = "TASK_STATE_CANCELED"
)

// stateOf returns the state of a turn as a task.
func stateOf(turn *parley.Turn) taskState {
	switch turn.Status {
	case parley.TurnCompleted:
		return completed
	case parley.TurnFailed:
		return failed
	case parley.TurnCancelled:
		return canceled
	case parley.TurnQueued:
		if turn.Attempt == 0 {
			return submitted
		}
	case parley.TurnWaiting:
		if stopsFor(turn.WaitReason) {
			return inputRequired
		}
	case parley.TurnRunning:
	}
	return working
}

// stopsFor reports whether a turn that waits for a reason needs somebody; for others it continues by itself.
func stopsFor(reason parley.WaitReason) bool {
	return reason != parley.WaitChild && reason != parley.WaitRateLimit && reason != parley.WaitOutside
}

// task is a turn as clients see it.
type task struct {
	ID        parley.ID  `json:"id"`
	ContextID parley.ID  `json:"contextId"`
	Status    status     `json:"status"`
	Artifacts []artifact `json:"artifacts,omitempty"`
	History   []told     `json:"history,omitempty"`
}

type status struct {
	State   taskState   `json:"state"`
	Message *told       `json:"message,omitempty"`
	At      parley.Time `json:"timestamp,omitzero"`
}

// told is a message of the record.
type told struct {
	said
	Parts []part `json:"parts"`
}

// artifact is something that the agent says.
type artifact struct {
	ID    parley.ID `json:"artifactId"`
	Parts []part    `json:"parts"`
}

// found is a task with what it was found in.
type found struct {
	turn    parley.Turn
	session parley.Session
	rows    []parley.Message // nil until they are read
}

// find finds a task, which must be of the request's agent if there is one.
func (a *api) find(ctx context.Context, r *request, id string) (*found, error) {
	unknown := &fault{codeTaskNotFound, "There is no task with this id."}
	turnID, err := parley.ParseID(id)
	if err != nil {
		return nil, unknown
	}
	f := &found{}
	if f.turn, err = a.engine.Turn(ctx, r.x.Principal, turnID); err != nil {
		return nil, err
	}
	if f.session, err = a.engine.Session(ctx, r.x.Principal, f.turn.SessionID); err != nil {
		return nil, err
	}
	if r.agent == "" {
		return f, nil
	}
	agent, err := a.agent(ctx, r)
	if err == nil && agent.ID != f.session.AgentID {
		err = unknown
	}
	return f, err
}

// agent reads the agent that a request is to.
func (a *api) agent(ctx context.Context, r *request) (parley.Agent, error) {
	if r.known != nil {
		return *r.known, nil
	}
	name := r.agent
	if name == "" {
		name = parley.BuiltinAgentSlug
	}
	agent, err := a.engine.Agent(ctx, r.x.Principal, name)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		err = invalid("There is no agent " + parley.Clip(name, 64) + ".")
	}
	if err == nil {
		r.known = &agent
	}
	return agent, err
}

// read reads the messages of the task's turn.
func (a *api) read(ctx context.Context, r *request, f *found) error {
	if f.rows != nil {
		return nil
	}
	f.rows = []parley.Message{}
	list := engine.MessageList{Paging: engine.Paging{Limit: parley.MaxPage}, TurnIDs: []parley.ID{f.turn.ID}}
	size := 0
	for range maxRecordPages {
		page, err := a.engine.Messages(ctx, r.x.Principal, f.session.ID, list)
		if err != nil {
			return err
		}
		before := size
		for i := range page.Data {
			size += page.Data[i].Size()
		}
		if err := r.hold(int64(recordHolds * (size - before))); err != nil {
			return err
		}
		f.rows = append(f.rows, page.Data...)
		if page.Next == nil || size >= maxRecordBytes {
			return nil
		}
		list.Cursor = *page.Next
	}
	return nil
}

// task reads a task.
func (a *api) task(ctx context.Context, r *request) (any, error) {
	f, err := a.find(ctx, r, r.Name)
	if err != nil {
		return nil, err
	}
	return a.show(ctx, r, f, r.HistoryLength)
}

// show returns a task as its client sees it, with so many messages at most; nil: all.
func (a *api) show(ctx context.Context, r *request, f *found, history *int) (*task, error) {
	if err := a.read(ctx, r, f); err != nil {
		return nil, err
	}
	made := f.outline()
	made.Artifacts = f.artifacts()
	made.History = f.history(history)
	if made.Status.State == inputRequired {
		asks, err := a.pending(ctx, r, f)
		if err != nil {
			return nil, err
		}
		said := ""
		if len(asks) == 0 {
			said = waitsFor(f.turn.WaitReason)
		}
		made.Status.Message = f.statement(said, asks)
	}
	return made, nil
}

// waitsFor says what a task waits for that no message to it can answer.
func waitsFor(reason parley.WaitReason) string {
	return "The turn waits for somebody (" + string(reason) + "). Answer it in Parley."
}

// statement is the agent's message about its task.
func (f *found) statement(text string, asks []question) *told {
	m := f.told(f.turn.ID.String(), roleAgent)
	if text != "" {
		m.Parts = append(m.Parts, textPart(text))
	}
	for i := range asks {
		m.Parts = append(m.Parts, textPart(asks[i].text), part{Data: asks[i].data()})
	}
	return m
}

func (f *found) told(id string, role string) *told {
	return &told{said: said{
		ID: id, ContextID: f.session.ID.String(), TaskID: f.turn.ID.String(), Role: role,
	}}
}

// outline returns a task without what was said.
func (f *found) outline() *task {
	at := f.turn.FinishedAt
	if at == 0 {
		at = max(f.turn.StartedAt, f.turn.CreatedAt)
	}
	made := &task{ID: f.turn.ID, ContextID: f.session.ID, Status: status{State: stateOf(&f.turn), At: at}}
	if made.Status.State == failed {
		said := "The turn failed."
		if f.turn.Error != nil {
			said = f.turn.Error.Sentence
		}
		made.Status.Message = f.statement(said, nil)
	}
	return made
}

// artifacts returns what the agent said: each text apart.
func (f *found) artifacts() []artifact {
	var all []artifact
	for i := range f.rows {
		m := &f.rows[i]
		if m.Role != parley.RoleAssistant || m.Internal || !settledWell(m.Status) {
			continue
		}
		if parts := answered(m.Content); len(parts) > 0 {
			all = append(all, artifact{m.ID, parts})
		}
	}
	return all
}

// settledWell reports whether a message counts: a failed attempt is taken back.
func settledWell(s parley.MessageStatus) bool {
	return s == parley.MessageCompleted || s == parley.MessageCancelled
}

// answered returns the parts of an assistant's content: its text, and the object that it says.
func answered(raw json.RawMessage) []part {
	var content parley.AssistantContent
	if content.UnmarshalJSON(raw) != nil {
		return nil
	}
	var parts []part
	text := content.Text
	if text == "" {
		text = content.Refusal
	}
	if text != "" {
		parts = append(parts, textPart(text))
	}
	if len(content.Object) > 0 {
		parts = append(parts, part{Data: content.Object})
	}
	return parts
}

// history returns the newest messages of the task: the user's, the agent's questions and the answers to them. What the
// agent says otherwise are artifacts.
func (f *found) history(most *int) []told {
	var all []told
	asked := map[string]bool{}
	for i := range f.rows {
		m := &f.rows[i]
		if m.Internal {
			continue
		}
		role, text := roleUser, ""
		var parts []part
		switch m.Role {
		case parley.RoleUser:
			parts = ownParts(m.Content)
		case parley.RoleToolCall:
			var call parley.ToolCallContent
			if m.ToolName != parley.AskUserTool || json.Unmarshal(m.Content, &call) != nil {
				continue
			}
			if q, err := parley.ReadQuestion(call.Arguments); err == nil {
				role, text, asked[call.ID] = roleAgent, q.Question, true
			}
		case parley.RoleToolResult:
			var result parley.ToolResultContent
			if asked[m.ToolCallID] && json.Unmarshal(m.Content, &result) == nil {
				_ = json.Unmarshal(result.Result, &text) // another kind of answer has no text
			}
		case parley.RoleAssistant, parley.RoleSummary, parley.RoleSystem:
		}
		if text != "" {
			parts = []part{textPart(text)}
		}
		if len(parts) > 0 {
			made := f.told(nameOf(m), role)
			made.Parts = parts
			all = append(all, *made)
		}
	}
	if most != nil && len(all) > *most {
		all = all[len(all)-*most:]
	}
	return all
}

// filePath is where the bytes of a file are read, with the caller's key.
const filePath = "/v1/files/"

// ownParts returns the parts of a user's message.
func ownParts(raw json.RawMessage) []part {
	var content parley.UserContent
	if json.Unmarshal(raw, &content) != nil {
		return nil
	}
	var parts []part
	for i := range content.Parts {
		switch p := &content.Parts[i]; {
		case p.Type == parley.PartText:
			parts = append(parts, textPart(p.Text))
		case p.HoldsFile():
			address := filePath + p.FileID.String() + "/content"
			parts = append(parts, part{URL: &address, Filename: p.Name, MediaType: p.MediaType})
		case p.Type == parley.PartLink:
			parts = append(parts, part{URL: &p.URL, Filename: p.Title})
		}
	}
	return parts
}

// cancel cancels a task.
func (a *api) cancel(ctx context.Context, r *request) (any, error) {
	f, err := a.find(ctx, r, r.Name)
	if err != nil {
		return nil, err
	}
	done, err := a.engine.Cancel(ctx, r.x.Principal, f.session.ID, engine.CancelInput{TurnID: f.turn.ID})
	switch parley.ErrorCode(err) {
	case parley.CodeNothingToCancel, parley.CodeConflict:
		return nil, &fault{codeNotCancelable, "The task is over: it cannot be cancelled."}
	}
	if err != nil {
		return nil, err
	}
	f.turn = done.Turn
	return a.show(ctx, r, f, nil)
}
