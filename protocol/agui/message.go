package agui

import (
	"encoding/json"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
)

// The bounds of what is read of a thread, or of a turn.
const (
	maxRecordPages = 32
	maxRecordBytes = 2 * parley.MaxPageBytes // of content; the row that reaches it is the last

	recordHolds = 3 // times its content, a row takes: in the record's form, in the client's, and on the wire
)

// activitySources is the type of the activities that name the web pages of an answer.
const activitySources = "parley.sources"

// shown is a message as clients keep it.
type shown struct {
	ID       string          `json:"id"`
	Role     string          `json:"role"`
	Content  json.RawMessage `json:"content,omitempty"`
	Calls    []call          `json:"toolCalls,omitempty"`
	CallID   string          `json:"toolCallId,omitempty"`
	Error    string          `json:"error,omitempty"`
	Activity string          `json:"activityType,omitempty"`

	key  textKey // of a text
	text string
}

// call is a tool call of a message. Each call is a message of its own, with the id that the record gave it.
type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// textKey names a text that grows.
type textKey struct {
	message parley.ID
	kind    parley.ContentKind
}

// appendTo appends the id of the message that has the text.
func (k textKey) appendTo(to []byte) []byte {
	to = k.message.AppendText(to)
	if k.kind == parley.KindReasoning {
		to = append(to, "-reasoning"...)
	}
	return to
}

func (k textKey) String() string { return string(k.appendTo(nil)) }

// shownOf returns a row of the record as clients keep it; nothing for rows that they do not.
func shownOf(m *parley.Message) ([]shown, error) {
	if m.Internal || m.Status == parley.MessageFailed || m.Status == parley.MessageStreaming {
		return nil, nil
	}
	switch m.Role {
	case parley.RoleUser:
		made, err := ownOf(m)
		return []shown{made}, err
	case parley.RoleAssistant:
		var content parley.AssistantContent
		if err := content.UnmarshalJSON(m.Content); err != nil {
			return nil, err
		}
		return saidOf(m.ID, &content), nil
	case parley.RoleToolCall:
		var content parley.ToolCallContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			return nil, err
		}
		made := call{ID: content.ID, Type: "function"}
		made.Function.Name, made.Function.Arguments = content.Name, content.ArgumentsText
		if content.ArgumentsText == "" && len(content.Arguments) > 0 {
			made.Function.Arguments = string(content.Arguments)
		}
		return []shown{{ID: m.ID.String(), Role: roleAssistant, Calls: []call{made}}}, nil
	case parley.RoleToolResult:
		var content parley.ToolResultContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			return nil, err
		}
		made := shown{ID: idOf(m), Role: roleTool, CallID: m.ToolCallID}
		text := resultText(&content)
		if !content.Success {
			made.Error = parley.ValueOf(content.Error)
			text = made.Error
		}
		made.Content = parley.AppendJSONString(nil, text)
		return []shown{made}, nil
	}
	return nil, nil
}

// ownOf returns a message of the user.
func ownOf(m *parley.Message) (shown, error) {
	made := shown{ID: idOf(m), Role: roleUser}
	var content parley.UserContent
	if err := json.Unmarshal(m.Content, &content); err != nil {
		return made, err
	}
	var parts []part
	for i := range content.Parts {
		switch p := &content.Parts[i]; {
		case p.Type == parley.PartText:
			parts = append(parts, part{Type: partText, Text: p.Text})
		case p.HoldsFile():
			parts = append(parts, part{Type: kindOf(p.MediaType), Source: &source{
				Type: sourceURL, Value: filePath + p.FileID.String() + filePathEnd, MediaType: p.MediaType,
			}})
		case p.Type == parley.PartLink:
			parts = append(parts, part{Type: partDocument, Source: &source{Type: sourceURL, Value: p.URL}})
		}
	}
	var err error
	if len(parts) == 1 && parts[0].Type == partText {
		made.Content = parley.AppendJSONString(nil, parts[0].Text)
	} else if len(parts) > 0 {
		made.Content, err = parley.EncodeJSON(parts)
	} else {
		made.Content = json.RawMessage(`""`)
	}
	return made, err
}

