package engine

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/store"
)

// MessageInput is a message from outside.
type MessageInput struct {
	Role        parley.Role     `json:"role,omitempty" enum:"user,assistant,tool_call,tool_result" doc:"user by default; only a user message starts a turn, the others are recorded, and a tool_result resumes a waiting turn."`
	Content     json.RawMessage `json:"content,omitempty" doc:"An object by role: user {text, files, links, search, think}; assistant {text, reasoning, refusal}; tool_call {id, name, arguments}; tool_result {result, error, success, execution_time_ms}. All but a tool_call may have parts instead."`
	Metadata    json.RawMessage `json:"metadata,omitempty" doc:"An object, stored unchanged. The metadata of the answers to a user message repeats its members task and feature."`
	Internal    bool            `json:"internal,omitempty" doc:"Kept in the record only: in no user's view and no context."`
	ToolCallID  string          `json:"tool_call_id,omitempty" doc:"Of a tool_result: the call that it answers."`
	ContextNote string          `json:"context_note,omitempty" doc:"Volatile context, sent to the model before the text."`
	AgentType   string          `json:"agent_type,omitempty"`
	Iteration   int             `json:"iteration,omitempty"`
	parley.Settings
	During  parley.During `json:"during,omitempty" enum:"queue,steer,interrupt,reject" doc:"What happens if a turn is unfinished; the session's setting by default."`
	Respond *bool         `json:"respond,omitempty" doc:"false records a user message without starting a turn."`

	Status  parley.MessageStatus `json:"status,omitempty" enum:"streaming" doc:"For an assistant message: opens it empty, to be appended to and settled. model may say what writes it."`
	Timeout int                  `json:"timeout,omitempty" minimum:"1" maximum:"3600" doc:"For a message opened as streaming: seconds without an append until it is settled as failed; 300 by default."`
	DryInput

	// Follows refuses the message with CodeChanged unless the record's last message has this sequence; 0: any has.
	Follows int64 `json:"-"`
	// OfAgent refuses it with CodeInvalid, of the field agent_id, unless the session is of this agent; zero: of any.
	OfAgent parley.ID `json:"-"`
}

// MessagePatch changes a queued message.
type MessagePatch struct {
	Content json.RawMessage `json:"content,omitempty" required:"true"`
}

// MarksPatch changes marks one by one.
type MarksPatch struct {
	Pinned      *bool `json:"pinned,omitempty"`
	ContextEdge *bool `json:"context_edge,omitempty"`
	SetAside    *bool `json:"set_aside,omitempty"`
}

// MessageList selects messages, oldest first by default. Several values of a filter are alternatives.
type MessageList struct {
	Paging
	From       int64 // the first page begins at this sequence, in either order; 0: at the list's beginning
	Roles      []parley.Role
	Statuses   []parley.MessageStatus
	Internal   *bool
	RecordOnly bool // no queued ones
	TurnIDs    []parley.ID
	Iterations []int
	ToolNames  []string
	AgentTypes []string
}

// VersionList lists the durable pieces of a message.
type VersionList struct {
	Data []parley.Version `json:"data"`
}

