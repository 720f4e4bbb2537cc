package parley

import "encoding/json"

// ScriptedResult is a tool's answer in a dry run, where no tool runs. Several results for one tool are used in order,
// and the last one repeats.
type ScriptedResult struct {
	Name   string          `json:"name" doc:"The tool."`
	Result json.RawMessage `json:"result,omitempty" doc:"Any JSON."`
	Error  string          `json:"error,omitempty" doc:"The tool fails with this instead."`
}

// MaxScripted bounds the results of a script.
const MaxScripted = 256
