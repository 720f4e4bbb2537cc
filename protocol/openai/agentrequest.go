package openai

import (
	"encoding/json"
	"reflect"

	"example.org/parley"
)

// maxInputs bounds the events of one request.
const maxInputs = 64

// agentSessionRequest is the body that creates or changes a session.
type agentSessionRequest struct {
	Environment *environmentShape  `json:"environment"`
	Agent       *agentParameters   `json:"agent"`
	AgentID     string             `json:"agent_id"`
	Input       json.RawMessage    `json:"input"`
	Metadata    *map[string]string `json:"metadata"`
	Stream      bool               `json:"stream"`

	// Hints that change no answer.
	StreamOptions      json.RawMessage `json:"stream_options"`
	PromptCacheOptions json.RawMessage `json:"prompt_cache_options"`

	// Refused unless they ask for what happens anyway.
	Review       string   `json:"review"`
	SpendControl *limited `json:"spend_control"`
	VaultIDs     []string `json:"vault_ids"`

	said *message // the input; nil for none
}

type limited struct {
	Limit *float64 `json:"limit"`
}

// agentParameters are those of an agent, alone or inside a session.
type agentParameters struct {
	Name         *string            `json:"name"`
	Model        string             `json:"model"`
	Instructions *string            `json:"instructions"`
	Reasoning    *responseReasoning `json:"reasoning"`
	ServiceTier  *string            `json:"service_tier"`
	Text         *responseText      `json:"text"`
	Tools        *[]responseTool    `json:"tools"`
	Metadata     *map[string]string `json:"metadata"`

	// As above.
	Compaction   json.RawMessage `json:"compaction"`
	Experimental json.RawMessage `json:"experimental"`
	MultiAgent   *multiAgent     `json:"multi_agent"`
}

// The members that requests may have.
//
//nolint:gochecknoglobals // never written
var (
	agentSessionMembers = membersOf(reflect.TypeFor[agentSessionRequest]())
	agentMembers        = membersOf(reflect.TypeFor[agentParameters]())
	eventsMembers       = membersOf(reflect.TypeFor[agentEvents]())
)

// decodeAgentSession reads a request that creates or changes a session.
func decodeAgentSession(body []byte) (*agentSessionRequest, error) {
	r := &agentSessionRequest{}
	if err := decodeBody(body, r, agentSessionMembers, "a session"); err != nil {
		return nil, err
	}
	switch {
	case r.Environment != nil && r.Environment.Type != "none":
		return nil, parley.InvalidField("environment.type",
			"must be none: the agent's own tools and workspace come with the agent")
	case len(r.VaultIDs) > 0:
		return nil, parley.InvalidField("vault_ids", "is not supported: tools have their credentials in Parley")
	case r.Review != "" && r.Review != "none":
		return nil, parley.InvalidField("review", "is not supported: the agent's grants say what is asked")
	case r.SpendControl != nil && r.SpendControl.Limit != nil:
		return nil, parley.InvalidField("spend_control", "is not supported: set the agent's limits")
	}
	if r.Agent != nil {
		if r.Agent.Metadata != nil || r.Agent.Name != nil {
			return nil, parley.InvalidField("agent", "has no name and no metadata of its own in a session")
		}
		if err := r.Agent.check(); err != nil {
			return nil, within("agent", err)
		}
	}
	if !given(r.Input) {
		return r, nil
	}
	said, err := readSaid(r.Input)
	r.said = said
	return r, err
}

// decodeAgent reads a request that creates or changes an agent.
func decodeAgent(body []byte) (*agentParameters, error) {
	p := &agentParameters{}
	if err := decodeBody(body, p, agentMembers, "an agent"); err != nil {
		return nil, err
	}
	if p.Metadata != nil && len(*p.Metadata) > 0 {
		return nil, parley.InvalidField("metadata", "is not supported: an agent has tags in Parley")
	}
	return p, p.check()
}

func (p *agentParameters) check() error {
	switch {
	case p.MultiAgent != nil && p.MultiAgent.Enabled:
		return parley.InvalidField("multi_agent", "is not supported: an agent's team is set in Parley")
	case p.Text != nil && p.Text.Verbosity != "" && p.Text.Verbosity != "medium":
		return parley.InvalidField("text.verbosity", "is not supported")
	}
	return nil
}

