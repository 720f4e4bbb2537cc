package words

import (
	"bytes"
	"encoding/json"
	"strings"

	"example.org/parley"
)

// TextOf returns the searchable text of a message: the text of users, assistants (including refusals, not reasoning),
// summaries and imported system messages; for a tool call its tool and the strings in its arguments, for a result the
// strings in it and the error. Each part has lines of its own.
func TextOf(role parley.Role, toolName string, content []byte) string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	switch role {
	case parley.RoleUser:
		var c parley.UserContent
		if text, plain := parley.PlainText(content); plain {
			add(text)
		} else if json.Unmarshal(content, &c) == nil {
			add(c.Text)
			parts = append(parts, c.Links...)
		}
	case parley.RoleAssistant:
		var c parley.AssistantContent
		if text, plain := parley.PlainText(content); plain {
			add(text)
		} else if json.Unmarshal(content, &c) == nil {
			add(c.Text)
			add(c.Refusal)
		}
	case parley.RoleToolCall:
		var c parley.ToolCallContent
		if json.Unmarshal(content, &c) == nil {
			add(c.Name)
			parts = appendStrings(parts, c.Arguments)
			add(c.ArgumentsText)
		}
	case parley.RoleToolResult:
		var c parley.ToolResultContent
		if json.Unmarshal(content, &c) == nil {
			add(toolName)
			if c.Error != nil {
				add(*c.Error)
			}
			for i := range c.Parts {
				if c.Parts[i].Type == parley.PartObject {
					parts = appendStrings(parts, c.Parts[i].Object)
				} else {
					add(c.Parts[i].Plain())
				}
			}
		}
	default:
		var c parley.TextContent
		if json.Unmarshal(content, &c) == nil {
			add(c.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// appendStrings adds the strings of a JSON value in order, without names of fields, until it has more than is searched
// of a message.
func appendStrings(parts []string, raw json.RawMessage) []string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	size := 0
	var inside []bool // for each open value: whether it is an object
	name := false     // the next token is the name of a field
	for size < MaxTextBytes {
		token, err := decoder.Token()
		if err != nil {
			break
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				inside = append(inside, t == '{')
			} else {
				inside = inside[:len(inside)-1]
			}
			name = len(inside) > 0 && inside[len(inside)-1]
			continue
		case string:
			if !name && t != "" {
				parts, size = append(parts, t), size+len(t)
			}
		}
		name = len(inside) > 0 && inside[len(inside)-1] && !name
	}
	return parts
}

// Clipped returns the searched beginning of a text.
func Clipped(text string) string {
	if len(text) <= MaxTextBytes {
		return text
	}
	return strings.TrimSuffix(parley.Clip(text, MaxTextBytes), "…")
}
