package parley

import "encoding/json"

// ToolDefinition is what a model is told of a tool.
type ToolDefinition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema of the arguments object
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
	}{{o.ReadOnly, &a.ReadOnly}, {o.Idempotent, &a.Idempotent}, {o.Destructive, &a.Destructive},
		{o.OpenWorld, &a.OpenWorld}} {
		if field.says != nil {
			*field.of = *field.says
		}
	}
	return a
}

// Parallel reports whether calls may run beside others: they change nothing, or
// nothing that another could have made.
func (a ToolAnnotations) Parallel() bool { return a.ReadOnly || a.Idempotent && !a.Destructive }

// ToolProgress is how far a running call has come, in units of the tool's choice.
type ToolProgress struct {
	Progress float64
	Total    float64 // 0: unknown
	Message  string  // for people
}
