package acp

import "encoding/json"

// protocolVersion is the version of the protocol that Parley speaks.
const protocolVersion = 1

// The methods of the protocol, version 1.
const (
	methodInitialize = "initialize"
	methodNew        = "session/new"
	methodLoad       = "session/load"
	methodResume     = "session/resume"
	methodPrompt     = "session/prompt"
	methodCancel     = "session/cancel"
	methodUpdate     = "session/update"
	methodPermission = "session/request_permission"
	methodRead       = "fs/read_text_file"
	methodWrite      = "fs/write_text_file"
)

// initialize is the first request.
type initialize struct {
	Version      int `json:"protocolVersion"`
	Capabilities struct {
		Files struct {
			Read  bool `json:"readTextFile"`
			Write bool `json:"writeTextFile"`
		} `json:"fs"`
		Terminal bool `json:"terminal"`
	} `json:"clientCapabilities"`
	Client struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"clientInfo"`
}

// initialized is its answer.
type initialized struct {
	Version      int `json:"protocolVersion"`
	Capabilities struct {
		Load    bool               `json:"loadSession"`
		Prompt  promptCapabilities `json:"promptCapabilities"`
		Session struct {
			Resume *struct{} `json:"resume"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
}

// promptCapabilities says what a prompt may contain besides texts and links.
type promptCapabilities struct {
	Images   bool `json:"image"`
	Embedded bool `json:"embeddedContext"`
}

// sessionRequest opens a new session or resumes an earlier one.
type sessionRequest struct {
	ID        string     `json:"sessionId,omitempty"`
	Directory string     `json:"cwd"`
	Servers   []struct{} `json:"mcpServers"`
}

// block is a piece of content.
type block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"` // base64
	MIMEType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

// resource is the content of a file.
type resource struct {
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text"`
	URI      string `json:"uri"`
}

// promptRequest sends a prompt.
type promptRequest struct {
	ID     string  `json:"sessionId"`
	Prompt []block `json:"prompt"`
}

// Why a prompt has ended.
const (
	stopTurn      = "end_turn"
	stopTokens    = "max_tokens"
	stopRequests  = "max_turn_requests"
	stopRefusal   = "refusal"
	stopCancelled = "cancelled"
)

// notification is an update about a session.
type notification struct {
	ID     string `json:"sessionId"`
	Update update `json:"update"`
}

// The kinds of updates that are kept.
const (
	updateText      = "agent_message_chunk"
	updateThought   = "agent_thought_chunk"
	updateCall      = "tool_call"
	updateCallAgain = "tool_call_update"
	updatePlan      = "plan"
	updateUsage     = "usage_update"
)

// update is one of them.
type update struct {
	Kind    string          `json:"sessionUpdate"`
	Content json.RawMessage `json:"content"` // a block, or a call's list
	Entries json.RawMessage `json:"entries"` // of a plan
	Used    json.RawMessage `json:"used"`    // tokens of the program's context
	Cost    json.RawMessage `json:"cost"`    // of the program's session so far
	callUpdate
}

// callUpdate changes a call; absent members keep their values.
type callUpdate struct {
	CallID    string          `json:"toolCallId"`
	Title     *string         `json:"title"`
	Sort      *string         `json:"kind"`
	Status    *string         `json:"status"`
	Input     json.RawMessage `json:"rawInput"`
	Output    json.RawMessage `json:"rawOutput"`
	Locations json.RawMessage `json:"locations"`
}

// The states of a call.
const (
	statusPending   = "pending"
	statusRuns      = "in_progress"
	statusCompleted = "completed"
	statusFailed    = "failed"
)

// callContent is a piece of a call's output.
type callContent struct {
	Type       string  `json:"type"` // content, diff or terminal
	Content    *block  `json:"content"`
	Path       string  `json:"path"`
	OldText    *string `json:"oldText"`
	NewText    string  `json:"newText"`
	TerminalID string  `json:"terminalId"`
}

// permissionRequest asks for permission to run a call.
type permissionRequest struct {
	ID   string `json:"sessionId"`
	Call struct {
		Content json.RawMessage `json:"content"`
		callUpdate
	} `json:"toolCall"`
	Options json.RawMessage `json:"options"` // a list of them
}

// permissionOption is one of the answers that the program offers.
type permissionOption struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// outcome answers a permissionRequest.
type outcome struct {
	Outcome struct {
		Kind   string `json:"outcome"` // selected or cancelled
		Option string `json:"optionId,omitempty"`
	} `json:"outcome"`
}
