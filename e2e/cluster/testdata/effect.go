package builtin

import (
	"context"
	"encoding/json"
	"os"
	"runtime/debug"
	"time"

	"example.org/parley"
	"example.org/parley/tool"
)

// effectsVariable names the file that counts the effects of all processes.
const effectsVariable = "PARLEY_TRIAL_EFFECTS"

// effect is a tool whose effect must not be repeated: it appends the id of its call to a
// file. It declares no annotations, and pauses before and after the effect, so that processes
// die on either side of it.
type effect struct{}

// Definition implements tool.Tool.
func (effect) Definition() parley.ToolDefinition {
	return parley.ToolDefinition{
		Name:        "effect",
		Description: "Does something that must not be done twice.",
		Parameters: json.RawMessage(`{"additionalProperties":false,"properties":{"after_ms":{"type":"integer"},` +
			`"before_ms":{"type":"integer"}},"type":"object"}`),
	}
}

// Annotations implements tool.Tool.
func (effect) Annotations() parley.ToolAnnotations { return parley.ToolAnnotations{} }

// Source implements tool.Tool.
func (effect) Source() string { return sourceName }

// Call implements tool.Tool.
func (t effect) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(t.answer(ctx, call))
}

func (effect) answer(ctx context.Context, call tool.Call) (json.RawMessage, error) {
	var arguments struct {
		Before int64 `json:"before_ms"`
		After  int64 `json:"after_ms"`
	}
	if err := json.Unmarshal(call.Arguments, &arguments); err != nil {
		return nil, err
	}
	if err := rest(ctx, arguments.Before); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(os.Getenv(effectsVariable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := file.WriteString(call.ID + "\n"); err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	return json.RawMessage(`{"done":true}`), rest(ctx, arguments.After)
}

func rest(ctx context.Context, ms int64) error {
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// poison is a tool that ends its process like a parser with endless recursion, from which
// nothing can recover. It declares that it may be repeated, so that the process that takes
// over the turn runs it again.
type poison struct{}

// Definition implements tool.Tool.
func (poison) Definition() parley.ToolDefinition {
	return parley.ToolDefinition{
		Name: "poison", Description: "Ends the process that runs it.",
		Parameters: json.RawMessage(`{"additionalProperties":false,"properties":{},"type":"object"}`),
	}
}

// Annotations implements tool.Tool.
func (poison) Annotations() parley.ToolAnnotations {
	return parley.ToolAnnotations{ReadOnly: true, Idempotent: true}
}

// Source implements tool.Tool.
func (poison) Source() string { return sourceName }

// Call implements tool.Tool.
func (t poison) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(t.answer(ctx, call))
}

func (poison) answer(context.Context, tool.Call) (json.RawMessage, error) {
	const enough = 1 << 20 // of stack: filling a gigabyte takes long
	debug.SetMaxStack(enough)
	return json.RawMessage(deep(1)), nil
}

func deep(n int) string {
	if n == 0 {
		return "{}"
	}
	return deep(n+1) + deep(n+2)
}
