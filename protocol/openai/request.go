package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/history"
)

// maxMessages bounds the history that a request sends.
const maxMessages = 4096

// request is the body of a chat completion. Every parameter of the protocol is here: it is mapped, or refused by name.
type request struct {
	Model         string          `json:"model"`
	Messages      []message       `json:"messages"`
	Stream        bool            `json:"stream"`
	StreamOptions *streamOptions  `json:"stream_options"`
	N             *int            `json:"n"`
	Tools         []functionTool  `json:"tools"`
	ToolChoice    json.RawMessage `json:"tool_choice"`

	Temperature         *float64          `json:"temperature"`
	TopP                *float64          `json:"top_p"`
	MaxTokens           *int              `json:"max_tokens"`
	MaxCompletionTokens *int              `json:"max_completion_tokens"`
	Stop                json.RawMessage   `json:"stop"`
	Seed                *int64            `json:"seed"`
	ReasoningEffort     *string           `json:"reasoning_effort"`
	ResponseFormat      *responseFormat   `json:"response_format"`
	ParallelToolCalls   *bool             `json:"parallel_tool_calls"`
	Metadata            map[string]string `json:"metadata"`
	User                string            `json:"user"`
	SafetyIdentifier    string            `json:"safety_identifier"` // the newer name of user
	ServiceTier         *string           `json:"service_tier"`
	WebSearchOptions    json.RawMessage   `json:"web_search_options"`

	// Hints that change no answer: Parley keeps prefixes stable, and keeps everything, by itself.
	PromptCacheKey       json.RawMessage `json:"prompt_cache_key"`
	PromptCacheRetention json.RawMessage `json:"prompt_cache_retention"`
	Store                *bool           `json:"store"`

	// Refused unless they ask for what happens anyway.
	Audio            json.RawMessage    `json:"audio"`
	FrequencyPenalty float64            `json:"frequency_penalty"`
	FunctionCall     json.RawMessage    `json:"function_call"`
	Functions        json.RawMessage    `json:"functions"`
	LogitBias        map[string]float64 `json:"logit_bias"`
	Logprobs         bool               `json:"logprobs"`
	Modalities       []string           `json:"modalities"`
	Moderation       json.RawMessage    `json:"moderation"`
	Prediction       json.RawMessage    `json:"prediction"`
	PresencePenalty  float64            `json:"presence_penalty"`
	TopLogprobs      int                `json:"top_logprobs"`
	Verbosity        string             `json:"verbosity"`
}

type streamOptions struct {
	IncludeUsage       bool `json:"include_usage"`
	IncludeObfuscation bool `json:"include_obfuscation"` // nothing is padded
}

type functionTool struct {
	Type     string    `json:"type"`
	Function *function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"` // the schema is always checked
}

type responseFormat struct {
	Type       string `json:"type"`
	JSONSchema *struct {
		Name        string           `json:"name"`
		Description string           `json:"description"`
		Schema      *json.RawMessage `json:"schema"`
		Strict      bool             `json:"strict"`
	} `json:"json_schema"`
}

// message is one of the history. Members that other servers and clients add are ignored.
type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Refusal    string          `json:"refusal"`
	ToolCalls  []toolCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	Name       string          `json:"name"`
	Function   json.RawMessage `json:"function_call"`

	parts []part // of Content
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// part is a piece of a content.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL *struct {
		URL string `json:"url"`
	} `json:"image_url"`
	File *struct {
		Data string `json:"file_data"`
		Name string `json:"filename"`
		ID   string `json:"file_id"`
	} `json:"file"`
	Audio *struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
}

// decode reads a request, and refuses contradictory ones.
func decode(body []byte) (*request, error) {
	r := &request{}
	if err := decodeBody(body, r, knownParameters, "a chat completion"); err != nil {
		return nil, err
	}
	switch {
	case r.Model == "":
		return nil, parley.InvalidField("model", "is missing: name an agent, or provider/model")
	case len(r.Messages) == 0:
		return nil, parley.InvalidField("messages", "is empty")
	case len(r.Messages) > maxMessages:
		return nil, parley.InvalidField("messages", "at most %d", maxMessages)
	}
	if r.User == "" {
		r.User = r.SafetyIdentifier
	}
	if err := r.refuse(); err != nil {
		return nil, err
	}
	for i := range r.Messages {
		if err := r.Messages[i].read(); err != nil {
			return nil, history.Within(fmt.Sprintf("messages[%d]", i), err)
		}
	}
	return r, nil
}

