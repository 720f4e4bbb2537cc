package openai

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

// maxAdded bounds the items that one request adds to a conversation without a response, as the vendor does.
const maxAdded = 20

// responseRequest is the body of a response. Every parameter of the protocol is here: it is mapped, or refused by name.
type responseRequest struct {
	Model        string             `json:"model"`
	Input        json.RawMessage    `json:"input"`
	Instructions *string            `json:"instructions"`
	Previous     string             `json:"previous_response_id"`
	Conversation json.RawMessage    `json:"conversation"`
	Background   bool               `json:"background"`
	Store        *bool              `json:"store"`
	Stream       bool               `json:"stream"`
	Generate     *bool              `json:"generate"` // over a WebSocket
	Metadata     map[string]string  `json:"metadata"`
	Tools        []responseTool     `json:"tools"`
	ToolChoice   json.RawMessage    `json:"tool_choice"`
	Text         *responseText      `json:"text"`
	Reasoning    *responseReasoning `json:"reasoning"`

	Temperature      *float64 `json:"temperature"`
	TopP             *float64 `json:"top_p"`
	MaxOutputTokens  *int     `json:"max_output_tokens"`
	ParallelCalls    *bool    `json:"parallel_tool_calls"`
	ServiceTier      *string  `json:"service_tier"`
	User             string   `json:"user"`
	SafetyIdentifier string   `json:"safety_identifier"` // the newer name of user

	// Hints that change no answer: what they ask for happens anyway, or by the agent's own settings.
	Include              json.RawMessage `json:"include"`
	PromptCacheKey       *string         `json:"prompt_cache_key"`
	PromptCacheOptions   json.RawMessage `json:"prompt_cache_options"`
	PromptCacheRetention json.RawMessage `json:"prompt_cache_retention"`
	StreamOptions        json.RawMessage `json:"stream_options"`
	Truncation           *string         `json:"truncation"`

	// Refused unless they ask for what happens anyway.
	AccessPrograms    json.RawMessage `json:"access_programs"`
	ContextManagement json.RawMessage `json:"context_management"`
	FrequencyPenalty  float64         `json:"frequency_penalty"`
	Image             json.RawMessage `json:"image"`
	MaxToolCalls      json.RawMessage `json:"max_tool_calls"`
	Moderation        json.RawMessage `json:"moderation"`
	PresencePenalty   float64         `json:"presence_penalty"`
	Prompt            json.RawMessage `json:"prompt"`
	TopLogprobs       int             `json:"top_logprobs"`

	conversation string            // its id; "" for none
	compacted    string            // what a compaction item holds; "" for none
	said         []history.Message // the input
	inserted     []string          // instructions inside the input: messages of role system and developer
}

type responseTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

type responseText struct {
	Format    *responseFormatText `json:"format"`
	Verbosity string              `json:"verbosity"`
}

type responseFormatText struct {
	Type        string           `json:"type"`
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Schema      *json.RawMessage `json:"schema"`
	Strict      bool             `json:"strict"`
}

type responseReasoning struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"` // the reasoning comes whole
}

// inputItem is one of the input. Members that its type does not use are ignored, as clients send items back whole.
type inputItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Encrypted string          `json:"encrypted_content"`
}

// inputPart is a piece of an item's content.
type inputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL string `json:"image_url"`
	FileID   string `json:"file_id"`
	FileData string `json:"file_data"`
	FileURL  string `json:"file_url"`
	Filename string `json:"filename"`
}

// decodeBody reads a JSON object into to, and refuses unknown members.
func decodeBody(body []byte, to any, known map[string]bool, of string) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(to); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return parley.InvalidField(parley.Clip(wrong.Field, 64), "has the wrong JSON type")
		}
		return parley.Errorf(parley.CodeInvalid, "The body is not a JSON object of %s.", of)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return parley.Errorf(parley.CodeInvalid, "The body holds more than one JSON value.")
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) == nil {
		for name := range members {
			if !known[name] {
				return parley.InvalidField(parley.Clip(name, 64), "is not a parameter of %s", of)
			}
		}
	}
	return nil
}