// PostMessage records a message and, for a user message, starts its turn or queues it, as store.Turns.PostMessage says.
// If this process has a free slot, a turn that may run starts here immediately.
func (e *Engine) PostMessage(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	input MessageInput,
	idempotency store.Idempotency,
) (_ store.Posted, err error) {
	ctx, call, err := e.enter(ctx, principal, "postMessage", PostMessages, of(sessionID))
	if err != nil {
		return store.Posted{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if err := checkIdempotency(idempotency); err != nil {
		return store.Posted{}, err
	}
	if err := input.notDry("dry_run"); err != nil {
		return store.Posted{}, err
	}
	message, err := e.newMessage(principal, input)
	if err == nil {
		err = e.findAgents(ctx, scope, parley.ValueOf(input.Tools))
	}
	if err == nil {
		err = e.checkAnswerableOf(ctx, scope, sessionID, &message)
	}
	if err != nil {
		return store.Posted{}, err
	}
	if err := traced(ctx, &message); err != nil {
		return store.Posted{}, err
	}
	message.Idempotency = idempotency
	run := e.offer(scope.WorkspaceID, !message.TurnID.IsZero() && !message.Streaming)
	posted, err := e.store.PostMessage(ctx, scope, sessionID, message, run.processID())
	if err != nil {
		run.settle(nil)
		return store.Posted{}, err
	}
	call.about(in(posted.Message.SessionID, posted.Message.ID))
	run.settle(posted.Claim)
	return posted, nil
}

// Message reads a message by its id.
func (e *Engine) Message(ctx context.Context, principal parley.Principal, id parley.ID) (_ parley.Message, err error) {
	ctx, call, err := e.enter(ctx, principal, "getMessage", ReadSessions, on(id))
	if err != nil {
		return parley.Message{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	message, err := e.store.Message(ctx, scope, id)
	if err == nil {
		call.about(in(message.SessionID, id))
	}
	return message, err
}

// UpdateMessage edits a queued message; MarkMessage changes marks. It returns CodeConflict for a message in the record,
// and CodeForbidden for somebody else's.
func (e *Engine) UpdateMessage(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	patch MessagePatch,
) (_ parley.Message, err error) {
	ctx, call, err := e.enter(ctx, principal, "updateMessage", PostMessages, on(id))
	if err != nil {
		return parley.Message{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if patch.Content == nil {
		return parley.Message{}, parley.InvalidField(
			"content",
			"is missing: it is all that can change, while it is queued",
		)
	}
	message, err := e.store.Message(ctx, scope, id)
	if err != nil {
		return parley.Message{}, err
	}
	content, err := parley.ValidateContent(message.Role, patch.Content)
	if err != nil {
		return parley.Message{}, err
	}
	fresh := store.NewMessage{Role: message.Role, Content: content, Settings: message.Settings}
	if err := e.checkAnswerableOf(ctx, scope, message.SessionID, &fresh); err != nil {
		return parley.Message{}, err
	}
	edited, err := e.store.EditQueued(ctx, scope, principal.ID, id, fresh.Content)
	if err == nil {
		call.about(in(edited.SessionID, id))
	}
	return edited, err
}

// MarkMessage changes the marks that a session has on a message; a zero session means the one that wrote it.
func (e *Engine) MarkMessage(
	ctx context.Context,
	principal parley.Principal,
	sessionID, id parley.ID,
	marks MarksPatch,
) (_ parley.Message, err error) {
	ctx, call, err := e.enter(ctx, principal, "markMessage", PostMessages, in(sessionID, id))
	if err != nil {
		return parley.Message{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if marks.ContextEdge != nil && *marks.ContextEdge {
		message, err := e.store.Message(ctx, scope, id)
		if err != nil {
			return parley.Message{}, err
		}
		if message.Role == parley.RoleToolResult {
			return parley.Message{}, parley.InvalidField(
				"context_edge",
				"a window cannot begin between a call and its result: mark the message before the call, or the one "+
					"after the result",
			)
		}
	}
	marked, err := e.store.MarkMessage(ctx, scope, sessionID, id, parley.MarksChange(marks))
	if err != nil {
		if _, unseen := e.store.Message(ctx, scope, id); unseen == nil {
			err = writerGone(sessionID, err)
		}
	} else {
		call.about(in(either(sessionID, marked.SessionID), id)) // the session whose marks change
	}
	return marked, err
}

// RemoveMessage removes a queued message. It returns CodeConflict once the message is in the record.
func (e *Engine) RemoveMessage(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.Message, err error) {
	ctx, call, err := e.enter(ctx, principal, "removeMessage", PostMessages, on(id))
	if err != nil {
		return parley.Message{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	removed, err := e.store.RemoveQueued(ctx, scope, id)
	if err == nil {
		call.about(in(removed.SessionID, id))
	}
	return removed, err
}

// Versions lists the durable pieces of a message, with their texts.
func (e *Engine) Versions(ctx context.Context, principal parley.Principal, id parley.ID) (_ VersionList, err error) {
	ctx, call, err := e.enter(ctx, principal, "listVersions", ReadSessions, on(id))
	if err != nil {
		return VersionList{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	message, err := e.store.Message(ctx, scope, id)
	if err != nil {
		return VersionList{}, err
	}
	call.about(in(message.SessionID, id))
	versions, err := e.store.Versions(ctx, scope, id)
	return VersionList{Data: orEmpty(versions)}, err
}
