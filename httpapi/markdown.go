package httpapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
)

// markdown writes the conversation for people: who said what, and tools with their arguments and results, without what
// only the audit shows.
func (e *export) markdown(agent *parley.Agent) {
	title := e.session.Title
	if title == "" {
		title = "Conversation"
	}
	e.write(
		[]byte(
			"# " + oneLine(
				title,
			) + "\n\n" + oneLine(
				agent.Name,
			) + ", begun " + clock(
				e.session.CreatedAt,
			) + ", session `" + e.session.ID.String() + "`\n",
		),
	)
	eachPage(e, func(paging engine.Paging) (engine.Page[parley.Message], error) {
		return e.api.engine.UserMessages(e.r.Context(), e.principal, e.session.ID, engine.MessageList{Paging: paging})
	}, func(messages []parley.Message) {
		var out []byte
		for i := range messages {
			out = appendMarkdown(out, &messages[i])
		}
		e.write(out)
	})
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func clock(at parley.Time) string { return at.Std().Format(time.DateTime) + " UTC" }

// appendMarkdown writes one message. Content that does not have its role's form is shown as it is.
func appendMarkdown(to []byte, m *parley.Message) []byte {
	var user parley.UserContent
	var said parley.AssistantContent
	var call parley.ToolCallContent
	var result parley.ToolResultContent
	switch {
	case m.Role == parley.RoleToolCall && json.Unmarshal(m.Content, &call) == nil:
		arguments := call.ArgumentsText
		if arguments == "" {
			arguments = indented(call.Arguments)
		}
		return appendFenced(append(to, "\n**"+call.Name+"**"+state(m)+"\n"...), arguments)
	case m.Role == parley.RoleToolResult && json.Unmarshal(m.Content, &result) == nil:
		if result.Error != nil {
			return appendFenced(append(to, "\nFailed:\n"...), *result.Error)
		}
		return appendFenced(append(to, "\nResult:\n"...), resultText(&result))
	case json.Unmarshal(m.Content, &said) != nil || json.Unmarshal(m.Content, &user) != nil:
		return appendFenced(append(to, heading(m)...), string(m.Content))
	}
	if said.Text == "" && said.Reasoning == "" && said.Refusal == "" && len(user.Files) == 0 && m.Error == nil {
		return to // an answer that only called tools
	}
	to = append(to, heading(m)...)
	if said.Reasoning != "" {
		to = append(to, "> "+strings.ReplaceAll(strings.TrimSpace(said.Reasoning), "\n", "\n> ")+"\n\n"...)
	}
	if said.Text != "" {
		to = append(to, strings.TrimSpace(said.Text)+"\n"...)
	}
	if said.Refusal != "" {
		to = append(to, "The model declined: "+oneLine(said.Refusal)+"\n"...)
	}
	for _, file := range user.Files {
		to = append(to, "\nFile `"+file+"`\n"...)
	}
	if m.Error != nil {
		to = append(to, "\n*"+oneLine(m.Error.Sentence)+"*\n"...)
	}
	return to
}

func heading(m *parley.Message) string {
	name := m.Author.Name
	switch {
	case m.Role == parley.RoleSummary:
		name = "Summary of what came before"
	case name == "":
		name = string(m.Role)
	}
	return "\n## " + oneLine(name) + ", " + clock(m.CreatedAt) + state(m) + "\n\n"
}

// state names a message's status if it is not completed.
func state(m *parley.Message) string {
	if m.Status == parley.MessageCompleted {
		return ""
	}
	return " (" + string(m.Status) + ")"
}

func indented(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

func resultText(result *parley.ToolResultContent) string {
	if len(result.Result) > 0 && result.Result[0] != '"' {
		return indented(result.Result)
	}
	return result.Plain()
}

// appendFenced writes text between fences that are longer than any in it.
func appendFenced(to []byte, text string) []byte {
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return append(to, "\n"+fence+"\n"+strings.TrimRight(text, "\n")+"\n"+fence+"\n"...)
}

// longestRun is the length of the longest run of a byte.
func longestRun(text string, of byte) (longest int) {
	run := 0
	for i := range len(text) {
		if text[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