// decodeResponse reads a request, and refuses contradictory ones.
func decodeResponse(body []byte) (*responseRequest, error) {
	r := &responseRequest{}
	if err := decodeBody(body, r, responseMembers, "a response"); err != nil {
		return nil, err
	}
	if err := r.refuse(); err != nil {
		return nil, err
	}
	var err error
	if r.conversation, err = conversationOf(r.Conversation); err != nil {
		return nil, err
	}
	if r.conversation != "" && r.Previous != "" {
		return nil, parley.InvalidField("previous_response_id", "and conversation exclude each other: give one")
	}
	if given(r.Input) || !r.prepares() {
		if r.said, r.inserted, err = readInput(r.Input, maxMessages); err != nil {
			return nil, err
		}
	}
	if err := r.uncompact(); err != nil {
		return nil, err
	}
	if r.Model == "" {
		return nil, parley.InvalidField("model", "is missing: name an agent, or provider/model")
	}
	if err := r.asks(); err != nil && !r.prepares() {
		return nil, err
	}
	if r.discards() && r.conversation != "" {
		return nil, parley.InvalidField("store", "must be true in a conversation, which keeps what is said in it")
	}
	if _, taken := r.Metadata[noteMember]; taken {
		return nil, parley.InvalidField("metadata", "%s is reserved", noteMember)
	}
	if r.User == "" {
		r.User = r.SafetyIdentifier
	}
	return r, nil
}

// asks returns an error for an input that nobody can answer.
func (r *responseRequest) asks() error {
	n := len(r.said)
	if n == 0 {
		return parley.InvalidField("input", "has no message of the user")
	}
	if r.said[n-1].Role == history.Assistant {
		return parley.InvalidField("input",
			"the last item must be a message of the user or the output of a function: an answer is not continued")
	}
	return nil
}

// uncompact takes the compaction item off the input.
func (r *responseRequest) uncompact() error {
	if len(r.said) == 0 || r.said[0].Role != roleCompaction {
		return nil
	}
	r.compacted, r.said = r.said[0].Answers, r.said[1:]
	if r.Previous != "" || r.conversation != "" {
		return parley.InvalidField(
			"input",
			"has a compaction item, which excludes previous_response_id and conversation",
		)
	}
	return nil
}

// discards reports whether nothing of the response is to be kept.
func (r *responseRequest) discards() bool { return r.Store != nil && !*r.Store }

// conversationOf reads the member conversation: an id, or an object with one.
func conversationOf(raw json.RawMessage) (string, error) {
	if !given(raw) {
		return "", nil
	}
	var named struct {
		ID string `json:"id"`
	}
	if raw[0] == '"' {
		_ = json.Unmarshal(raw, &named.ID) // its syntax was checked with the body
	} else if json.Unmarshal(raw, &named) != nil {
		named.ID = ""
	}
	if named.ID == "" {
		return "", parley.InvalidField("conversation", "must be an id, or an object with one")
	}
	return named.ID, nil
}

// responseMembers are the members that a request may have.
var responseMembers = membersOf(reflect.TypeFor[responseRequest]()) //nolint:gochecknoglobals // never written

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// refuse refuses the parameters that Parley cannot serve, by name.
func (r *responseRequest) refuse() error {
	for _, refused := range []struct {
		name string
		is   bool
		why  string
	}{
		{"access_programs", given(r.AccessPrograms), "is not supported"},
		{"background", r.Background && r.discards(), "needs store: the answer is fetched later"},
		{"context_management", given(r.ContextManagement), "is not supported: the agent's context policy decides"},
		{"frequency_penalty", r.FrequencyPenalty != 0, "is not supported"},
		{"image", given(r.Image), "is not supported"},
		{"max_tool_calls", given(r.MaxToolCalls), "is not supported: set the agent's limits"},
		{"moderation", given(r.Moderation), "is not supported"},
		{"presence_penalty", r.PresencePenalty != 0, "is not supported"},
		{"prompt", given(r.Prompt), "is not supported: an agent has a prompt; name it as model"},
		{"top_logprobs", r.TopLogprobs != 0, "is not supported"},
		{"text.verbosity", r.Text != nil && r.Text.Verbosity != "" && r.Text.Verbosity != "medium",
			"is not supported"},
	} {
		if refused.is {
			return parley.InvalidField(refused.name, "%s", refused.why)
		}
	}
	return nil
}

