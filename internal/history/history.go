// Package history recognises conversations that clients of other protocols send again, whole, with each request, and
// begins or resumes the turns that the requests ask for.
//
// The record is authoritative. A history is known by a hash of what a client sees at each of its positions. The hashes
// are foreign ids, and the package stores nothing else (ADR 0091). Each protocol puts its messages into the terms of
// Message, and writes the answer in its own.
package history

import (
	"bytes"
	"encoding/json"
	"strings"

	"example.org/parley"
)

// The roles of messages.
const (
	User      = "user"
	Assistant = "assistant"
	Tool      = "tool"
)

// Message is one of a history, without what is an instruction in the protocol.
type Message struct {
	Member  string // where it stands in the request, for errors, such as messages[3]
	Role    string
	Text    string // all of it
	Refusal string
	// Reasoning is recorded of an answer that the server does not know. It is in no hash: clients may leave it out.
	Reasoning string
	// Parts are those of a user's message or a result that has more than a text. Text counts for the hash alone then.
	Parts  []Part
	Others []string // what the hash covers besides: attachments

	Calls   []parley.ToolCallContent
	Answers string // of a tool: the call that it answers
	Failed  bool   // of a tool: Text is its error
}

// Part is a piece of a user's message: a text, a link, or data that become a file.
type Part struct {
	Member string // where it stands in its message, for errors, such as content[0].image_url
	Text   string
	Link   string // of http or https
	Name   string // of the file
	Data   string // its bytes in base64, or a data URL with them; "" for none
}

// History is the conversation that a request sends: earlier messages and new ones. Each position has a hash of
// everything that a client sees up to there: roles, texts and calls. It differs from the record's chain, which also
// covers what no client sees.
type History struct {
	Said  []Message
	First int           // Said[First:] is new: all behind the last answer
	after []parley.Hash // after[i] covers Said[:i+1]; nil if the client names the session instead
}

// New hashes what was said to an agent on behalf of a user. Histories of different kinds, agents and users never meet.
func New(kind string, agent parley.ID, user string, said []Message) (History, error) {
	h := History{Said: said, after: make([]parley.Hash, len(said))}
	hash := parley.HashOf(append(agent.AppendText([]byte(kind+"\x00")), "\x00"+user...))
	for i := range said {
		hash = said[i].Hash(hash)
		h.after[i] = hash
		if said[i].Role == Assistant {
			h.First = i + 1
		}
	}
	if h.First == len(said) {
		return h, parley.InvalidField(
			"messages",
			"the last message must be of the user or of a tool: an answer is not continued",
		)
	}
	return h, nil
}

// Plain sets the text of a message that was read in parts, which it gives up if there is nothing else.
func (m *Message) Plain() {
	var texts []string
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Data == "" && p.Link == "" {
			texts = append(texts, p.Text)
		}
	}
	m.Text = strings.Join(texts, "\n")
	if len(texts) == len(m.Parts) {
		m.Parts = nil
	}
}

// End is the hash of the whole history.
func (h History) End() parley.Hash { return h.after[len(h.after)-1] }

// results reports whether everything new answers calls.
func (h History) results() bool {
	for i := h.First; i < len(h.Said); i++ {
		if h.Said[i].Role != Tool {
			return false
		}
	}
	return true
}

// Hash continues a history's hash with the message. Clients trim texts and write arguments anew, so neither counts.
func (m *Message) Hash(before parley.Hash) parley.Hash {
	seen := struct {
		Role, Text, Refusal, Answers string
		Others, Calls                []string
	}{m.Role, strings.TrimSpace(m.Text), strings.TrimSpace(m.Refusal), m.Answers, m.Others, nil}
	for i := range m.Calls {
		c := &m.Calls[i]
		text := Arguments(c)
		arguments, err := parley.CanonicalJSON([]byte(text))
		if err != nil {
			arguments = json.RawMessage(text)
		}
		seen.Calls = append(seen.Calls, c.ID, c.Name, string(arguments))
	}
	encoded, err := json.Marshal(seen)
	if err != nil { // texts always encode
		panic(err)
	}
	return parley.HashOf(append(before[:], encoded...))
}

// Call is a call as the record keeps it, of arguments that a client sent as text.
func Call(id, name, arguments string) parley.ToolCallContent {
	content := parley.ToolCallContent{ID: id, Name: name}
	raw := bytes.TrimSpace([]byte(arguments))
	if len(raw) > 0 && raw[0] == '{' && json.Valid(raw) {
		content.Arguments = raw
	} else {
		content.ArgumentsText = arguments
	}
	return content
}

// Arguments returns a call's arguments as the model wrote them.
func Arguments(c *parley.ToolCallContent) string {
	if len(c.Arguments) > 0 && string(c.Arguments) != "null" {
		return string(c.Arguments)
	}
	return c.ArgumentsText
}
