package store

import (
	"context"

	"example.org/parley"
)

// InboxQuery lists the items of one principal's inbox, newest first unless Ascending.
type InboxQuery struct {
	PrincipalID  parley.ID
	Unread       bool // only those that are not read
	Type         parley.InboxType
	AgentID      parley.ID // zero: any
	Ascending    bool
	AfterCreated parley.Time // last row of the previous page; set together with AfterID
	AfterID      parley.ID
	Limit        int
}

// InboxAnswer is a principal's answer to a question in their inbox.
type InboxAnswer struct {
	By            parley.Author
	Text          string
	TokenEstimate int
}

// Inbox stores what agents that work on their own want their people to read or to answer. The outbox makes an item for
// a briefing or a question with the message that carries it; an approval of background work makes one with the
// approval, and whatever ends it ends the item. An item goes with its session.
//
// Everybody sees their own inbox and nobody else's: an item of another principal is CodeNotFound, also to admins.
type Inbox interface {
	InboxItem(ctx context.Context, workspaceID, principalID, id parley.ID) (parley.InboxItem, error)
	InboxItems(ctx context.Context, workspaceID parley.ID, query InboxQuery) ([]parley.InboxItem, error)
	// MarkInboxItem notes that its principal has read an item, or wants to read it again.
	MarkInboxItem(ctx context.Context, scope Scope, principalID, id parley.ID, read bool) (parley.InboxItem, error)
	// AnswerInboxItem answers a question: the answer is recorded in the item's session, and the outbox returns it to
	// the agent that asked. The item counts as read. CodeInvalid for an item that is not a question; CodeConflict, with
	// the delegation's state, if the question has ended.
	AnswerInboxItem(ctx context.Context, scope Scope, id parley.ID, answer InboxAnswer) (parley.InboxItem, error)
}