// readInput reads an input, a text or items, as messages and the instructions among them.
func readInput(raw json.RawMessage, most int) (said []history.Message, instructions []string, err error) {
	raw = bytes.TrimSpace(raw)
	if !given(raw) {
		return nil, nil, parley.InvalidField("input", "is missing")
	}
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, nil, parley.InvalidField("input", "is not a text")
		}
		return []history.Message{{Member: "messages[0]", Role: history.User, Text: text}}, nil, nil
	}
	items, err := listed[inputItem]("input", "items", raw, most)
	if err != nil {
		return nil, nil, err
	}
	for i := range items {
		m, err := items[i].message()
		switch {
		case err != nil:
			return nil, nil, history.Within(fmt.Sprintf("input[%d]", i), err)
		case m == nil:
		case m.Role == "system" || m.Role == "developer":
			instructions = append(instructions, m.text())
		case m.Role == roleCompaction: // it stands for everything before it
			said = append(said[:0], m.said(0))
		default:
			said = append(said, m.said(len(said)))
		}
	}
	return said, instructions, nil
}

// listed reads a list, whose entries are counted first: one takes far more than its text.
func listed[T any](member, of string, raw json.RawMessage, most int) ([]T, error) {
	var texts []json.RawMessage
	if json.Unmarshal(raw, &texts) != nil {
		return nil, parley.InvalidField(member, "must be a text or a list of %s", of)
	}
	if len(texts) > most {
		return nil, parley.InvalidField(member, "at most %d %s", most, of)
	}
	entries := make([]T, len(texts))
	for i := range texts {
		if err := json.Unmarshal(texts[i], &entries[i]); err != nil {
			return nil, parley.InvalidField(fmt.Sprintf("%s[%d]", member, i), "must be one of the %s", of)
		}
	}
	return entries, nil
}

// roleCompaction marks the item that stands for a compacted conversation; ToolCallID has its content.
const roleCompaction = "compaction"

// message is the item in the terms of Chat Completions; nil for one that says nothing new.
func (i *inputItem) message() (*message, error) {
	if i.Type == "" && i.Role == "" && i.ID != "" { // its type may be missing
		i.Type = roleReference
	}
	switch i.Type {
	case "", "message":
		switch i.Role {
		case "system", "developer", "user", "assistant":
		default:
			return nil, parley.InvalidField("role", "is not one of system, developer, user, assistant")
		}
		m := &message{Role: i.Role}
		var err error
		m.parts, err = readParts("content", i.Content, i.Role)
		return m, err
	case "function_call":
		if i.CallID == "" || i.Name == "" {
			return nil, parley.InvalidField("call_id", "and name must be given")
		}
		c := toolCall{ID: i.CallID}
		c.Function.Name, c.Function.Arguments = i.Name, i.Arguments
		return &message{Role: "assistant", ToolCalls: []toolCall{c}}, nil
	case "function_call_output":
		if i.CallID == "" {
			return nil, parley.InvalidField("call_id", "is missing; name the call that this output answers")
		}
		m := &message{Role: "tool", ToolCallID: i.CallID}
		var err error
		m.parts, err = readParts("output", i.Output, "tool")
		return m, err
	case "reasoning": // of an answer that is sent back; the record has it
		return nil, nil
	case "compaction":
		if i.Encrypted == "" {
			return nil, parley.InvalidField("encrypted_content", "is missing")
		}
		return &message{Role: roleCompaction, ToolCallID: i.Encrypted}, nil
	case roleReference:
		if i.ID == "" {
			return nil, parley.InvalidField("id", "is missing; name the item")
		}
		return &message{Role: roleReference, ToolCallID: i.ID}, nil
	}
	return nil, parley.InvalidField("type", "%q is not supported: use message, function_call, function_call_output, "+
		"item_reference or reasoning", parley.Clip(i.Type, 32))
}

