package openai

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/llm/wire"
	"example.org/parley/model"
)

// EncoderVersion is the version of the bytes that Encode makes. Changing those bytes needs a new number; the golden
// tests keep the old ones. Version 2 puts the tools before the messages and requests prompt caching.
const EncoderVersion = 2

// Providers besides OpenAI with their own terms for caching.
const (
	dashScope = "dashscope" // marks, like Anthropic
	mistral   = "mistral"   // a key, like OpenAI
)

// defaultThinking is the effort of a reasoning model told to think but given no effort.
const defaultThinking = "medium"

// Encode makes the body of a chat completion. Fields have a fixed order: tools, the system prompt, the messages, and
// then what changes from call to call, so that a longer conversation begins with the bytes of a shorter one.
//
// Compatible providers cache equal beginnings by themselves. A request with a CacheKey tells OpenAI and Mistral which
// requests share one (prompt_cache_key), and marks for DashScope what to cache: its texts are then lists of parts,
// since only parts can be marked.
//
// Two things depend on the provider in the model id: OpenAI itself accepts max_completion_tokens, the others
// max_tokens; DashScope has its own terms for thinking and search. Think requests reasoning where the wire has a way;
// elsewhere the model decides. Reasoning is sent back only to a provider that gave it in a field of its own, and only
// with the calls that it led to. Images of tool results follow the results in a user message.
func (m *Model) Encode(request model.Request) (model.EncodedRequest, error) {
	return m.EncodeAs(EncoderVersion, request)
}

// EncodeAs is Encode as it was in an earlier version.
func (m *Model) EncodeAs(version int, request model.Request) (model.EncodedRequest, error) {
	if version < 1 || version > EncoderVersion {
		return model.EncodedRequest{}, parley.InvalidField("encoder_version", "this wire has no encoder %d", version)
	}
	first := version == 1
	if first {
		request.CacheKey = ""
	}
	b := parley.AppendJSONString([]byte(`{"model":`), request.Model.Name())
	var err error
	if !first {
		if b, err = appendTools(b, request.Tools); err != nil {
			return model.EncodedRequest{}, err
		}
	}
	if b, err = appendMessages(append(b, `,"messages":[`...), request); err != nil {
		return model.EncodedRequest{}, err
	}
	b = append(b, ']')
	if first {
		if b, err = appendTools(b, request.Tools); err != nil {
			return model.EncodedRequest{}, err
		}
	}
	b = appendParameters(b, request)
	if b, err = appendWishes(b, request); err != nil {
		return model.EncodedRequest{}, err
	}
	if provider := request.Model.Provider(); request.CacheKey != "" &&
		(provider == DefaultName || provider == mistral) {
		b = parley.AppendJSONString(wire.AppendField(b, "prompt_cache_key"), request.CacheKey)
	}
	b = append(b, `,"stream":true,"stream_options":{"include_usage":true}}`...)
	return model.EncodedRequest{Model: request.Model, Body: b, Version: version}, nil
}

// marks are the messages that a request marks for the provider's cache.
type marks struct {
	on           bool // texts are lists of parts
	before, last int
}

func marksOf(request model.Request) marks {
	m := marks{before: -1, last: -1}
	if request.CacheKey != "" && request.Model.Provider() == dashScope {
		m.on = true
		m.before, m.last = wire.Stable(request.Messages)
	}
	return m
}

func (m marks) at(message int) bool { return message == m.before || message == m.last }

// appendText appends a text: as a string or, where texts can be marked, as a part.
func (m marks) appendText(b []byte, text string, marked bool) []byte {
	if !m.on {
		return parley.AppendJSONString(b, text)
	}
	return append(appendPart(append(b, '['), text, marked), ']')
}

func appendPart(b []byte, text string, marked bool) []byte {
	b = parley.AppendJSONString(append(b, `{"type":"text","text":`...), text)
	if marked && strings.TrimSpace(text) != "" {
		b = append(b, wire.CacheMark...)
	}
	return append(b, '}')
}

func appendMessages(b []byte, request model.Request) ([]byte, error) {
	marks := marksOf(request)
	empty := true
	next := func(role string) []byte {
		if !empty {
			b = append(b, ',')
		}
		empty = false
		return parley.AppendJSONString(append(b, `{"role":`...), role)
	}
	if request.System != "" {
		b = append(marks.appendText(wire.AppendField(next("system"), "content"), request.System, true), '}')
	}
	var ids wire.CallIDs
	for i, message := range request.Messages {
		switch message.Role {
		case model.RoleUser:
			b = append(appendUser(wire.AppendField(next("user"), "content"), message, marks, marks.at(i)), '}')
		case model.RoleAssistant:
			text := wire.JoinText(message.Parts)
			if !has(message, model.PartToolCall) && text == "" {
				continue // reasoning alone is nothing on this wire
			}
			b = appendAssistant(next("assistant"), message, text, &ids)
		case model.RoleTool:
			last := lastResult(message)
			for j, part := range message.Parts {
				if part.Kind != model.PartToolResult {
					continue
				}
				id, err := ids.Result(part.CallID)
				if err != nil {
					return nil, err
				}
				b = parley.AppendJSONString(wire.AppendField(next("tool"), "tool_call_id"), id)
				b = append(
					marks.appendText(
						wire.AppendField(b, "content"),
						resultText(part),
						marks.at(i) && j == last,
					),
					'}',
				)
			}
			if images := imagesOf(message); len(images.Parts) > 0 { // a tool message holds only text
				b = append(appendUser(wire.AppendField(next("user"), "content"), images, marks, false), '}')
			}
		default:
			return nil, parley.InvalidField(
				"messages",
				"%q is not a role that this provider knows",
				parley.Clip(string(message.Role), 32),
			)
		}
	}
	if empty {
		return nil, parley.InvalidField("messages", "there is nothing to send")
	}
	return b, nil
}

