package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"example.org/parley"
)

// foreignProtocol names the hashes of histories among the foreign ids.
const foreignProtocol = "openai-chat"

// history is the conversation that a request sends: earlier messages and new ones. Each position has a hash of
// everything that a client sees up to there: roles, texts and calls. It differs from the record's chain, which also
// covers what no client sees.
type history struct {
	said  []message
	after []parley.Hash // after[i] covers said[:i+1]
	first int           // said[first:] is new: all behind the last answer
	root  parley.Hash   // of the empty history
}

// newHistory hashes what was said to an agent on behalf of a user. Histories of different agents and users never meet.
func newHistory(agent parley.ID, user string, said []message) (history, error) {
	h := history{said: said, after: make([]parley.Hash, len(said))}
	h.root = parley.HashOf(append(agent.AppendText([]byte("chat 1\x00")), "\x00"+user...))
	hash := h.root
	for i := range said {
		hash = said[i].hash(hash)
		h.after[i] = hash
		if said[i].Role == "assistant" {
			h.first = i + 1
		}
	}
	if h.first == len(said) {
		return h, parley.InvalidField(
			"messages",
			"the last message must be of the user or of a tool: an answer is not continued",
		)
	}
	return h, nil
}

// end is the hash of the whole history.
func (h history) end() parley.Hash { return h.after[len(h.after)-1] }

// hash continues a history's hash with a message. Clients trim texts and write arguments anew, so neither counts.
func (m *message) hash(before parley.Hash) parley.Hash {
	seen := struct {
		Role, Text, Refusal, Answers string
		Others, Calls                []string
	}{Role: m.Role, Text: strings.TrimSpace(m.text()), Refusal: strings.TrimSpace(m.refusal()), Answers: m.ToolCallID}
	for i := range m.parts {
		p := &m.parts[i]
		switch {
		case p.ImageURL != nil:
			seen.Others = append(seen.Others, "image", p.ImageURL.URL)
		case p.File != nil:
			seen.Others = append(seen.Others, "file", p.File.Name, p.File.Data)
		case p.Audio != nil:
			seen.Others = append(seen.Others, "audio", p.Audio.Format, p.Audio.Data)
		}
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		arguments, err := parley.CanonicalJSON([]byte(c.Function.Arguments))
		if err != nil {
			arguments = json.RawMessage(c.Function.Arguments)
		}
		seen.Calls = append(seen.Calls, c.ID, c.Function.Name, string(arguments))
	}
	encoded, err := json.Marshal(seen)
	if err != nil { // texts always encode
		panic(err)
	}
	return parley.HashOf(append(before[:], encoded...))
}

// answered is a message as the client will send it again.
func answered(text, refusal string, calls []toolCall) message {
	return message{
		Role: "assistant", parts: []part{{Type: "text", Text: text}}, Refusal: refusal, ToolCalls: calls,
	}
}

// results reports whether everything new answers calls.
func (h history) results() bool {
	for i := h.first; i < len(h.said); i++ {
		if h.said[i].Role != "tool" {
			return false
		}
	}
	return true
}

// content is a call as the record keeps it.
func (c *toolCall) content() parley.ToolCallContent {
	content := parley.ToolCallContent{ID: c.ID, Name: c.Function.Name}
	raw := bytes.TrimSpace([]byte(c.Function.Arguments))
	if len(raw) > 0 && raw[0] == '{' && json.Valid(raw) {
		content.Arguments = raw
	} else {
		content.ArgumentsText = c.Function.Arguments
	}
	return content
}
