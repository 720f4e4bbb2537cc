package editor

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"sync"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
	"example.org/parley/internal/acpwire"
)

// The bounds of what the editor is told.
const (
	maxTitle    = 256     // bytes of a call's title
	maxShown    = 1 << 20 // bytes of a call's result
	maxPicture  = 8 << 20 // bytes of an image of the history
	maxPictures = 32 << 20
)

// view is what the editor was told of a conversation: it is told everything once, whatever is heard twice.
type view struct {
	x *session

	mu       sync.Mutex // guards the rest
	texts    map[shown]int
	grown    map[parley.ID]bool     // messages of the turn
	calls    map[string]bool        // that were told
	ended    map[string]bool        // calls whose result was told
	changes  map[string]callContent // of files, by the calls that make them
	pictures int                    // bytes of images that were told
}

// shown is a text of a message.
type shown struct {
	message parley.ID
	kind    parley.ContentKind
}

func newView(x *session) *view {
	return &view{
		x: x, texts: map[shown]int{}, grown: map[parley.ID]bool{}, calls: map[string]bool{}, ended: map[string]bool{},
		changes: map[string]callContent{},
	}
}

// chunk is a piece of a message.
type chunk struct {
	Kind    string        `json:"sessionUpdate"`
	Content acpwire.Block `json:"content"`
	Message string        `json:"messageId,omitempty"`
}

// callUpdate tells of a call, or of what has become of it.
type callUpdate struct {
	Update    string          `json:"sessionUpdate,omitempty"`
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Status    string          `json:"status,omitempty"`
	Content   []callContent   `json:"content,omitempty"`
	Locations []location      `json:"locations,omitempty"`
	Input     json.RawMessage `json:"rawInput,omitempty"`
	Output    json.RawMessage `json:"rawOutput,omitempty"`
}

type location struct {
	Path string `json:"path"`
}

// callContent is what a call shows: a block, a change of a file or a terminal.
type callContent struct {
	Type     string         `json:"type"`
	Content  *acpwire.Block `json:"content,omitempty"`
	Path     string         `json:"path,omitempty"`
	OldText  *string        `json:"oldText,omitempty"`
	NewText  *string        `json:"newText,omitempty"`
	Terminal string         `json:"terminalId,omitempty"`
}

func textContent(text string) callContent {
	return callContent{Type: "content", Content: &acpwire.Block{Type: acpwire.BlockText, Text: text}}
}

// says tells the editor a text that is no message of the record.
func (v *view) says(text string) {
	v.x.update(chunk{Kind: acpwire.UpdateText, Content: acpwire.Block{Type: acpwire.BlockText, Text: text}})
}

// grows notes that a message is one of the turn's.
func (v *view) grows(message parley.ID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.grown[message] = true
}

// delta tells a piece of a message that streams.
func (v *view) delta(told *event.StepGenerating) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.grown[told.MessageID] && told.Kind != parley.KindArguments {
		v.text(shown{told.MessageID, told.Kind}, told.Offset, told.Delta)
	}
}

// text tells the part of a text that is new.
func (v *view) text(of shown, offset int, text string) {
	fresh := v.texts[of] - offset
	if fresh < 0 || fresh >= len(text) { // a gap: the end of the step has all of it
		return
	}
	v.texts[of] = offset + len(text)
	kind := acpwire.UpdateText
	if of.kind == parley.KindReasoning {
		kind = acpwire.UpdateThought
	}
	v.x.update(chunk{
		Kind: kind, Content: acpwire.Block{Type: acpwire.BlockText, Text: text[fresh:]}, Message: of.message.String(),
	})
}

// settled tells what a step has written, as far as it was not told while it streamed.
func (v *view) settled(ctx context.Context, told *event.Settled) {
	for i := range told.Messages {
		m := &told.Messages[i]
		if m.Status == parley.MessageFailed { // what follows says it again
			continue
		}
		v.message(ctx, &parley.Message{ID: m.MessageID, Role: m.Role, Status: m.Status, Content: m.Content})
	}
}

// message tells a message of the record.
func (v *view) message(ctx context.Context, m *parley.Message) {
	switch m.Role {
	case parley.RoleAssistant:
		var content parley.AssistantContent
		if json.Unmarshal(m.Content, &content) != nil {
			return
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.text(shown{m.ID, parley.KindReasoning}, 0, content.Reasoning)
		text := content.Text
		if text == "" {
			text = content.Refusal
		}
		v.text(shown{m.ID, parley.KindText}, 0, text)
	case parley.RoleToolCall:
		var call parley.ToolCallContent
		if json.Unmarshal(m.Content, &call) == nil {
			v.called(ctx, &call)
		}
	case parley.RoleToolResult:
		v.result(m)
	case parley.RoleUser:
		v.user(ctx, m)
	}
}

// called tells of a call, or of the plan that it is.
func (v *view) called(ctx context.Context, call *parley.ToolCallContent) {
	v.mu.Lock()
	known := v.calls[call.ID]
	v.calls[call.ID] = true
	v.mu.Unlock()
	if known {
		return
	}
	if entries := planOf(call); entries != nil {
		v.mu.Lock()
		v.ended[call.ID] = true // the editor has no call that could end
		v.mu.Unlock()
		v.x.update(struct {
			Kind    string      `json:"sessionUpdate"`
			Entries []planEntry `json:"entries"`
		}{acpwire.UpdatePlan, entries})
		return
	}
	told := v.describe(call.ID, call.Name, call.Arguments)
	told.Update, told.Status = acpwire.UpdateCall, acpwire.StatusPending
	v.shows(ctx, told, call.Name, call.Arguments)
	v.x.update(told)
}

// status tells how far a call has come.
func (v *view) status(call, status string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.ended[call] {
		v.x.update(callUpdate{Update: acpwire.UpdateCallAgain, ID: call, Status: status})
	}
}

// terminal shows a terminal of the editor in a call.
func (v *view) terminal(call, terminal string) {
	v.x.update(callUpdate{
		Update: acpwire.UpdateCallAgain, ID: call, Content: []callContent{{Type: "terminal", Terminal: terminal}},
	})
}

// progress tells what a running call says.
func (v *view) progress(told *event.ToolProgress) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if told.Message != "" && !v.ended[told.ToolCallID] {
		v.x.update(callUpdate{
			Update: acpwire.UpdateCallAgain, ID: told.ToolCallID, Status: acpwire.StatusRuns,
			Content: []callContent{textContent(told.Message)},
		})
	}
}

