package wire

import (
	"encoding/json"
	"strings"

	"example.org/parley"
	"example.org/parley/model"
)

// CallData is the provider data of a tool call: the provider's own id and text, so that the next request can repeat the
// same bytes.
type CallData struct {
	ID        string          `json:"id"`
	Arguments string          `json:"arguments"`       // exact text, not always JSON
	Extra     json.RawMessage `json:"extra,omitempty"` // what the provider wants back with the call
}

// Bytes encodes the data: equal data give equal bytes.
func (d CallData) Bytes() []byte {
	b := parley.AppendJSONString([]byte(`{"id":`), d.ID)
	b = parley.AppendJSONString(AppendField(b, "arguments"), d.Arguments)
	if len(d.Extra) > 0 {
		b = append(AppendField(b, "extra"), d.Extra...)
	}
	return append(b, '}')
}

// ReadCallData reads the output of Bytes. ok is false for anything else.
func ReadCallData(raw []byte) (data CallData, ok bool) {
	if len(raw) == 0 || json.Unmarshal(raw, &data) != nil {
		return CallData{}, false
	}
	return data, true
}

// CallIDs maps Parley's call ids to those in one request: the provider's own at their first use, Parley's if the
// provider repeated one or gave none. It lives for one Encode.
type CallIDs struct {
	shown map[string]string // by Parley's id
	used  map[string]bool   // ids in the request
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

// Result returns the id of the call that a result answers; CodeInvalid if the request shows no such call before it.
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
