package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"parley"
	"parley/llm/wire"
)

// EncoderVersion is the version of the bytes that Encode makes. A change of
// those bytes takes a new number; the golden tests hold the old ones.
const EncoderVersion = 1

// DefaultMaxTokens is the bound of an answer that names none, in tokens, apart
// from its thinking. The wire demands a bound.
const DefaultMaxTokens = 8192

// maxSearches bounds the provider's own web search within one answer.
const maxSearches = 5

// openingText stands before a conversation whose window begins with the
// assistant: the wire wants a user's message first.
const openingText = "(The conversation began earlier.)"

// Encode makes the body of a Messages request. Fields have a fixed order, the
// messages before what changes from call to call, so that a longer
// conversation's messages begin with the bytes of a shorter one's (up to the
// end of the last message, which may grow where turns merge).
//
// The wire's rules, and what follows from them here: a temperature goes up to
// 1 (CodeInvalid beyond), does not go with thinking (left out) and not with
// top_p (left out beside a temperature); seeds are unknown (left out).
func (m *Model) Encode(request parley.ModelRequest) (parley.EncodedRequest, error) {
	messages, err := appendMessages([]byte(`"messages":[`), request)
	if err != nil {
		return parley.EncodedRequest{}, err
	}
	plan := planThinking(request)
	b := parley.AppendJSONString([]byte(`{"model":`), request.Model.Name())
	if request.System != "" {
		b = parley.AppendJSONString(wire.AppendField(b, "system"), request.System)
	}
	b = append(append(append(b, ','), messages...), ']')
	if b, err = appendTools(b, request); err != nil {
		return parley.EncodedRequest{}, err
	}
	b = strconv.AppendInt(wire.AppendField(b, "max_tokens"), int64(plan.maxTokens), 10)
	b = plan.append(b)
	if b, err = appendSampling(b, request.Parameters, plan.on); err != nil {
		return parley.EncodedRequest{}, err
	}
	b = append(b, `,"stream":true}`...)
	return parley.EncodedRequest{Model: request.Model, Body: b, Version: EncoderVersion}, nil
}

func appendSampling(b []byte, p parley.Parameters, thinking bool) ([]byte, error) {
	const thinkingTopP = 0.95 // the least that goes with thinking
	switch {
	case p.Temperature != nil && *p.Temperature > 1:
		return nil, parley.InvalidField("temperature", "this provider takes 0 to 1")
	case p.Temperature != nil && !thinking:
		b = wire.AppendNumber(wire.AppendField(b, "temperature"), *p.Temperature)
	case p.TopP != nil && (!thinking || *p.TopP >= thinkingTopP):
		b = wire.AppendNumber(wire.AppendField(b, "top_p"), *p.TopP)
	}
	return b, nil
}

// writer appends messages, merging neighbours of one role.
type writer struct {
	b    []byte
	role string
	ids  wire.CallIDs
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
	w.b = append(parley.AppendJSONString(append(w.b, `{"type":"text","text":`...), text), '}')
}

func appendMessages(b []byte, request parley.ModelRequest) ([]byte, error) {
	w := writer{b: b}
	for _, message := range request.Messages {
		role := "user"
		switch message.Role {
		case parley.RequestUser, parley.RequestTool:
		case parley.RequestAssistant:
			role = "assistant"
		default:
			return nil, parley.InvalidField("messages", "%q is no role that this provider knows", parley.Clip(string(message.Role), 32))
		}
		for _, part := range message.Parts {
			if err := w.part(role, part); err != nil {
				return nil, err
			}
		}
	}
	if w.role == "" {
		return nil, parley.InvalidField("messages", "there is nothing to send: this provider takes no empty text")
	}
	return append(w.b, "]}"...), nil
}

func (w *writer) part(role string, part parley.RequestPart) error {
	switch part.Kind {
	case parley.PartText:
		if strings.TrimSpace(part.Text) != "" { // the wire refuses blank blocks
			w.block(role)
			w.text(part.Text)
		}
	case parley.PartImage:
		w.block(role)
		w.b = append(append(w.b, `{"type":"image","source":{"type":"base64","media_type":"`...), part.MediaType...)
		w.b = append(base64.StdEncoding.AppendEncode(append(w.b, `","data":"`...), part.Data), `"}}`...)
	case parley.PartReasoning:
		if role == "assistant" && ownThinking(part.ProviderData) {
			w.block(role)
			w.b = append(w.b, part.ProviderData...)
		}
	case parley.PartToolCall:
		w.block(role)
		data, _ := wire.ReadCallData(part.ProviderData)
		w.b = parley.AppendJSONString(append(w.b, `{"type":"tool_use","id":`...), w.ids.Call(part.CallID, data.ID))
		w.b = parley.AppendJSONString(wire.AppendField(w.b, "name"), part.Name)
		w.b = append(appendInput(wire.AppendField(w.b, "input"), part, data.Arguments), '}')
	case parley.PartToolResult:
		id, err := w.ids.Result(part.CallID)
		if err != nil {
			return err
		}
		w.block(role)
		w.b = parley.AppendJSONString(append(w.b, `{"type":"tool_result","tool_use_id":`...), id)
		w.b = parley.AppendJSONString(wire.AppendField(w.b, "content"), part.Text)
		if part.IsError {
			w.b = append(wire.AppendField(w.b, "is_error"), "true"...)
		}
		w.b = append(w.b, '}')
	}
	return nil
}

// appendInput appends a call's arguments, which must be an object here: the
// provider's exact text, else Parley's, and malformed ones as a text that the
// model can see.
func appendInput(b []byte, part parley.RequestPart, exact string) []byte {
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

// ownThinking reports that provider data are a block that this package made.
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

func appendTools(b []byte, request parley.ModelRequest) ([]byte, error) {
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
		b = append(b, '}')
	}
	if request.Search {
		if len(request.Tools) > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, `{"type":"web_search_20250305","name":"web_search","max_uses":`...), maxSearches, 10)
		b = append(b, '}')
	}
	return append(b, ']'), nil
}
