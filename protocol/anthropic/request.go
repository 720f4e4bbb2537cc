package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/history"
)

// The bounds of a request.
const (
	maxMessages = 4096 // of a history
	maxBlocks   = 4096 // of one message: an answer has a few for each step
	maxTools    = 512
)

// request is the body of a message. Every parameter of the protocol is here: it is mapped, or refused by name.
type request struct {
	Model         string          `json:"model"`
	MaxTokens     *int            `json:"max_tokens"`
	Messages      []message       `json:"messages"`
	System        json.RawMessage `json:"system"`
	Stream        bool            `json:"stream"`
	Tools         []clientTool    `json:"tools"`
	ToolChoice    *toolChoice     `json:"tool_choice"`
	Thinking      *thinking       `json:"thinking"`
	StopSequences *[]string       `json:"stop_sequences"`
	Temperature   *float64        `json:"temperature"`
	TopP          *float64        `json:"top_p"`
	OutputConfig  *outputConfig   `json:"output_config"`
	OutputFormat  *outputFormat   `json:"output_format"` // the older place of output_config.format
	Metadata      *struct {
		UserID string `json:"user_id"`
	} `json:"metadata"`
	ServiceTier string  `json:"service_tier"`
	Thread      *thread `json:"thread"`

	// Hints that change no answer: Parley keeps prefixes stable, and cuts contexts by the agent's policy.
	CacheControl  json.RawMessage `json:"cache_control"`
	Diagnostics   json.RawMessage `json:"diagnostics"`
	InferenceGeo  json.RawMessage `json:"inference_geo"`
	ContextManage json.RawMessage `json:"context_management"`
	UserProfile   json.RawMessage `json:"user_profile_id"`
	Workspace     json.RawMessage `json:"workspace_id"`
	Betas         json.RawMessage `json:"betas"`

	// Refused unless they ask for what happens anyway.
	Billing    json.RawMessage `json:"billing_policy"`
	Compaction json.RawMessage `json:"compaction"`
	Container  json.RawMessage `json:"container"`
	Credit     json.RawMessage `json:"fallback_credit_token"`
	Fallbacks  json.RawMessage `json:"fallbacks"`
	MCPServers json.RawMessage `json:"mcp_servers"`
	Speed      string          `json:"speed"`
	TopK       json.RawMessage `json:"top_k"`
}

type clientTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type toolChoice struct {
	Type            string `json:"type"`
	Name            string `json:"name"`
	DisableParallel *bool  `json:"disable_parallel_tool_use"`
}

type thinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"` // the agent's reasoning_effort decides
}

type outputConfig struct {
	Effort *string       `json:"effort"`
	Format *outputFormat `json:"format"`
}

type outputFormat struct {
	Type   string           `json:"type"`
	Schema *json.RawMessage `json:"schema"`
}

// decode reads a request, and refuses contradictory ones.
func decode(body []byte) (*request, error) {
	r := &request{}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(r); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return nil, parley.InvalidField(parley.Clip(wrong.Field, 64), "has the wrong JSON type")
		}
		return nil, parley.Errorf(parley.CodeInvalid, "The body is not a JSON object of a message.")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, parley.Errorf(parley.CodeInvalid, "The body holds more than one JSON value.")
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) == nil {
		for name := range members {
			if !knownParameters[name] {
				return nil, parley.InvalidField(parley.Clip(name, 64), "is not a parameter of a message")
			}
		}
	}
	switch {
	case r.Model == "":
		return nil, parley.InvalidField("model", "is missing: name an agent, or provider/model")
	case len(r.Messages) == 0:
		return nil, parley.InvalidField("messages", "is empty")
	case len(r.Messages) > maxMessages:
		return nil, parley.InvalidField("messages", "at most %d", maxMessages)
	case len(r.Tools) > maxTools:
		return nil, parley.InvalidField("tools", "at most %d", maxTools)
	}
	return r, r.refuse()
}

// knownParameters are the members that a request may have.
var knownParameters = func() map[string]bool { //nolint:gochecknoglobals // never written
	names := map[string]bool{}
	for field := range reflect.TypeFor[request]().Fields() {
		names[field.Tag.Get("json")] = true
	}
	return names
}()

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// refuse refuses the parameters that Parley cannot serve, by name.
func (r *request) refuse() error {
	for _, refused := range []struct {
		name string
		is   bool
		why  string
	}{
		{"compaction", given(r.Compaction), "is not supported: the agent's context policy decides"},
		{"container", given(r.Container), "is not supported: the agent has its own tools"},
		{"mcp_servers", given(r.MCPServers), "is not supported: give the servers to the agent"},
		{"top_k", given(r.TopK), "is not supported"},
		{"billing_policy", given(r.Billing), "is not supported"},
		{"fallback_credit_token", given(r.Credit), "is not supported"},
		{"fallbacks", given(r.Fallbacks), "is not supported: the agent's retry policy decides"},
		{"speed", r.Speed != "" && r.Speed != "standard", "is not supported"},
	} {
		if refused.is {
			return parley.InvalidField(refused.name, "%s", refused.why)
		}
	}
	return r.Thread.check()
}

