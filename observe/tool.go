package observe

import (
	"time"

	"example.org/parley"
	"example.org/parley/tool"
)

// ToolBegun is a tool about to run.
type ToolBegun struct {
	Name   string
	Source string     // Tool.Source
	Call   *tool.Call // not begun yet: an observer may set its TraceParent
}

// ToolOutcome is how one run of a tool ended.
type ToolOutcome string

// The outcomes of tools.
const (
	ToolSucceeded ToolOutcome = "ok"
	ToolFailed    ToolOutcome = "error"
	ToolTimedOut  ToolOutcome = "timeout"
	ToolStopped   ToolOutcome = "interrupted" // its turn was cancelled, stopped or lost
	ToolPanicked  ToolOutcome = "panic"
)

// ToolEnded is a tool that has answered.
type ToolEnded struct {
	Name    string
	Source  string // Tool.Source
	Outcome ToolOutcome
	Result  *parley.ToolResultContent
	Took    time.Duration
}
