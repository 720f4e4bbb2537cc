package parley

import (
	"context"
	"encoding/json"
)

// Runtime runs the turns of agents that name it (A1).
type Runtime interface {
	// Name is what agents call it.
	Name() string
	// Open prepares for turns of a session; it is called before each run and cheap
	// when the session is open already.
	Open(ctx context.Context, session Session) error
	// RunTurn runs a claimed turn until it is finished, parked or released, and
	// writes all of it through the store under the claim's fence. It returns nil
	// when the turn reached such a state; CodeFenced when the claim was lost. The
	// cause of ctx tells a cancel of the turn from a stop of the process.
	RunTurn(ctx context.Context, claim Claim) error
	// Cancel stops a running turn; false when it does not run here.
	Cancel(turnID ID) bool
	// State tells what the runtime does for a session right now.
	State(sessionID ID) RuntimeState
	// Close forgets a session.
	Close(ctx context.Context, sessionID ID) error
}

// RuntimeState is what a runtime does for a session in this process.
type RuntimeState string

// The runtime states.
const (
	RuntimeIdle    RuntimeState = "idle"
	RuntimeRunning RuntimeState = "running"
)

// Runner is the worker of this process, as the engine sees it.
type Runner interface {
	// Offer reserves a free slot for a turn of a workspace; false when there is none
	// for it, when others wait for one, or when the process drains.
	Offer(workspaceID ID) (Slot, bool)
	// Cancel stops a turn that runs here; done is closed when it has let go, nil
	// when it does not run here.
	Cancel(turnID ID) (done <-chan struct{})
	// Runtimes names the runtimes that agents may use.
	Runtimes() []string
}

// Slot is a reserved place for one turn. Exactly one of its last two methods is called.
type Slot interface {
	ProcessID() ID
	// Run starts the claimed turn in the background.
	Run(claim Claim)
	// Release gives the slot back unused.
	Release()
}

// ToolAnnotations say what a tool does to the world.
type ToolAnnotations struct {
	ReadOnly    bool `json:"read_only"`
	Idempotent  bool `json:"idempotent"`
	Destructive bool `json:"destructive"`
	OpenWorld   bool `json:"open_world"`
}

// Repeatable reports whether a call may run again when its first outcome is unknown.
func (a ToolAnnotations) Repeatable() bool { return a.ReadOnly || a.Idempotent }

// AnnotationsOverride is what a configuration says of a tool instead of what the
// tool says of itself, field by field; nil leaves a field as it is.
type AnnotationsOverride struct {
	ReadOnly    *bool `json:"read_only,omitempty" yaml:"read_only"`
	Idempotent  *bool `json:"idempotent,omitempty" yaml:"idempotent"`
	Destructive *bool `json:"destructive,omitempty" yaml:"destructive"`
	OpenWorld   *bool `json:"open_world,omitempty" yaml:"open_world"`
}

// Over is what the override makes of a tool's own annotations.
func (o AnnotationsOverride) Over(a ToolAnnotations) ToolAnnotations {
	for _, field := range []struct {
		says *bool
		of   *bool
	}{{o.ReadOnly, &a.ReadOnly}, {o.Idempotent, &a.Idempotent}, {o.Destructive, &a.Destructive}, {o.OpenWorld, &a.OpenWorld}} {
		if field.says != nil {
			*field.of = *field.says
		}
	}
	return a
}

// Parallel reports whether calls may run beside others: they change nothing, or
// nothing that another could have made.
func (a ToolAnnotations) Parallel() bool { return a.ReadOnly || a.Idempotent && !a.Destructive }

// ToolCall is one exact call of a tool.
type ToolCall struct {
	WorkspaceID ID
	SessionID   ID
	TurnID      ID
	MessageID   ID // of the tool_call in the record
	ID          string
	Arguments   json.RawMessage // a JSON object
	ProjectPath string          // the session's project directory; "" without one
	TraceParent string          // W3C, of the run of this tool; "" for none

	// Progress takes how far the call has come, as often as the tool likes; it never
	// blocks. nil when nobody wants to know.
	Progress func(ToolProgress)
}

// The names under which an endpoint is told which call it serves.
const (
	IdempotencyKeyHeader = "Idempotency-Key"
	CallIDHeader         = "Parley-Call-Id"
	SessionIDHeader      = "Parley-Session-Id"
	TraceParentHeader    = "Traceparent"
)

// IdempotencyKey is the same for each attempt at this call, in every process, and no
// other call has it: an endpoint that has seen it need not do its work again.
func (c ToolCall) IdempotencyKey() string { return c.MessageID.String() }

// Headers tell an endpoint over HTTP which call it serves.
func (c ToolCall) Headers() map[string]string {
	headers := map[string]string{}
	if !c.MessageID.IsZero() {
		headers[IdempotencyKeyHeader] = c.IdempotencyKey()
	}
	if c.ID != "" {
		headers[CallIDHeader] = c.ID
	}
	if !c.SessionID.IsZero() {
		headers[SessionIDHeader] = c.SessionID.String()
	}
	if c.TraceParent != "" {
		headers[TraceParentHeader] = c.TraceParent
	}
	return headers
}

// ToolProgress is how far a running call has come, in units of the tool's choice.
type ToolProgress struct {
	Progress float64
	Total    float64 // 0: unknown
	Message  string  // for people
}

// Tool is something that an agent may use.
type Tool interface {
	Definition() ToolDefinition
	Annotations() ToolAnnotations
	// Source says for people who runs it: "builtin", "http", "mcp/NAME".
	Source() string
	// Call runs it and returns any JSON. An error is told to the model as the
	// call's result; ctx ends with the tool's deadline or the turn.
	Call(ctx context.Context, call ToolCall) (json.RawMessage, error)
}

// ToolSource finds the server's tools by name. What it has may change while it is
// used: a server behind it comes, goes, or offers others.
type ToolSource interface {
	Tool(name string) (Tool, bool)
	Tools() []Tool // by name
	// Expects reports whether a tool of this name may be there later: it belongs to
	// something configured that does not answer yet.
	Expects(name string) bool
	// Await returns when everything configured was tried once, which is so from soon
	// after the start on, or when ctx ends.
	Await(ctx context.Context)
	// Faults are the tools that it knows of and that cannot be used, by name.
	Faults() []ToolFault
}

// ToolFault is a tool that cannot be used: agents are not given it.
type ToolFault struct {
	Name   string
	Source string // as Tool.Source
	Reason string // for people; it repeats no secret
}