// user is whom the request is for.
func (r *request) user() string {
	if r.Metadata == nil {
		return ""
	}
	return r.Metadata.UserID
}

// settings are what the request sets for its turn, and whether it may search the web.
func (r *request) settings(
	agent *parley.Agent, model parley.ModelID, instructions string,
) (s parley.Settings, search bool, err error) {
	s = parley.Settings{Model: model, Parameters: parley.Parameters{
		Temperature: r.Temperature, TopP: r.TopP, MaxTokens: r.MaxTokens, Stop: r.StopSequences,
	}}
	if user := r.user(); user != "" {
		s.EndUser = &user
	}
	if instructions != "" {
		// what clients write is no template
		prompt := strings.ReplaceAll(instructions, "{{", "{{{{")
		if own := parley.ValueOf(agent.SystemPrompt); own != "" {
			prompt = own + "\n\n" + prompt
		}
		s.SystemPrompt = &prompt
	}
	format := r.OutputFormat
	if o := r.OutputConfig; o != nil {
		s.ReasoningEffort = o.Effort
		if o.Format != nil {
			format = o.Format
		}
	}
	if format != nil {
		if format.Type != "json_schema" || format.Schema == nil {
			return s, false, parley.InvalidField("output_config.format", "must be json_schema with a schema")
		}
		s.Output = &parley.Output{Schema: format.Schema}
		if r.Stream { // an answer that streams cannot be taken back
			s.Output.Retries = new(int)
		}
	}
	if search, err = r.tools(&s, agent); err != nil {
		return s, false, err
	}
	return s, search, r.choice(&s)
}

// tools adds the client's tools to the agent's.
func (r *request) tools(s *parley.Settings, agent *parley.Agent) (search bool, err error) {
	refs := append([]parley.ToolRef{}, parley.ValueOf(agent.Tools)...)
	added := false
	for i := range r.Tools {
		t := &r.Tools[i]
		switch {
		case t.Type == "" || t.Type == "custom":
			schema := t.InputSchema
			if !given(schema) {
				schema = json.RawMessage(`{"type":"object","properties":{}}`)
			}
			added = true
			refs = append(refs, parley.ToolRef{Name: t.Name, Definition: &parley.ToolDefinition{
				Name: t.Name, Description: t.Description, Parameters: schema,
			}})
		case strings.HasPrefix(t.Type, "web_search_"):
			search = true
		default:
			return false, parley.InvalidField(fmt.Sprintf("tools[%d].type", i),
				"%q is not supported: use custom or web_search; the agent has its own tools", parley.Clip(t.Type, 32))
		}
	}
	if added {
		s.Tools = &refs
	}
	return search, nil
}

// choice says which tools may be called.
func (r *request) choice(s *parley.Settings) error {
	c := r.ToolChoice
	if c == nil {
		return nil
	}
	var choice string
	switch c.Type {
	case "auto":
		choice = parley.ToolChoiceAuto
	case "none":
		choice = parley.ToolChoiceNone
	case "any":
		choice = parley.ToolChoiceRequired
	case "tool":
		if choice = c.Name; choice == "" {
			return parley.InvalidField("tool_choice.name", "is missing")
		}
	default:
		return parley.InvalidField("tool_choice.type", "is not one of auto, any, tool, none")
	}
	s.ToolChoice = &choice
	if c.DisableParallel != nil {
		parallel := !*c.DisableParallel
		s.ParallelToolCalls = &parallel
	}
	return nil
}

// thinks reports whether the model is asked for reasoning.
func (r *request) thinks() (bool, error) {
	if r.Thinking == nil {
		return false, nil
	}
	switch r.Thinking.Type {
	case "enabled", "adaptive", "between_tools":
		return true, nil
	case "disabled":
		return false, nil
	}
	return false, parley.InvalidField("thinking.type", "is not one of enabled, adaptive, between_tools, disabled")
}

// split separates the instructions from what was said.
func (r *request) split() (instructions string, said []history.Message, err error) {
	var texts []string
	if given(r.System) {
		text, err := textOf(r.System, "system")
		if err != nil {
			return "", nil, err
		}
		texts = append(texts, text)
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		member := fmt.Sprintf("messages[%d]", i)
		if m.Role == "system" {
			text, err := textOf(m.Content, member+".content")
			if err != nil {
				return "", nil, err
			}
			texts = append(texts, text)
			continue
		}
		if said, err = m.read(member, said); err != nil {
			return "", nil, history.Within(member, err)
		}
	}
	if len(said) == 0 {
		return "", nil, parley.InvalidField("messages", "has no message of the user")
	}
	return strings.Join(texts, history.Gap), said, nil
}
