package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
)

// noteMember is the metadata under which a message says which response it began.
const noteMember = "openai.response"

// responseNote is what a response was asked with that its turn's settings do not say.
type responseNote struct {
	Model        string `json:"model"`
	Previous     string `json:"previous,omitempty"`
	Conversation bool   `json:"conversation,omitempty"`
	Background   bool   `json:"background,omitempty"`
	Discarded    bool   `json:"discarded,omitempty"` // not to be stored: it is purged at its end
	Instructed   bool   `json:"instructed,omitempty"`
	Prompt       int    `json:"prompt,omitempty"` // where the instructions begin in the turn's system prompt
	Tools        int    `json:"tools,omitempty"`  // of the turn's tools, the last ones: those of the request
	User         string `json:"user,omitempty"`
	Safety       string `json:"safety_identifier,omitempty"`
	CacheKey     string `json:"prompt_cache_key,omitempty"`
	Truncation   string `json:"truncation,omitempty"`
	Steers       bool   `json:"steers,omitempty"` // it was said to the response before it, over their WebSocket
}

// The bounds of what is read for a response, beside history.MaxAnswerPages.
const (
	maxResponseBytes = 2 * parley.MaxPageBytes

	responseHolds = 2 // times its content, a row takes: in the record's form and in the client's
)

// response is a part of a turn: from the message that began or resumed it until the turn ends, or waits for the outputs
// of the client's functions. Everything about it is in the record; its id is that message's.
type response struct {
	anchor   parley.Message
	settings parley.Settings // of the turn's trigger
	note     responseNote
	metadata map[string]json.RawMessage // of the client
	turn     parley.Turn
	rows     []parley.Message // what the turn said since
	size     int              // bytes of rows
	resumed  bool             // a later response goes on with the turn
	steer    parley.ID        // the message with which that begins; zero for outputs of functions
	heard    []parley.Message // steers before the turn said anything: part of what was asked
	name     string           // id of one that was only prepared; "" for others
	clients  map[string]bool  // tools that clients answer
	event    int64            // the session's last event before the rest was read
}

// noteOf reads what a message says of the response that it began; ok is false if it began none.
func noteOf(m *parley.Message) (note responseNote, metadata map[string]json.RawMessage, ok bool) {
	if json.Unmarshal(m.Metadata, &metadata) != nil {
		return note, nil, false
	}
	raw, ok := metadata[noteMember]
	delete(metadata, noteMember)
	return note, metadata, ok && json.Unmarshal(raw, &note) == nil
}

// resumes reports whether a message is the last output of a request that went on with its turn, or steered it.
func resumes(m *parley.Message) bool {
	if m.TurnID.IsZero() || m.Role != parley.RoleToolResult && m.Role != parley.RoleUser {
		return false
	}
	note, _, noted := noteOf(m)
	return noted && (m.Role == parley.RoleToolResult || note.Steers)
}

// noResponse is the answer for an id that names none.
func noResponse(id string) error {
	return parley.Errorf(parley.CodeNotFound, "Response with id '%s' not found.", parley.Clip(id, 64))
}

// response reads one by its id.
func (a *api) response(x *protocol.Exchange, id string) (*response, error) {
	ctx := x.R.Context()
	if strings.Contains(id, ".") {
		return a.preparedResponse(ctx, x.Principal, id)
	}
	anchor, err := a.engine.Message(ctx, x.Principal, idOf(id, responsePrefix))
	if parley.ErrorCode(err) == parley.CodeNotFound ||
		err == nil && (anchor.TurnID.IsZero() || anchor.Internal || anchor.Marks.SetAside) {
		return nil, noResponse(id)
	}
	if err != nil {
		return nil, err
	}
	session, err := a.engine.Session(ctx, x.Principal, anchor.SessionID)
	if err != nil {
		return nil, err
	}
	r := &response{anchor: anchor, event: session.LastEvent}
	if r.turn, err = a.engine.Turn(ctx, x.Principal, anchor.TurnID); err != nil {
		return nil, err
	}
	trigger := anchor // of any turn: what was asked elsewhere is a response, too
	if r.turn.TriggerMessageID != anchor.ID {
		if !resumes(&anchor) {
			return nil, noResponse(id)
		}
		if trigger, err = a.engine.Message(ctx, x.Principal, r.turn.TriggerMessageID); err != nil {
			return nil, err
		}
	}
	r.settings = trigger.Settings
	r.note, r.metadata, _ = noteOf(&anchor)
	agent, err := a.engine.Agent(ctx, x.Principal, session.AgentID.String())
	if err != nil {
		return nil, err
	}
	r.clients = clientTools(agent.Tools, session.Tools, trigger.Settings.Tools)
	if r.note.Model == "" { // it was asked elsewhere
		r.note.Model = agent.Slug
	}
	return r, a.readRows(ctx, x, r)
}

