package anthropic

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
// tests keep the old ones. Version 2 puts tools and system prompt before the messages and marks what to cache.
const EncoderVersion = 2

// DefaultMaxTokens is the default bound of an answer, in tokens, apart from its thinking. The wire requires a bound.
const DefaultMaxTokens = 8192

// maxSearches bounds the provider's own web search within one answer.
const maxSearches = 5

// openingText precedes a conversation whose window begins with the assistant: the wire requires a user's message first.
const openingText = "(The conversation began earlier.)"

// Encode makes the body of a Messages request. Fields have a fixed order: tools, the system prompt, the messages, and
// then what changes from call to call, so that a longer conversation begins with the bytes of a shorter one (up to the
// end of its last message, which may grow where turns merge).
//
// A request with a CacheKey marks four ends for the provider's cache, the most that it accepts: of the tools, of the
// system prompt, of the previous request's messages, and of all messages. Apart from the marks, its bytes equal those
// of a request without a CacheKey. All marks have its CacheTTL: the provider refuses a longer one behind a shorter one.
//
// The wire's rules have these consequences: temperatures go up to 1 (CodeInvalid beyond), and are left out with
// thinking; top_p is left out beside a temperature; seeds are unknown and left out.
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
		if b, err = appendTools(b, request); err != nil {
			return model.EncodedRequest{}, err
		}
	}
	b = appendSystem(b, request, first)
	if b, err = appendMessages(append(b, `,"messages":[`...), request); err != nil {
		return model.EncodedRequest{}, err
	}
	b = append(b, ']')
	if first {
		if b, err = appendTools(b, request); err != nil {
			return model.EncodedRequest{}, err
		}
	}
	plan := planThinking(request)
	b = strconv.AppendInt(wire.AppendField(b, "max_tokens"), int64(plan.maxTokens), 10)
	if b, err = plan.append(b, request.Parameters.ResponseFormat); err != nil {
		return model.EncodedRequest{}, err
	}
	if b, err = appendSampling(b, request.Parameters, plan.on); err != nil {
		return model.EncodedRequest{}, err
	}
	if b, err = appendWishes(b, request, plan.on); err != nil {
		return model.EncodedRequest{}, err
	}
	b = append(b, `,"stream":true}`...)
	return model.EncodedRequest{Model: request.Model, Body: b, Version: version, Longest: plan.maxTokens}, nil
}

// appendSystem appends the system prompt: as a list of one block, which can be marked, or as a string, as in the first
// version.
func appendSystem(b []byte, request model.Request, first bool) []byte {
	if request.System == "" || !first && strings.TrimSpace(request.System) == "" { // the wire refuses blank blocks
		return b
	}
	b = wire.AppendField(b, "system")
	if first {
		return parley.AppendJSONString(b, request.System)
	}
	b = parley.AppendJSONString(append(b, `[{"type":"text","text":`...), request.System)
	if request.CacheKey != "" {
		b = append(b, wire.CacheMarkFor(request.CacheTTL)...)
	}
	return append(b, "}]"...)
}

func appendSampling(b []byte, p parley.Parameters, thinking bool) ([]byte, error) {
	const thinkingTopP = 0.95 // the least allowed with thinking
	switch {
	case p.Temperature != nil && *p.Temperature > 1:
		return nil, parley.InvalidField("temperature", "this provider accepts 0 to 1")
	case p.Temperature != nil && !thinking:
		b = wire.AppendNumber(wire.AppendField(b, "temperature"), *p.Temperature)
	case p.TopP != nil && (!thinking || *p.TopP >= thinkingTopP):
		b = wire.AppendNumber(wire.AppendField(b, "top_p"), *p.TopP)
	}
	return b, nil
}

// appendWishes appends a request's options besides sampling: about its tools, the answer's end, and the provider. Unset
// options add nothing.
func appendWishes(b []byte, request model.Request, thinking bool) ([]byte, error) {
	p := request.Parameters
	if p.RequestMetadata != nil && len(*p.RequestMetadata) > 0 {
		return nil, parley.InvalidField("request_metadata", "this provider accepts none")
	}
	b, err := appendChoice(b, request, thinking)
	if err != nil {
		return nil, err
	}
	if p.Stop != nil && len(*p.Stop) > 0 {
		b = wire.AppendStrings(wire.AppendField(b, "stop_sequences"), *p.Stop)
	}
	if p.EndUser != nil && *p.EndUser != "" {
		b = append(parley.AppendJSONString(append(wire.AppendField(b, "metadata"), `{"user_id":`...), *p.EndUser), '}')
	}
	if p.ServiceTier != nil {
		switch *p.ServiceTier {
		case "auto":
			b = append(wire.AppendField(b, "service_tier"), `"auto"`...)
		case "default":
			b = append(wire.AppendField(b, "service_tier"), `"standard_only"`...)
		default:
			return nil, parley.InvalidField(
				"service_tier",
				"%q is not one of auto, default, which this provider accepts",
				parley.Clip(*p.ServiceTier, 32),
			)
		}
	}
	return b, nil
}

