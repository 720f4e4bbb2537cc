package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
)

// askPrefix begins the names of the tools that ask an agent; its slug follows.
const askPrefix = "ask_"

// toolsPage is how many agents a page of tools has: many clients read the first one only.
const toolsPage = 100

// The bounds of the lists that tools answer with.
const (
	defaultRows = 20
	mostRows    = 100
)

// tool describes a tool.
type tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Hints       hints           `json:"annotations"`
}

type hints struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

const askInput = `{"type":"object","additionalProperties":false,"properties":{` +
	`"message":{"type":"string","description":"What to tell the agent. Without it, the call waits for the answer ` +
	`that the session is working on, or returns its last one."},` +
	`"session_id":{"type":"string","description":"The session to continue. Without it, a new one begins."},` +
	`"model":{"type":"string","description":"provider/model of this turn, instead of the agent's."},` +
	`"idempotency_key":{"type":"string","description":"Any text that names this message: a repeated call with it ` +
	`returns the answer to the first one."}}}`

// fixedTools returns the tools besides those that ask agents.
func fixedTools() []tool {
	return []tool{{
		Name: "search", Title: "Search conversations", Hints: hints{ReadOnly: true},
		Description: "Find messages and titles of sessions by words, \"a phrase\" or -without.",
		Input: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["query"],"properties":{` +
			`"query":{"type":"string"},"session_id":{"type":"string","description":"Only in this session."},` +
			listInput),
	}, {
		Name: "list_sessions", Title: "List conversations", Hints: hints{ReadOnly: true},
		Description: "List sessions, the last active first.",
		Input: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` +
			`"agent":{"type":"string","description":"Only of the agent with this slug or id."},` + listInput),
	}, {
		Name: "read_session", Title: "Read a conversation", Hints: hints{ReadOnly: true},
		Description: "Read a session's messages, the oldest first.",
		Input: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["session_id"],` +
			`"properties":{"session_id":{"type":"string"},"newest_first":{"type":"boolean"},` + listInput),
	}, {
		Name: "cancel_turn", Title: "Cancel a turn", Hints: hints{Destructive: true},
		Description: "Stop what a session's agent is doing.",
		Input: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["session_id"],` +
			`"properties":{"session_id":{"type":"string"}}}`),
	}}
}

const listInput = `"limit":{"type":"integer","minimum":1,"maximum":100},` +
	`"cursor":{"type":"string","description":"next of the page before."}}}`

// tools lists the tools: one for each agent that the caller may ask, then the others.
func (a *api) tools(ctx context.Context, r *request) (any, error) {
	list := struct {
		outcome
		Tools []tool `json:"tools"`
		Next  string `json:"nextCursor,omitempty"`
	}{outcome: a.completed(r, true), Tools: []tool{}}
	role := r.x.Principal.Role
	agents := engine.Page[parley.Agent]{}
	if engine.ReachOf(role, engine.OpenSessions) != engine.ReachNone {
		var err error
		agents, err = a.engine.Agents(ctx, r.x.Principal, engine.AgentList{
			Paging: engine.Paging{Limit: toolsPage, Cursor: r.Cursor},
		})
		if err != nil {
			return nil, a.refused(r, err)
		}
	}
	for i := range agents.Data {
		list.Tools = append(list.Tools, askTool(&agents.Data[i]))
	}
	if r.Cursor == "" {
		for _, t := range fixedTools() {
			if t.Name != "cancel_turn" || engine.ReachOf(role, engine.CancelTurns) != engine.ReachNone {
				list.Tools = append(list.Tools, t)
			}
		}
	}
	list.Next = parley.ValueOf(agents.Next)
	return list, nil
}

// askTool is the tool that asks an agent.
func askTool(agent *parley.Agent) tool {
	description := "Ask the agent " + agent.Name + "."
	if agent.Description != "" {
		description += " " + agent.Description
	}
	return tool{
		Name: askPrefix + agent.Slug, Title: agent.Name, Description: description,
		Input: json.RawMessage(askInput), Hints: hints{OpenWorld: true},
	}
}

