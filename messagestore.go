package parley

import "context"

// MessageQuery lists messages by sequence; queued ones stand at the end by
// position (ascending only).
type MessageQuery struct {
	Roles         []Role
	Status        MessageStatus
	Internal      *bool
	TurnID        ID
	Iteration     *int
	ToolName      string
	AgentType     string
	AfterSequence int64  // exclusive; descending: before it, 0 from the end
	AfterPosition *int64 // set: the page starts in the queue
	Descending    bool   // no queued ones
	RecordOnly    bool   // no queued ones
	Limit         int
	MaxBytes      int // end behind the row with which their content reaches this, but not before the second; 0: no bound
}

// MessageStore reads messages.
type MessageStore interface {
	Messages(ctx context.Context, scope Scope, sessionID ID, query MessageQuery) ([]Message, error)
	// MessageIDs lists ids alone, as Messages would.
	MessageIDs(ctx context.Context, scope Scope, sessionID ID, query MessageQuery) ([]MessageRef, error)
	// Message finds a message that a visible session has, with the marks that the
	// session has which wrote it.
	Message(ctx context.Context, scope Scope, id ID) (Message, error)
	// MarkMessage changes the marks that a session (zero: the one that wrote it) has
	// on a message, with a message.marked event when one is another then.
	MarkMessage(ctx context.Context, scope Scope, sessionID, id ID, change MarksChange) (Message, error)
	// ClearContext empties what the model sees of a session: the next message that is
	// no steer gets a context edge, what was pinned until now is carried no more, and
	// the context's counters are 0. The record stays, and a turn that is under way
	// goes on with what it has. context.cleared; nothing when it is cleared already.
	ClearContext(ctx context.Context, scope Scope, sessionID ID) (Session, error)
	// Versions lists a message's versions ascending, texts filled in: from the rows
	// while it streams, sliced from the settled message after; the last one ends
	// at the settled text's end.
	Versions(ctx context.Context, scope Scope, messageID ID) ([]Version, error)
	// ContextTail reads the record for a model's context, newest first: settled,
	// not internal, before a sequence (0: from the end), nothing older than the
	// latest context edge.
	ContextTail(ctx context.Context, workspaceID, sessionID ID, before int64, limit int) ([]Message, error)
	// ContextHead reads what may stand before a window: the latest active summary,
	// and what is carried verbatim. Of a session whose Context.Held is false it
	// finds nothing.
	ContextHead(ctx context.Context, workspaceID, sessionID ID) (ContextHead, error)
}

// ContextHead is what may stand before the rows of a window. All of it is settled,
// not internal and not set aside.
type ContextHead struct {
	// Summary is the latest with covers_through that was not set aside and covers
	// something behind the latest context edge; nil without one.
	Summary *Message
	// First is the first user message behind that edge, if the summary covers it.
	First *Message
	// Pinned are the newest MaxPinnedShown pinned messages, ascending, each tool
	// call with its result and each result with its call; none that was pinned
	// before the context was cleared.
	Pinned []Message
}

// MessageRef is a message's id and place.
type MessageRef struct {
	ID       ID
	Sequence int64
	Position *int64
}

// TurnQuery lists turns of a session, newest first unless Ascending.
type TurnQuery struct {
	Status    TurnStatus
	Number    int64 // only the session's turn of this number, from 1; 0: all
	Ascending bool
	AfterID   ID
	Limit     int
}

// CallQuery lists calls of a session, newest first unless Ascending.
type CallQuery struct {
	TurnID    ID
	Ascending bool
	AfterID   ID
	Limit     int
}

// TurnLog reads turns and calls.
type TurnLog interface {
	Turn(ctx context.Context, scope Scope, id ID) (Turn, error)
	Turns(ctx context.Context, scope Scope, sessionID ID, query TurnQuery) ([]Turn, error)
	Call(ctx context.Context, scope Scope, id ID) (Call, error)
	Calls(ctx context.Context, scope Scope, sessionID ID, query CallQuery) ([]Call, error)
	// CallText is the system prompt or tools text behind a hash of a workspace's calls.
	CallText(ctx context.Context, workspaceID ID, hash Hash) ([]byte, error)
}
