package openai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
	"example.org/parley/store"
)

// entry is one of a list, with its id.
type entry struct {
	id    string
	value any
}

// sendPage answers with the page of a list that a request asks for. read reads the engine's pages in turn; they are
// read until the entry after which the client continues is found.
func sendPage(x *protocol.Exchange, read func(paging engine.Paging) (entries []entry, next *string, err error)) error {
	page, err := pageOf(x.R.URL.Query())
	if err != nil {
		return err
	}
	paging := engine.Paging{Limit: maxItems, Order: engine.Descending}
	if page.after == "" {
		paging.Limit = page.limit + 1
	}
	if page.ascending {
		paging.Order = engine.Ascending
	}
	list := itemList{Object: "list", Data: []any{}}
	found := page.after == ""
	for range maxItemPages {
		entries, next, err := read(paging)
		if err != nil {
			return err
		}
		for i := range entries {
			e := &entries[i]
			switch {
			case !found:
				found = e.id == page.after
			case len(list.Data) == page.limit:
				list.More = true
			default:
				if len(list.Data) == 0 {
					list.First = &e.id
				}
				list.Data, list.Last = append(list.Data, e.value), &e.id
			}
		}
		if next == nil || list.More {
			break
		}
		paging.Cursor = *next
	}
	if !found {
		return parley.InvalidField("after", "is not an entry of this list")
	}
	return send(x, list)
}

// listAgentSessions lists sessions, the last active first.
func (a *api) listAgentSessions(x *protocol.Exchange) error {
	var agents []string
	if id := x.R.URL.Query().Get("agent_id"); id != "" {
		agents = []string{strings.TrimPrefix(id, agentPrefix)}
	}
	ctx := x.R.Context()
	return sendPage(x, func(paging engine.Paging) (entries []entry, next *string, err error) {
		page, err := a.engine.Sessions(ctx, x.Principal, engine.SessionList{
			Paging: paging, Agents: agents, Kinds: []parley.SessionKind{parley.KindAgent},
		})
		if err != nil {
			return nil, nil, err
		}
		for i := range page.Data {
			s := &page.Data[i]
			o, err := a.agentSessionObject(ctx, x.Principal, s)
			if err != nil {
				return nil, nil, err
			}
			entries = append(entries, entry{o.ID, o})
		}
		return entries, page.Next, nil
	})
}

// listAgentTurns lists the turns of a session or a subagent, the newest first.
func (a *api) listAgentTurns(x *protocol.Exchange) error {
	p, err := a.place(x)
	if err != nil {
		return err
	}
	return sendPage(x, func(paging engine.Paging) (entries []entry, next *string, err error) {
		page, err := a.engine.Turns(x.R.Context(), x.Principal, p.session.ID, engine.TurnList{Paging: paging})
		for i := range page.Data {
			o := newTurn(&page.Data[i], p)
			entries = append(entries, entry{o.ID, o})
		}
		return entries, page.Next, err
	})
}

// agentTurn finds the turn of a request's path; zero if it names none.
func (a *api) agentTurn(x *protocol.Exchange, p *agentPlace) (t parley.Turn, err error) {
	id := x.R.PathValue("agent_turn")
	if id == "" {
		return t, nil
	}
	t, err = a.engine.Turn(x.R.Context(), x.Principal, idOf(id, turnPrefix))
	if parley.ErrorCode(err) == parley.CodeNotFound || err == nil && t.SessionID != p.session.ID {
		err = parley.Errorf(parley.CodeNotFound, "Turn with id '%s' not found.", parley.Clip(id, 64))
	}
	return t, err
}

// getAgentTurn reads a turn.
func (a *api) getAgentTurn(x *protocol.Exchange) error {
	p, err := a.place(x)
	if err != nil {
		return err
	}
	t, err := a.agentTurn(x, p)
	if err != nil {
		return err
	}
	return send(x, newTurn(&t, p))
}

// listAgentItems lists the items of a session, a subagent, or a turn of one, the newest first.
func (a *api) listAgentItems(x *protocol.Exchange) error {
	p, err := a.place(x)
	if err != nil {
		return err
	}
	t, err := a.agentTurn(x, p)
	if err != nil {
		return err
	}
	ctx := x.R.Context()
	agent, err := a.engine.Agent(ctx, x.Principal, p.session.AgentID.String())
	if err != nil {
		return err
	}
	clients := clientTools(agent.Tools, p.session.Tools)
	list := engine.MessageList{}
	if !t.ID.IsZero() {
		list.TurnIDs = []parley.ID{t.ID}
	}
	return sendPage(x, func(paging engine.Paging) ([]entry, *string, error) {
		list.Paging = paging
		list.Limit = parley.MaxPage // a call and its result should come together
		page, err := a.engine.Messages(ctx, x.Principal, p.session.ID, list)
		if err != nil {
			return nil, nil, err
		}
		entries, err := a.entriesOf(x, page.Data, clients, paging.Order == engine.Descending)
		return entries, page.Next, err
	})
}