// toolResult is what a call answers with.
type toolResult struct {
	outcome
	Content    []text `json:"content"`
	Structured any    `json:"structuredContent,omitempty"`
	Failed     bool   `json:"isError,omitempty"`
}

type text struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func textOf(s string) text { return text{"text", s} }

// call calls a tool. What keeps a tool from doing its work is a result that its caller's model reads.
func (a *api) call(ctx context.Context, r *request) (any, error) {
	if r.Arguments == nil {
		r.Arguments = json.RawMessage("{}")
	}
	if slug, ok := strings.CutPrefix(r.Name, askPrefix); ok {
		return a.ask(ctx, r, slug)
	}
	var found any
	var err error
	switch r.Name {
	case "search":
		found, err = a.search(ctx, r)
	case "list_sessions":
		found, err = a.list(ctx, r)
	case "read_session":
		found, err = a.readSession(ctx, r)
	case "cancel_turn":
		found, err = a.cancel(ctx, r)
	default:
		return nil, invalid("The tool " + parley.Clip(r.Name, 96) + " does not exist. tools/list names those that do.")
	}
	if err != nil {
		return a.failed(r, err)
	}
	encoded, err := parley.EncodeJSON(found)
	if err != nil {
		return nil, err
	}
	return toolResult{a.completed(r, false), []text{textOf(string(encoded))}, json.RawMessage(encoded), false}, nil
}

// retryable reports whether a status concerns the key or the server, rather than what was asked for.
func retryable(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// failed is the result of a call that could not be done. What concerns the key or the server is an answer of HTTP.
func (a *api) failed(r *request, err error) (any, error) {
	problem := r.x.Problem(err)
	if retryable(problem.Status) {
		return nil, err
	}
	r.x.Call.Unaudited()
	return toolResult{outcome: a.completed(r, false), Content: []text{textOf(problem.Detail)}, Failed: true}, nil
}

// refused is the error of a request that could not be done.
func (a *api) refused(r *request, err error) error {
	problem := r.x.Problem(err)
	if retryable(problem.Status) {
		return err
	}
	f := faultOf(problem)
	if r.URI != "" {
		f.data = parley.AppendJSONString([]byte(`{"uri":`), r.URI)
		f.data = append(f.data, '}')
	}
	if f.code == codeNotFound && r.standsAlone() {
		f.status, f.code = http.StatusBadRequest, codeInvalidParams
	}
	return f
}

// arguments reads a call's arguments.
func arguments(r *request, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(r.Arguments))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return parley.Errorf(parley.CodeInvalid, "The arguments do not fit the tool's inputSchema: %s",
			parley.Clip(strings.TrimPrefix(err.Error(), "json: "), 200))
	}
	return nil
}