// settings are what the parameters set over an agent.
func (p *agentParameters) settings(agent *parley.Agent, model parley.ModelID) (parley.Settings, error) {
	r := responseRequest{
		Stream: true, Text: p.Text, Reasoning: p.Reasoning, ServiceTier: p.ServiceTier,
		Tools: parley.ValueOf(p.Tools),
	}
	if p.Text != nil && p.Text.Format != nil && p.Text.Format.Name == "" {
		p.Text.Format.Name = "answer" // this API's formats have no names
	}
	s, search, err := r.settings(agent, model)
	switch {
	case err == nil && search:
		err = parley.InvalidField("tools", "must be functions; the agent has its own tools")
	case err == nil && p.Tools != nil && s.Tools == nil: // none of the client's
		s.Tools = agent.Tools
	}
	return s, err
}

// patch sets what the parameters give.
func (p *agentParameters) patch(to *parley.SettingsPatch, s *parley.Settings) {
	if p.Model != "" {
		to.Model.Set, to.Model.Value = true, s.Model
	}
	if p.Tools != nil {
		to.Tools.Set, to.Tools.Value = true, s.Tools
	}
	if p.Reasoning != nil {
		to.ReasoningEffort.Set, to.ReasoningEffort.Value = true, s.ReasoningEffort
	}
	if p.ServiceTier != nil {
		to.ServiceTier.Set, to.ServiceTier.Value = true, s.ServiceTier
	}
	if p.Text != nil {
		to.Output.Set, to.Output.Value = true, s.Output
	}
}

// readSaid reads an input as one message of the user.
func readSaid(raw json.RawMessage) (*message, error) {
	said, instructions, err := readInput(raw, maxInputs)
	if err != nil {
		return nil, err
	}
	one := message{Role: "user"}
	for i := range said {
		if said[i].Role != "user" {
			return nil, parley.InvalidField("input", "must be messages of the user")
		}
		one.parts = append(one.parts, said[i].parts...)
	}
	switch {
	case len(instructions) > 0 || len(one.parts) == 0:
		return nil, parley.InvalidField("input", "must be messages of the user")
	case len(one.parts) > parley.MaxParts:
		return nil, parley.InvalidField("input", "at most %d parts", parley.MaxParts)
	}
	return &one, nil
}

// agentEvents is the body that sends events to a session.
type agentEvents struct {
	Events json.RawMessage `json:"events"`
}

// agentEvent is one of them.
type agentEvent struct {
	Type  string          `json:"type"`
	Input json.RawMessage `json:"input"`

	TurnID  string          `json:"turn_id"`
	CallID  string          `json:"call_id"`
	Success bool            `json:"success"`
	Error   *string         `json:"error"`
	Output  json.RawMessage `json:"output"`

	RequestID string `json:"request_id"`
	Response  struct {
		Type     string `json:"type"`
		Decision string `json:"decision"`
	} `json:"response"`

	said   *message // of a message
	output []part   // of a result
}

// The types of events that a client sends.
const (
	inputMessage  = "agent.session.input.message"
	inputCancel   = "agent.session.input.cancel"
	inputResult   = "agent.session.input.tool_result"
	inputApproval = "agent.session.input.mcp_approval_request_result"
)

// decodeEvents reads events, and refuses all if one is wrong.
func decodeEvents(body []byte) ([]agentEvent, error) {
	var r agentEvents
	if err := decodeBody(body, &r, eventsMembers, "events"); err != nil {
		return nil, err
	}
	events, err := listed[agentEvent]("events", "events", r.Events, maxInputs)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return nil, parley.InvalidField("events", "is empty")
	}
	for i := range events {
		if err := events[i].read(); err != nil {
			return nil, within("events["+decimal(i)+"]", err)
		}
	}
	return events, nil
}

func (e *agentEvent) read() (err error) {
	switch e.Type {
	case inputMessage:
		e.said, err = readSaid(e.Input)
	case inputCancel:
	case inputResult:
		switch {
		case e.CallID == "" || e.TurnID == "":
			return parley.InvalidField("call_id", "and turn_id must be given")
		case e.Success && given(e.Output):
			e.output, err = readParts("output", e.Output, "tool")
		}
	case inputApproval:
		switch e.Response.Decision {
		case "approve", "deny", "cancel":
		default:
			return parley.InvalidField("response.decision", "is not one of approve, deny, cancel")
		}
	default:
		return parley.InvalidField("type", "%q is not supported", parley.Clip(e.Type, 64))
	}
	return err
}
