package parley

import "encoding/json"

// Role is who a message is from, in the record's terms.
type Role string

// The roles. RoleSystem exists in imports only: Parley never writes it.
const (
	RoleUser       Role = "user"
	RoleAssistant  Role = "assistant"
	RoleToolCall   Role = "tool_call"
	RoleToolResult Role = "tool_result"
	RoleSummary    Role = "summary"
	RoleSystem     Role = "system"
)

// Valid reports whether the role is one of the six.
func (r Role) Valid() bool {
	switch r {
	case RoleUser, RoleAssistant, RoleToolCall, RoleToolResult, RoleSummary, RoleSystem:
		return true
	}
	return false
}

// MessageStatus is the state of a message:
//
//	queued ──▶ completed (enters the record) │ cancelled (removed)
//	streaming ──▶ completed │ failed │ cancelled
//
// A settled message (completed, failed, cancelled) is immutable; only its marks
// change.
type MessageStatus string

// The message states.
const (
	MessageQueued    MessageStatus = "queued"
	MessageStreaming MessageStatus = "streaming"
	MessageCompleted MessageStatus = "completed"
	MessageFailed    MessageStatus = "failed"    // partial text and error kept; not in later context
	MessageCancelled MessageStatus = "cancelled" // partial text kept; in context, marked as interrupted
)

// Settled reports whether the message is immutable.
func (s MessageStatus) Settled() bool {
	return s == MessageCompleted || s == MessageFailed || s == MessageCancelled
}

// To reports whether the move to another state is legal: nil, or CodeConflict.
func (s MessageStatus) To(next MessageStatus) error {
	switch {
	case s == MessageQueued && (next == MessageCompleted || next == MessageCancelled),
		s == MessageStreaming && next.Settled():
		return nil
	}
	return Errorf(CodeConflict, "a %s message cannot become %s", s, next)
}

// AuthorKind is the kind of principal or agent that wrote a message.
type AuthorKind string

// The author kinds.
const (
	AuthorPerson  AuthorKind = "person"
	AuthorService AuthorKind = "service"
	AuthorAgent   AuthorKind = "agent"
)

// Author is who wrote a message: the principal for input, the agent for answers. An agent's or a lead's input is thus
// never shown as a person's.
type Author struct {
	Kind AuthorKind `json:"kind"`
	ID   ID         `json:"id"`
	Name string     `json:"name"`
}

// During is what happens to a user message that arrives during an unfinished turn.
type During string

// The policies.
const (
	DuringQueue     During = "queue"     // wait for its own turn (default)
	DuringSteer     During = "steer"     // shown to the running turn at its next step
	DuringInterrupt During = "interrupt" // cancel the running turn, then run
	DuringReject    During = "reject"    // 409
)

// Valid reports whether the policy is known; "" is not.
func (d During) Valid() bool {
	return d == DuringQueue || d == DuringSteer || d == DuringInterrupt || d == DuringReject
}

// Marks are the changeable part of a message, outside its immutable content and hash.
type Marks struct {
	Pinned      bool `json:"pinned"`
	ContextEdge bool `json:"context_edge"` // a context window begins here
	SetAside    bool `json:"set_aside"`    // left out of every context
}

// MarksChange changes marks one by one: nil leaves a mark unchanged.
type MarksChange struct {
	Pinned, ContextEdge, SetAside *bool
}

// Over applies the change to marks.
func (c MarksChange) Over(marks Marks) Marks {
	for _, change := range []struct{ to, value *bool }{{&marks.Pinned, c.Pinned}, {&marks.ContextEdge, c.ContextEdge},
		{&marks.SetAside, c.SetAside}} {
		if change.value != nil {
			*change.to = *change.value
		}
	}
	return marks
}

