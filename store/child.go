package store

import (
	"context"

	"example.org/parley"
)

// Children opens the sessions of tools that are agents, and shows them.
type Children interface {
	// OpenChild opens the session of a call of an agent tool, with its first message
	// and turn, under the claim of the parent's turn. Session.ID is the ChildID of
	// ParentMessageID; owner, visibility, mode and project are as given. A call whose
	// session is there gets that one, so that it may be repeated. CodeFenced without
	// the claim, CodeConflict when the call has its result or tool sessions would lie
	// deeper than MaxToolDepth, CodeNotFound and CodeArchived for the agent.
	//
	// When the first turn of such a session ends, or the session is deleted, the
	// outbox records the result of the call, if it still has none and its turn is
	// unfinished, and makes a turn that waits for nothing else ready again. A call
	// that gets its result otherwise has the session's turns cancelled by the outbox.
	OpenChild(ctx context.Context, fence Fence, child NewSession) (parley.Session, error)
	// Tree reads a session and the tool sessions below it that the scope shows.
	Tree(ctx context.Context, scope Scope, sessionID parley.ID) (parley.Tree, error)
}
