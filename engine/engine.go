// Package engine implements the verbs of the API: each authorises the principal, validates its
// input and makes one store call. The server, the command line and the library all use it.
//
// It does not run turns (worker), stream them (live) or know HTTP (httpapi). The store is
// authoritative for everything that it returns; the engine's only state is a short-lived cache of
// authenticated keys.
package engine

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/internal/inflight"
	"example.org/parley/internal/projectdir"
	"example.org/parley/internal/webhook"
	"example.org/parley/model"
	"example.org/parley/runner"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// Store is the part of store.Store that the engine uses.
type Store interface {
	store.Sessions
	store.Messages
	Searching
	store.History
	store.Imports
	store.TurnLog
	store.Replays
	store.DryRuns
	store.Entities
	Knowledge
	store.Teams
	store.Keys
	store.Workspaces
	store.SignIns
	store.Clients
	store.ForeignIDs
	Approvals
	Delegations
	Inbox
	store.AuditTrail
	store.Verifiable
	store.Control
	store.Loops
	store.Usage
	store.ResponseCache
	Compactions
	store.Outside
	Sharing
	Trees
	Transitions

	Budgets(ctx context.Context, workspaceID parley.ID, subjects []store.BudgetSubject) ([]store.Budget, error)
	Chain(ctx context.Context, workspaceID, turnID parley.ID) (rootID parley.ID, err error)
	TakeRate(ctx context.Context, workspaceID, subject parley.ID, perMinute int) (time.Duration, error)
	RateWait(ctx context.Context, workspaceID, subject parley.ID, perMinute int) (time.Duration, error)
}

// Approvals are the questions about tool calls, as the API uses them. See store.Approvals for the contracts.
type Approvals interface {
	DecideApproval(
		ctx context.Context,
		scope store.Scope,
		id parley.ID,
		decision parley.Decision,
		claimBy parley.ID,
	) (store.Decided, error)
	Approval(ctx context.Context, scope store.Scope, id parley.ID) (parley.Approval, error)
	Approvals(ctx context.Context, scope store.Scope, query store.ApprovalQuery) ([]parley.Approval, error)
}

// Inbox is what agents want their people to read or to answer, as the API uses it. See store.Inbox for the contract.
type Inbox interface {
	InboxItem(ctx context.Context, workspaceID, principalID, id parley.ID) (parley.InboxItem, error)
	InboxItems(ctx context.Context, workspaceID parley.ID, query store.InboxQuery) ([]parley.InboxItem, error)
	MarkInboxItem(
		ctx context.Context, scope store.Scope, principalID, id parley.ID, read bool,
	) (parley.InboxItem, error)
	AnswerInboxItem(
		ctx context.Context, scope store.Scope, id parley.ID, answer store.InboxAnswer,
	) (parley.InboxItem, error)
}

// Knowledge is what agents know, as the API uses it. See store.Knowledge for the contract.
type Knowledge interface {
	CreateKnowledge(ctx context.Context, item store.NewKnowledge) (parley.KnowledgeItem, bool, error)
	UpdateKnowledge(ctx context.Context, items []parley.KnowledgeItem) ([]parley.KnowledgeItem, error)
	KnowledgeItem(ctx context.Context, scope store.Scope, id parley.ID) (parley.KnowledgeItem, error)
	KnowledgeItems(
		ctx context.Context, scope store.Scope, query store.KnowledgeQuery,
	) ([]parley.KnowledgeItem, error)
	KnowledgeBlock(ctx context.Context, scope store.Scope, id parley.ID) (parley.KnowledgeBlock, error)
}

// Delegations are what the agents of teams send each other, as the API uses them. See store.Delegations for the
// contracts.
type Delegations interface {
	Delegation(ctx context.Context, scope store.Scope, id parley.ID) (parley.Delegation, error)
	Delegations(ctx context.Context, scope store.Scope, query store.DelegationQuery) ([]parley.Delegation, error)
	CancelDelegation(ctx context.Context, scope store.Scope, id parley.ID) (parley.Delegation, error)
}

// Transitions are the moves of the state machine that the API may make; the others belong to workers. See store.Turns
// for the contracts.
type Transitions interface {
	EnsureSession(
		ctx context.Context,
		scope store.Scope,
		creation store.NewSession,
		claimBy parley.ID,
	) (store.Opened, error)
	PostMessage(
		ctx context.Context,
		scope store.Scope,
		sessionID parley.ID,
		creation store.NewMessage,
		claimBy parley.ID,
	) (store.Posted, error)
	EditQueued(
		ctx context.Context,
		scope store.Scope,
		author, messageID parley.ID,
		content json.RawMessage,
	) (parley.Message, error)
	RemoveQueued(ctx context.Context, scope store.Scope, messageID parley.ID) (parley.Message, error)
	RequestCancel(
		ctx context.Context,
		scope store.Scope,
		sessionID, turnID parley.ID,
		alsoQueued bool,
	) (store.Cancelled, error)
	TakeCancel(ctx context.Context, scope store.Scope, sessionID, turnID parley.ID) (store.Cancelled, error)
	DeleteSession(ctx context.Context, scope store.Scope, sessionID parley.ID) error
}

