package runner

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
)

// DryTurn is a message to answer without a trace (D11): by the same path as any other, in the process that received it,
// from the present record.
type DryTurn struct {
	// as stored, or one that is not in the store; its record is read through its LastSequence
	Session parley.Session
	Fresh   bool         // it is not in the store
	Agent   parley.Agent // the agent's current version
	Message store.NewMessage
	Changed []parley.Message // of the record: shown with these marks, and as a summary with this text
	Script  []parley.ScriptedResult
	Flush   time.Duration // how long deltas of a message are merged
	Sink    DrySink       // nil: nobody watches
}

// DrySink receives a dry run while it runs, in order, on one goroutine. An error ends the dry run.
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
	Turn     parley.Turn      // as it ended; waiting, if it reached something to wait for
	Messages []parley.Message // the turn's messages, the trigger first
	Calls    []parley.Call
}

// Previewed is a request that would be sent, and its inputs.
type Previewed struct {
	Call    parley.Call // everything known before it is sent
	Info    model.Info
	System  string
	Request model.Request
	Encoded []byte           // nil if there is nothing to send yet
	Shown   []parley.Message // messages of the record, by sequence
	Refused string           // why it would not be sent; "" if it would
	Output  int              // tokens of the longest possible answer
	// the request's tokens, as budgets reserve them: corrected by the provider's earlier counts; 0: not estimated
	Tokens int
	// Outlook says when the window will be shortened; nil if it never grows
	Outlook *parley.Outlook
}

// DryRunner runs turns without writing to the record. Its methods return CodeUnavailable if this process has no room at
// the moment.
type DryRunner interface {
	// DryRun runs a turn in memory and returns when it has ended or waits; ctx ends it.
	DryRun(ctx context.Context, turn DryTurn) (DryOutcome, error)
	// Preview makes the first request of a turn; without a message (its ID is zero), the next request.
	Preview(ctx context.Context, turn DryTurn) (Previewed, error)
	// Warm sends the beginning of an agent's requests to its provider, if that gains anything. It returns
	// CodeUnavailable if that fails.
	Warm(ctx context.Context, agent parley.Agent) (parley.Warmed, error)
	// PreviewCompaction returns what a compaction would cover and cost, without starting it. CodeConflict if it would
	// cover nothing.
	PreviewCompaction(
		ctx context.Context,
		session parley.Session,
		agent parley.Agent,
		wanted store.NewCompaction,
	) (parley.Compaction, error)
}
