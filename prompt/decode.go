package prompt

import (
	"encoding/json"

	"example.org/parley"
)

// contents are the types of contents, by role.
type contents interface {
	parley.UserContent | parley.AssistantContent | parley.ToolCallContent | parley.ToolResultContent |
		parley.TextContent
}

// decode reads a row's content; unreadable content is shown as its raw text (A15).
func decode[C contents](m *parley.Message) C {
	var content C
	if err := json.Unmarshal(m.Content, &content); err == nil {
		return content
	}
	raw, _ := parley.UnreadableContent(m.Role, m.Content)
	var shown C
	if err := json.Unmarshal(raw, &shown); err != nil {
		return content
	}
	return shown
}

// decodeUser, decodeAssistant and textOf are decode for the roles whose content is often only plain text; a long
// conversation has thousands of those.
func decodeUser(m *parley.Message) parley.UserContent {
	if text, plain := parley.PlainText(m.Content); plain {
		return parley.UserContent{Text: text}
	}
	return decode[parley.UserContent](m)
}

func decodeAssistant(m *parley.Message) parley.AssistantContent {
	if text, plain := parley.PlainText(m.Content); plain {
		return parley.AssistantContent{Text: text}
	}
	return decode[parley.AssistantContent](m)
}

func textOf(m *parley.Message) string {
	if text, plain := parley.PlainText(m.Content); plain {
		return text
	}
	return decode[parley.TextContent](m).Text
}