// Message is one entry of a session's record. Content is the canonical JSON as stored, kept raw so that lists pass it
// through. Decode it with the struct of its role (content.go), which reads both contents in parts and the short form of
// older rows.
type Message struct {
	ID          ID              `json:"id"`
	WorkspaceID ID              `json:"workspace_id"`
	SessionID   ID              `json:"session_id"`
	LogID       ID              `json:"log_id"`
	Sequence    int64           `json:"sequence"` // from 1, gap-free; 0 (JSON null) while queued
	Position    *int64          `json:"position"` // order in the queue, lowest first; null once in the record
	TurnID      ID              `json:"turn_id"`
	Step        int             `json:"step"` // of the turn, from 1; 0 for messages outside steps
	Role        Role            `json:"role"`
	Status      MessageStatus   `json:"status"`
	Author      Author          `json:"author"`
	Content     json.RawMessage `json:"content"`
	// volatile context, rendered once and always sent unchanged
	ContextNote   string  `json:"context_note,omitempty"`
	ToolCallID    string  `json:"tool_call_id,omitempty"` // the call answered by a tool_result
	ToolName      string  `json:"tool_name,omitempty"`
	CoversThrough *int64  `json:"covers_through"` // of a summary
	Internal      bool    `json:"internal"`
	Steer         bool    `json:"steer"` // queued for the running turn's next step
	Model         ModelID `json:"model,omitempty"`
	AgentType     string  `json:"agent_type,omitempty"`
	Iteration     int     `json:"iteration,omitempty"`
	Usage         *Usage  `json:"usage"`
	ContentHash   Hash    `json:"content_hash"` // zero (JSON null) until settled
	// what content_hash covers (chain.go); 0 (JSON null) until settled
	ChainVersion int `json:"chain_version,omitempty"`
	// tool_call: its number in the log from 1; tool_result: its call's
	CallOrdinal   int64           `json:"-"`
	ProviderData  []byte          `json:"-"` // opaque, byte-exact; the provider is Model's
	Error         *Failure        `json:"error"`
	Metadata      json.RawMessage `json:"metadata"` // an object
	Marks         Marks           `json:"marks"`
	Settings      Settings        `json:"-"` // a user message's settings for its turn
	TokenEstimate int             `json:"token_estimate,omitempty"`
	Revision      int             `json:"-"` // edits while queued
	CreatedAt     Time            `json:"created_at"`
	UpdatedAt     Time            `json:"updated_at"`
}

// Marked returns the marks that the message has after a change. CodeInvalid for a new pin of a message that is too long
// to be carried.
func (m *Message) Marked(change MarksChange) (Marks, error) {
	marks := change.Over(m.Marks)
	if size := m.Size(); marks.Pinned && !m.Marks.Pinned && size > MaxPinnedBytes {
		return m.Marks, InvalidField(
			"pinned",
			"this message has %d bytes, and what is pinned is carried with %d at most; pin a shorter one",
			size,
			MaxPinnedBytes,
		)
	}
	return marks, nil
}

// MarshalJSON writes null for absent fields, and the content as AppendContent does.
func (m Message) MarshalJSON() ([]byte, error) {
	type plain Message
	if len(m.Content) > 0 {
		m.Content = AppendContent(nil, m.Role, m.Content)
	}
	return EncodeJSON(struct {
		*plain
		Sequence      *int64   `json:"sequence"`
		ContextNote   *string  `json:"context_note"`
		ToolCallID    *string  `json:"tool_call_id"`
		ToolName      *string  `json:"tool_name"`
		Model         *ModelID `json:"model"`
		AgentType     *string  `json:"agent_type"`
		Iteration     *int     `json:"iteration"`
		TokenEstimate *int     `json:"token_estimate"`
		ChainVersion  *int     `json:"chain_version"`
	}{
		(*plain)(&m), OrNull(m.Sequence), OrNull(m.ContextNote), OrNull(m.ToolCallID), OrNull(m.ToolName),
		OrNull(m.Model), OrNull(m.AgentType), OrNull(m.Iteration), OrNull(m.TokenEstimate),
		OrNull(m.ChainVersion),
	})
}

// Size returns about how many bytes the message takes: its content and everything else without a small bound.
func (m *Message) Size() int {
	return len(m.Content) + len(m.ContextNote) + len(m.ProviderData) + len(m.Metadata)
}

// Version is one durable piece of a streaming message: the store flush (D4).
type Version struct {
	MessageID ID          `json:"message_id"`
	N         int         `json:"n"` // from 1
	Kind      ContentKind `json:"kind"`
	Offset    int         `json:"offset"` // UTF-8 bytes
	End       int         `json:"end"`
	Chunks    int         `json:"chunks"` // provider chunks received so far
	Text      string      `json:"text"`
	CreatedAt Time        `json:"created_at"`
}

// ContentKind names a text that grows within a streaming message.
type ContentKind string

// The kinds: text and reasoning of an assistant message, arguments of a tool_call.
const (
	KindText      ContentKind = "text"
	KindReasoning ContentKind = "reasoning"
	KindArguments ContentKind = "arguments"
)
