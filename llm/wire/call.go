package wire

import (
	"encoding/json"
	"strings"

	"example.org/parley"
	"example.org/parley/model"
)

// CallData is the provider data of a tool call: what its provider named it and
// wrote, so that the next request can say the same bytes.
type CallData struct {
	ID        string          `json:"id"`
	Arguments string          `json:"arguments"`       // exact text, not always JSON
	Extra     json.RawMessage `json:"extra,omitempty"` // what the provider wants back with the call
}

// Bytes are the data as stored: the same data give the same bytes.
func (d CallData) Bytes() []byte {
	b := parley.AppendJSONString([]byte(`{"id":`), d.ID)
	b = parley.AppendJSONString(AppendField(b, "arguments"), d.Arguments)
	if len(d.Extra) > 0 {
		b = append(AppendField(b, "extra"), d.Extra...)
	}
	return append(b, '}')
}

// ReadCallData reads what Bytes wrote. ok is false for anything else.
func ReadCallData(raw []byte) (data CallData, ok bool) {
	if len(raw) == 0 || json.Unmarshal(raw, &data) != nil {
		return CallData{}, false
	}
	return data, true
}

// CallIDs maps Parley's call ids to those that one request shows its provider:
// the provider's own at their first use, Parley's where the provider used one
// twice or gave none. It lives for one Encode.
type CallIDs struct {
	shown map[string]string // by Parley's id
	used  map[string]bool   // ids that the request has
}

// Call names a call that the request is about to show.
func (c *CallIDs) Call(own, provider string) string {
	if c.shown == nil {
		c.shown, c.used = map[string]string{}, map[string]bool{}
	}
	id := provider
	if id == "" || c.used[id] {
		id = own
	}
	c.shown[own], c.used[id] = id, true
	return id
}

// Result names the call that a result answers; CodeInvalid when the request
// shows none such before it.
func (c *CallIDs) Result(own string) (string, error) {
	id, ok := c.shown[own]
	if !ok {
		return "", parley.InvalidField(
			"messages",
			"a tool result answers call %q, which is not before it",
			parley.Clip(own, 64),
		)
	}
	return id, nil
}

// JoinText joins the texts of a message with a blank line between them.
func JoinText(parts []model.Part) string {
	var texts []string
	for _, part := range parts {
		if part.Kind == model.PartText && part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}
