package words

import (
	"bytes"
	"encoding/json"
	"strings"

	"example.org/parley"
)

// TextOf is what of a message can be found and shown: the text of users, assistants
// (a refusal too, reasoning not), summaries and imported system messages; of a tool
// call its tool and the strings in its arguments, of a result the strings in it and
// the error. Parts stand in lines of their own.
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

// appendStrings adds the strings of a JSON value in their order, names of fields
// left out, until there is more than a message is searched for.
func appendStrings(parts []string, raw json.RawMessage) []string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	size := 0
	var inside []bool // of each open value: an object
	name := false     // what comes next is the name of a field
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

// Clipped is the beginning of a text that is searched.
func Clipped(text string) string {
	if len(text) <= MaxTextBytes {
		return text
	}
	return strings.TrimSuffix(parley.Clip(text, MaxTextBytes), "…")
}
