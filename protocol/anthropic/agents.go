package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
)

// The prefixes of ids of Managed Agents. What stands behind one is an id of the record, or says itself what it names:
// nothing is remembered for this protocol.
const (
	agentPrefix       = "agent_"
	environmentPrefix = "env_"
	sessionPrefix     = "sesn_"
	eventPrefix       = "sevt_"
)

// managedBody is the most bytes of a request of Managed Agents.
const managedBody = 4 << 20

// managedRoutes are those of Managed Agents, as far as the vendor's runners of tools need them.
func (a *api) managedRoutes() []protocol.Route {
	const send = `{"events":[{"type":"user.message","content":[{"type":"text","text":"Hello"}]}]}`
	return append([]protocol.Route{
		{
			Method: http.MethodPost, Path: "/v1/agents", Name: "createManagedAgent", Verb: engine.WriteAgents,
			Body: managedBody, Makes: true, Serve: a.createAgent, Example: `{"name":"x","model":"sim/echo"}`,
		},
		{
			Method: http.MethodGet, Path: "/v1/agents/{agent}", Name: "getManagedAgent", Verb: engine.ReadAgents,
			Serve: a.agent,
		},
		{
			Method: http.MethodPost, Path: "/v1/environments", Name: "createManagedEnvironment",
			Verb: engine.ReadAgents, Body: managedBody, Makes: true, Serve: a.createEnvironment,
			Example: `{"name":"own","config":{"type":"self_hosted"}}`,
		},
		{
			Method: http.MethodPost, Path: "/v1/sessions", Name: "createManagedSession", Verb: engine.PostMessages,
			Body: managedBody, Makes: true, Serve: a.createSession,
			Example: `{"agent":"parley","environment_id":"env_own"}`,
		},
		{
			Method: http.MethodGet, Path: "/v1/sessions/{session}", Name: "getManagedSession",
			Verb: engine.ReadSessions, Serve: a.session,
		},
		{
			Method: http.MethodGet, Path: "/v1/sessions/{session}/events", Name: "listManagedEvents",
			Verb: engine.ReadSessions, Serve: a.listEvents,
		},
		{
			Method: http.MethodPost, Path: "/v1/sessions/{session}/events", Name: "sendManagedEvents",
			Verb: engine.PostMessages, Body: MaxBody, Serve: a.sendEvents, Example: send,
		},
		{
			Method: http.MethodGet, Path: "/v1/sessions/{session}/events/stream", Name: "streamManagedEvents",
			Verb: engine.ReadSessions, Serve: a.streamEvents,
		},
	}, a.workRoutes()...)
}

// read reads a body; members that Parley does not know are refused by name.
func read(body []byte, to any, of string) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(to); err != nil {
		what := strings.TrimPrefix(err.Error(), "json: ")
		return parley.Errorf(parley.CodeInvalid, "The body is not %s of this server: %s.", of, parley.Clip(what, 128))
	}
	return nil
}

// modelName is a model's name, alone or in an object.
type modelName struct {
	ID string `json:"id"`
}

// UnmarshalJSON reads both forms.
func (m *modelName) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &m.ID)
	}
	type plain modelName
	return json.Unmarshal(raw, (*plain)(m))
}

// agentRequest is an agent to be made. Its tools are of the client: Parley's own are given to it in Parley.
type agentRequest struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Model       modelName         `json:"model"`
	System      *string           `json:"system"`
	Tools       []clientTool      `json:"tools"`
	Metadata    map[string]string `json:"metadata"` // not kept: an agent has none
}

