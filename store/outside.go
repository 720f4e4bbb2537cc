package store

import (
	"context"
	"encoding/json"

	"example.org/parley"
)

// OutsideSilent is the sentence of a message whose agent appended nothing for too long.
const OutsideSilent = "The agent that wrote this from outside went silent before it settled its message."

// OutsideAppend is a piece of a message's text or reasoning.
type OutsideAppend struct {
	Kind   parley.ContentKind // text or reasoning
	Offset int                // UTF-8 bytes; where the text of this kind ends, or before
	Text   string             // empty: the agent is alive and has nothing new
}

// OutsideSettle ends an open message and its turn.
type OutsideSettle struct {
	Status parley.MessageStatus // a settled one
	// canonical AssistantContent, whose texts begin with what was appended; nil: what was appended
	Content  json.RawMessage
	Usage    *parley.Usage   // as the agent reports it
	Cost     *parley.Money   // of that usage; nil: unknown
	Model    parley.ModelID  // "" leaves the one that was named when it was opened
	Failure  *parley.Failure // of failed
	Calls    []NewMessage    // tool_calls that enter the record behind it; of completed
	Estimate func(text string) int
}

// OutsideSettled is the answer to SettleOutside.
type OutsideSettled struct {
	Message parley.Message
	Turn    parley.Turn
	Calls   []parley.Message // the tool calls, in order
}

// Outside is how an agent outside streams its message: PostMessage with
// NewMessage.Streaming opens it, on a session without an unfinished turn. It is
// then the session's turn, waiting for WaitOutside, and no worker's.
type Outside interface {
	// AppendOutside adds to an open message, durable before anybody sees it, and
	// prolongs its time. What is known already is accepted again and adds nothing.
	// CodeConflict with Error.End for a hole and for text that differs from what is
	// there, with Error.State for a message that has settled; CodeTooLarge.
	AppendOutside(
		ctx context.Context,
		scope Scope,
		messageID parley.ID,
		piece OutsideAppend,
	) (parley.OutsideGrown, error)

	// SettleOutside settles an open message and ends its turn. One that was settled
	// so before is answered again; CodeConflict with the state for any other.
	SettleOutside(ctx context.Context, scope Scope, messageID parley.ID, settle OutsideSettle) (OutsideSettled, error)
}
