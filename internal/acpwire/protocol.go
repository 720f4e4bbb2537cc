package acpwire

import "example.org/parley"

// Version is the version of the protocol that Parley speaks, in either role.
const Version = 1

// The methods that an agent serves.
const (
	MethodInitialize   = "initialize"
	MethodAuthenticate = "authenticate"
	MethodNew          = "session/new"
	MethodLoad         = "session/load"
	MethodResume       = "session/resume"
	MethodList         = "session/list"
	MethodClose        = "session/close"
	MethodMode         = "session/set_mode"
	MethodPrompt       = "session/prompt"
	MethodCancel       = "session/cancel" // a notification
)

// The methods that a client serves.
const (
	MethodUpdate          = "session/update" // a notification
	MethodPermission      = "session/request_permission"
	MethodElicitation     = "elicitation/create"
	MethodRead            = "fs/read_text_file"
	MethodWrite           = "fs/write_text_file"
	MethodTerminal        = "terminal/create"
	MethodTerminalOutput  = "terminal/output"
	MethodTerminalExit    = "terminal/wait_for_exit"
	MethodTerminalKill    = "terminal/kill"
	MethodTerminalRelease = "terminal/release"
)

// MethodCancelRequest is the notification by which either side withdraws a request.
const MethodCancelRequest = "$/cancel_request"

// PromptCapabilities says what a prompt may contain besides texts and links.
type PromptCapabilities struct {
	Images   bool `json:"image"`
	Audio    bool `json:"audio"`
	Embedded bool `json:"embeddedContext"`
}

// The types of blocks.
const (
	BlockText     = "text"
	BlockImage    = "image"
	BlockAudio    = "audio"
	BlockLink     = "resource_link"
	BlockResource = "resource"
)

// Block is a piece of content.
type Block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"` // base64
	MIMEType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Title    string    `json:"title,omitempty"`
	Resource *Resource `json:"resource,omitempty"`
}

// Resource is the content of a file.
type Resource struct {
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text"`
	Blob     string `json:"blob,omitempty"` // base64
	URI      string `json:"uri"`
}

// Said returns the text of a block.
func (b *Block) Said() string {
	switch {
	case b.Type == BlockLink:
		return "[" + b.Name + "](" + b.URI + ")"
	case b.Type == BlockResource && b.Resource != nil && b.Resource.Text != "":
		return b.Resource.Text
	case b.Type == BlockText || b.Text != "":
		return b.Text
	}
	return "[" + parley.Clip(b.Type, 32) + "]"
}

// Why a prompt has ended.
const (
	StopTurn      = "end_turn"
	StopTokens    = "max_tokens"
	StopRequests  = "max_turn_requests"
	StopRefusal   = "refusal"
	StopCancelled = "cancelled"
)

// The kinds of updates.
const (
	UpdateUser      = "user_message_chunk"
	UpdateText      = "agent_message_chunk"
	UpdateThought   = "agent_thought_chunk"
	UpdateCall      = "tool_call"
	UpdateCallAgain = "tool_call_update"
	UpdatePlan      = "plan"
	UpdateUsage     = "usage_update"
	UpdateMode      = "current_mode_update"
	UpdateSession   = "session_info_update"
)

// The states of a call.
const (
	StatusPending   = "pending"
	StatusRuns      = "in_progress"
	StatusCompleted = "completed"
	StatusFailed    = "failed"
)

// The kinds of permission options.
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

// The outcomes of a permission request.
const (
	OutcomeSelected  = "selected"
	OutcomeCancelled = "cancelled"
)
