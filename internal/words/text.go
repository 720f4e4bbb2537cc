package words

import (
	"bytes"
	"encoding/json"
	"slices"
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
	return strings.Clone(strings.TrimSuffix(parley.Clip(text, MaxTextBytes), "…")) // the rest is not kept with it
}

// BeginningOf is the Clipped text of a content of which only the beginning may be there.
func BeginningOf(role parley.Role, toolName string, beginning []byte) string {
	return Clipped(TextOf(role, toolName, closed(beginning)))
}

// closed is the beginning of a JSON value as a value of its own: a string that is cut ends
// where it is, and what else is cut is left out.
func closed(beginning []byte) []byte {
	var open []byte // the brackets that close what is open
	whole := 0      // as far as closing them makes a value
	name := false   // what comes next is the name of a field
	for i := 0; i < len(beginning); i++ {
		switch c := beginning[i]; c {
		case '{', '[':
			open = append(open, c+2) // } and ] stand two behind them
			whole, name = i+1, c == '{'
		case '}', ']':
			if len(open) == 0 {
				return beginning[:whole]
			}
			open = open[:len(open)-1]
			whole = i + 1
		case ',':
			whole, name = i, len(open) > 0 && open[len(open)-1] == '}'
		case ':':
			name = false
		case '"':
			end, uncut := endOfString(beginning, i+1)
			if end == len(beginning) && !name {
				return ended(append(slices.Clone(beginning[:uncut]), '"'), open)
			}
			if i = end; !name {
				whole = i + 1
			}
		}
	}
	return ended(slices.Clone(beginning[:whole]), open)
}

// ended closes what is open of a JSON value.
func ended(value, open []byte) []byte {
	slices.Reverse(open)
	return append(value, open...)
}

// endOfString is where the quote stands that ends a JSON string. Of one that is cut it is
// the length of the text, and uncut how far the string goes without an escape that is cut.
func endOfString(text []byte, from int) (end, uncut int) {
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i, i
		case '\\':
			length := len(`\n`)
			if i+1 < len(text) && text[i+1] == 'u' {
				length = len(`\u0000`)
			}
			if i+length > len(text) {
				return len(text), i
			}
			i += length - 1
		}
	}
	return len(text), len(text)
}
