package store

import (
	"context"

	"example.org/parley"
)

// NewKnowledge is an item to be stored. The caller mints its id.
type NewKnowledge struct {
	Item parley.KnowledgeItem
	// OwnerID is the principal for whom it is noted: only items whose sources they may read count as saying the same.
	// Zero may read all.
	OwnerID parley.ID
	// MaxSessions is the quota of sessions of the workspace, for the agent's background session; 0: unlimited.
	MaxSessions int64
	Idempotency Idempotency
}

// KnowledgeQuery lists items by id, newest first unless Ascending. Zero fields select any.
type KnowledgeQuery struct {
	AgentID   parley.ID
	Scope     parley.KnowledgeScope
	Kind      parley.KnowledgeKind
	Status    parley.KnowledgeStatus
	Ascending bool
	AfterID   parley.ID
	Limit     int
}

// KnowledgeReach selects what prompts of an agent may be told: its own items and those of the teams that it is in, as
// far as they are usable and the reader, whom parley.Session.ReaderID names, may see the sessions of all their sources.
type KnowledgeReach struct {
	WorkspaceID parley.ID
	AgentID     parley.ID
	ReaderID    parley.ID   // of the session
	Since       parley.Time // when the items were last changed, at least; 0: any time
	Limit       int
}

// Knowledge stores what agents know. An item whose sources a scope may not all see is absent for it.
type Knowledge interface {
	// CreateKnowledge stores an item under the lock of the agent's background session, which it makes if there is none.
	// An active item of the agent that says the same is confirmed instead, and returned; one that the new item
	// supersedes is marked. The bool reports a repeat: of the idempotency key, or of the item's id. CodeNotFound
	// without the agent, or the item to supersede; CodeArchived; CodeConflict for an agent without an owner or with
	// parley.MaxKnowledgeOfAgent items; CodeKeyReused.
	CreateKnowledge(ctx context.Context, item NewKnowledge) (parley.KnowledgeItem, bool, error)
	// UpdateKnowledge stores changed items, all or none. CodeConflict unless the Revision of each is the current one,
	// which goes up by one; CodeNotFound.
	UpdateKnowledge(ctx context.Context, items []parley.KnowledgeItem) ([]parley.KnowledgeItem, error)
	KnowledgeItem(ctx context.Context, scope Scope, id parley.ID) (parley.KnowledgeItem, error)
	KnowledgeItems(ctx context.Context, scope Scope, query KnowledgeQuery) ([]parley.KnowledgeItem, error)

	// UsableKnowledge reads what prompts may be told: pinned items first, then the latest changed.
	UsableKnowledge(ctx context.Context, reach KnowledgeReach) ([]parley.KnowledgeItem, error)
	// KnowledgeByID reads those of some items that are there for a scope, in any order.
	KnowledgeByID(ctx context.Context, scope Scope, ids []parley.ID) ([]parley.KnowledgeItem, error)
	// ChosenKnowledge reads the block in use of a session; nil if none was chosen yet. KnowledgeBlock reads one by id:
	// CodeNotFound.
	ChosenKnowledge(ctx context.Context, workspaceID, sessionID parley.ID) (*parley.KnowledgeBlock, error)
	KnowledgeBlock(ctx context.Context, scope Scope, id parley.ID) (parley.KnowledgeBlock, error)
	// ChooseKnowledge stores a block as the one in use, under the claim of the session's turn: CodeFenced.
	ChooseKnowledge(ctx context.Context, fence Fence, block parley.KnowledgeBlock) error
}
