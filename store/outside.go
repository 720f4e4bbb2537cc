package store

import (
	"context"
	"encoding/json"

	"example.org/parley"
)

// OutsideSilent is the error of a message whose outside agent stopped appending.
const OutsideSilent = "The agent that wrote this from outside went silent before it settled its message."

// OutsideAppend is a piece of a message's text or reasoning.
type OutsideAppend struct {
	Kind   parley.ContentKind // text or reasoning
	Offset int                // UTF-8 bytes; at or before the end of this kind's text
	Text   string             // empty: a sign of life, with nothing new
}

// OutsideSettle ends an open message and its turn.
type OutsideSettle struct {
	Status parley.MessageStatus // a settled one
	// canonical AssistantContent whose texts start with what was appended; nil: exactly what was appended
	Content  json.RawMessage
	Usage    *parley.Usage   // as the agent reports it
	Cost     *parley.Money   // of that usage; nil: unknown
	Model    parley.ModelID  // "" keeps the model named when the message was opened
	Failure  *parley.Failure // of failed
	Calls    []NewMessage    // tool_calls that follow a completed message in the record
	Estimate func(text string) int
}

// OutsideSettled is the result of SettleOutside.
type OutsideSettled struct {
	Message parley.Message
	Turn    parley.Turn
	Calls   []parley.Message // the tool calls, in order
}

// Outside lets an agent that runs elsewhere stream its message. PostMessage with NewMessage.Streaming opens it in a
// session without an unfinished turn. The message is then the session's turn, waiting for WaitOutside; no worker runs
// it.
type Outside interface {
	// AppendOutside adds to an open message, durably before any watcher sees it, and extends its deadline. Text that
	// the store already has is accepted and adds nothing. CodeConflict with Error.End if the offset leaves a gap or the
	// text differs, and with Error.State if the message has settled; CodeTooLarge.
	AppendOutside(
		ctx context.Context,
		scope Scope,
		messageID parley.ID,
		piece OutsideAppend,
	) (parley.OutsideGrown, error)

	// SettleOutside settles an open message and ends its turn. A repeat of the same settle returns the same result;
	// CodeConflict, with the state, for any other settled message.
	SettleOutside(ctx context.Context, scope Scope, messageID parley.ID, settle OutsideSettle) (OutsideSettled, error)
}
