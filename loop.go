package parley

import "encoding/json"

// Loop is a durable repetition of a task in a session (B6): each iteration is a turn with its number, and the
// transaction that ends one makes the next. A session has at most one running loop.
type Loop struct {
	ID          ID `json:"id"`
	WorkspaceID ID `json:"workspace_id"`
	SessionID   ID `json:"session_id"`
	// event sequence of its first loop.progress: orders the loops of a session
	Ordinal     int64       `json:"-"`
	Prompt      string      `json:"prompt"` // the text that begins every iteration
	Max         int         `json:"max"`    // iterations
	Until       *LoopUntil  `json:"until"`  // null: only Max ends the loop
	Context     LoopContext `json:"context"`
	ArchiveDone bool        `json:"archive_when_done"` // archive the session when the loop is completed or exhausted
	Author      Author      `json:"author"`            // of every iteration's message
	State       LoopState   `json:"state"`
	// why it ended: the condition met, max, cancelled, stopped, or the class of a failure
	Reason     string `json:"reason,omitempty"`
	Iteration  int    `json:"iteration"` // the latest iteration, from 1
	TurnID     ID     `json:"turn_id"`   // its turn
	CreatedAt  Time   `json:"created_at"`
	FinishedAt Time   `json:"finished_at"`
}

// MarshalJSON writes null for absent fields.
func (l Loop) MarshalJSON() ([]byte, error) {
	type plain Loop
	return EncodeJSON(struct {
		*plain
		Reason *string `json:"reason"`
	}{(*plain)(&l), OrNull(l.Reason)})
}

// LoopState is the state of a loop.
type LoopState string

// The loop states. A failed loop, or one stopped by a cancel, runs again when its last turn is resumed.
const (
	LoopRunning   LoopState = "running"
	LoopCompleted LoopState = "completed" // its condition was met
	LoopExhausted LoopState = "exhausted" // after Max iterations
	LoopStopped   LoopState = "stopped"
	LoopFailed    LoopState = "failed" // an iteration failed
)

// The reasons for which a loop ends, besides the names of its conditions and the classes of failures.
const (
	LoopReasonMax       = "max"
	LoopReasonStopped   = "stopped"
	LoopReasonCancelled = "cancelled"
)

// LoopUntil is what ends a loop early; exactly one field is set. It is checked when an iteration's turn completes.
type LoopUntil struct {
	ToolCalled  string          `json:"tool_called,omitempty" doc:"The iteration called this tool, and it succeeded."`
	TextMatches string          `json:"text_matches,omitempty" doc:"The answer's text matches this regular expression (RE2)."`
	Schema      json.RawMessage `json:"schema,omitempty" doc:"The answer's text is JSON (alone, or in one fenced block) that satisfies this JSON Schema."`
}

// MarshalJSON writes null for absent fields.
func (u LoopUntil) MarshalJSON() ([]byte, error) {
	return EncodeJSON(struct {
		ToolCalled  *string          `json:"tool_called"`
		TextMatches *string          `json:"text_matches"`
		Schema      *json.RawMessage `json:"schema"`
	}{OrNull(u.ToolCalled), OrNull(u.TextMatches), rawOrNull(u.Schema)})
}

func rawOrNull(raw json.RawMessage) *json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return &raw
}

// Kind names the condition that is set; "" for none.
func (u *LoopUntil) Kind() string {
	switch {
	case u == nil:
		return ""
	case u.ToolCalled != "":
		return "tool_called"
	case u.TextMatches != "":
		return "text_matches"
	case rawOrNull(u.Schema) != nil:
		return "schema"
	}
	return ""
}

// LoopContext is what an iteration sees besides itself: in JSON "fresh", or {"recent": n} for the n iterations before
// it, with the messages between them.
type LoopContext struct {
	Recent int // 0: fresh
}

// LoopContextForms says what a LoopContext may be.
const LoopContextForms = `is "fresh", or {"recent": n} with n from 1 to 1000`

// MarshalJSON writes a string or an object.
func (c LoopContext) MarshalJSON() ([]byte, error) {
	if c.Recent == 0 {
		return []byte(`"fresh"`), nil
	}
	return json.Marshal(struct {
		Recent int `json:"recent"`
	}{c.Recent})
}

// UnmarshalJSON reads a string or an object.
func (c *LoopContext) UnmarshalJSON(data []byte) error {
	*c = LoopContext{}
	var name string
	if json.Unmarshal(data, &name) == nil && (name == "fresh" || string(data) == "null") {
		return nil
	}
	var recent struct {
		Recent *int `json:"recent"`
	}
	if json.Unmarshal(data, &recent) != nil || recent.Recent == nil || *recent.Recent < 1 ||
		*recent.Recent > MaxLoopIterations {
		return InvalidField("context", "%s", LoopContextForms)
	}
	c.Recent = *recent.Recent
	return nil
}

// Policy returns the context policy of the loop's turns.
func (c LoopContext) Policy() Policy {
	if c.Recent == 0 {
		return Policy{Kind: PolicySingle}
	}
	return Policy{Kind: PolicyIterations, Limit: c.Recent}
}

// The bounds of loops.
const (
	DefaultLoopIterations = 10
	MaxLoopIterations     = 1000
	MaxLoopPatternBytes   = 4 << 10
	MaxLoopSchemaBytes    = 64 << 10
)