// page are the arguments of the tools that list.
type page struct {
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

func (p page) paging() (engine.Paging, error) {
	if p.Limit == 0 {
		p.Limit = defaultRows
	}
	if p.Limit < 0 || p.Limit > mostRows {
		return engine.Paging{}, parley.InvalidField("limit", "must be from 1 to %d", mostRows)
	}
	return engine.Paging{Limit: p.Limit, Cursor: p.Cursor}, nil
}

// search finds messages.
func (a *api) search(ctx context.Context, r *request) (any, error) {
	var args struct {
		page
		Query   string    `json:"query"`
		Session parley.ID `json:"session_id"`
	}
	if err := arguments(r, &args); err != nil {
		return nil, err
	}
	paging, err := args.paging()
	if err != nil {
		return nil, err
	}
	return a.engine.Search(ctx, r.x.Principal, engine.SearchList{
		Query: args.Query, SessionID: args.Session, Limit: paging.Limit, Cursor: paging.Cursor,
	})
}

// session is a session as its readers see it.
type session struct {
	ID         parley.ID            `json:"session_id"`
	Title      string               `json:"title"`
	AgentID    parley.ID            `json:"agent_id"`
	Status     parley.SessionStatus `json:"status"`
	WaitReason parley.WaitReason    `json:"waits_for,omitempty"`
	Messages   int64                `json:"messages"`
	UpdatedAt  parley.Time          `json:"updated_at"`
}

func sessionOf(s *parley.Session) session {
	return session{s.ID, s.Title, s.AgentID, s.Status, s.WaitReason, s.LastSequence, s.UpdatedAt}
}

// list lists sessions.
func (a *api) list(ctx context.Context, r *request) (any, error) {
	var args struct {
		page
		Agent string `json:"agent"`
	}
	if err := arguments(r, &args); err != nil {
		return nil, err
	}
	var wanted engine.SessionList
	var err error
	if wanted.Paging, err = args.paging(); err != nil {
		return nil, err
	}
	if args.Agent != "" {
		wanted.Agents = []string{args.Agent}
	}
	rows, err := a.engine.Sessions(ctx, r.x.Principal, wanted)
	if err != nil {
		return nil, err
	}
	listed := struct {
		Data []session `json:"data"`
		Next *string   `json:"next"`
	}{[]session{}, rows.Next}
	for i := range rows.Data {
		listed.Data = append(listed.Data, sessionOf(&rows.Data[i]))
	}
	return listed, nil
}

// cancel cancels a session's turn.
func (a *api) cancel(ctx context.Context, r *request) (any, error) {
	var args struct {
		Session parley.ID `json:"session_id"`
	}
	if err := arguments(r, &args); err != nil {
		return nil, err
	}
	return a.engine.Cancel(ctx, r.x.Principal, args.Session, engine.CancelInput{})
}

// transcript is a part of a session's messages.
type transcript struct {
	Session  session         `json:"session"`
	Messages []transcriptRow `json:"messages"`
	Next     *string         `json:"next"`
}

type transcriptRow struct {
	ID        parley.ID       `json:"id"`
	Sequence  int64           `json:"sequence"`
	Role      parley.Role     `json:"role"`
	Author    string          `json:"author,omitempty"`
	CreatedAt parley.Time     `json:"created_at"`
	Content   json.RawMessage `json:"content"`
}

// readSession reads messages of a session.
func (a *api) readSession(ctx context.Context, r *request) (any, error) {
	var args struct {
		page
		Session parley.ID `json:"session_id"`
		Newest  bool      `json:"newest_first"`
	}
	if err := arguments(r, &args); err != nil {
		return nil, err
	}
	paging, err := args.paging()
	if err != nil {
		return nil, err
	}
	if args.Newest {
		paging.Order = engine.Descending
	}
	return a.transcript(ctx, r, args.Session, paging)
}

// transcript reads a page of a session: what people see of it.
func (a *api) transcript(ctx context.Context, r *request, id parley.ID, paging engine.Paging) (*transcript, error) {
	s, err := a.engine.Session(ctx, r.x.Principal, id)
	if err != nil {
		return nil, err
	}
	rows, err := a.engine.UserMessages(ctx, r.x.Principal, id, engine.MessageList{Paging: paging})
	if err != nil {
		return nil, err
	}
	size := 0
	for i := range rows.Data {
		size += rows.Data[i].Size()
	}
	if err := r.hold(transcriptHolds * int64(size)); err != nil {
		return nil, err
	}
	read := &transcript{Session: sessionOf(&s), Messages: []transcriptRow{}, Next: rows.Next}
	for i := range rows.Data {
		m := &rows.Data[i]
		read.Messages = append(read.Messages,
			transcriptRow{m.ID, m.Sequence, m.Role, m.Author.Name, m.CreatedAt, m.Content})
	}
	return read, nil
}

// transcriptHolds times its content, a page of messages takes: as rows, as JSON, inside a text, and in the answer.
const transcriptHolds = 4
