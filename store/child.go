package store

import (
	"context"

	"example.org/parley"
)

// Children opens and shows the sessions of agent tools.
type Children interface {
	// OpenChild opens the session of an agent tool's call, with its first message and turn, under the claim of the
	// parent's turn. Session.ID is the ChildID of ParentMessageID; owner, visibility, mode and project are as given. If
	// the call already has a session, OpenChild returns that session, so it may be repeated. CodeFenced without the
	// claim; CodeConflict if the call has a result or the session would be nested deeper than MaxToolDepth;
	// CodeNotFound and CodeArchived for the agent.
	//
	// When the session's first turn ends, or the session is deleted, the outbox records the call's result (unless it
	// has one or its turn has finished), and a turn that waits for nothing else becomes ready again. If the call gets
	// its result any other way, the outbox cancels the session's turns.
	OpenChild(ctx context.Context, fence Fence, child NewSession) (parley.Session, error)
	// Tree reads a session and the tool sessions below it, as far as the scope may see them.
	Tree(ctx context.Context, scope Scope, sessionID parley.ID) (parley.Tree, error)
}