// agentObject is an agent in the protocol's shape.
type agentObject struct {
	ID          string       `json:"id"`
	Type        string       `json:"type"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Model       modelName    `json:"model"`
	System      *string      `json:"system"`
	Tools       []clientTool `json:"tools"`
	Version     int          `json:"version"`
	CreatedAt   parley.Time  `json:"created_at"`
	UpdatedAt   parley.Time  `json:"updated_at"`
	ArchivedAt  *string      `json:"archived_at"`
	MultiAgent  *string      `json:"multiagent"`
	Identity    *string      `json:"execution_identity"`
	Metadata    struct{}     `json:"metadata"`
	Servers     []string     `json:"mcp_servers"`
	Skills      []string     `json:"skills"`
}

func newAgent(agent *parley.Agent) *agentObject {
	o := &agentObject{
		ID: agentPrefix + agent.ID.String(), Type: "agent", Name: agent.Name, Description: agent.Description,
		Model: modelName{string(agent.Model)}, System: agent.SystemPrompt, Tools: []clientTool{},
		Version: agent.Version, CreatedAt: agent.CreatedAt, UpdatedAt: agent.UpdatedAt, Servers: []string{},
		Skills: []string{},
	}
	for _, ref := range parley.ValueOf(agent.Tools) {
		if d := ref.Definition; d != nil {
			o.Tools = append(o.Tools, clientTool{"custom", d.Name, d.Description, d.Parameters})
		}
	}
	return o
}

// createAgent makes an agent of the workspace.
func (a *api) createAgent(x *protocol.Exchange) error {
	var r agentRequest
	if err := read(x.Body, &r, "an agent"); err != nil {
		return err
	}
	model := parley.ModelID(r.Model.ID)
	if strings.HasPrefix(r.Model.ID, vendorModels) {
		model = "anthropic/" + model
	}
	input := engine.AgentInput{Name: r.Name, Description: r.Description, Settings: parley.Settings{Model: model}}
	if r.System != nil && *r.System != "" {
		prompt := strings.ReplaceAll(*r.System, "{{", "{{{{") // what clients write is no template
		input.SystemPrompt = &prompt
	}
	tools := request{Tools: r.Tools}
	if _, err := tools.tools(&input.Settings, &parley.Agent{}); err != nil {
		return err
	}
	key := x.Call.Idempotency(x.R.Header.Get("Idempotency-Key"), Prefix, x.Body)
	agent, _, err := a.engine.CreateAgent(x.R.Context(), x.Principal, input, key)
	if err != nil {
		return err
	}
	return send(x, newAgent(&agent))
}

// agent reads one.
func (a *api) agent(x *protocol.Exchange) error {
	name := strings.TrimPrefix(x.R.PathValue("agent"), agentPrefix)
	agent, err := a.engine.Agent(x.R.Context(), x.Principal, name)
	if err != nil {
		return err
	}
	return send(x, newAgent(&agent))
}

// environmentName is what an environment may be called: its name is its id.
var environmentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)

// createEnvironment answers with an environment. It is a name for where the client runs its tools, which its sessions
// have as a tag; nothing is stored for it.
func (a *api) createEnvironment(x *protocol.Exchange) error {
	var r struct {
		Name        string            `json:"name"`
		Description string            `json:"description"`
		Metadata    map[string]string `json:"metadata"`
		Scope       *string           `json:"scope"`
		Config      *struct {
			Type string `json:"type"`
		} `json:"config"`
	}
	if err := read(x.Body, &r, "an environment"); err != nil {
		return err
	}
	switch {
	case !environmentName.MatchString(r.Name):
		return parley.InvalidField("name", "must be 1 to 40 letters, digits, dots, dashes and underlines")
	case r.Config == nil || r.Config.Type != "self_hosted":
		return parley.InvalidField("config.type", "must be self_hosted: Parley runs no machines")
	}
	if _, err := a.engine.Workspace(x.R.Context(), x.Principal); err != nil { // lets nobody in who may read nothing
		return err
	}
	return send(x, struct {
		ID          string            `json:"id"`
		Type        string            `json:"type"`
		Name        string            `json:"name"`
		Description string            `json:"description"`
		Config      map[string]string `json:"config"`
		Metadata    struct{}          `json:"metadata"`
		CreatedAt   parley.Time       `json:"created_at"`
		UpdatedAt   parley.Time       `json:"updated_at"`
		ArchivedAt  *string           `json:"archived_at"`
	}{
		ID: environmentPrefix + r.Name, Type: "environment", Name: r.Name, Description: r.Description,
		Config: map[string]string{"type": "self_hosted"},
	})
}

// environmentTag begins the tag that names a session's environment.
const environmentTag = engine.EnvironmentTag

// agentName is an agent's id or slug, alone or in an object.
type agentName struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Version int    `json:"version"` // sessions always have the newest
}

// UnmarshalJSON reads both forms.
func (n *agentName) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &n.ID)
	}
	type plain agentName
	return json.Unmarshal(raw, (*plain)(n))
}

// createSession opens a session.
func (a *api) createSession(x *protocol.Exchange) error {
	var r struct {
		Agent       agentName         `json:"agent"`
		Environment string            `json:"environment_id"`
		Title       string            `json:"title"`
		Metadata    map[string]string `json:"metadata"`
		Initial     []sentEvent       `json:"initial_events"`
	}
	if err := read(x.Body, &r, "a session"); err != nil {
		return err
	}
	environment, ok := strings.CutPrefix(r.Environment, environmentPrefix)
	if !ok || !environmentName.MatchString(environment) {
		return parley.InvalidField("environment_id", "is not the id of an environment")
	}
	if len(r.Initial) > maxSent {
		return parley.InvalidField("initial_events", "at most %d", maxSent)
	}
	input := engine.SessionInput{
		AgentID: strings.TrimPrefix(
			r.Agent.ID,
			agentPrefix,
		),
		Title: r.Title,
		Tags:  []string{environmentTag + environment},
	}
	if len(r.Metadata) > 0 {
		var err error
		if input.Metadata, err = parley.EncodeJSON(r.Metadata); err != nil {
			return err
		}
	}
	ctx := x.R.Context()
	c := &history.Request{X: x}
	opened, err := a.engine.OpenSession(ctx, x.Principal, input, a.book.Once(c))
	if err != nil {
		return err
	}
	for i := range r.Initial {
		if _, err := a.sendEvent(x, c, &opened.Session, &r.Initial[i]); err != nil {
			return history.Within(fmt.Sprintf("initial_events[%d]", i), err)
		}
	}
	return a.answerSession(x, &opened.Session)
}

// managedSession finds the session of a request's path.
func (a *api) managedSession(x *protocol.Exchange) (parley.Session, error) {
	id, _ := parley.ParseID(strings.TrimPrefix(x.R.PathValue("session"), sessionPrefix)) // zero is nobody's
	return a.engine.Session(x.R.Context(), x.Principal, id)
}

// session reads one.
func (a *api) session(x *protocol.Exchange) error {
	session, err := a.managedSession(x)
	if err != nil {
		return err
	}
	return a.answerSession(x, &session)
}

// answerSession answers with a session in the protocol's shape.
func (a *api) answerSession(x *protocol.Exchange, s *parley.Session) error {
	agent, err := a.engine.Agent(x.R.Context(), x.Principal, s.AgentID.String())
	if err != nil {
		return err
	}
	environment := ""
	if at := slices.IndexFunc(s.Tags, func(t string) bool { return strings.HasPrefix(t, environmentTag) }); at >= 0 {
		environment = environmentPrefix + strings.TrimPrefix(s.Tags[at], environmentTag)
	}
	status := "idle"
	switch {
	case s.Status == parley.SessionRunning:
		status = "running"
	case s.ArchivedAt != 0:
		status = "terminated"
	}
	metadata := map[string]json.RawMessage{}
	if len(s.Metadata) > 0 {
		if err := json.Unmarshal(s.Metadata, &metadata); err != nil {
			return err
		}
		delete(metadata, leaseMember)
	}
	return send(x, struct {
		ID          string                     `json:"id"`
		Type        string                     `json:"type"`
		Agent       *agentObject               `json:"agent"`
		Environment string                     `json:"environment_id"`
		Title       string                     `json:"title"`
		Status      string                     `json:"status"`
		Metadata    map[string]json.RawMessage `json:"metadata"`
		CreatedAt   parley.Time                `json:"created_at"`
		UpdatedAt   parley.Time                `json:"updated_at"`
		ArchivedAt  *string                    `json:"archived_at"`
		Budget      *string                    `json:"budget"`
		Deployment  *string                    `json:"deployment_id"`
		Outcomes    []string                   `json:"outcome_evaluations"`
		Resources   []string                   `json:"resources"`
		Vaults      []string                   `json:"vault_ids"`
		Stats       struct{}                   `json:"stats"`
		Usage       struct{}                   `json:"usage"`
	}{
		ID: sessionPrefix + s.ID.String(), Type: "session", Agent: newAgent(&agent), Environment: environment,
		Title: s.Title, Status: status, Metadata: metadata, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
		Outcomes: []string{}, Resources: []string{}, Vaults: []string{},
	})
}