// clientTools names the tools that a client answers instead of the server, of an agent, its session and its turn.
func clientTools(chosen ...*[]parley.ToolRef) map[string]bool {
	names := map[string]bool{parley.AskUserTool: true}
	for _, tools := range chosen {
		for _, ref := range parley.ValueOf(tools) {
			if ref.Definition != nil {
				names[ref.Name] = true
			}
		}
	}
	return names
}

// readRows reads what the turn said since the response began.
func (a *api) readRows(ctx context.Context, x *protocol.Exchange, r *response) error {
	r.rows, r.size, r.resumed, r.steer, r.heard = nil, 0, false, parley.ID{}, nil
	paging := engine.Paging{Limit: parley.MaxPage}
	for range history.MaxAnswerPages {
		page, err := a.engine.Messages(ctx, x.Principal, r.anchor.SessionID, engine.MessageList{
			Paging: paging, TurnIDs: []parley.ID{r.anchor.TurnID}, From: r.anchor.Sequence + 1,
		})
		if err != nil {
			return err
		}
		for i := range page.Data {
			m := &page.Data[i]
			switch {
			case m.ID == r.anchor.ID:
				r.anchor.Sequence = m.Sequence // it was queued
			case m.Sequence <= r.anchor.Sequence || m.Internal: // also queued ones
			case resumes(m) && m.Role == parley.RoleUser && len(r.rows) == 0:
				r.heard = append(r.heard, *m)
			case resumes(m):
				if r.resumed = true; m.Role == parley.RoleUser {
					r.steer = m.ID
				}
				return nil
			default:
				if m.Role == parley.RoleToolResult { // it is somebody else's
					m.Content = nil
				}
				m.ProviderData = nil
				r.rows = append(r.rows, *m)
				r.size += m.Size()
			}
		}
		if page.Next == nil {
			return nil
		}
		if r.size > maxResponseBytes {
			break
		}
		paging.Cursor = *page.Next
	}
	return parley.Errorf(parley.CodeTooLarge,
		"The turn is too long for one response. Read it in the session %s.", r.anchor.SessionID)
}

// forClient reports whether a turn waits for the outputs of calls that the client sees.
func forClient(reason parley.WaitReason) bool {
	return reason == parley.WaitToolResult || reason == parley.WaitInput
}

// status is the response's.
func (r *response) status() string {
	t := &r.turn
	switch {
	case r.name != "" && t.Status == "":
		return statusCompleted
	case !r.steer.IsZero() && r.last().Role != parley.RoleAssistant: // its answer was still to come
		return statusIncomplete
	case r.resumed, t.Status == parley.TurnWaiting && forClient(t.WaitReason):
		return statusCompleted
	case t.Status == parley.TurnQueued && t.Attempt == 0:
		return statusQueued
	case t.Status == parley.TurnCompleted && r.cut():
		return statusIncomplete
	case t.Status == parley.TurnCompleted:
		return statusCompleted
	case t.Status == parley.TurnFailed:
		return statusFailed
	case t.Status == parley.TurnCancelled:
		return statusCancelled
	}
	return statusInProgress
}

// over reports whether a response in a state never changes.
func over(status string) bool { return status != statusQueued && status != statusInProgress }

// cut reports whether the answer ended at its limit of tokens.
func (r *response) cut() bool {
	for i := len(r.rows) - 1; i >= 0; i-- {
		if r.rows[i].Role == parley.RoleAssistant {
			var about struct {
				Finish parley.FinishReason `json:"finish"`
			}
			return json.Unmarshal(r.rows[i].Metadata, &about) == nil && about.Finish == parley.FinishLength
		}
	}
	return false
}

// shows reports whether a row is part of the output: what the model said, and calls of the client's functions.
func (r *response) shows(m *parley.Message) bool {
	return m.Role == parley.RoleAssistant || m.Role == parley.RoleToolCall && r.clients[m.ToolName]
}

// output returns the response's items.
func (r *response) output() ([]any, error) {
	output := []any{}
	message := -1
	checked := r.settings.Output.Wanted() && r.settings.Output.Retries == nil
	for i := range r.rows {
		m := &r.rows[i]
		if !r.shows(m) || m.Status == parley.MessageFailed || m.Status == parley.MessageStreaming {
			continue
		}
		items, err := itemsOf(m)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			if _, said := item.(*messageItem); said && checked { // earlier ones were not of the schema
				if message >= 0 {
					output = append(output[:message], output[message+1:]...)
				}
				message = len(output)
			}
			output = append(output, item)
		}
	}
	return output, nil
}

