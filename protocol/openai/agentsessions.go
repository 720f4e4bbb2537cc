package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// agentSessionRoutes are those of the Agents API about sessions.
func (a *api) agentSessionRoutes() []protocol.Route {
	const all = "/agents/sessions"
	const one = all + "/{agent_session}"
	const subagent = one + "/subagents/{subagent}"
	read := func(path, name string, serve func(*protocol.Exchange) error) protocol.Route {
		return protocol.Route{
			Method: http.MethodGet, Path: path, Name: name, Verb: engine.ReadSessions, Serve: serve,
		}
	}
	return []protocol.Route{
		{
			Method: http.MethodPost, Path: all, Name: "createAgentSession", Verb: engine.OpenSessions, Body: MaxBody,
			Makes: true, Serve: a.createAgentSession,
			Example: `{"environment":{"type":"none"},"agent":{"model":"parley"},"input":"Hello"}`,
		},
		read(all, "listAgentSessions", a.listAgentSessions),
		read(one, "getAgentSession", a.getAgentSession),
		{
			Method: http.MethodPost, Path: one, Name: "updateAgentSession", Verb: engine.PatchSessions,
			Body: parley.MaxBodyBytes, Serve: a.updateAgentSession, Example: `{"metadata":{"topic":"tea"}}`,
		},
		{
			Method: http.MethodDelete, Path: one, Name: "deleteAgentSession", Verb: engine.DropSessions,
			Serve: a.deleteAgentSession,
		},
		{
			Method: http.MethodPost, Path: one + "/events", Name: "sendAgentSessionEvents", Verb: engine.PostMessages,
			Body: MaxBody, Serve: a.agentInput,
			Example: `{"events":[{"type":"agent.session.input.message","input":[{"role":"user","content":[` +
				`{"type":"input_text","text":"Hello"}]}]}]}`,
		},
		read(one+"/events", "watchAgentSession", a.watchAgentSession),
		read(one+"/items", "listAgentSessionItems", a.listAgentItems),
		read(one+"/turns", "listAgentTurns", a.listAgentTurns),
		read(one+"/turns/{agent_turn}", "getAgentTurn", a.getAgentTurn),
		read(one+"/turns/{agent_turn}/items", "listAgentTurnItems", a.listAgentItems),
		read(one+"/subagents", "listSubagents", a.listSubagents),
		read(subagent, "getSubagent", a.getSubagent),
		read(subagent+"/items", "listSubagentItems", a.listAgentItems),
		read(subagent+"/turns", "listSubagentTurns", a.listAgentTurns),
		read(subagent+"/turns/{agent_turn}", "getSubagentTurn", a.getAgentTurn),
		read(subagent+"/turns/{agent_turn}/items", "listSubagentTurnItems", a.listAgentItems),
	}
}

// agentPlace is what a path of the Agents API names: a session, or a subagent of one.
type agentPlace struct {
	session  parley.Session // the subagent's, if one is named
	id       string         // of the session that the client talks to
	subagent string         // "" for none
}

// noAgentSession is the answer for an id that names none.
func noAgentSession(id string) error {
	return parley.Errorf(parley.CodeNotFound, "Session with id '%s' not found.", parley.Clip(id, 64))
}

// place finds what a request's path names.
func (a *api) place(x *protocol.Exchange) (*agentPlace, error) {
	p := &agentPlace{id: x.R.PathValue("agent_session"), subagent: x.R.PathValue("subagent")}
	ctx := x.R.Context()
	var err error
	p.session, err = a.engine.Session(ctx, x.Principal, idOf(p.id, agentSessionPrefix))
	if parley.ErrorCode(err) == parley.CodeNotFound {
		err = noAgentSession(p.id)
	}
	if err != nil || p.subagent == "" {
		return p, err
	}
	root := p.session.ID
	p.session, err = a.engine.Session(ctx, x.Principal, idOf(p.subagent, subagentPrefix))
	if parley.ErrorCode(err) == parley.CodeNotFound || err == nil && p.session.ParentSessionID != root {
		err = parley.Errorf(parley.CodeNotFound, "Subagent with id '%s' not found.", parley.Clip(p.subagent, 64))
	}
	return p, err
}

