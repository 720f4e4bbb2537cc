package telemetry

import (
	"encoding/json"
	"strconv"

	"example.org/parley"
	"example.org/parley/model"
)

// spanMessage is a message in the conventions' JSON form.
type spanMessage struct {
	Role   string     `json:"role"`
	Parts  []spanPart `json:"parts"`
	Finish string     `json:"finish_reason,omitempty"`
}

type spanPart struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  string          `json:"response,omitempty"`
}

// inputMessages returns a request as gen_ai.input.messages.
func inputMessages(request *model.Request) string {
	messages := make([]spanMessage, len(request.Messages))
	for i := range request.Messages {
		message := &request.Messages[i]
		messages[i] = spanMessage{Role: string(message.Role), Parts: spanParts(message.Parts)}
	}
	return encoded(messages)
}

// outputMessages returns an answer as gen_ai.output.messages.
func outputMessages(parts []model.Part, finish string) string {
	return encoded([]spanMessage{{Role: string(model.RoleAssistant), Parts: spanParts(parts), Finish: finish}})
}

// systemInstructions returns a system prompt as gen_ai.system_instructions.
func systemInstructions(text string) string {
	return encoded([]spanPart{{Type: "text", Content: text}})
}

func spanParts(parts []model.Part) []spanPart {
	out := make([]spanPart, len(parts))
	for i := range parts {
		part := &parts[i]
		out[i] = spanPart{Type: string(part.Kind)}
		switch part.Kind {
		case model.PartToolCall:
			out[i].ID, out[i].Name = part.CallID, part.Name
			if json.Valid(part.Arguments) {
				out[i].Arguments = part.Arguments
			}
		case model.PartToolResult:
			out[i].Type, out[i].ID, out[i].Response = "tool_call_response", part.CallID, part.Text
		case model.PartImage: // its bytes are in the record
			out[i].Name, out[i].Content = part.Name, part.MediaType+" "+strconv.Itoa(
				part.Width,
			)+"x"+strconv.Itoa(
				part.Height,
			)
		default:
			out[i].Content = part.Text
		}
	}
	return out
}

// encoded returns JSON, cut at MaxContentBytes: then it is no longer complete JSON.
func encoded[T any](value T) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return parley.Clip(string(raw), MaxContentBytes)
}
