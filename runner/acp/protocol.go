package acp

import (
	"encoding/json"

	"example.org/parley/internal/acpwire"
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
		Load    bool                       `json:"loadSession"`
		Prompt  acpwire.PromptCapabilities `json:"promptCapabilities"`
		Session struct {
			Resume *struct{} `json:"resume"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
}

// sessionRequest opens a new session or resumes an earlier one.
type sessionRequest struct {
	ID        string     `json:"sessionId,omitempty"`
	Directory string     `json:"cwd"`
	Servers   []struct{} `json:"mcpServers"`
}

// promptRequest sends a prompt.
type promptRequest struct {
	ID     string          `json:"sessionId"`
	Prompt []acpwire.Block `json:"prompt"`
}

// notification is an update about a session.
type notification struct {
	ID     string `json:"sessionId"`
	Update update `json:"update"`
}

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

// callContent is a piece of a call's output.
type callContent struct {
	Type       string         `json:"type"` // content, diff or terminal
	Content    *acpwire.Block `json:"content"`
	Path       string         `json:"path"`
	OldText    *string        `json:"oldText"`
	NewText    string         `json:"newText"`
	TerminalID string         `json:"terminalId"`
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