// agentSessionObject describes a session as it is now.
func (a *api) agentSessionObject(
	ctx context.Context, principal parley.Principal, s *parley.Session,
) (*agentSession, error) {
	agent, err := a.engine.Agent(ctx, principal, s.AgentID.String())
	if err != nil {
		return nil, err
	}
	o := &agentSession{
		ID: agentSessionPrefix + s.ID.String(), Object: "agent.session", Agent: newAgent(&agent, &s.Settings),
		CreatedAt: s.CreatedAt.Std().Unix(), LastActiveAt: s.UpdatedAt.Std().Unix(),
		Environment: environmentShape{"none"}, Metadata: s.Metadata, Status: sessionState(s),
		Usage: usageOf(s.Statistics.Tokens), VaultIDs: []string{},
	}
	if s.Instructions != "" {
		o.Agent.Instructions = new(
			strings.TrimPrefix(parley.ValueOf(o.Agent.Instructions)+"\n\n"+s.Instructions, "\n\n"),
		)
	}
	o.RequiredActions = []requiredAction{}
	if o.Status == sessionRequires {
		o.RequiredActions, err = a.requiredActions(ctx, principal, s, clientTools(agent.Tools, s.Tools))
	}
	return o, err
}

// requiredActions returns what the session's turn waits for.
func (a *api) requiredActions(
	ctx context.Context, principal parley.Principal, s *parley.Session, clients map[string]bool,
) ([]requiredAction, error) {
	actions := []requiredAction{}
	rows, err := a.turnRows(ctx, principal, s.ID, s.TurnID)
	if err != nil {
		return nil, err
	}
	open := openCalls(rows)
	for i := range rows {
		m := &rows[i]
		if m.Role != parley.RoleToolCall || !clients[m.ToolName] || !slices.Contains(open, m.ToolCallID) {
			continue
		}
		var content parley.ToolCallContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			return nil, err
		}
		actions = append(actions, requiredAction{
			Type: "function_call", TurnID: turnName(m.TurnID), CallID: content.ID, Name: content.Name,
			Arguments: argumentsOf(&content), message: m.ID,
		})
	}
	page, err := a.engine.SessionApprovals(ctx, principal, s.ID, engine.ApprovalList{
		Paging: engine.Paging{Limit: maxItems, Order: engine.Ascending},
		States: []parley.ApprovalState{parley.ApprovalPending},
	})
	if err != nil {
		return nil, err
	}
	for i := range page.Data {
		p := &page.Data[i]
		message := p.Explanation
		if message == "" {
			message = "The agent wants to call " + p.ToolName + "."
		}
		actions = append(actions, requiredAction{
			Type: "mcp_approval_request", TurnID: turnName(p.TurnID), RequestID: approvalPrefix + p.ID.String(),
			Request: &approvalRequest{"mcp_tool_call", p.ToolName, ownServer, message, p.Arguments},
		})
	}
	return actions, nil
}

// turnRows reads the newest rows of a turn, in order.
func (a *api) turnRows(
	ctx context.Context, principal parley.Principal, session, turn parley.ID,
) ([]parley.Message, error) {
	page, err := a.engine.Messages(ctx, principal, session, engine.MessageList{
		Paging: engine.Paging{Limit: parley.MaxPage, Order: engine.Descending}, TurnIDs: []parley.ID{turn},
	})
	slices.Reverse(page.Data)
	return page.Data, err
}

// createAgentSession opens a session. Its first message begins a turn in the same transaction.
func (a *api) createAgentSession(x *protocol.Exchange) error {
	ctx := x.R.Context()
	r, err := decodeAgentSession(x.Body)
	if err != nil {
		return err
	}
	var end func()
	if r.Stream {
		if end, err = x.Room(); err != nil {
			return err
		}
		defer end()
	}
	agent, settings, err := a.agentFor(ctx, x.Principal, r.AgentID, r.Agent)
	if err != nil {
		return err
	}
	input := engine.SessionInput{AgentID: agent.ID.String(), Settings: settings}
	if r.Agent != nil {
		input.Instructions = parley.ValueOf(r.Agent.Instructions)
	}
	if r.Metadata != nil {
		if input.Metadata, err = parley.EncodeJSON(*r.Metadata); err != nil {
			return err
		}
	}
	c := &chat{x: x, agent: agent, body: x.Body}
	if r.said != nil {
		c.said = []message{*r.said}
		first, err := a.userInput(ctx, c, 0)
		if err != nil {
			return err
		}
		input.Message = &first
	}
	opened, err := a.engine.OpenSession(ctx, x.Principal, input, c.once())
	if err != nil {
		return err
	}
	x.W.Header().Set(SessionHeader, opened.Session.ID.String())
	if r.Stream {
		return a.streamNewSession(x, &opened.Session, opened.Posted != nil)
	}
	return a.sendSession(x, &opened.Session)
}

func (a *api) sendSession(x *protocol.Exchange, s *parley.Session) error {
	o, err := a.agentSessionObject(x.R.Context(), x.Principal, s)
	if err != nil {
		return err
	}
	return send(x, o)
}