// entriesOf turns rows into items, in the rows' order.
func (a *api) entriesOf(
	x *protocol.Exchange, rows []parley.Message, clients map[string]bool, descending bool,
) (entries []entry, err error) {
	results, err := resultsOf(rows)
	if err != nil {
		return nil, err
	}
	type step struct {
		turn parley.ID
		step int
	}
	calls := map[step]bool{}
	for i := range rows {
		if m := &rows[i]; m.Role == parley.RoleToolCall {
			calls[step{m.TurnID, m.Step}] = true
		}
	}
	for i := range rows {
		m := &rows[i]
		if m.Sequence == 0 || m.Internal || m.Marks.SetAside || !m.Status.Settled() ||
			m.Status == parley.MessageFailed {
			continue
		}
		items, err := agentItems(m, clients, results, calls[step{m.TurnID, m.Step}])
		if err != nil {
			return nil, err
		}
		if descending {
			slices.Reverse(items)
		}
		for _, item := range items {
			entries = append(entries, entry{itemID(item), item})
		}
	}
	return entries, nil
}

// listSubagents lists the sessions that the session's tools have opened, the last active first.
func (a *api) listSubagents(x *protocol.Exchange) error {
	p, err := a.place(x)
	if err != nil {
		return err
	}
	return sendPage(x, func(paging engine.Paging) (entries []entry, next *string, err error) {
		page, err := a.engine.Sessions(x.R.Context(), x.Principal, engine.SessionList{
			Paging: paging, ParentIDs: []parley.ID{p.session.ID}, Kinds: []parley.SessionKind{parley.KindTool},
			Archived: engine.ArchivedAny,
		})
		for i := range page.Data {
			o := newSubagent(&page.Data[i], p)
			entries = append(entries, entry{o.ID, o})
		}
		return entries, page.Next, err
	})
}

// subagent is a tool session in the Agents API's shape.
type subagent struct {
	ID           string      `json:"id"`
	Object       string      `json:"object"`
	Name         *string     `json:"name"`
	ParentID     string      `json:"parent_agent_id"`
	SessionID    string      `json:"session_id"`
	Status       string      `json:"status"`
	Instructions []plainText `json:"instructions"`
	OpenedAt     int64       `json:"opened_at"`
	ClosedAt     *int64      `json:"closed_at"`
}

func newSubagent(s *parley.Session, p *agentPlace) subagent {
	o := subagent{
		ID: subagentPrefix + s.ID.String(), Object: "agent.session.subagent", Name: parley.OrNull(s.Title),
		ParentID: p.id, SessionID: p.id, Status: "active", OpenedAt: s.CreatedAt.Std().Unix(),
	}
	if s.TurnID.IsZero() {
		o.Status, o.ClosedAt = "closed", secondsOf(s.FinishedAt)
	}
	return o
}

// getSubagent reads one.
func (a *api) getSubagent(x *protocol.Exchange) error {
	p, err := a.place(x)
	if err != nil {
		return err
	}
	return send(x, newSubagent(&p.session, p))
}

// agentRoutes are those of the Agents API about agents.
func (a *api) agentRoutes() []protocol.Route {
	const one = "/agents/{agent}"
	return []protocol.Route{
		{
			Method: http.MethodPost, Path: "/agents", Name: "createManagedAgent", Verb: engine.WriteAgents,
			Body: parley.MaxBodyBytes, Makes: true, Serve: a.createManagedAgent,
			Example: `{"name":"Tea","model":"sim/echo"}`,
		},
		{
			Method: http.MethodGet, Path: "/agents", Name: "listManagedAgents", Verb: engine.ReadAgents,
			Serve: a.listManagedAgents,
		},
		{
			Method: http.MethodGet, Path: one, Name: "getManagedAgent", Verb: engine.ReadAgents,
			Serve: a.getManagedAgent,
		},
		{
			Method: http.MethodPost, Path: one, Name: "updateManagedAgent", Verb: engine.WriteAgents,
			Body: parley.MaxBodyBytes, Serve: a.updateManagedAgent, Example: `{"name":"Tea"}`,
		},
		{
			Method: http.MethodDelete, Path: one, Name: "deleteManagedAgent", Verb: engine.WriteAgents,
			Serve: a.deleteManagedAgent,
		},
	}
}

// managedAgent is an agent outside of sessions.
func managedAgent(agent *parley.Agent) agentObject {
	o := newAgent(agent, nil)
	o.Object, o.Metadata = "agent", &map[string]string{}
	o.CreatedAt, o.UpdatedAt = agent.CreatedAt.Std().Unix(), agent.UpdatedAt.Std().Unix()
	return o
}

