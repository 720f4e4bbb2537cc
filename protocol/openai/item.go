package openai

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"example.org/parley"
)

// The prefixes of ids. What stands behind one is an id of the record: nothing is remembered for this protocol.
const (
	responsePrefix     = "resp_" // the message that began or resumed the turn
	conversationPrefix = "conv_" // the session
	messagePrefix      = "msg_"  // a message, like those below
	reasoningPrefix    = "rs_"
	callPrefix         = "fc_"
	outputPrefix       = "fco_"
)

// The states of a response and of its items.
const (
	statusQueued     = "queued"
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
	statusCancelled  = "cancelled"
)

// idOf reads an id of one of the kinds; zero for anything else.
func idOf(text string, prefixes ...string) parley.ID {
	for _, prefix := range prefixes {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			id, _ := parley.ParseID(rest) // zero if it is none
			return id
		}
	}
	return parley.ID{}
}

// The items. Each has an id. A message's phase and a reasoning's encrypted content, which no item has, may be missing
// but not null.
type (
	messageItem struct {
		ID      string `json:"id"`
		Type    string `json:"type"`
		Status  string `json:"status"`
		Role    string `json:"role"`
		Content []any  `json:"content"`
	}
	reasoningItem struct {
		ID      string `json:"id"`
		Type    string `json:"type"`
		Status  string `json:"status"`
		Summary []any  `json:"summary"`
		Content []any  `json:"content"`
	}
	callItem struct {
		ID        string `json:"id"`
		Type      string `json:"type"`
		Status    string `json:"status"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	outputItem struct {
		ID     string `json:"id"`
		Type   string `json:"type"`
		Status string `json:"status"`
		CallID string `json:"call_id"`
		Output string `json:"output"`
	}
)

// The parts of items.
type (
	outputText struct {
		Type        string       `json:"type"`
		Text        string       `json:"text"`
		Annotations []annotation `json:"annotations"`
		Logprobs    []any        `json:"logprobs"`
	}
	plainText struct { // input_text and reasoning_text
		Type string `json:"type"`
		Text string `json:"text"`
	}
	refusalPart struct {
		Type    string `json:"type"`
		Refusal string `json:"refusal"`
	}
	imagePart struct {
		Type     string  `json:"type"`
		Detail   string  `json:"detail"`
		FileID   *string `json:"file_id"`
		ImageURL *string `json:"image_url"`
	}
	filePart struct {
		Type     string `json:"type"`
		FileID   string `json:"file_id"`
		Filename string `json:"filename"`
	}
	annotation struct {
		Type  string `json:"type"`
		URL   string `json:"url"`
		Title string `json:"title"`
		Start int    `json:"start_index"`
		End   int    `json:"end_index"`
	}
)

func newOutputText(text string, annotations []annotation) outputText {
	if annotations == nil {
		annotations = []annotation{}
	}
	return outputText{"output_text", text, annotations, []any{}}
}

// annotations returns the web pages that a text cites; the protocol counts characters.
func annotations(content *parley.AssistantContent) []annotation {
	var cited []annotation
	for i := range content.Parts {
		p := &content.Parts[i]
		for _, c := range p.Citations {
			if c.URL != "" && c.Start >= 0 && c.Start <= c.End && c.End <= len(p.Text) {
				cited = append(cited, annotation{
					"url_citation", c.URL, c.Title, utf8.RuneCountInString(p.Text[:c.Start]),
					utf8.RuneCountInString(p.Text[:c.End]),
				})
			}
		}
	}
	return cited
}

// itemStatus is the state of a message's items.
func itemStatus(of parley.MessageStatus) string {
	switch of {
	case parley.MessageCompleted:
		return statusCompleted
	case parley.MessageStreaming, parley.MessageQueued:
		return statusInProgress
	}
	return statusIncomplete
}

func newMessageItem(id parley.ID, role, status string, content ...any) *messageItem {
	if content == nil {
		content = []any{}
	}
	return &messageItem{ID: messagePrefix + id.String(), Type: "message", Status: status, Role: role, Content: content}
}

func newReasoningItem(id parley.ID, status string, content ...any) *reasoningItem {
	if content == nil {
		content = []any{}
	}
	return &reasoningItem{
		ID: reasoningPrefix + id.String(), Type: "reasoning", Status: status, Summary: []any{}, Content: content,
	}
}

func newCallItem(id parley.ID, status string, content *parley.ToolCallContent) *callItem {
	item := &callItem{
		callPrefix + id.String(),
		"function_call",
		status,
		content.ID,
		content.Name,
		content.ArgumentsText,
	}
	if len(content.Arguments) > 0 && string(content.Arguments) != "null" {
		item.Arguments = string(content.Arguments)
	}
	return item
}

// itemsOf returns the items that a message of the record is; none for a summary and other internal ones.
func itemsOf(m *parley.Message) (items []any, err error) {
	if m.Internal {
		return nil, nil
	}
	status := itemStatus(m.Status)
	switch m.Role {
	case parley.RoleUser:
		content, err := userParts(m.Content)
		if err != nil {
			return nil, err
		}
		return []any{newMessageItem(m.ID, "user", status, content...)}, nil
	case parley.RoleAssistant:
		return assistantItems(m, status)
	case parley.RoleToolCall:
		var content parley.ToolCallContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			return nil, err
		}
		return []any{newCallItem(m.ID, status, &content)}, nil
	case parley.RoleToolResult:
		var content parley.ToolResultContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			return nil, err
		}
		return []any{&outputItem{
			outputPrefix + m.ID.String(), "function_call_output", status, m.ToolCallID, resultText(&content),
		}}, nil
	}
	return nil, nil
}

// assistantItems returns the reasoning and the message of an assistant's row.
func assistantItems(m *parley.Message, status string) (items []any, err error) {
	var content parley.AssistantContent
	if err := content.UnmarshalJSON(m.Content); err != nil {
		return nil, err
	}
	if content.Reasoning != "" {
		items = append(items, newReasoningItem(m.ID, status, plainText{"reasoning_text", content.Reasoning}))
	}
	var parts []any
	if content.Text != "" {
		parts = append(parts, newOutputText(content.Text, annotations(&content)))
	}
	if content.Refusal != "" {
		parts = append(parts, refusalPart{"refusal", content.Refusal})
	}
	if len(parts) > 0 {
		items = append(items, newMessageItem(m.ID, "assistant", status, parts...))
	}
	return items, nil
}

// userParts returns the parts of a user's message.
func userParts(raw json.RawMessage) (parts []any, err error) {
	var content parley.UserContent
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, err
	}
	if len(content.Parts) == 0 {
		return []any{plainText{"input_text", content.Text}}, nil
	}
	for i := range content.Parts {
		p := &content.Parts[i]
		id := p.FileID.String()
		switch {
		case p.Type == parley.PartText:
			parts = append(parts, plainText{"input_text", p.Text})
		case p.Type == parley.PartLink:
			parts = append(parts, imagePart{Type: "input_image", Detail: "auto", ImageURL: &p.URL})
		case p.Type == parley.PartImage:
			parts = append(parts, imagePart{Type: "input_image", Detail: "auto", FileID: &id})
		case p.HoldsFile():
			parts = append(parts, filePart{"input_file", id, p.Name})
		}
	}
	return parts, nil
}

// resultText returns a result as a text: its JSON if it is not one.
func resultText(content *parley.ToolResultContent) string {
	if content.Error != nil {
		return *content.Error
	}
	var text string
	if json.Unmarshal(content.Result, &text) == nil {
		return text
	}
	if len(content.Result) == 0 {
		encoded, err := parley.EncodeJSON(content.Parts)
		if err != nil {
			return ""
		}
		return string(encoded)
	}
	return string(content.Result)
}