// appendChoice appends tool_choice. The wire allows no forced call together with thinking.
func appendChoice(b []byte, request model.Request, thinking bool) ([]byte, error) {
	choice, tool, err := wire.ToolChoice(request)
	if err != nil {
		return nil, err
	}
	parallel := wire.Parallel(request)
	if choice == "" {
		if parallel == nil || *parallel {
			return b, nil // the model decides, which is the wire's default
		}
		choice = parley.ToolChoiceAuto
	}
	if parley.Forces(choice) && thinking {
		return nil, parley.InvalidField(
			"tool_choice", "this provider allows no forced tool together with thinking; leave one of them out",
		)
	}
	kind := choice
	switch {
	case tool != "":
		kind = "tool"
	case choice == parley.ToolChoiceRequired:
		kind = "any"
	}
	b = parley.AppendJSONString(append(wire.AppendField(b, "tool_choice"), `{"type":`...), kind)
	if tool != "" {
		b = parley.AppendJSONString(wire.AppendField(b, "name"), tool)
	}
	if parallel != nil && choice != parley.ToolChoiceNone {
		b = strconv.AppendBool(wire.AppendField(b, "disable_parallel_tool_use"), !*parallel)
	}
	return append(b, '}'), nil
}

// writer appends messages, merging neighbours of one role.
type writer struct {
	b    []byte
	role string
	ids  wire.CallIDs
	mark bool // the next block ends the cached part
	ttl  parley.CacheTTL
}

// block begins a content block of a role's message.
func (w *writer) block(role string) {
	switch {
	case w.role == role:
		w.b = append(w.b, ',')
		return
	case w.role != "":
		w.b = append(w.b, "]},"...)
	case role == "assistant":
		w.block("user")
		w.text(openingText)
		w.block(role)
		return
	}
	w.role = role
	w.b = append(parley.AppendJSONString(append(w.b, `{"role":`...), role), `,"content":[`...)
}

func (w *writer) text(text string) {
	w.b = parley.AppendJSONString(append(w.b, `{"type":"text","text":`...), text)
	w.end()
}

// end ends a block that can be marked.
func (w *writer) end() {
	if w.mark {
		w.b = append(w.b, wire.CacheMarkFor(w.ttl)...)
	}
	w.b = append(w.b, '}')
}

// lastBlock returns the index of the last part of a message that becomes a block of the wire, -1 for none.
func lastBlock(message model.Message) int {
	for i := len(message.Parts) - 1; i >= 0; i-- {
		part := &message.Parts[i]
		switch part.Kind {
		case model.PartToolResult:
			return i
		case model.PartImage: // in a tool's result it is inside the result's block
			if message.Role != model.RoleTool {
				return i
			}
		case model.PartText:
			if strings.TrimSpace(part.Text) != "" {
				return i
			}
		}
	}
	return -1
}

func appendMessages(b []byte, request model.Request) ([]byte, error) {
	w := writer{b: b, ttl: request.CacheTTL}
	before, last := -1, -1
	if request.CacheKey != "" {
		before, last = wire.Stable(request.Messages)
	}
	for i, message := range request.Messages {
		role := "user"
		switch message.Role {
		case model.RoleUser, model.RoleTool:
		case model.RoleAssistant:
			role = "assistant"
		default:
			return nil, parley.InvalidField(
				"messages",
				"%q is not a role that this provider knows",
				parley.Clip(string(message.Role), 32),
			)
		}
		marked := -1
		if i == before || i == last {
			marked = lastBlock(message)
		}
		for j := 0; j < len(message.Parts); j++ {
			w.mark = j == marked
			part := message.Parts[j]
			if part.Kind == model.PartToolResult {
				images := imagesBehind(message.Parts[j+1:])
				if err := w.result(role, part, images); err != nil {
					return nil, err
				}
				j += len(images)
				continue
			}
			if err := w.part(role, part); err != nil {
				return nil, err
			}
		}
		w.mark = false
	}
	if w.role == "" {
		return nil, parley.InvalidField(
			"messages",
			"there is nothing to send: this provider does not accept empty text",
		)
	}
	return append(w.b, "]}"...), nil
}