// completed tells the result of a call.
func (v *view) completed(ctx context.Context, told *event.ToolCompleted) {
	var m parley.Message
	err := v.x.server.patiently(ctx, func() (err error) {
		m, err = v.x.server.api.Message(ctx, told.MessageID)
		return err
	})
	if err == nil {
		v.result(&m)
		return
	}
	status := acpwire.StatusCompleted
	if !told.Success {
		status = acpwire.StatusFailed
	}
	v.status(told.ToolCallID, status)
}

// result tells a result of the record.
func (v *view) result(m *parley.Message) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended[m.ToolCallID] {
		return
	}
	v.ended[m.ToolCallID] = true
	var content parley.ToolResultContent
	if json.Unmarshal(m.Content, &content) != nil {
		return
	}
	told := callUpdate{Update: acpwire.UpdateCallAgain, ID: m.ToolCallID, Status: acpwire.StatusCompleted}
	if len(content.Result) <= maxShown {
		told.Output = content.Result
	}
	text := parley.Clip(content.Plain(), maxShown)
	switch {
	case !content.Success:
		told.Status, text = acpwire.StatusFailed, parley.ValueOf(content.Error)
	case m.ToolName == commandTool: // the editor shows its terminal
		text = ""
	case m.ToolName == writeTool || m.ToolName == projectWrite: // it shows the change
		text = ""
	default:
		if text, told.Content = diffsOf(content.Result, text); len(told.Content) > 0 {
			break
		}
	}
	if text != "" {
		told.Content = append(told.Content, textContent(text))
	}
	v.x.update(told)
}

// user tells what somebody said.
func (v *view) user(ctx context.Context, m *parley.Message) {
	var content parley.UserContent
	if m.Status == parley.MessageCancelled || json.Unmarshal(m.Content, &content) != nil {
		return
	}
	for i := range content.Parts {
		v.x.update(chunk{
			Kind: acpwire.UpdateUser, Content: v.block(ctx, &content.Parts[i]), Message: m.ID.String(),
		})
	}
}

// block is a part of a message as the editor shows it.
func (v *view) block(ctx context.Context, p *parley.Part) acpwire.Block {
	if !p.HoldsFile() {
		if p.Type == parley.PartLink {
			name := p.Title
			if name == "" {
				name = p.URL
			}
			return acpwire.Block{Type: acpwire.BlockLink, URI: p.URL, Name: name}
		}
		return acpwire.Block{Type: acpwire.BlockText, Text: p.Plain()}
	}
	api := v.x.server.api
	link := acpwire.Block{
		Type: acpwire.BlockLink, Name: p.Name, MIMEType: p.MediaType,
		URI: api.URL() + "/v1/files/" + p.FileID.String() + "/content",
	}
	if p.Type != parley.PartImage || v.pictures >= maxPictures {
		return link
	}
	content, err := api.FileContent(ctx, p.FileID)
	if err != nil {
		return link
	}
	defer content.Close() //nolint:errcheck // it was read
	data, err := io.ReadAll(io.LimitReader(content, maxPicture+1))
	if err != nil || len(data) > maxPicture {
		return link
	}
	v.pictures += len(data)
	return acpwire.Block{
		Type: acpwire.BlockImage, MIMEType: p.MediaType, Data: base64.StdEncoding.EncodeToString(data),
	}
}

// replay tells the whole history of a session. What still streams is told by the turn's stream.
func (v *view) replay(ctx context.Context, of *parley.Session) error {
	for m, err := range v.x.server.api.AllMessages(ctx, of.ID, client.MessagesQuery{
		Limit: parley.MaxPage, View: "user",
	}) {
		if err != nil {
			return err
		}
		if m.TurnID == of.TurnID {
			v.grows(m.ID)
		}
		failed := m.Status == parley.MessageFailed && m.Role == parley.RoleAssistant && m.TurnID == of.TurnID
		if m.Status != parley.MessageStreaming && !failed {
			v.message(ctx, &m)
		}
	}
	return nil
}

// planEntry is a step of a plan.
type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// planOf returns the plan that a call is: an agent of the same protocol reports it so. nil for other calls.
func planOf(call *parley.ToolCallContent) (entries []planEntry) {
	var given struct {
		Input []planEntry `json:"input"`
	}
	if !strings.HasSuffix(call.Name, "__plan") || json.Unmarshal(call.Arguments, &given) != nil {
		return nil
	}
	for _, entry := range given.Input {
		switch entry.Priority {
		case "high", "medium", "low":
		default:
			entry.Priority = "medium"
		}
		switch entry.Status {
		case acpwire.StatusPending, acpwire.StatusRuns, acpwire.StatusCompleted:
		default:
			entry.Status = acpwire.StatusPending
		}
		entries = append(entries, entry)
	}
	return entries
}
