package imports

import (
	"encoding/json"
	"path"
	"strings"

	"example.org/parley"
)

// This file makes messages of what the older formats have in common: a text with its role, time and tool use.

// said is an entry of an older file.
type said struct {
	role    parley.Role
	text    string
	at      parley.Time
	agent   string // type of the agent that wrote it
	usage   *parley.Usage
	hidden  bool
	round   int
	beside  json.RawMessage // what else the entry has
	tool    *toolUse
	pointer string
}

// toolUse is a tool call that an entry tells of.
type toolUse struct {
	name          string
	input, result json.RawMessage // nil: missing
}

// author names who wrote an entry. It is text: no principal is meant.
func (e *said) author() parley.Author {
	switch {
	case e.role == parley.RoleUser:
		return parley.Author{Kind: parley.AuthorPerson, Name: "user"}
	case e.agent != "":
		return parley.Author{Kind: parley.AuthorAgent, Name: e.agent}
	}
	return parley.Author{Kind: parley.AuthorAgent, Name: string(e.role)}
}

// add appends an entry's messages: its text, and the call and result of its tool.
func (s *Session) add(f *file, e *said) error {
	content, err := contentOf(e.role, e.text)
	if err != nil {
		return f.wrong(e.pointer+"/content", "%s", withoutField(err))
	}
	message := parley.Message{
		ID: parley.NewID(), Role: e.role, Status: parley.MessageCompleted, Author: e.author(), Content: content,
		Internal: e.hidden, AgentType: e.agent, Iteration: e.round, Usage: e.usage, Metadata: e.beside,
		ChainVersion: parley.ChainVersion, CreatedAt: e.at,
	}
	if e.usage != nil {
		s.Tokens.Add(*e.usage)
	}
	s.Messages = append(s.Messages, message)
	if e.tool != nil {
		if err := s.addTool(f, e); err != nil {
			return err
		}
	}
	if len(s.Messages) > MaxMessages {
		return f.wrong(e.pointer, "makes more than %d messages; split the file", MaxMessages)
	}
	return nil
}

func contentOf(role parley.Role, text string) (json.RawMessage, error) {
	switch role {
	case parley.RoleUser:
		return parley.EncodeContent(parley.UserContent{Text: text})
	case parley.RoleAssistant:
		return parley.EncodeContent(parley.AssistantContent{Text: text})
	}
	return parley.EncodeContent(parley.TextContent{Text: text})
}

// addTool appends a call and, if there is one, its result.
func (s *Session) addTool(f *file, e *said) error {
	id := parley.NewID().String()
	call := parley.ToolCallContent{ID: id, Name: e.tool.name, Arguments: e.tool.input}
	switch {
	case e.tool.input == nil:
		call.Arguments = json.RawMessage("{}")
	case e.tool.input[0] != '{':
		call.Arguments, call.ArgumentsText = json.RawMessage("null"), string(e.tool.input)
	}
	content, err := parley.EncodeContent(call)
	if err != nil {
		return f.wrong(e.pointer, "has an unreadable tool input")
	}
	message := parley.Message{
		ID: parley.NewID(), Role: parley.RoleToolCall, Status: parley.MessageCompleted,
		Author:  parley.Author{Kind: parley.AuthorAgent, Name: e.agent},
		Content: content, ToolCallID: id, ToolName: e.tool.name, Internal: e.hidden, AgentType: e.agent,
		Iteration: e.round, ChainVersion: parley.ChainVersion, CreatedAt: e.at,
	}
	s.Messages = append(s.Messages, message)
	if e.tool.result == nil {
		return nil
	}
	message.ID, message.Role = parley.NewID(), parley.RoleToolResult
	message.Content, err = parley.EncodeContent(parley.ToolResultContent{Result: e.tool.result, Success: true})
	if err == nil {
		err = parley.CheckJSON(message.Content)
	}
	if err != nil {
		return f.wrong(e.pointer, "has a tool result that nests too deep")
	}
	s.Messages = append(s.Messages, message)
	return nil
}

// textOf takes a content: a string, or a list of {type: "text", text}. Other blocks are kept as JSON.
func (m members) textOf(name string) (string, error) {
	at := m.pointer + "/" + name
	raw := m.take(name)
	if len(raw) == 0 || raw[0] != '[' {
		return decode[string](m.file, at, raw)
	}
	blocks, err := decode[[]json.RawMessage](m.file, at, raw)
	if err != nil {
		return "", err
	}
	texts := make([]string, len(blocks))
	for i, raw := range blocks {
		var block struct{ Type, Text string }
		if texts[i] = string(raw); json.Unmarshal(raw, &block) == nil && block.Type == "text" {
			texts[i] = block.Text
		}
	}
	return strings.Join(texts, "\n\n"), nil
}

// key is the session key that type, feature and task make; "" without a feature.
func key(kind, feature, task string) string {
	if feature == "" {
		return ""
	}
	return parley.KeyFor(kind, feature, task)
}

// between returns the directory in a path that follows, or comes before, a named one: the older programs kept
// .dagent-worktrees/FEATURE/.dagent/chat.json and …/nodes/TASK/session.json.
func between(name, after string) string {
	parts := strings.Split(path.Clean(strings.ReplaceAll(name, `\`, "/")), "/")
	for i := range len(parts) - 1 {
		if parts[i] == after && i+2 <= len(parts)-1 {
			return parts[i+1]
		}
	}
	return ""
}

// end sets the session's times and status from its messages and what the file says.
func (s *Session) end(created, updated parley.Time) {
	s.CreatedAt, s.UpdatedAt = created, updated
	if n := len(s.Messages); n > 0 {
		if s.CreatedAt == 0 {
			s.CreatedAt = s.Messages[0].CreatedAt
		}
		s.UpdatedAt = max(s.UpdatedAt, s.Messages[n-1].CreatedAt)
		for i := range s.Messages {
			if s.Title == "" && s.Messages[i].Role == parley.RoleUser && !s.Messages[i].Internal {
				text, _ := parley.PlainText(s.Messages[i].Content)
				s.Title = parley.TitleFrom(text)
			}
		}
	}
	s.UpdatedAt = max(s.UpdatedAt, s.CreatedAt)
	if s.Status == "" && len(s.Messages) > 0 {
		s.Status = parley.SessionCompleted
	}
}

// keep puts what a file says beside its messages into the session's metadata.
func (s *Session) keep(m members) (err error) {
	s.Metadata, err = m.rest()
	return err
}
