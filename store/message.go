package store

import (
	"context"

	"example.org/parley"
)

// MessageQuery lists messages by sequence; in ascending order, queued ones follow at the end by position.
type MessageQuery struct {
	Roles         []parley.Role
	Status        parley.MessageStatus
	Internal      *bool
	TurnID        parley.ID
	Iteration     *int
	ToolName      string
	AgentType     string
	AfterSequence int64  // exclusive; descending: messages before it, 0: from the end
	AfterPosition *int64 // set: start in the queue
	Descending    bool   // no queued ones
	RecordOnly    bool   // no queued ones
	Limit         int
	// end the page with the row whose content reaches this sum, but not before the second; 0: no bound
	MaxBytes int
}

// Messages reads messages.
type Messages interface {
	Messages(ctx context.Context, scope Scope, sessionID parley.ID, query MessageQuery) ([]parley.Message, error)
	// MessageIDs lists only the ids of what Messages would list.
	MessageIDs(ctx context.Context, scope Scope, sessionID parley.ID, query MessageQuery) ([]MessageRef, error)
	// Message finds a message of any session that the scope may see, with the marks of the session that wrote it.
	Message(ctx context.Context, scope Scope, id parley.ID) (parley.Message, error)
	// MarkMessage changes the marks that a session (zero: the writer) has on a message, and writes message.marked if
	// one changed.
	MarkMessage(
		ctx context.Context,
		scope Scope,
		sessionID, id parley.ID,
		change parley.MarksChange,
	) (parley.Message, error)
	// ClearContext empties the model's view of a session: the next message that is not a steer gets a context edge,
	// pins set so far no longer apply, and the context's counters are 0. The record stays, and a running turn keeps its
	// context. It writes context.cleared, or nothing if the context is already cleared.
	ClearContext(ctx context.Context, scope Scope, sessionID parley.ID) (parley.Session, error)
	// Versions lists a message's versions in ascending order, with texts: from the rows while it streams, sliced from
	// the settled message afterwards. The last one ends where the settled text ends.
	Versions(ctx context.Context, scope Scope, messageID parley.ID) ([]parley.Version, error)
	// ContextTail reads the record for a model's context, newest first: settled,
	// not internal, before a sequence (0: from the end), nothing older than the
	// latest context edge. A page ends after limit rows, or with the row by which it
	// has most bytes; more says that there may be older ones. A row that is longer than
	// most alone is not read: the page ends before it, empty where it would be the first.
	ContextTail(
		ctx context.Context,
		workspaceID, sessionID parley.ID,
		before int64,
		limit, most int,
	) (rows []parley.Message, more bool, err error)
	// ContextHead reads what may stand before a window: the latest active summary and the messages to carry verbatim.
	// It finds nothing for a session whose Context.Held is false.
	ContextHead(ctx context.Context, workspaceID, sessionID parley.ID) (parley.ContextHead, error)
}

// MessageRef is a message's id and position.
type MessageRef struct {
	ID       parley.ID
	Sequence int64
	Position *int64
}
