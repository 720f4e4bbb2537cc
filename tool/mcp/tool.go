package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
	"example.org/parley/internal/schema"
	"example.org/parley/tool"
)

const (
	// MaxSchemaBytes bounds a tool's input schema; a tool with a larger one is left out.
	MaxSchemaBytes = schema.MaxBytes
	// maxDescriptionBytes bounds a description, which is cut at the bound.
	maxDescriptionBytes = 8 << 10
)

// noArguments is the schema of a tool without arguments.
var noArguments = json.RawMessage(`{"properties":{},"type":"object"}`) //nolint:gochecknoglobals // never written

// remoteTool is one tool of a server. It is immutable: a changed list has new ones.
type remoteTool struct {
	link        *link
	original    string // the server's name for it
	definition  parley.ToolDefinition
	annotations parley.ToolAnnotations
	schema      schema.Schema
	send        request
	offered     bool // it is not the server's own: send asks for something else that the server has
}

var _ tool.Tool = (*remoteTool)(nil)

// errTaskOnly is why a tool is left out that the protocol allows to be called only as a task.
var errTaskOnly = errors.New("it runs only as a task of the protocol, which Parley does not start")

// newTool reads a server's description of a tool. Its error says why the tool is left out, for example because its
// schema cannot be read here and arguments could not be checked.
func newTool(l *link, given *sdk.Tool) (made *remoteTool, err error) {
	if given.Meta[metaTask] != nil {
		return nil, errTaskOnly
	}
	raw := noArguments
	if given.InputSchema != nil {
		if raw, err = json.Marshal(given.InputSchema); err != nil {
			return nil, fmt.Errorf("its input schema is not JSON: %w", err)
		}
	}
	switch {
	case len(raw) > MaxSchemaBytes:
		return nil, fmt.Errorf("its input schema is longer than %d bytes", MaxSchemaBytes)
	case !bytes.HasPrefix(raw, []byte("{")):
		return nil, errors.New("its input schema is not an object")
	}
	if err := parley.CheckJSONBounds(raw); err != nil {
		return nil, fmt.Errorf("its input schema cannot be stored: %w", err)
	}
	made = &remoteTool{
		link: l, original: given.Name, send: callTool,
		definition: parley.ToolDefinition{
			Name:        toolName(l.server.Name, given.Name),
			Description: parley.Clip(withoutNUL(describe(given)), maxDescriptionBytes),
			Parameters:  raw,
		},
		annotations: l.server.annotations(given),
	}
	if made.schema, err = schema.Read(raw); err != nil {
		return nil, fmt.Errorf("its input schema cannot be used: %w", err)
	}
	return made, nil
}

// describe returns the server's description, else its title.
func describe(given *sdk.Tool) string {
	switch {
	case given.Description != "":
		return given.Description
	case given.Title != "":
		return given.Title
	case given.Annotations != nil:
		return given.Annotations.Title
	}
	return ""
}

// annotate applies the protocol's defaults: a tool without annotations may destroy and reaches out.
func annotate(given *sdk.ToolAnnotations) parley.ToolAnnotations {
	a := parley.ToolAnnotations{Destructive: true, OpenWorld: true}
	if given == nil {
		return a
	}
	own := parley.AnnotationsOverride{
		ReadOnly:    &given.ReadOnlyHint,
		Idempotent:  &given.IdempotentHint,
		Destructive: given.DestructiveHint,
		OpenWorld:   given.OpenWorldHint,
	}
	return own.Over(a)
}

// Definition implements tool.Tool.
func (t *remoteTool) Definition() parley.ToolDefinition { return t.definition }

// Annotations implements tool.Tool.
func (t *remoteTool) Annotations() parley.ToolAnnotations { return t.annotations }

// Source implements tool.Tool.
func (t *remoteTool) Source() string { return t.link.source() }

// Call implements tool.Tool. It returns CodeInvalid, without sending anything, for arguments that do not fit the
// schema, and CodeUnavailable if the server is away; for an error reported by the tool it returns its text.
func (t *remoteTool) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	if err := t.check(ctx, call.Arguments); err != nil {
		return tool.Result{}, err
	}
	if limit := t.link.server.CallTime; limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, errSlow{limit})
		defer stop()
	}
	result, question, err := t.link.converse(ctx, t.send, t.original, call)
	if err != nil || question != nil {
		return tool.Result{Ask: question}, err
	}
	return content(result)
}

// errSlow ends a call at the server's own limit of time.
type errSlow struct{ limit time.Duration }

// Error returns the text for the model.
func (e errSlow) Error() string {
	return fmt.Sprintf("The tool did not answer within %s. Whether it took effect is unknown.", e.limit)
}

// check validates arguments against the schema.
func (t *remoteTool) check(ctx context.Context, arguments json.RawMessage) error {
	wrong, err := t.schema.Check(ctx, arguments)
	if err != nil {
		if ctx.Err() == nil {
			t.link.warn(
				"unchecked "+t.original,
				"the arguments of an MCP tool could not be checked; its calls do not run",
				"tool",
				t.definition.Name,
				"error",
				err,
			)
		}
		return parley.Errorf(parley.CodeInvalid, "Not run: %s", err)
	}
	if wrong != "" {
		return parley.Errorf(
			parley.CodeInvalid,
			"Not run: the arguments do not fit the schema of %s: %s",
			t.definition.Name,
			wrong,
		)
	}
	return nil
}