// Sharing lets sessions read others. See store.Shares for its contracts.
type Sharing interface {
	Share(ctx context.Context, scope store.Scope, share parley.Share) (kept parley.Share, made bool, err error)
	Unshare(ctx context.Context, scope store.Scope, sessionID, readerID parley.ID) error
	Shares(ctx context.Context, scope store.Scope, query store.ShareQuery) ([]parley.Share, error)
}

// Searching finds messages by their words. See store.Searcher for its contract.
type Searching interface {
	Search(ctx context.Context, scope store.Scope, query store.SearchQuery) (store.SearchPage, error)
}

// Trees shows the tool sessions below a session. See store.Children.
type Trees interface {
	Tree(ctx context.Context, scope store.Scope, sessionID parley.ID) (parley.Tree, error)
}

// Options configure an Engine. Store and Models are required.
type Options struct {
	Store      Store
	Models     model.Source
	Providers  []model.ProviderInfo // for people: what is or could be configured
	Tools      tool.Source          // nil: agents can name no server tools
	Servers    ToolServers          // those that Tools come from; nil: none
	Middleware []model.Middleware   // the program's own, the same as the workers'
	Runner     runner.Worker        // nil: this process runs no turns; others find them in the store
	Runtimes   []string             // runtimes beside standard that agents may use, if Runner is nil
	DryRunner  runner.DryRunner     // nil: no dry runs and no previews here
	// Audit records calls that only read; nil: they are not recorded. Changes are recorded with the change.
	Audit       *AuditLog
	Projects    *projectdir.Policy // where projects may lie; nil: in the home, chosen only by the machine's own user
	MaxSessions int64              // per workspace; 0: unlimited
	MaxStorage  int64              // bytes of files per workspace; 0: unlimited
	Documents   *artifact.Places   // where contents of artifacts are worked on; nil: the engine's own
	Webhooks    *webhook.Sender    // of tests and repetitions; nil: one that sends to public addresses only
	Log         *slog.Logger       // nil: slog.Default()
}

// Engine serves the verbs. It is safe for concurrent use and has no goroutines.
type Engine struct {
	store      Store
	models     model.Source
	providers  []model.ProviderInfo
	tools      tool.Source
	servers    ToolServers
	runner     runner.Worker
	dry        runner.DryRunner
	others     []string // runtimes, if there is no runner
	middleware []model.Middleware
	audit      *AuditLog
	projects   *projectdir.Policy
	quotas     struct{ sessions, storage int64 } // per workspace; 0: unlimited
	webhooks   *webhook.Sender
	documents  *artifact.Places
	log        *slog.Logger
	keys       secrets[parley.Principal]
	signedIn   secrets[store.SignedIn]

	scaling scaling

	looks, rehearsals, exports, imports, searches, sends *room
	importing                                            *pace
	largeImport                                          sync.Mutex      // held while a large file is imported
	wholeTeam                                            sync.Mutex      // held while a team's agents are in memory
	readings                                             *inflight.Bytes // what looks and replays hold

	// patching serialises patches of one agent within this process: each becomes a new version of what was read, and
	// the loser of a race must read again.
	patching [patchStripes]sync.Mutex
	seed     maphash.Seed
}

// patchStripes is how many agents can be patched at once without waiting.
const patchStripes = 64

// New makes an Engine.
func New(options Options) *Engine {
	log := options.Log
	if log == nil {
		log = slog.Default()
	}
	projects := options.Projects
	if projects == nil {
		projects = projectdir.Home()
	}
	e := &Engine{
		store:      options.Store,
		models:     options.Models,
		providers:  options.Providers,
		tools:      options.Tools,
		servers:    options.Servers,
		runner:     options.Runner,
		others:     options.Runtimes,
		dry:        options.DryRunner,
		middleware: options.Middleware,
		audit:      options.Audit,
		projects:   projects,
		log:        log,
		seed:       maphash.MakeSeed(),
		looks:      newRoom("previews and explained calls", maxLooks, looksPerPrincipal),
		rehearsals: newRoom("dry runs and replays", maxRehearsals, rehearsalsPerPrincipal),
		imports:    newRoom("imports", maxImports, importsPerPrincipal),
		importing:  newPace(),
		exports:    newRoom("exports", maxExports, exportsPerPrincipal),
		searches:   newRoom("searches", maxSearches, searchesPerPrincipal),
		sends:      newRoom("requests to webhooks", maxSends, sendsPerPrincipal),
		readings:   inflight.NewBytes(readingsHold*inflight.Scale(), 0),
	}
	if e.documents = options.Documents; e.documents == nil {
		e.documents = artifact.NewPlaces()
	}
	if e.webhooks = options.Webhooks; e.webhooks == nil {
		e.webhooks = webhook.NewSender(false, nil)
	}
	e.quotas.sessions, e.quotas.storage = options.MaxSessions, options.MaxStorage
	return e
}

// patch locks an agent against other patches of this process and returns the unlock.
func (e *Engine) patch(id parley.ID) func() {
	mu := &e.patching[maphash.Bytes(e.seed, id[:])%patchStripes]
	mu.Lock()
	return mu.Unlock
}