// ownModel reads the model of an agent that is made or changed.
func (p *agentParameters) ownModel() (parley.ModelID, error) {
	model := parley.ModelID(p.Model)
	if model.Validate() != nil {
		return "", parley.InvalidField("model", "must be a model, as provider/model")
	}
	return model, nil
}

// createManagedAgent makes an agent of Parley.
func (a *api) createManagedAgent(x *protocol.Exchange) error {
	p, err := decodeAgent(x.Body)
	if err != nil {
		return err
	}
	model, err := p.ownModel()
	if err != nil {
		return err
	}
	input := engine.AgentInput{Name: parley.ValueOf(p.Name)}
	if input.Name == "" {
		input.Name = "Agent"
	}
	if input.Settings, err = p.settings(&parley.Agent{}, model); err != nil {
		return err
	}
	if text := parley.ValueOf(p.Instructions); text != "" {
		input.SystemPrompt = literal(text)
	}
	once := store.Idempotency{}
	if key := x.R.Header.Get(idempotencyHeader); key != "" {
		once = x.Call.Idempotency(key, Prefix, x.Body)
	}
	agent, _, err := a.engine.CreateAgent(x.R.Context(), x.Principal, input, once)
	if err != nil {
		return err
	}
	return send(x, managedAgent(&agent))
}

// literal is a prompt that says what a client wrote: that is no template.
func literal(text string) *string { return new(strings.ReplaceAll(text, "{{", "{{{{")) }

// listManagedAgents lists agents by their slugs.
func (a *api) listManagedAgents(x *protocol.Exchange) error {
	return sendPage(x, func(paging engine.Paging) (entries []entry, next *string, err error) {
		page, err := a.engine.Agents(x.R.Context(), x.Principal, engine.AgentList{Paging: paging})
		for i := range page.Data {
			o := managedAgent(&page.Data[i])
			entries = append(entries, entry{o.ID, o})
		}
		return entries, page.Next, err
	})
}

// managed finds the agent of a request's path.
func (a *api) managed(x *protocol.Exchange) (parley.Agent, error) {
	id := x.R.PathValue("agent")
	agent, err := a.engine.Agent(x.R.Context(), x.Principal, strings.TrimPrefix(id, agentPrefix))
	if parley.ErrorCode(err) == parley.CodeNotFound {
		err = noAgent(id)
	}
	return agent, err
}

// getManagedAgent reads one.
func (a *api) getManagedAgent(x *protocol.Exchange) error {
	agent, err := a.managed(x)
	if err != nil {
		return err
	}
	return send(x, managedAgent(&agent))
}

// updateManagedAgent makes a new version of an agent. What the request does not give stays.
func (a *api) updateManagedAgent(x *protocol.Exchange) error {
	agent, err := a.managed(x)
	if err != nil {
		return err
	}
	p, err := decodeAgent(x.Body)
	if err != nil {
		return err
	}
	var model parley.ModelID
	if p.Model != "" {
		if model, err = p.ownModel(); err != nil {
			return err
		}
	}
	own := agent // its own tools stay; those of clients are replaced
	kept := slices.DeleteFunc(slices.Clone(parley.ValueOf(agent.Tools)), func(ref parley.ToolRef) bool {
		return ref.Definition != nil
	})
	own.Tools = &kept
	s, err := p.settings(&own, model)
	if err != nil {
		return err
	}
	patch := engine.AgentPatch{}
	p.patch(&patch.SettingsPatch, &s)
	if p.Name != nil {
		patch.Name.Set, patch.Name.Value = true, *p.Name
	}
	if p.Instructions != nil {
		patch.SystemPrompt.Set, patch.SystemPrompt.Value = true, literal(*p.Instructions)
	}
	if agent, err = a.engine.UpdateAgent(x.R.Context(), x.Principal, agent.ID.String(), patch); err != nil {
		return err
	}
	return send(x, managedAgent(&agent))
}

// deleteManagedAgent archives an agent: its sessions stay.
func (a *api) deleteManagedAgent(x *protocol.Exchange) error {
	agent, err := a.managed(x)
	if err != nil {
		return err
	}
	if _, err := a.engine.ArchiveAgent(x.R.Context(), x.Principal, agent.ID.String()); err != nil {
		return err
	}
	return send(x, deletedObject{agentPrefix + agent.ID.String(), "agent.deleted", true})
}

// resultsOf reads the results among rows, by their calls.
func resultsOf(rows []parley.Message) (map[string]*parley.ToolResultContent, error) {
	results := map[string]*parley.ToolResultContent{}
	for i := range rows {
		if m := &rows[i]; m.Role == parley.RoleToolResult && len(m.Content) > 0 {
			content := &parley.ToolResultContent{}
			if err := json.Unmarshal(m.Content, content); err != nil {
				return nil, err
			}
			results[m.ToolCallID] = content
		}
	}
	return results, nil
}
