package sim

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/model"
)

// The request as encoded in the body.
type (
	request struct {
		Messages   []message          `json:"messages"`
		Model      string             `json:"model"`
		Parameters requestParameters  `json:"parameters"`
		Purpose    parley.CallPurpose `json:"purpose"`
		Search     bool               `json:"search"`
		System     string             `json:"system"`
		Think      bool               `json:"think"`
		Tools      []tool             `json:"tools"`

		input, cached int64 // tokens, as promptCache counts them
	}
	message struct {
		Parts []part     `json:"parts"`
		Role  model.Role `json:"role"`
	}
	part struct {
		Arguments string         `json:"arguments"`
		CallID    string         `json:"call_id"`
		Error     bool           `json:"error"`
		Height    int            `json:"height"`
		Kind      model.PartKind `json:"kind"`
		MediaType string         `json:"media_type"`
		Name      string         `json:"name"`
		Size      int            `json:"size"`
		Text      string         `json:"text"`
		Width     int            `json:"width"`
	}
	requestParameters struct {
		MaxTokens      *int                   `json:"max_tokens"`
		ResponseFormat *parley.ResponseFormat `json:"response_format"`
	}
	tool struct {
		Description string          `json:"description"`
		Name        string          `json:"name"`
		Parameters  json.RawMessage `json:"parameters"`
	}
)

func decodeRequest(body []byte) (request, error) {
	var r request
	return r, json.Unmarshal(body, &r)
}

// appendRequest writes a request in the fixed form of a version: members by name in the first; from the second on,
// members that stay from call to call come first. Members without a value are left out.
func appendRequest(to []byte, r model.Request, version int) []byte {
	if version == 1 {
		to = appendMessages(append(to, '{'), r)
		to = parley.AppendJSONString(append(to, `,"model":`...), r.Model.Name())
		to = appendParameters(append(to, `,"parameters":`...), r.Parameters)
		to = appendWishes(to, r, false)
		to = parley.AppendJSONString(append(to, `,"system":`...), r.System)
		to = appendWishes(to, r, true)
		return append(appendTools(append(to, ','), r.Tools), `,"version":1}`...)
	}
	to = parley.AppendJSONString(append(to, `{"model":`...), r.Model.Name())
	to = appendTools(append(to, ','), r.Tools)
	to = parley.AppendJSONString(append(to, `,"system":`...), r.System)
	to = appendMessages(append(to, ','), r)
	to = appendParameters(append(to, `,"parameters":`...), r.Parameters)
	if r.Purpose != parley.PurposeStep {
		to = parley.AppendJSONString(append(to, `,"purpose":`...), string(r.Purpose))
	}
	to = appendWishes(appendWishes(to, r, false), r, true)
	return append(to, `,"version":`+strconv.Itoa(version)+`}`...)
}

// appendWishes writes one of the two flags of a request.
func appendWishes(to []byte, r model.Request, think bool) []byte {
	switch {
	case think && r.Think:
		return append(to, `,"think":true`...)
	case !think && r.Search:
		return append(to, `,"search":true`...)
	}
	return to
}

func appendMessages(to []byte, r model.Request) []byte {
	to = append(to, `"messages":[`...)
	for i, m := range r.Messages {
		to = append(comma(to, i), `{"parts":[`...)
		for j, p := range m.Parts {
			to = appendPart(comma(to, j), p)
		}
		to = append(parley.AppendJSONString(append(to, `],"role":`...), string(m.Role)), '}')
	}
	return append(to, ']')
}

func appendTools(to []byte, tools []parley.ToolDefinition) []byte {
	to = append(to, `"tools":[`...)
	for i, t := range tools {
		to = parley.AppendJSONString(append(comma(to, i), `{"description":`...), t.Description)
		to = parley.AppendJSONString(append(to, `,"name":`...), t.Name)
		to = append(to, `,"parameters":`...)
		if len(t.Parameters) == 0 {
			to = append(to, "null"...)
		} else {
			to = append(to, t.Parameters...)
		}
		to = append(to, '}')
	}
	return append(to, ']')
}