// agentFor finds the agent that a request names, and what the request sets over it.
func (a *api) agentFor(
	ctx context.Context, principal parley.Principal, id string, p *agentParameters,
) (agent parley.Agent, settings parley.Settings, err error) {
	if id != "" {
		agent, err = a.engine.Agent(ctx, principal, strings.TrimPrefix(id, agentPrefix))
		if parley.ErrorCode(err) == parley.CodeNotFound || err == nil && agent.Status != parley.AgentActive {
			err = noAgent(id)
		}
		if err != nil || p == nil {
			return agent, settings, err
		}
	}
	if p == nil || id == "" && p.Model == "" {
		return agent, settings, parley.InvalidField("agent.model",
			"is missing: name an agent, or provider/model, or give agent_id")
	}
	var model parley.ModelID
	if p.Model != "" {
		var named parley.Agent
		if named, model, err = a.asked(ctx, principal, p.Model); err != nil {
			return agent, settings, err
		}
		switch {
		case id != "" && model == "" && named.ID != agent.ID:
			return agent, settings, parley.InvalidField("agent.model", "names another agent than agent_id does")
		case id == "" && model == "":
			agent = named
		case id == "":
			if agent, err = a.plainAgent(ctx, principal); err != nil {
				return agent, settings, err
			}
		}
	}
	settings, err = p.settings(&agent, model)
	return agent, settings, err
}

// noAgent is the answer for an id that names none.
func noAgent(id string) error {
	return parley.Errorf(parley.CodeNotFound, "Agent with id '%s' not found.", parley.Clip(id, 64))
}

// getAgentSession reads one.
func (a *api) getAgentSession(x *protocol.Exchange) error {
	p, err := a.place(x)
	if err != nil {
		return err
	}
	return a.sendSession(x, &p.session)
}

// updateAgentSession changes what later turns run with.
func (a *api) updateAgentSession(x *protocol.Exchange) error {
	ctx := x.R.Context()
	p, err := a.place(x)
	if err != nil {
		return err
	}
	r, err := decodeAgentSession(x.Body)
	if err != nil {
		return err
	}
	if r.AgentID != "" || r.said != nil || r.Stream {
		return parley.InvalidField("agent_id", "input and stream cannot be changed")
	}
	patch := engine.SessionPatch{}
	if r.Agent != nil {
		if r.Agent.Instructions != nil || r.Agent.Text != nil {
			return parley.InvalidField("agent", "only model, reasoning, service_tier and tools can be changed")
		}
		_, s, err := a.agentFor(ctx, x.Principal, p.session.AgentID.String(), r.Agent)
		if err != nil {
			return err
		}
		r.Agent.patch(&patch.SettingsPatch, &s)
	}
	if r.Metadata != nil {
		patch.Metadata.Set = true
		if patch.Metadata.Value, err = parley.EncodeJSON(*r.Metadata); err != nil {
			return err
		}
	}
	session, err := a.engine.UpdateSession(ctx, x.Principal, p.session.ID, patch)
	if err != nil {
		return err
	}
	return a.sendSession(x, &session)
}

// deleteAgentSession deletes a session; its turn is cancelled with it.
func (a *api) deleteAgentSession(x *protocol.Exchange) error {
	p, err := a.place(x)
	if err != nil {
		return err
	}
	if err := a.engine.DeleteSession(x.R.Context(), x.Principal, p.session.ID); err != nil {
		return err
	}
	return send(x, deletedObject{p.id, "agent.session.deleted", true})
}

// watchAgentSession streams what happens in a session from now on.
func (a *api) watchAgentSession(x *protocol.Exchange) error {
	end, err := x.Room()
	if err != nil {
		return err
	}
	defer end()
	var w *agentWatch
	stream.Aside(func() {
		var p *agentPlace
		if p, err = a.place(x); err == nil {
			w, err = a.agentWatch(x, p, p.session.LastEvent)
		}
	})
	if err != nil {
		return err
	}
	return w.answer()
}

// streamNewSession streams a session that was just opened, until it is idle. Its turn may be over by now.
func (a *api) streamNewSession(x *protocol.Exchange, s *parley.Session, turn bool) error {
	var w *agentWatch
	var err error
	stream.Aside(func() {
		w, err = a.agentWatch(x, &agentPlace{session: *s, id: agentSessionPrefix + s.ID.String()}, 0)
	})
	if err != nil {
		return err
	}
	w.untilIdle, w.nothing = true, !turn
	return w.answer()
}