// kindOf returns the type of a part with bytes of a media type.
func kindOf(mediaType string) string {
	switch kind, _, _ := strings.Cut(mediaType, "/"); kind {
	case partImage, partAudio, partVideo:
		return kind
	}
	return partDocument
}

// saidOf returns what an assistant said: its reasoning, its text and the sources of that.
func saidOf(id parley.ID, content *parley.AssistantContent) []shown {
	var said []shown
	add := func(role string, kind parley.ContentKind, text string) {
		if text != "" {
			key := textKey{id, kind}
			said = append(said, shown{
				ID: key.String(), Role: role, Content: parley.AppendJSONString(nil, text), key: key, text: text,
			})
		}
	}
	add(roleReasoning, parley.KindReasoning, content.Reasoning)
	text := content.Text
	if text == "" {
		text = content.Refusal
	}
	add(roleAssistant, parley.KindText, text)
	var pages []byte
	for i := range content.Parts {
		for _, cited := range content.Parts[i].Citations {
			page := parley.AppendJSONString([]byte(`{"url":`), cited.URL)
			page = append(parley.AppendJSONString(append(page, `,"title":`...), cited.Title), '}')
			if cited.URL != "" && !strings.Contains(string(pages), string(page)) {
				pages = append(append(pages, ','), page...)
			}
		}
	}
	if len(pages) > 0 {
		pages[0] = '['
		content := append(append([]byte(`{"sources":`), pages...), "]}"...)
		said = append(said, shown{
			ID: id.String() + "-sources", Role: roleActivity, Activity: activitySources, Content: content,
		})
	}
	return said
}

// resultText returns a result as a text: its parts as JSON if it has several.
func resultText(content *parley.ToolResultContent) string {
	var text string
	switch {
	case json.Unmarshal(content.Result, &text) == nil:
		return text
	case len(content.Result) > 0:
		return string(content.Result)
	}
	encoded, err := parley.EncodeJSON(content.Parts)
	if err != nil { // what the record holds always encodes
		return ""
	}
	return string(encoded)
}

// idOf returns the id that a client gave a message; its own if none did.
func idOf(m *parley.Message) string {
	var given note
	if json.Unmarshal(m.Metadata, &given) == nil && given.ID != "" {
		return given.ID
	}
	return m.ID.String()
}

// rows reads the newest rows of the thread's session, oldest first; whole reports that these are all. Their memory is
// counted until the writer frees it.
func (w *writer) rows(list engine.MessageList) (rows []parley.Message, whole bool, err error) {
	list.Paging = engine.Paging{Limit: parley.MaxPage, Order: engine.Descending}
	size := 0
	for range maxRecordPages {
		page, err := w.api.engine.Messages(w.x.R.Context(), w.x.Principal, w.thread.session, list)
		if err != nil {
			return nil, false, err
		}
		before, full := size, false
		for i := range page.Data {
			if full = size >= maxRecordBytes; full {
				break
			}
			size += page.Data[i].Size()
			if page.Data[i].Sequence > 0 {
				rows = append(rows, page.Data[i])
			}
		}
		free, err := w.x.Hold(int64(recordHolds * (size - before)))
		if err != nil {
			return nil, false, err
		}
		w.held = append(w.held, free)
		if whole = page.Next == nil && !full; whole || full {
			break
		}
		list.Cursor = *page.Next
	}
	slices.Reverse(rows)
	return rows, whole, nil
}

// free gives back the memory of rows. It may be called again.
func (w *writer) free() {
	for _, one := range w.held {
		one()
	}
	w.held = nil
}

// snapshot returns all messages of the thread, and the application's state when its user last said something.
func (w *writer) snapshot() (messages []shown, state json.RawMessage, whole bool, err error) {
	rows, whole, err := w.rows(engine.MessageList{})
	if err != nil {
		return nil, nil, false, err
	}
	messages = []shown{} // written as a list if it is empty, too
	for i := range rows {
		made, err := shownOf(&rows[i])
		if err != nil {
			return nil, nil, false, err
		}
		messages = append(messages, made...)
		var given note
		if rows[i].Role == parley.RoleUser && json.Unmarshal(rows[i].Metadata, &given) == nil && given.ID != "" {
			state = given.State
		}
	}
	return messages, state, whole, nil
}
