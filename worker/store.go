package worker

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/internal/upload"
	"example.org/parley/store"
)

// Store is the part of store.Store that a Worker uses. A store that wraps another must offer all of it to compile: the
// full-text index, the audit's chain and the response cache are not optional and cannot get lost.
type Store interface {
	turnStore
	store.ResponseCache
	upload.Store
	store.SearchIndex
	store.AuditLinker

	laneStore
	Events(ctx context.Context, scope store.Scope, sessionID parley.ID, after int64, limit int) ([]parley.Event, error)

	DueSchedules(ctx context.Context, limit int) (store.DueSchedules, error)
	PostScheduled(ctx context.Context, post store.ScheduledPost) (*parley.ScheduleRun, error)
	MoveSchedule(ctx context.Context, move store.ScheduleMove) (bool, error)

	DuePipelineRuns(ctx context.Context, limit int) ([]parley.PipelineRun, error)
	PostponePipelineRun(ctx context.Context, run *parley.PipelineRun) error
	OpenPipelineNode(ctx context.Context, workspaceID, runID parley.ID, node, count int) (bool, error)
	BeginPipelineNode(ctx context.Context, begin store.PipelineBegin) (bool, error)
	RefusePipelineNode(
		ctx context.Context, workspaceID, runID parley.ID, start parley.PipelineStart, reason string,
	) (bool, error)
}

// turnStore is what running turns use; a dry run's store has only this.
type turnStore interface {
	store.Leases
	store.Outbox
	store.Retention
	store.ClientSweep
	store.Budgets
	store.Compactions

	Claim(ctx context.Context, processID parley.ID, n int, occupancy store.Occupancy) ([]store.Claim, error)
	RecoverTurn(ctx context.Context, fence store.Fence) (store.TurnState, error)
	PendingSteers(ctx context.Context, fence store.Fence) ([]parley.Message, error)
	BeginStep(ctx context.Context, fence store.Fence, begin store.StepBegin) (store.StepBegun, error)
	NoteProgress(ctx context.Context, fence store.Fence, note store.ProgressNote) error
	RetryCall(
		ctx context.Context,
		fence store.Fence,
		step int,
		failed store.CallSettled,
		notice store.RetryNotice,
	) error
	BeginCall(ctx context.Context, fence store.Fence, begin store.StepBegin) error
	OpenBlock(ctx context.Context, fence store.Fence, open store.BlockOpen) (parley.Message, error)
	AppendVersions(ctx context.Context, versions []store.FencedVersion) (store.Appended, error)
	SettleStep(ctx context.Context, fence store.Fence, settle store.StepSettle) (store.StepSettled, error)
	SettleTool(ctx context.Context, fence store.Fence, settle store.ToolSettle) (parley.Message, error)
	ParkTurn(ctx context.Context, fence store.Fence, reason parley.WaitReason) (parley.Turn, error)
	OpenChild(ctx context.Context, fence store.Fence, child store.NewSession) (parley.Session, error)
	FinishTurn(ctx context.Context, fence store.Fence, end store.TurnEnd) (store.StepSettled, error)
	ReleaseTurn(ctx context.Context, fence store.Fence) error

	UsableKnowledge(ctx context.Context, reach store.KnowledgeReach) ([]parley.KnowledgeItem, error)
	KnowledgeByID(ctx context.Context, scope store.Scope, ids []parley.ID) ([]parley.KnowledgeItem, error)
	ChosenKnowledge(ctx context.Context, workspaceID, sessionID parley.ID) (*parley.KnowledgeBlock, error)
	ChooseKnowledge(ctx context.Context, fence store.Fence, block parley.KnowledgeBlock) error

	UseApprovals(ctx context.Context, fence store.Fence, uses []store.ApprovalUse) error
	AskTool(ctx context.Context, fence store.Fence, ask store.Ask) error

	Session(ctx context.Context, scope store.Scope, id parley.ID) (parley.Session, error)
	Messages(
		ctx context.Context,
		scope store.Scope,
		sessionID parley.ID,
		query store.MessageQuery,
	) ([]parley.Message, error)
	Message(ctx context.Context, scope store.Scope, id parley.ID) (parley.Message, error)
	Turn(ctx context.Context, scope store.Scope, id parley.ID) (parley.Turn, error)
	Calls(ctx context.Context, scope store.Scope, sessionID parley.ID, query store.CallQuery) ([]parley.Call, error)
	CallText(ctx context.Context, workspaceID parley.ID, hash parley.Hash) ([]byte, error)
	ContextTail(
		ctx context.Context,
		workspaceID, sessionID parley.ID,
		before int64,
		limit, most int,
	) (rows []parley.Message, more bool, err error)
	ContextHead(ctx context.Context, workspaceID, sessionID parley.ID) (parley.ContextHead, error)
	Agent(ctx context.Context, workspaceID parley.ID, idOrSlug string) (parley.Agent, error)
	AgentVersion(ctx context.Context, workspaceID, agentID parley.ID, version int) (parley.Agent, error)
	AgentVersionBy(ctx context.Context, workspaceID, agentID, principalID parley.ID, through int) (parley.Agent, error)
	Accepted(ctx context.Context, workspaceID, sessionID parley.ID) (parley.Accepted, error)
	Project(ctx context.Context, workspaceID, id parley.ID) (parley.Project, error)
	artifact.Reader
	Transform(ctx context.Context, scope store.Scope, id parley.ID) (parley.Transform, error)
	TransformDefinition(ctx context.Context, workspaceID parley.ID, idOrSlug string) (parley.TransformDefinition, error)
	TransformDefinitions(
		ctx context.Context, workspaceID parley.ID, query store.TransformDefinitionQuery,
	) ([]parley.TransformDefinition, error)
	File(ctx context.Context, scope store.Scope, id parley.ID) (parley.File, error)
	FileChunk(ctx context.Context, workspaceID, blobID parley.ID, n int) ([]byte, error)
}