// readParts reads a content, a text or parts.
func readParts(member string, raw json.RawMessage, role string) ([]part, error) {
	raw = bytes.TrimSpace(raw)
	if !given(raw) {
		return nil, parley.InvalidField(member, "is missing")
	}
	if raw[0] == '"' {
		parts := []part{{Type: "text"}}
		return parts, json.Unmarshal(raw, &parts[0].Text)
	}
	inputs, err := listed[inputPart](member, "parts", raw, parley.MaxParts)
	if err != nil {
		return nil, err
	}
	parts := make([]part, len(inputs))
	for i := range inputs {
		err := inputs[i].read(&parts[i])
		if err == nil {
			err = parts[i].check(role)
		}
		if err != nil {
			return nil, history.Within(fmt.Sprintf("%s[%d]", member, i), err)
		}
	}
	return parts, nil
}

// read puts a part into the terms of Chat Completions.
func (p *inputPart) read(to *part) error {
	to.Type = "text"
	switch p.Type {
	case "input_text", "output_text", "text", "summary_text":
		to.Text = p.Text
	case "refusal":
		to.Type, to.Refusal = p.Type, p.Refusal
	case "input_image":
		to.Type = "image_url"
		to.ImageURL = &struct {
			URL string `json:"url"`
		}{p.ImageURL}
		if p.ImageURL == "" {
			return parley.InvalidField("image_url", "is missing: this server has no files of that API")
		}
	case "input_file":
		if p.FileData == "" {
			return parley.InvalidField(
				"file_data",
				"is missing: this server has no files of that API, and fetches none",
			)
		}
		to.Type = "file"
		to.File = &struct {
			Data string `json:"file_data"`
			Name string `json:"filename"`
			ID   string `json:"file_id"`
		}{Data: p.FileData, Name: p.Filename}
	default:
		return parley.InvalidField("type", "%q is not supported", parley.Clip(p.Type, 32))
	}
	return nil
}

// instructions are those of the request and those among its items.
func (r *responseRequest) instructions() string {
	texts := r.inserted
	if own := parley.ValueOf(r.Instructions); own != "" {
		texts = append([]string{own}, texts...)
	}
	return strings.Join(texts, "\n\n")
}

// settings are what the request sets for its turn, and whether it may search the web.
func (r *responseRequest) settings(
	agent *parley.Agent,
	model parley.ModelID,
) (s parley.Settings, search bool, err error) {
	chat := request{
		Stream: r.Stream, Temperature: r.Temperature, TopP: r.TopP, MaxTokens: r.MaxOutputTokens, User: r.User,
		ParallelToolCalls: r.ParallelCalls, ServiceTier: r.ServiceTier, ToolChoice: r.ToolChoice,
	}
	if r.Reasoning != nil {
		chat.ReasoningEffort = r.Reasoning.Effort
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		switch t.Type {
		case "function":
			chat.Tools = append(chat.Tools, functionTool{
				Type: t.Type, Function: &function{t.Name, t.Description, t.Parameters, t.Strict},
			})
		case "web_search", "web_search_preview":
			search = true
		default:
			return s, false, parley.InvalidField(fmt.Sprintf("tools[%d].type", i),
				"must be function or web_search; the agent has its own tools")
		}
	}
	if raw := bytes.TrimSpace(r.ToolChoice); len(raw) > 0 && raw[0] == '{' {
		var named responseTool
		if json.Unmarshal(raw, &named) != nil || named.Type != "function" || named.Name == "" {
			return s, false, parley.InvalidField("tool_choice", "must be auto, none, required, or name one function")
		}
		quoted := parley.AppendJSONString([]byte(`{"type":"function","function":{"name":`), named.Name)
		chat.ToolChoice = append(quoted, "}}"...)
	}
	if r.Text != nil && r.Text.Format != nil {
		f := r.Text.Format
		chat.ResponseFormat = &responseFormat{Type: f.Type}
		chat.ResponseFormat.JSONSchema = &struct {
			Name        string           `json:"name"`
			Description string           `json:"description"`
			Schema      *json.RawMessage `json:"schema"`
			Strict      bool             `json:"strict"`
		}{f.Name, f.Description, f.Schema, f.Strict}
	}
	s, err = chat.settings(agent, model, r.instructions())
	var known *parley.Error
	if errors.As(err, &known) && known.Field == "response_format" {
		err = parley.InvalidField("text.format", "must be text, json_object, or json_schema with a schema")
	}
	return s, search, err
}