func appendPart(to []byte, p model.Part) []byte {
	to = append(to, '{')
	if len(p.Arguments) > 0 {
		to = append(parley.AppendJSONString(append(to, `"arguments":`...), string(p.Arguments)), ',')
	}
	if p.CallID != "" {
		to = append(parley.AppendJSONString(append(to, `"call_id":`...), p.CallID), ',')
	}
	if p.IsError {
		to = append(to, `"error":true,`...)
	}
	image := p.Kind == model.PartImage
	if image {
		to = append(strconv.AppendInt(append(to, `"height":`...), int64(p.Height), 10), ',')
	}
	to = parley.AppendJSONString(append(to, `"kind":`...), string(p.Kind))
	if image {
		to = parley.AppendJSONString(append(to, `,"media_type":`...), p.MediaType)
	}
	if p.Name != "" {
		to = parley.AppendJSONString(append(to, `,"name":`...), p.Name)
	}
	if len(p.ProviderData) > 0 {
		to = append(to, `,"provider_data":"`...)
		to = append(base64.StdEncoding.AppendEncode(to, p.ProviderData), '"')
	}
	if image { // named by its hash: the bytes mean nothing to the simulator
		to = parley.AppendJSONString(append(to, `,"sha256":`...), parley.HashOf(p.Data).String())
		to = strconv.AppendInt(append(to, `,"size":`...), int64(len(p.Data)), 10)
		to = strconv.AppendInt(append(to, `,"width":`...), int64(p.Width), 10)
	}
	if p.Text != "" {
		to = parley.AppendJSONString(append(to, `,"text":`...), p.Text)
	}
	return append(to, '}')
}

func appendParameters(to []byte, p parley.Parameters) []byte {
	to = append(to, '{')
	start := len(to)
	name := func(name string) {
		if len(to) > start {
			to = append(to, ',')
		}
		to = append(append(append(to, '"'), name...), `":`...)
	}
	if p.EndUser != nil {
		name("end_user")
		to = parley.AppendJSONString(to, *p.EndUser)
	}
	if p.MaxTokens != nil {
		name("max_tokens")
		to = strconv.AppendInt(to, int64(*p.MaxTokens), 10)
	}
	if p.ParallelToolCalls != nil {
		name("parallel_tool_calls")
		to = strconv.AppendBool(to, *p.ParallelToolCalls)
	}
	if p.ReasoningEffort != nil {
		name("reasoning_effort")
		to = parley.AppendJSONString(to, *p.ReasoningEffort)
	}
	if p.RequestMetadata != nil {
		name("request_metadata")
		to = appendJSON(to, *p.RequestMetadata)
	}
	if p.ResponseFormat != nil {
		name("response_format")
		to = appendJSON(to, *p.ResponseFormat)
	}
	if p.Seed != nil {
		name("seed")
		to = strconv.AppendInt(to, *p.Seed, 10)
	}
	if p.ServiceTier != nil {
		name("service_tier")
		to = parley.AppendJSONString(to, *p.ServiceTier)
	}
	if p.Stop != nil {
		name("stop")
		to = appendJSON(to, *p.Stop)
	}
	if p.Temperature != nil {
		name("temperature")
		to = strconv.AppendFloat(to, *p.Temperature, 'g', -1, 64)
	}
	if p.ToolChoice != nil {
		name("tool_choice")
		to = parley.AppendJSONString(to, *p.ToolChoice)
	}
	if p.TopP != nil {
		name("top_p")
		to = strconv.AppendFloat(to, *p.TopP, 'g', -1, 64)
	}
	return append(to, '}')
}

// appendJSON appends a setting's value as JSON, or null if it cannot be encoded.
func appendJSON[T map[string]string | []string | parley.ResponseFormat](to []byte, value T) []byte {
	raw, err := parley.EncodeJSON(value)
	if err != nil {
		return append(to, "null"...)
	}
	return append(to, raw...)
}

func comma(to []byte, i int) []byte {
	if i > 0 {
		to = append(to, ',')
	}
	return to
}

// text returns a message's text parts, and a label for each image, separated by empty lines.
func (m message) text() string {
	var out strings.Builder
	for _, p := range m.Parts {
		text := p.Text
		switch p.Kind {
		case model.PartText:
		case model.PartImage:
			text = fmt.Sprintf(
				"[Simulated sight: image %dx%d %s, %d bytes, %s]",
				p.Width,
				p.Height,
				p.MediaType,
				p.Size,
				p.Name,
			)
		default:
			continue
		}
		if out.Len() > 0 {
			out.WriteString("\n\n")
		}
		out.WriteString(text)
	}
	return out.String()
}

// lastUser returns the index of the last user message, -1 if there is none.
func (r *request) lastUser() int {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == model.RoleUser {
			return i
		}
	}
	return -1
}

// userText returns the text of the last user message, "" if there is none.
func (r *request) userText() string {
	i := r.lastUser()
	if i < 0 {
		return ""
	}
	return r.Messages[i].text()
}

const (
	messageTokens = 4 // overhead of a message
	bytesPerToken = 4
)

// estimate guesses the tokens of a text from its bytes.
func estimate(bytes int) int64 { return int64((bytes + bytesPerToken - 1) / bytesPerToken) }