// imagesBehind returns the images at the beginning of parts.
func imagesBehind(parts []model.Part) []model.Part {
	n := 0
	for n < len(parts) && parts[n].Kind == model.PartImage {
		n++
	}
	return parts[:n]
}

// result writes a tool's result with its images.
func (w *writer) result(role string, part model.Part, images []model.Part) error {
	id, err := w.ids.Result(part.CallID)
	if err != nil {
		return err
	}
	w.block(role)
	w.b = parley.AppendJSONString(append(w.b, `{"type":"tool_result","tool_use_id":`...), id)
	w.b = wire.AppendField(w.b, "content")
	if len(images) == 0 || part.IsError { // the wire accepts errors only as text
		w.b = parley.AppendJSONString(w.b, part.Text)
	} else {
		w.b = append(w.b, '[')
		if strings.TrimSpace(part.Text) != "" { // the wire refuses blank blocks
			w.b = append(parley.AppendJSONString(append(w.b, `{"type":"text","text":`...), part.Text), "},"...)
		}
		for i := range images {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			w.b = append(appendImage(w.b, images[i]), '}')
		}
		w.b = append(w.b, ']')
	}
	if part.IsError {
		w.b = append(wire.AppendField(w.b, "is_error"), "true"...)
	}
	w.end()
	return nil
}

// appendImage appends an image's block and leaves it open.
func appendImage(b []byte, part model.Part) []byte {
	b = append(append(b, `{"type":"image","source":{"type":"base64","media_type":"`...), part.MediaType...)
	return append(base64.StdEncoding.AppendEncode(append(b, `","data":"`...), part.Data), `"}`...)
}

func (w *writer) part(role string, part model.Part) error {
	switch part.Kind {
	case model.PartText:
		if strings.TrimSpace(part.Text) != "" { // the wire refuses blank blocks
			w.block(role)
			w.text(part.Text)
		}
	case model.PartImage:
		w.block(role)
		w.b = appendImage(w.b, part)
		w.end()
	case model.PartReasoning:
		if role == "assistant" && ownThinking(part.ProviderData) {
			w.block(role)
			w.b = append(w.b, part.ProviderData...)
		}
	case model.PartToolCall:
		w.block(role)
		data, _ := wire.ReadCallData(part.ProviderData)
		w.b = parley.AppendJSONString(append(w.b, `{"type":"tool_use","id":`...), w.ids.Call(part.CallID, data.ID))
		w.b = parley.AppendJSONString(wire.AppendField(w.b, "name"), part.Name)
		w.b = append(appendInput(wire.AppendField(w.b, "input"), part, data.Arguments), '}')
	}
	return nil
}

// appendInput appends a call's arguments, which must be an object here: the provider's exact text, else Parley's;
// malformed arguments become a text that the model can see.
func appendInput(b []byte, part model.Part, exact string) []byte {
	if wire.IsObject([]byte(exact)) {
		return append(b, strings.TrimSpace(exact)...)
	}
	if wire.IsObject(part.Arguments) {
		return append(b, part.Arguments...)
	}
	if exact == "" {
		exact = string(part.Arguments)
	}
	if exact == "" || exact == "null" {
		return append(b, "{}"...)
	}
	return append(parley.AppendJSONString(append(b, `{"arguments_text":`...), exact), '}')
}

// ownThinking reports whether provider data are a block made by this package.
func ownThinking(data []byte) bool {
	var block struct {
		Type      string `json:"type"`
		Signature string `json:"signature"`
		Data      string `json:"data"`
	}
	if json.Unmarshal(data, &block) != nil {
		return false
	}
	return block.Type == "thinking" && block.Signature != "" || block.Type == "redacted_thinking" && block.Data != ""
}

func appendTools(b []byte, request model.Request) ([]byte, error) {
	if len(request.Tools) == 0 && !request.Search {
		return b, nil
	}
	b = append(b, `,"tools":[`...)
	for i, tool := range request.Tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = parley.AppendJSONString(append(b, `{"name":`...), tool.Name)
		if tool.Description != "" {
			b = parley.AppendJSONString(wire.AppendField(b, "description"), tool.Description)
		}
		var err error
		if b, err = wire.AppendSchema(wire.AppendField(b, "input_schema"), tool); err != nil {
			return nil, err
		}
		if request.CacheKey != "" && i == len(request.Tools)-1 {
			b = append(b, wire.CacheMarkFor(request.CacheTTL)...)
		}
		b = append(b, '}')
	}
	if request.Search {
		if len(request.Tools) > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(
			append(b, `{"type":"web_search_20250305","name":"web_search","max_uses":`...),
			maxSearches,
			10,
		)
		b = append(b, '}')
	}
	return append(b, ']'), nil
}
