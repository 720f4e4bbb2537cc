package tool

import (
	"context"
	"encoding/json"
	"strings"

	"example.org/parley"
)

// Tool is something that an agent may use.
type Tool interface {
	Definition() parley.ToolDefinition
	Annotations() parley.ToolAnnotations
	// Source tells people who runs the tool: "builtin", "http", "mcp/NAME".
	Source() string
	// Call runs the tool. The model gets an error as the call's result; ctx ends with the tool's deadline or the turn.
	Call(ctx context.Context, call Call) (Result, error)
}

// Result is a tool's answer: any JSON, or pieces in order. It contains each thing once: bytes are a piece, never text.
type Result struct {
	JSON   json.RawMessage
	Pieces []Piece // if set, JSON is ignored
	// Send is what the calling session sends to another agent with this result; nil: nothing. It is recorded with the
	// result, or the model gets an error instead of both.
	Send *parley.Sending
	// Ask is what the tool asks a person before it can go on, instead of a result. The call waits, without a worker,
	// and is made again with the answer, perhaps by another process.
	Ask *Question
}

// Question is what a tool asks, with what it needs back beside the answer.
type Question struct {
	parley.ToolQuestion
	State json.RawMessage
}

// Answer is what came of a question.
type Answer struct {
	State   json.RawMessage // of the question
	Action  AnswerAction
	Content json.RawMessage // of AnswerAccept: an object that fits the question's schema; nil without one
}

// AnswerAction is what a person did about a question.
type AnswerAction string

// What people do.
const (
	AnswerAccept  AnswerAction = "accept"
	AnswerDecline AnswerAction = "decline"
	AnswerCancel  AnswerAction = "cancel" // nobody answered in time, or somebody dismissed the question
)

// Piece is one thing in a result: a text, an object or a link as a part of the record, or the bytes of a file. For a
// file the part names at most Name and MediaType; the worker stores the bytes, detects their type, and replaces the
// piece by the file's part.
type Piece struct {
	parley.Part
	Data []byte // of a file; nil for anything else
}

// JSON returns the result of a tool that answers JSON.
func JSON(raw json.RawMessage, err error) (Result, error) { return Result{JSON: raw}, err }

// Source finds the server's tools by name. Its tools may change while it is used: a server behind it may come, go, or
// offer others.
type Source interface {
	// For returns the source as a workspace sees it: with the tools of servers that its people have authorized.
	For(workspaceID parley.ID) Source
	Tool(name string) (Tool, bool)
	Tools() []Tool // by name
	// Expects reports whether a tool of this name may appear later: it belongs to something configured that has not
	// answered yet.
	Expects(name string) bool
	// Await returns when everything configured was tried once, which is soon after the start, or when ctx ends.
	Await(ctx context.Context)
	// Faults returns the known but unusable tools, by name, and the servers that are away.
	Faults() []Fault
}

// Background is a source of tools that depend on the agent or the session that uses them. The worker offers them by
// itself: no agent names them.
type Background interface {
	// ToolsOf returns the tools of an agent's background session, in the order in which the model is shown them.
	ToolsOf(ctx context.Context, workspaceID, agentID parley.ID) ([]Tool, error)
	// Knowing returns the tools of every session that is told what its agent knows.
	Knowing() []Tool
}

// Fault is an unusable tool, which agents do not get, or a server that is away.
type Fault struct {
	Name   string // of a server the prefix of its tools followed by "*"
	Source string // like Tool.Source
	Reason string // for people; contains no secret, path or address
	Do     string // what a person can do about it
}

// Server returns the prefix of a server's tools; false for a single tool.
func (f Fault) Server() (prefix string, ok bool) { return strings.CutSuffix(f.Name, "*") }

// Digest identifies the present version of a server's tool.
func Digest(tool Tool) string {
	return parley.DigestOfTool(tool.Source(), tool.Definition(), tool.Annotations())
}

// Call is one exact call of a tool.
type Call struct {
	WorkspaceID parley.ID
	SessionID   parley.ID
	TurnID      parley.ID
	MessageID   parley.ID // of the tool_call in the record
	ID          string
	Arguments   json.RawMessage // a JSON object
	ProjectPath string          // the session's project directory; "" without one
	TraceParent string          // W3C, of this tool's run; "" for none
	Answer      *Answer         // to what an earlier run of this call asked; nil for its first run

	// Progress reports how far the call has come, as often as the tool likes; it never blocks. nil if nobody wants to
	// know.
	Progress func(parley.ToolProgress)
	// Hold counts bytes that the call's answer takes in memory until its result is in the record. Its error is for the
	// model and says that there is no room. nil counts nothing.
	Hold func(bytes int64) error
	// Hidden returns the places in a text, in bytes and in order, that the model's provider sees placeholders for. They
	// must not be cut: nothing hides a half. nil hides nothing.
	Hidden func(ctx context.Context, text string) ([][2]int, error)
}

// Holds calls Hold if it is set.
func (c Call) Holds(bytes int64) error {
	if c.Hold == nil {
		return nil
	}
	return c.Hold(bytes)
}

// Hides calls Hidden if it is set.
func (c Call) Hides(ctx context.Context, text string) ([][2]int, error) {
	if c.Hidden == nil {
		return nil, nil
	}
	return c.Hidden(ctx, text)
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
func (c Call) IdempotencyKey() string { return c.MessageID.String() }

// Headers tell an endpoint over HTTP which call it serves.
func (c Call) Headers() map[string]string {
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
