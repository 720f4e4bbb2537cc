package store

import (
	"context"

	"example.org/parley"
)

// MessageQuery lists messages by sequence; queued ones stand at the end by
// position (ascending only).
type MessageQuery struct {
	Roles         []parley.Role
	Status        parley.MessageStatus
	Internal      *bool
	TurnID        parley.ID
	Iteration     *int
	ToolName      string
	AgentType     string
	AfterSequence int64  // exclusive; descending: before it, 0 from the end
	AfterPosition *int64 // set: the page starts in the queue
	Descending    bool   // no queued ones
	RecordOnly    bool   // no queued ones
	Limit         int
	// end behind the row with which their content reaches this, but not before the second; 0: no bound
	MaxBytes int
}

// Messages reads messages.
type Messages interface {
	Messages(ctx context.Context, scope Scope, sessionID parley.ID, query MessageQuery) ([]parley.Message, error)
	// MessageIDs lists ids alone, as Messages would.
	MessageIDs(ctx context.Context, scope Scope, sessionID parley.ID, query MessageQuery) ([]MessageRef, error)
	// Message finds a message that a visible session has, with the marks that the
	// session has which wrote it.
	Message(ctx context.Context, scope Scope, id parley.ID) (parley.Message, error)
	// MarkMessage changes the marks that a session (zero: the one that wrote it) has
	// on a message, with a message.marked event when one is another then.
	MarkMessage(
		ctx context.Context,
		scope Scope,
		sessionID, id parley.ID,
		change parley.MarksChange,
	) (parley.Message, error)
	// ClearContext empties what the model sees of a session: the next message that is
	// no steer gets a context edge, what was pinned until now is carried no more, and
	// the context's counters are 0. The record stays, and a turn that is under way
	// goes on with what it has. context.cleared; nothing when it is cleared already.
	ClearContext(ctx context.Context, scope Scope, sessionID parley.ID) (parley.Session, error)
	// Versions lists a message's versions ascending, texts filled in: from the rows
	// while it streams, sliced from the settled message after; the last one ends
	// at the settled text's end.
	Versions(ctx context.Context, scope Scope, messageID parley.ID) ([]parley.Version, error)
	// ContextTail reads the record for a model's context, newest first: settled,
	// not internal, before a sequence (0: from the end), nothing older than the
	// latest context edge. A page ends after limit rows, or with the row by which it
	// has most bytes; more says that there may be older ones.
	ContextTail(
		ctx context.Context,
		workspaceID, sessionID parley.ID,
		before int64,
		limit, most int,
	) (rows []parley.Message, more bool, err error)
	// ContextHead reads what may stand before a window: the latest active summary,
	// and what is carried verbatim. Of a session whose Context.Held is false it
	// finds nothing.
	ContextHead(ctx context.Context, workspaceID, sessionID parley.ID) (parley.ContextHead, error)
}

// MessageRef is a message's id and place.
type MessageRef struct {
	ID       parley.ID
	Sequence int64
	Position *int64
}
