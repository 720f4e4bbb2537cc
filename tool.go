package parley

import "encoding/json"

// ToolDefinition is what a model is told of a tool.
type ToolDefinition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema of the arguments object
}

// WebSearchTool is the built-in tool that searches the web, if the server has a key for it. It serves messages that ask
// for a search where the model's provider has none.
const WebSearchTool = "web_search"

// ToolAnnotations say what a tool does to the world.
type ToolAnnotations struct {
	ReadOnly    bool `json:"read_only"`
	Idempotent  bool `json:"idempotent"`
	Destructive bool `json:"destructive"`
	OpenWorld   bool `json:"open_world"`
	// Order names what the tool works on, if one call may need what another one has done: two edits of one document.
	// Calls of one order run one after the other, as the model made them, unless all of them only read.
	Order string `json:"-"`
}

// Repeatable reports whether a call may run again when its first outcome is unknown.
func (a ToolAnnotations) Repeatable() bool { return a.ReadOnly || a.Idempotent }

// AnnotationsOverride replaces, field by field, what a tool says of itself by a configuration; nil keeps a field.
type AnnotationsOverride struct {
	ReadOnly    *bool `json:"read_only,omitempty" yaml:"read_only"`
	Idempotent  *bool `json:"idempotent,omitempty" yaml:"idempotent"`
	Destructive *bool `json:"destructive,omitempty" yaml:"destructive"`
	OpenWorld   *bool `json:"open_world,omitempty" yaml:"open_world"`
}

// Over applies the override to a tool's own annotations.
func (o AnnotationsOverride) Over(a ToolAnnotations) ToolAnnotations {
	for _, field := range []struct {
		says *bool
		of   *bool
	}{{o.ReadOnly, &a.ReadOnly}, {o.Idempotent, &a.Idempotent}, {o.Destructive, &a.Destructive},
		{o.OpenWorld, &a.OpenWorld}} {
		if field.says != nil {
			*field.of = *field.says
		}
	}
	return a
}

// Parallel reports whether calls may run beside others: they change nothing, or only what a repetition would change
// alike.
func (a ToolAnnotations) Parallel() bool { return a.ReadOnly || a.Idempotent && !a.Destructive }

// ToolProgress says how far a running call has come, in units chosen by the tool.
type ToolProgress struct {
	Progress float64
	Total    float64 // 0: unknown
	Message  string  // for people
}
