package parley

import "encoding/json"

// ScriptedResult is what a tool answers in a dry run, where no tool runs. Of
// several for one tool each is taken once, in order, and the last one again.
type ScriptedResult struct {
	Name   string          `json:"name" doc:"The tool."`
	Result json.RawMessage `json:"result,omitempty" doc:"Any JSON."`
	Error  string          `json:"error,omitempty" doc:"The tool fails with this instead."`
}

// MaxScripted bounds the results of a script.
const MaxScripted = 256