// The members of a response that are objects.
type (
	responseError struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	responseIncomplete struct {
		Reason string `json:"reason"`
	}
	responseUsage struct {
		Input        int64 `json:"input_tokens"`
		InputDetails struct {
			Cached     int64 `json:"cached_tokens"`
			CacheWrite int64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		Output        int64 `json:"output_tokens"`
		OutputDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
		Total int64 `json:"total_tokens"`
	}
	textFormat struct {
		Type   string           `json:"type"`
		Name   *string          `json:"name,omitempty"`
		Schema *json.RawMessage `json:"schema,omitempty"`
		Strict *bool            `json:"strict,omitempty"`
	}
	textShape struct {
		Format    textFormat `json:"format"`
		Verbosity string     `json:"verbosity"`
	}
	reasoningShape struct {
		Effort  *string `json:"effort"`
		Summary *string `json:"summary"`
	}
	toolShape struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	}
	named struct {
		ID string `json:"id"`
	}
)

// responseObject is a response in the protocol's shape: every member is there, null without a value.
type responseObject struct {
	ID                string                     `json:"id"`
	Object            string                     `json:"object"`
	CreatedAt         int64                      `json:"created_at"`
	CompletedAt       *int64                     `json:"completed_at"`
	Status            string                     `json:"status"`
	Background        bool                       `json:"background"`
	Store             bool                       `json:"store"`
	Error             *responseError             `json:"error"`
	IncompleteDetails *responseIncomplete        `json:"incomplete_details"`
	Instructions      *string                    `json:"instructions"`
	Conversation      *named                     `json:"conversation"`
	Previous          *string                    `json:"previous_response_id"`
	Model             string                     `json:"model"`
	Output            []any                      `json:"output"`
	Usage             *responseUsage             `json:"usage"`
	Metadata          map[string]json.RawMessage `json:"metadata"`
	MaxOutputTokens   *int                       `json:"max_output_tokens"`
	MaxToolCalls      *int                       `json:"max_tool_calls"`
	ParallelToolCalls bool                       `json:"parallel_tool_calls"`
	PresencePenalty   int                        `json:"presence_penalty"`
	FrequencyPenalty  int                        `json:"frequency_penalty"`
	Prompt            *string                    `json:"prompt"`
	PromptCacheKey    *string                    `json:"prompt_cache_key"`
	CacheRetention    *string                    `json:"prompt_cache_retention"`
	Reasoning         reasoningShape             `json:"reasoning"`
	SafetyIdentifier  *string                    `json:"safety_identifier"`
	ServiceTier       string                     `json:"service_tier"`
	Temperature       float64                    `json:"temperature"`
	Text              textShape                  `json:"text"`
	ToolChoice        any                        `json:"tool_choice"`
	Tools             []toolShape                `json:"tools"`
	TopLogprobs       int                        `json:"top_logprobs"`
	TopP              float64                    `json:"top_p"`
	Truncation        string                     `json:"truncation"`
	User              *string                    `json:"user"`
	AccessPrograms    *string                    `json:"access_programs"`
	Moderation        *string                    `json:"moderation"`
}

// id is the response's.
func (r *response) id() string {
	if r.name != "" {
		return r.name
	}
	return responsePrefix + r.anchor.ID.String()
}

// last is the last message of the response, or the one that began it.
func (r *response) last() *parley.Message {
	if n := len(r.rows); n > 0 {
		return &r.rows[n-1]
	}
	return &r.anchor
}