// refuse refuses the parameters that Parley cannot serve, by name.
func (r *request) refuse() error {
	text := len(r.Modalities) == 0 || len(r.Modalities) == 1 && r.Modalities[0] == "text"
	for _, refused := range []struct {
		name string
		is   bool
		why  string
	}{
		{"n", r.N != nil && *r.N != 1, "must be 1: a session has one answer to a message; ask again for another"},
		{"functions", given(r.Functions), "is no longer supported: use tools"},
		{"function_call", given(r.FunctionCall), "is no longer supported: use tool_choice"},
		{"audio", given(r.Audio), "is not supported: answers are text"},
		{"modalities", !text, "must be text: answers are text"},
		{"prediction", given(r.Prediction), "is not supported"},
		{"moderation", given(r.Moderation), "is not supported"},
		{"logprobs", r.Logprobs, "is not supported"},
		{"top_logprobs", r.TopLogprobs != 0, "is not supported"},
		{"logit_bias", len(r.LogitBias) > 0, "is not supported"},
		{"frequency_penalty", r.FrequencyPenalty != 0, "is not supported"},
		{"presence_penalty", r.PresencePenalty != 0, "is not supported"},
		{"verbosity", r.Verbosity != "" && r.Verbosity != "medium", "is not supported"},
	} {
		if refused.is {
			return parley.InvalidField(refused.name, "%s", refused.why)
		}
	}
	return nil
}

// read checks a message's shape and reads its content.
func (m *message) read() error {
	switch m.Role {
	case "system", "developer", "user", "assistant", "tool":
	case "function":
		return parley.InvalidField("role", "function is no longer supported: use tool")
	default:
		return parley.InvalidField("role", "is not one of system, developer, user, assistant, tool")
	}
	if len(m.Function) > 0 && string(m.Function) != "null" {
		return parley.InvalidField("function_call", "is no longer supported: use tool_calls")
	}
	if m.Role == "tool" && m.ToolCallID == "" {
		return parley.InvalidField("tool_call_id", "is missing; name the call that this result answers")
	}
	raw := bytes.TrimSpace(m.Content)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		if m.Role != "assistant" {
			return parley.InvalidField("content", "is missing")
		}
		return nil
	case raw[0] == '"':
		m.parts = []part{{Type: "text"}}
		return json.Unmarshal(raw, &m.parts[0].Text)
	}
	if err := json.Unmarshal(raw, &m.parts); err != nil {
		return parley.InvalidField("content", "must be a text or a list of parts")
	}
	if len(m.parts) > parley.MaxParts { // their bytes become files before the message is checked
		return parley.InvalidField("content", "at most %d parts", parley.MaxParts)
	}
	for i := range m.parts {
		if err := m.parts[i].check(m.Role); err != nil {
			return history.Within(fmt.Sprintf("content[%d]", i), err)
		}
	}
	return nil
}

// check refuses parts that a role does not have.
func (p *part) check(role string) error {
	switch {
	case p.Type == "text", p.Type == "refusal" && role == "assistant":
		return nil
	case role != "user":
		return parley.InvalidField("type", "must be text in a message of role %s", role)
	case p.Type == "image_url" && p.ImageURL != nil && p.ImageURL.URL != "":
		return nil
	case p.Type == "file" && p.File != nil && p.File.Data != "" && p.File.ID == "":
		return nil
	case p.Type == "file":
		return parley.InvalidField("file", "must have file_data: this server has no files of that API")
	case p.Type == "input_audio" && p.Audio != nil && p.Audio.Data != "" && p.Audio.Format != "":
		return nil
	}
	return parley.InvalidField("type", "%q is not a complete part of a user's message", parley.Clip(p.Type, 32))
}

