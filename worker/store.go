package worker

import (
	"context"

	"parley"
)

// Store is what a Worker uses of parley.Store. A store that wraps another one has
// all of it, or does not compile: the index of words, the audit's chain and kept
// answers are no options that could get lost on the way.
type Store interface {
	turnStore
	parley.ResponseCache
	parley.SearchIndex
	parley.AuditLinker
}

// turnStore is what running turns takes; that of a dry run has no more.
type turnStore interface {
	parley.LeaseStore
	parley.OutboxStore
	parley.RetentionStore
	parley.ClientSweep
	parley.BudgetStore
	parley.CompactionStore

	Claim(ctx context.Context, processID parley.ID, n int, occupancy parley.Occupancy) ([]parley.Claim, error)
	RecoverTurn(ctx context.Context, fence parley.Fence) (parley.TurnState, error)
	PendingSteers(ctx context.Context, fence parley.Fence) ([]parley.Message, error)
	BeginStep(ctx context.Context, fence parley.Fence, begin parley.StepBegin) (parley.StepBegun, error)
	NoteProgress(ctx context.Context, fence parley.Fence, note parley.ProgressNote) error
	RetryCall(ctx context.Context, fence parley.Fence, step int, failed parley.CallSettled, notice parley.RetryNotice) error
	BeginCall(ctx context.Context, fence parley.Fence, begin parley.StepBegin) error
	OpenBlock(ctx context.Context, fence parley.Fence, open parley.BlockOpen) (parley.Message, error)
	AppendVersions(ctx context.Context, versions []parley.FencedVersion) (parley.Appended, error)
	SettleStep(ctx context.Context, fence parley.Fence, settle parley.StepSettle) (parley.StepSettled, error)
	SettleTool(ctx context.Context, fence parley.Fence, settle parley.ToolSettle) (parley.Message, error)
	ParkTurn(ctx context.Context, fence parley.Fence, reason parley.WaitReason) (parley.Turn, error)
	OpenChild(ctx context.Context, fence parley.Fence, child parley.NewSession) (parley.Session, error)
	FinishTurn(ctx context.Context, fence parley.Fence, end parley.TurnEnd) (parley.StepSettled, error)
	ReleaseTurn(ctx context.Context, fence parley.Fence) error

	UseApprovals(ctx context.Context, fence parley.Fence, uses []parley.ApprovalUse) error

	Session(ctx context.Context, scope parley.Scope, id parley.ID) (parley.Session, error)
	Messages(ctx context.Context, scope parley.Scope, sessionID parley.ID, query parley.MessageQuery) ([]parley.Message, error)
	Message(ctx context.Context, scope parley.Scope, id parley.ID) (parley.Message, error)
	Turn(ctx context.Context, scope parley.Scope, id parley.ID) (parley.Turn, error)
	Calls(ctx context.Context, scope parley.Scope, sessionID parley.ID, query parley.CallQuery) ([]parley.Call, error)
	ContextTail(ctx context.Context, workspaceID, sessionID parley.ID, before int64, limit int) ([]parley.Message, error)
	ContextHead(ctx context.Context, workspaceID, sessionID parley.ID) (parley.ContextHead, error)
	Agent(ctx context.Context, workspaceID parley.ID, idOrSlug string) (parley.Agent, error)
	AgentVersion(ctx context.Context, workspaceID, agentID parley.ID, version int) (parley.Agent, error)
	AgentVersionBy(ctx context.Context, workspaceID, agentID, principalID parley.ID, through int) (parley.Agent, error)
	Accepted(ctx context.Context, workspaceID, sessionID parley.ID) (parley.Accepted, error)
	Project(ctx context.Context, workspaceID, id parley.ID) (parley.Project, error)
	File(ctx context.Context, scope parley.Scope, id parley.ID) (parley.File, error)
	FileChunk(ctx context.Context, workspaceID, blobID parley.ID, n int) ([]byte, error)
}
