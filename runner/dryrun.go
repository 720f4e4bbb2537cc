package runner

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
)

// DryTurn is a message that is answered without a trace (D11): by the same path as
// any other, in the process that was asked, with the record as it stands.
type DryTurn struct {
	Session parley.Session // as it stands, or one that is not in the store
	Fresh   bool           // it is not in the store
	Agent   parley.Agent   // in its current version
	Message store.NewMessage
	Script  []parley.ScriptedResult
	Flush   time.Duration // deltas of one message are merged for so long
	Sink    DrySink       // nil: nobody watches
}

// DrySink is told of a dry run while it goes on, in order, by one goroutine. An
// error ends the dry run.
type DrySink interface {
	Event(event parley.Event) error
	Delta(delta DryDelta) error
}

// DryDelta is a live piece of a message of a dry run. Offsets are UTF-8 bytes.
type DryDelta struct {
	SessionID   parley.ID
	MessageID   parley.ID
	Kind        parley.ContentKind
	Offset, End int
	Text        string
}

// DryOutcome is what a turn would have written.
type DryOutcome struct {
	Message  parley.Message   // the trigger
	Turn     parley.Turn      // as it ended; waiting, when it came to something to wait for
	Messages []parley.Message // of the turn, the trigger first
	Calls    []parley.Call
}

// Previewed is a request that would be sent, and what it was made of.
type Previewed struct {
	Call    parley.Call // all that is known before it is sent
	Info    model.Info
	System  string
	Request model.Request
	Encoded []byte           // nil when there is nothing to send yet
	Shown   []parley.Message // of the record, by sequence
	Refused string           // why it would not be sent, "" when it would
	Output  int              // tokens of the longest answer that may come
	// of the request, as budgets reserve them: corrected by what the provider counted before; 0: not estimated
	Tokens int
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
	Warm(ctx context.Context, agent parley.Agent) (parley.Warmed, error)
}