// text joins the texts of a message.
func (m *message) text() string {
	if len(m.parts) == 1 && m.parts[0].Type == "text" {
		return m.parts[0].Text
	}
	var texts []string
	for i := range m.parts {
		if m.parts[i].Type == "text" {
			texts = append(texts, m.parts[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}

// refusal is what an assistant refused with.
func (m *message) refusal() string {
	for i := range m.parts {
		if m.parts[i].Type == "refusal" {
			return m.parts[i].Refusal
		}
	}
	return m.Refusal
}

// said puts the message into the terms of histories; at is its place among what was said.
func (m *message) said(at int) history.Message {
	h := history.Message{
		Member: fmt.Sprintf("messages[%d]", at), Role: m.Role, Text: m.text(), Refusal: m.refusal(),
		Answers: m.ToolCallID,
	}
	plain := true
	for i := range m.parts {
		plain = plain && m.parts[i].Type == "text"
	}
	for i := range m.parts {
		p := &m.parts[i]
		part := history.Part{Text: p.Text}
		switch member := fmt.Sprintf("content[%d].", i); {
		case p.ImageURL != nil:
			h.Others = append(h.Others, "image", p.ImageURL.URL)
			part.Member, part.Name = member+"image_url", "image"
			if strings.HasPrefix(p.ImageURL.URL, "data:") {
				part.Data = p.ImageURL.URL
			} else {
				part.Link = p.ImageURL.URL
			}
		case p.File != nil:
			h.Others = append(h.Others, "file", p.File.Name, p.File.Data)
			part.Member, part.Name, part.Data = member+"file", p.File.Name, p.File.Data
			if part.Name == "" {
				part.Name = "file"
			}
		case p.Audio != nil:
			h.Others = append(h.Others, "audio", p.Audio.Format, p.Audio.Data)
			part.Member, part.Name, part.Data = member+"input_audio", "audio."+p.Audio.Format, p.Audio.Data
		}
		if !plain && m.Role == history.User {
			h.Parts = append(h.Parts, part)
		}
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		h.Calls = append(h.Calls, history.Call(c.ID, c.Function.Name, c.Function.Arguments))
	}
	return h
}

// split separates the instructions from what was said.
func (r *request) split() (instructions string, said []history.Message) {
	var texts []string
	for i := range r.Messages {
		if m := &r.Messages[i]; m.Role == "system" || m.Role == "developer" {
			texts = append(texts, m.text())
		} else {
			said = append(said, m.said(len(said)))
		}
	}
	return strings.Join(texts, history.Gap), said
}

// settings are what the request sets for its turn.
func (r *request) settings(agent *parley.Agent, model parley.ModelID, instructions string) (parley.Settings, error) {
	s := parley.Settings{Model: model, Parameters: parley.Parameters{
		Temperature: r.Temperature, TopP: r.TopP, MaxTokens: r.MaxTokens, Seed: r.Seed,
		ReasoningEffort: r.ReasoningEffort, ParallelToolCalls: r.ParallelToolCalls,
	}}
	if r.MaxCompletionTokens != nil {
		s.MaxTokens = r.MaxCompletionTokens
	}
	if r.ServiceTier != nil && *r.ServiceTier != "auto" {
		s.ServiceTier = r.ServiceTier
	}
	if r.User != "" {
		s.EndUser = &r.User
	}
	if instructions != "" {
		// what clients write is no template
		prompt := strings.ReplaceAll(instructions, "{{", "{{{{")
		if own := parley.ValueOf(agent.SystemPrompt); own != "" {
			prompt = own + "\n\n" + prompt
		}
		s.SystemPrompt = &prompt
	}
	if err := r.stop(&s); err != nil {
		return s, err
	}
	if err := r.tools(&s, agent); err != nil {
		return s, err
	}
	return s, r.format(&s)
}

func (r *request) stop(s *parley.Settings) error {
	raw := bytes.TrimSpace(r.Stop)
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var stops []string
	if raw[0] == '"' {
		stops = make([]string, 1)
		if err := json.Unmarshal(raw, &stops[0]); err != nil {
			return parley.InvalidField("stop", "is not a text")
		}
	} else if err := json.Unmarshal(raw, &stops); err != nil {
		return parley.InvalidField("stop", "must be a text or a list of texts")
	}
	s.Stop = &stops
	return nil
}

// tools adds the client's tools to the agent's, and says which may be called.
func (r *request) tools(s *parley.Settings, agent *parley.Agent) error {
	if len(r.Tools) > 0 {
		refs := append([]parley.ToolRef{}, parley.ValueOf(agent.Tools)...)
		for i := range r.Tools {
			t := &r.Tools[i]
			if t.Type != "function" || t.Function == nil {
				return parley.InvalidField(fmt.Sprintf("tools[%d]", i), "must be of type function")
			}
			parameters := t.Function.Parameters
			if len(parameters) == 0 || string(parameters) == "null" {
				parameters = json.RawMessage(`{"type":"object","properties":{}}`)
			}
			refs = append(refs, parley.ToolRef{Name: t.Function.Name, Definition: &parley.ToolDefinition{
				Name: t.Function.Name, Description: t.Function.Description, Parameters: parameters,
			}})
		}
		s.Tools = &refs
	}
	raw := bytes.TrimSpace(r.ToolChoice)
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var choice string
	if raw[0] == '"' {
		if json.Unmarshal(raw, &choice) != nil || choice != "auto" && choice != "none" && choice != "required" {
			return parley.InvalidField("tool_choice", "is not one of auto, none, required")
		}
	} else {
		var named functionTool
		if json.Unmarshal(raw, &named) != nil || named.Type != "function" || named.Function == nil ||
			named.Function.Name == "" {
			return parley.InvalidField("tool_choice", "must be auto, none, required, or name one function")
		}
		choice = named.Function.Name
	}
	s.ToolChoice = &choice
	return nil
}

// format asks for an answer of a given form. Parley checks an answer against a schema, and asks again; an answer that
// streams cannot be taken back, so there it is asked for once.
func (r *request) format(s *parley.Settings) error {
	f := r.ResponseFormat
	switch {
	case f == nil || f.Type == "text":
		return nil
	case f.Type == "json_object":
		s.ResponseFormat = &parley.ResponseFormat{Type: parley.FormatJSONObject}
		return nil
	case f.Type == "json_schema" && f.JSONSchema != nil && f.JSONSchema.Schema != nil:
		s.Output = &parley.Output{Schema: f.JSONSchema.Schema, Name: f.JSONSchema.Name, Strict: f.JSONSchema.Strict}
		if r.Stream {
			s.Output.Retries = new(int)
		}
		return nil
	}
	return parley.InvalidField("response_format", "must be text, json_object, or json_schema with a schema")
}

// knownParameters are the members that a request may have.
var knownParameters = membersOf(reflect.TypeFor[request]()) //nolint:gochecknoglobals // never written

func membersOf(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	for field := range t.Fields() {
		if name := field.Tag.Get("json"); name != "" {
			names[name] = true
		}
	}
	return names
}