// appendUser appends a user's content: a text, or with images a list of parts.
func appendUser(b []byte, message model.Message, marks marks, marked bool) []byte {
	if !has(message, model.PartImage) {
		return marks.appendText(b, wire.JoinText(message.Parts), marked)
	}
	b = append(b, '[')
	first := true
	for i, part := range message.Parts {
		if part.Kind != model.PartImage && (part.Kind != model.PartText || part.Text == "") {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		if part.Kind == model.PartText {
			b = appendPart(b, part.Text, marked && i == len(message.Parts)-1)
			continue
		}
		b = append(b, `{"type":"image_url","image_url":{"url":"data:`...)
		b = append(append(b, part.MediaType...), ";base64,"...)
		b = append(base64.StdEncoding.AppendEncode(b, part.Data), `"}}`...)
	}
	return append(b, ']')
}

// lastResult returns the index of the last tool result of a message, -1 for none.
func lastResult(message model.Message) int {
	for i := len(message.Parts) - 1; i >= 0; i-- {
		if message.Parts[i].Kind == model.PartToolResult {
			return i
		}
	}
	return -1
}

// imagesOf returns a user message with the images of tool results, each after its name in the result.
func imagesOf(message model.Message) model.Message {
	images := model.Message{Role: model.RoleUser}
	for _, part := range message.Parts {
		if part.Kind == model.PartImage {
			caption := model.Part{Kind: model.PartText, Text: "[image " + part.Name + "], from a tool's result:"}
			images.Parts = append(images.Parts, caption, part)
		}
	}
	return images
}

func has(message model.Message, kind model.PartKind) bool {
	for _, part := range message.Parts {
		if part.Kind == kind {
			return true
		}
	}
	return false
}

// resultText marks an error, for which the wire has no field.
func resultText(part model.Part) string {
	const mark = "Error: "
	if part.IsError && (len(part.Text) < 5 || !strings.EqualFold(part.Text[:5], "error")) {
		return mark + part.Text
	}
	return part.Text
}

func appendAssistant(b []byte, message model.Message, text string, ids *wire.CallIDs) []byte {
	b = wire.AppendField(b, "content")
	if text == "" {
		b = append(b, "null"...)
	} else {
		b = parley.AppendJSONString(b, text)
	}
	if !has(message, model.PartToolCall) {
		return append(b, '}')
	}
	if field, reasoning := reasoningOf(message); field != "" {
		b = parley.AppendJSONString(wire.AppendField(b, field), reasoning)
	}
	b = append(b, `,"tool_calls":[`...)
	first := true
	for _, part := range message.Parts {
		if part.Kind != model.PartToolCall {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendCall(b, part, ids)
	}
	return append(b, "]}"...)
}

func appendCall(b []byte, part model.Part, ids *wire.CallIDs) []byte {
	data, ok := wire.ReadCallData(part.ProviderData)
	arguments := data.Arguments
	if !ok || arguments == "" {
		arguments = string(part.Arguments)
	}
	if arguments == "" || arguments == "null" {
		arguments = "{}"
	}
	b = parley.AppendJSONString(append(b, `{"id":`...), ids.Call(part.CallID, data.ID))
	b = append(b, `,"type":"function","function":{"name":`...)
	b = parley.AppendJSONString(b, part.Name)
	b = append(parley.AppendJSONString(wire.AppendField(b, "arguments"), arguments), '}')
	if len(data.Extra) > 0 {
		b = append(wire.AppendField(b, "extra_content"), data.Extra...)
	}
	return append(b, '}')
}

// reasoningOf returns the reasoning to send back and its provider's field for it; an empty field if there is none.
func reasoningOf(message model.Message) (field, text string) {
	for _, part := range message.Parts {
		if part.Kind != model.PartReasoning {
			continue
		}
		var data struct {
			Field string `json:"field"`
		}
		if json.Unmarshal(part.ProviderData, &data) != nil ||
			data.Field != "reasoning_content" && data.Field != "reasoning" {
			continue
		}
		field, text = data.Field, text+part.Text
	}
	return field, text
}

func appendTools(b []byte, tools []parley.ToolDefinition) ([]byte, error) {
	if len(tools) == 0 {
		return b, nil
	}
	b = append(b, `,"tools":[`...)
	for i, tool := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = parley.AppendJSONString(append(b, `{"type":"function","function":{"name":`...), tool.Name)
		if tool.Description != "" {
			b = parley.AppendJSONString(wire.AppendField(b, "description"), tool.Description)
		}
		var err error
		if b, err = wire.AppendSchema(wire.AppendField(b, "parameters"), tool); err != nil {
			return nil, err
		}
		b = append(b, "}}"...)
	}
	return append(b, ']'), nil
}

func appendParameters(b []byte, request model.Request) []byte {
	p := request.Parameters
	provider := request.Model.Provider()
	if p.Temperature != nil {
		b = wire.AppendNumber(wire.AppendField(b, "temperature"), *p.Temperature)
	}
	if p.TopP != nil {
		b = wire.AppendNumber(wire.AppendField(b, "top_p"), *p.TopP)
	}
	if p.MaxTokens != nil {
		name := "max_tokens"
		if provider == DefaultName {
			name = "max_completion_tokens"
		}
		b = strconv.AppendInt(wire.AppendField(b, name), int64(*p.MaxTokens), 10)
	}
	if p.Seed != nil {
		b = strconv.AppendInt(wire.AppendField(b, "seed"), *p.Seed, 10)
	}
	if p.ReasoningEffort != nil {
		b = parley.AppendJSONString(wire.AppendField(b, "reasoning_effort"), *p.ReasoningEffort)
	}
	if request.Think {
		b = appendThinking(b, request)
	}
	if request.Search {
		if provider == dashScope {
			b = append(wire.AppendField(b, "enable_search"), "true"...)
		} else {
			b = append(wire.AppendField(b, "web_search_options"), "{}"...)
		}
	}
	return b
}

// maxStops is how many stop sequences the wire accepts.
const maxStops = 4

// appendWishes appends a request's options besides sampling: about its tools, the answer's form and end, and the
// provider. Unset options add nothing.
func appendWishes(b []byte, request model.Request) ([]byte, error) {
	p := request.Parameters
	choice, tool, err := wire.ToolChoice(request)
	switch {
	case err != nil:
		return nil, err
	case tool != "":
		b = append(wire.AppendField(b, "tool_choice"), `{"type":"function","function":{"name":`...)
		b = append(parley.AppendJSONString(b, tool), "}}"...)
	case choice != "":
		b = parley.AppendJSONString(wire.AppendField(b, "tool_choice"), choice)
	}
	if parallel := wire.Parallel(request); parallel != nil {
		b = strconv.AppendBool(wire.AppendField(b, "parallel_tool_calls"), *parallel)
	}
	if p.ResponseFormat != nil {
		if b, err = appendFormat(wire.AppendField(b, "response_format"), *p.ResponseFormat); err != nil {
			return nil, err
		}
	}
	if p.Stop != nil && len(*p.Stop) > 0 {
		if len(*p.Stop) > maxStops {
			return nil, parley.InvalidField("stop", "this provider accepts at most %d", maxStops)
		}
		b = wire.AppendStrings(wire.AppendField(b, "stop"), *p.Stop)
	}
	if p.EndUser != nil && *p.EndUser != "" {
		b = parley.AppendJSONString(wire.AppendField(b, "user"), *p.EndUser)
	}
	if p.RequestMetadata != nil && len(*p.RequestMetadata) > 0 {
		b = wire.AppendPairs(wire.AppendField(b, "metadata"), *p.RequestMetadata)
	}
	if p.ServiceTier != nil {
		b = parley.AppendJSONString(wire.AppendField(b, "service_tier"), *p.ServiceTier)
	}
	return b, nil
}

func appendFormat(b []byte, format parley.ResponseFormat) ([]byte, error) {
	b = parley.AppendJSONString(append(b, `{"type":`...), string(format.Type))
	if format.Type != parley.FormatJSONSchema {
		return append(b, '}'), nil
	}
	b = parley.AppendJSONString(append(b, `,"json_schema":{"name":`...), wire.FormatName(format))
	b, err := wire.AppendFormatSchema(wire.AppendField(b, "schema"), format)
	if err != nil {
		return nil, err
	}
	if format.Strict {
		b = append(wire.AppendField(b, "strict"), "true"...)
	}
	return append(b, "}}"...), nil
}

func appendThinking(b []byte, request model.Request) []byte {
	name := request.Model.Name()
	switch request.Model.Provider() {
	case dashScope:
		return append(wire.AppendField(b, "enable_thinking"), "true"...)
	case "openrouter":
	case DefaultName:
		if !reasons(name) {
			return b
		}
	default:
		return b
	}
	if request.Parameters.ReasoningEffort != nil {
		return b
	}
	return parley.AppendJSONString(wire.AppendField(b, "reasoning_effort"), defaultThinking)
}

// reasons reports whether a model of OpenAI's accepts reasoning_effort.
func reasons(name string) bool {
	if strings.Contains(name, "-chat") || strings.Contains(name, "-search") {
		return false
	}
	for _, family := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return false
}
