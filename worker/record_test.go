package worker

import (
	"encoding/json"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/store"
)

// line is a short form of a message: role, status, and text.
type line struct {
	Role   parley.Role
	Status parley.MessageStatus
	Says   string
}

// record returns a session's messages in short form.
func (r *rig) record(sessionID parley.ID) []line {
	r.Helper()
	var lines []line
	for _, m := range r.messages(sessionID) {
		lines = append(lines, line{m.Role, m.Status, string(m.Content)})
		switch m.Role {
		case parley.RoleUser:
			var content parley.UserContent
			r.must(json.Unmarshal(m.Content, &content))
			lines[len(lines)-1].Says = content.Text
		case parley.RoleAssistant:
			var content parley.AssistantContent
			r.must(json.Unmarshal(m.Content, &content))
			parts := []string{content.Reasoning, content.Text, content.Refusal}
			lines[len(lines)-1].Says = strings.Join(
				slices.DeleteFunc(parts, func(s string) bool { return s == "" }),
				"|",
			)
		case parley.RoleToolCall:
			var content parley.ToolCallContent
			r.must(json.Unmarshal(m.Content, &content))
			lines[len(lines)-1].Says = content.Name + " " + string(content.Arguments) + content.ArgumentsText
		case parley.RoleToolResult:
			var content parley.ToolResultContent
			r.must(json.Unmarshal(m.Content, &content))
			lines[len(lines)-1].Says = string(content.Result)
			if content.Error != nil {
				lines[len(lines)-1].Says = *content.Error
			}
		}
	}
	return lines
}

func (r *rig) messages(sessionID parley.ID) []parley.Message {
	r.Helper()
	messages, err := r.store.Messages(r.Context(), r.scope, sessionID, store.MessageQuery{Limit: parley.MaxPage})
	r.must(err)
	r.whole(len(messages), parley.MaxPage)
	return messages
}

// callLog returns the calls of a session, oldest first.
func (r *rig) callLog(sessionID parley.ID) []parley.Call {
	r.Helper()
	log, err := r.store.Calls(r.Context(), r.scope, sessionID, store.CallQuery{Ascending: true, Limit: parley.MaxPage})
	r.must(err)
	r.whole(len(log), parley.MaxPage)
	return log
}

// whole fails when a list may go on behind its page: what a test checks would not be all.
func (r *rig) whole(length, limit int) {
	r.Helper()
	if length >= limit {
		r.Fatalf("a page of %d is not the whole list", limit)
	}
}