// object returns the response as it is now. Parameters that nobody has set have the protocol's defaults.
func (r *response) object() (*responseObject, error) {
	s := &r.settings
	o := &responseObject{
		ID: r.id(), Object: "response", CreatedAt: r.anchor.CreatedAt.Std().Unix(), Status: r.status(),
		Background: r.note.Background, Store: !r.note.Discarded, Previous: parley.OrNull(r.note.Previous),
		Model: r.note.Model, Metadata: r.metadata, MaxOutputTokens: s.MaxTokens, ParallelToolCalls: true,
		PromptCacheKey: parley.OrNull(r.note.CacheKey), Reasoning: reasoningShape{Effort: s.ReasoningEffort},
		SafetyIdentifier: parley.OrNull(r.note.Safety), ServiceTier: "default", Temperature: 1, TopP: 1,
		Text: r.text(), ToolChoice: parley.ToolChoiceAuto, Tools: r.tools(), Truncation: "disabled",
		User: parley.OrNull(r.note.User),
	}
	var err error
	if o.Output, err = r.output(); err != nil {
		return nil, err
	}
	if o.Metadata == nil {
		o.Metadata = map[string]json.RawMessage{}
	}
	if r.note.Conversation {
		o.Conversation = &named{conversationPrefix + r.anchor.SessionID.String()}
	}
	if r.note.Truncation != "" {
		o.Truncation = r.note.Truncation
	}
	prompt, at := parley.ValueOf(s.SystemPrompt), r.note.Prompt
	if r.note.Instructed && at >= 0 && at <= len(prompt) {
		o.Instructions = new(strings.ReplaceAll(prompt[at:], "{{{{", "{{"))
	}
	if s.ParallelToolCalls != nil {
		o.ParallelToolCalls = *s.ParallelToolCalls
	}
	if s.Temperature != nil {
		o.Temperature = *s.Temperature
	}
	if s.TopP != nil {
		o.TopP = *s.TopP
	}
	if s.ServiceTier != nil {
		o.ServiceTier = *s.ServiceTier
	}
	if choice := parley.ValueOf(s.ToolChoice); choice == parley.ToolChoiceNone || choice == parley.ToolChoiceRequired {
		o.ToolChoice = choice
	} else if choice != "" && choice != parley.ToolChoiceAuto {
		o.ToolChoice = map[string]string{"type": "function", "name": choice}
	}
	r.end(o)
	return o, nil
}

// end adds what a response has once it is over.
func (r *response) end(o *responseObject) {
	switch o.Status {
	case statusQueued, statusInProgress:
		return
	case statusIncomplete:
		o.IncompleteDetails = &responseIncomplete{"max_output_tokens"}
		if !r.steer.IsZero() {
			o.IncompleteDetails.Reason = "steered"
		}
	case statusFailed:
		o.Error = errorOf(r.turn.Error)
	}
	ended := r.turn.FinishedAt
	if n := len(r.rows); n > 0 && (r.resumed || !r.turn.Status.Finished()) {
		ended = r.rows[n-1].UpdatedAt
	}
	if r.name != "" {
		ended = r.anchor.CreatedAt
	}
	if o.Status != statusCancelled && ended != 0 {
		o.CompletedAt = new(ended.Std().Unix())
	}
	o.Usage = &responseUsage{}
	for i := range r.rows {
		if u := r.rows[i].Usage; u != nil {
			o.Usage.Input += parley.ValueOf(u.InputTokens)
			o.Usage.InputDetails.Cached += parley.ValueOf(u.CachedTokens)
			o.Usage.InputDetails.CacheWrite += parley.ValueOf(u.CacheWriteTokens)
			o.Usage.Output += parley.ValueOf(u.OutputTokens)
			o.Usage.OutputDetails.Reasoning += parley.ValueOf(u.ReasoningTokens)
		}
	}
	o.Usage.Total = o.Usage.Input + o.Usage.Output
}

// errorOf returns why a turn failed in the protocol's few codes.
func errorOf(failure *parley.Failure) *responseError {
	if failure == nil {
		return &responseError{serverError, "The turn failed."}
	}
	e := &responseError{serverError, failure.Sentence}
	switch failure.Class {
	case parley.ClassRateLimit:
		e.Code = "rate_limit_exceeded"
	case parley.ClassContextLength, parley.ClassContentFilter, parley.ClassLimit, parley.ClassSchema:
		e.Code = "invalid_prompt"
	}
	return e
}

// text is the form that was asked for.
func (r *response) text() textShape {
	t := textShape{textFormat{Type: "text"}, "medium"}
	if o := r.settings.Output; o.Wanted() {
		t.Format = textFormat{"json_schema", &o.Name, o.Schema, &o.Strict}
	} else if f := r.settings.ResponseFormat; f != nil {
		t.Format.Type = string(f.Type)
	}
	return t
}

// tools are the functions that the request gave.
func (r *response) tools() []toolShape {
	tools := []toolShape{}
	all := parley.ValueOf(r.settings.Tools)
	for i := max(0, len(all)-r.note.Tools); i < len(all); i++ {
		if d := all[i].Definition; d != nil {
			tools = append(tools, toolShape{Type: "function", Name: d.Name, Description: d.Description,
				Parameters: bytes.TrimSpace(d.Parameters)})
		}
	}
	return tools
}
