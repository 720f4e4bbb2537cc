package parley

import (
	"context"
	"encoding/json"
	"time"
)

// DryTurn is a message that is answered without a trace (D11): by the same path as
// any other, in the process that was asked, with the record as it stands.
type DryTurn struct {
	Session Session // as it stands, or one that is not in the store
	Fresh   bool    // it is not in the store
	Agent   Agent   // in its current version
	Message NewMessage
	Script  []ScriptedResult
	Flush   time.Duration // deltas of one message are merged for so long
	Sink    DrySink       // nil: nobody watches
}

// ScriptedResult is what a tool answers in a dry run, where no tool runs. Of
// several for one tool each is taken once, in order, and the last one again.
type ScriptedResult struct {
	Name   string          `json:"name" doc:"The tool."`
	Result json.RawMessage `json:"result,omitempty" doc:"Any JSON."`
	Error  string          `json:"error,omitempty" doc:"The tool fails with this instead."`
}

// MaxScripted bounds the results of a script.
const MaxScripted = 256

// DrySink is told of a dry run while it goes on, in order, by one goroutine. An
// error ends the dry run.
type DrySink interface {
	Event(event Event) error
	Delta(delta DryDelta) error
}

// DryDelta is a live piece of a message of a dry run. Offsets are UTF-8 bytes.
type DryDelta struct {
	SessionID   ID
	MessageID   ID
	Kind        ContentKind
	Offset, End int
	Text        string
}

// DryOutcome is what a turn would have written.
type DryOutcome struct {
	Message  Message   // the trigger
	Turn     Turn      // as it ended; waiting, when it came to something to wait for
	Messages []Message // of the turn, the trigger first
	Calls    []Call
}

// Previewed is a request that would be sent, and what it was made of.
type Previewed struct {
	Call    Call // all that is known before it is sent
	Info    ModelInfo
	System  string
	Request ModelRequest
	Encoded []byte    // nil when there is nothing to send yet
	Shown   []Message // of the record, by sequence
	Refused string    // why it would not be sent, "" when it would
	Output  int       // tokens of the longest answer that may come
	Tokens  int       // of the request, as budgets reserve them: corrected by what the provider counted before; 0: not estimated
}

// DryRunner answers questions without writing anything into the record. CodeUnavailable when this
// process has no room for it now.
type DryRunner interface {
	// DryRun runs a turn in memory and returns when it has ended or waits; ctx ends it.
	DryRun(ctx context.Context, turn DryTurn) (DryOutcome, error)
	// Preview makes the first request of a turn; without a message (its ID is zero)
	// the one that would come next.
	Preview(ctx context.Context, turn DryTurn) (Previewed, error)
	// Warm sends the beginning of an agent's requests to its provider, if that gains by
	// it. CodeUnavailable when it fails.
	Warm(ctx context.Context, agent Agent) (Warmed, error)
}
