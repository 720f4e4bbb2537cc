package parley

import (
	"context"
	"encoding/json"
	"time"
)

// Store is everything that a database must do for Parley. It is transitions,
// not CRUD: one method is one transaction is one legal step, its events
// included; it checks first and writes after, so a refusal writes nothing.
// Errors are *Error with the codes that each method names; anything else means
// the database itself failed. sqlite implements it; storetest is its contract.
type Store interface {
	TurnStore
	ControlStore
	LoopStore
	LeaseStore
	SessionStore
	MessageStore
	TurnLog
	AgentStore
	ProjectStore
	KeyStore
	ClientStore
	OutboxStore
	ChildStore
	AuditStore
	GaugeStore
	BudgetStore
	ApprovalStore
	FileStore

	// Listen adds a listener that is told of every commit of this process, and as
	// far as hints come of those of other processes (Commit.Remote). Call it before
	// the first transition.
	Listen(hints Hints)
	// Ping reports whether the database answers.
	Ping(ctx context.Context) error
	// Close ends the store's goroutines and files. Everything committed stays.
	Close() error
}

// Scope is who looks: every query names the workspace, and what a principal may
// not see is CodeNotFound, exactly like what does not exist.
type Scope struct {
	WorkspaceID ID
	ViewerID    ID // the principal: sees its own sessions and those shared with the workspace; zero sees all of the workspace
}

// Fence names a claim. Every write of a worker carries it; when the head's
// epoch has moved on, or its first unfinished turn is another one, the write is
// CodeFenced and nothing is written.
type Fence struct {
	WorkspaceID ID
	SessionID   ID
	TurnID      ID
	Epoch       int64
}

// Idempotency remembers a creation by its key for as long as the row lives.
// The zero value means no key.
type Idempotency struct {
	Key         string
	Fingerprint Hash // SHA-256 of route, principal and raw body
}

// NewMessage is a message on its way into a session.
type NewMessage struct {
	ID          ID // minted by the caller
	TurnID      ID // minted by the caller for a user message that starts a turn; zero records it alone
	Role        Role
	Author      Author
	Content     json.RawMessage // canonical
	ContextNote string
	ToolCallID  string // of a tool_result
	ToolName    string
	Internal    bool
	Metadata    json.RawMessage
	AgentType   string
	Iteration   int
	LoopID      ID // of a loop's first iteration; set by StartLoop alone
	Overrides   Overrides
	During      During // "" means the session's own setting, else queue
	Title       string // becomes the session's title if it has none
	Idempotency Idempotency
}

// Posted is the answer to a post.
type Posted struct {
	Message       Message
	Turn          *Turn // of a message that starts or joins a turn
	EventSequence int64 // the session's last event before this post
	Replayed      bool  // the idempotency key was used before with the same body: this is the first answer
	Claim         *Claim
}

// NewSession is a session on its way into the store.
type NewSession struct {
	Session     Session // ids minted by the caller; status, statistics and times are the store's
	First       *NewMessage
	ClientID    string // the client that has it open from now on, if any
	Idempotency Idempotency
}

// Opened is the answer to EnsureSession.
type Opened struct {
	Session  Session
	Created  bool // false: a session with this key existed
	Posted   *Posted
	Replayed bool
}

// Claim is the right to run one turn, with all that a fresh run needs.
type Claim struct {
	Fence   Fence
	Session Session
	Agent   Agent // in the turn's fixed version
	Turn    Turn  // running; Attempt > 1 means: call RecoverTurn first
	Trigger Message
	Steers  bool  // some wait for the turn's next step
	Loop    *Loop // that the turn belongs to, if any
}

// TurnState is what a turn has in the record when a worker resumes it.
type TurnState struct {
	Messages  []Message  // of the turn, in sequence order, the trigger first; all settled
	Attempts  int        // calls recorded for Turn.Step
	Approvals []Approval // of the turn, by creation
}

// Steered names a queued steer as a worker has read it.
type Steered struct {
	MessageID ID
	Revision  int
}

// StepBegin opens a step: the call's record, the step's first assistant message
// (streaming, its place taken) and the steers that the request holds.
type StepBegin struct {
	Call   Call   // ID, MessageID, Step, Attempt and all that describes the request
	System string // text behind Call.SystemHash, kept once per hash
	Tools  []byte // canonical JSON behind Call.ToolsHash, kept once per hash
	Author Author // the agent
	// AgentType is the trigger's: what a turn writes is found by it too.
	AgentType string
	Steers    []Steered
	// Reservation is what the call wants to be sure of first; nil without limits on
	// tokens and money. CodeOverBudget, and nothing is written, when there is no room.
	Reservation *Reservation
}

// StepBegun is the answer to BeginStep.
type StepBegun struct {
	Message Message   // the assistant message, streaming
	Steered []Message // in the record now
}

// BlockOpen opens a further row of the running step before its first delta.
type BlockOpen struct {
	MessageID  ID
	Step       int
	Role       Role // assistant or tool_call
	Author     Author
	AgentType  string // the trigger's
	Model      ModelID
	ToolCallID string // of a tool_call: Parley's own id
	ToolName   string
}

// FencedVersion is a store flush of one streaming message.
type FencedVersion struct {
	Fence   Fence
	Version Version
}

// Appended is what became of the claims of a flush. The versions of those that it
// does not name are in the store; the others' are not, none of them.
type Appended struct {
	Fenced []Fence // void: nothing under them will be written
	Locked []Fence // another transaction has their session: flush the same versions again
}

// CallSettled ends a call's record.
type CallSettled struct {
	CallID       ID
	Outcome      CallOutcome
	Usage        Usage
	Cost         *Money
	Finish       FinishReason
	Error        *Failure
	FirstTokenMS *int64
	TotalMS      *int64
}

// BlockSettled ends one row of a step.
type BlockSettled struct {
	MessageID     ID
	Status        MessageStatus
	Content       json.RawMessage // canonical
	ProviderData  []byte
	ToolName      string
	Error         *Failure
	Usage         *Usage          // of the step's first row
	Metadata      json.RawMessage // nil keeps {}
	TokenEstimate int
	Chunks        int // provider chunks received
}

// TurnEnd ends a turn with a step or alone. Status is a finished one.
type TurnEnd struct {
	Status  TurnStatus
	Failure *Failure // of failed
	Met     bool     // of a completed turn of a loop: the loop's condition holds
}

// StepSettle settles every row of a step in one transaction, and ends the turn
// in the same one when End is set.
type StepSettle struct {
	Step         int
	Call         CallSettled
	Blocks       []BlockSettled // in sequence order, every row that the step opened
	ToolsStarted []string       // tool_call ids whose tools start right after: tool.started
	Asked        []Ask          // calls that a person decides about first; not with End
	End          *TurnEnd
}

// StepSettled is the answer to SettleStep and FinishTurn.
type StepSettled struct {
	Turn Turn
	More bool // End was refused: a steer is undelivered, so the turn goes on
}

// ProgressNote is the data of tool.progress.
type ProgressNote struct {
	ToolCallID string
	ToolName   string
	ToolProgress
}

// RetryNotice is the data of step.retrying.
type RetryNotice struct {
	Attempt int // the one that comes next
	Class   ErrorClass
	Wait    time.Duration
}

// ToolSettle is a tool's answer: its result message enters the record.
type ToolSettle struct {
	MessageID  ID // of the new tool_result
	Step       int
	ToolCallID string
	ToolName   string
	Content    json.RawMessage // canonical ToolResultContent
	Author     Author
	ApprovalID ID // of a call that was asked about: pending still, it is cancelled with the result
}

// Cancelled is the answer to the two cancels.
type Cancelled struct {
	Turn    Turn
	Settled []ID // messages that the cancel settled
	Held    bool // a live worker holds the turn: it was told, and will settle by itself
	Before  bool // the turn had been cancelled before
}

// TurnStore is the state machine of sessions and turns. Each method begins by
// locking the session's head row.
type TurnStore interface {
	// EnsureSession creates a session, with its first message and turn if First is
	// set; if Session.Key exists in the workspace, First is posted there instead.
	// claimBy is as for PostMessage. CodeNotFound for a foreign agent, project or
	// parent; CodeArchived for an archived agent, or First on an archived session;
	// CodeKeyReused.
	EnsureSession(ctx context.Context, scope Scope, session NewSession, claimBy ID) (Opened, error)

	// PostMessage records a message, and for one that starts a turn creates that
	// turn, in one transaction. On an idle session the message enters the record
	// at once; while a turn is unfinished During decides. With claimBy set (a
	// process that has a free slot for the workspace) a turn that may run at once
	// is claimed in the same transaction, unless the session is in the background:
	// such turns wait for Claim and its shares. A tool_result answers a waiting
	// turn; one whose turn runs at its tools enters too if a client is to answer the
	// call. CodeNotFound, CodeArchived, CodeBusy (reject), CodeConflict (late or
	// orphan result, full queue), CodeKeyReused.
	PostMessage(ctx context.Context, scope Scope, sessionID ID, message NewMessage, claimBy ID) (Posted, error)

	// EditQueued replaces the content of a queued message. CodeConflict once it is
	// in the record.
	EditQueued(ctx context.Context, scope Scope, messageID ID, content json.RawMessage) (Message, error)

	// RemoveQueued takes a queued message out of the queue: it stays as cancelled,
	// its turn too. CodeConflict once it is in the record.
	RemoveQueued(ctx context.Context, scope Scope, messageID ID) (Message, error)

	// Claim takes up to n ready sessions (never more than MaxClaims) for a process
	// with a lease: round robin over the workspaces that wait, oldest within each,
	// foreground before background, none that occupancy does not admit. Occupancy
	// is of the process, without the n places. The trigger enters the record if it
	// was queued; session.started is written. CodeFenced without a lease.
	Claim(ctx context.Context, processID ID, n int, occupancy Occupancy) ([]Claim, error)

	// RecoverTurn settles what an earlier attempt left open: streaming messages
	// become failed (interrupted) with the text of their versions, an open call
	// becomes interrupted. It returns what the turn has.
	RecoverTurn(ctx context.Context, fence Fence) (TurnState, error)

	// PendingSteers reads the undelivered steers of a turn, in queue order.
	PendingSteers(ctx context.Context, fence Fence) ([]Message, error)

	// BeginStep opens a step. CodeMore, and nothing is written, when a named steer
	// was edited or removed meanwhile.
	BeginStep(ctx context.Context, fence Fence, begin StepBegin) (StepBegun, error)

	// NoteProgress tells how far a call of the turn has come: tool.progress.
	NoteProgress(ctx context.Context, fence Fence, note ProgressNote) error

	// RetryCall ends a failed call whose message has shown nothing yet, and says
	// when the next attempt follows in the same message.
	RetryCall(ctx context.Context, fence Fence, step int, failed CallSettled, notice RetryNotice) error

	// BeginCall opens the record of another attempt in the same message.
	BeginCall(ctx context.Context, fence Fence, begin StepBegin) error

	// OpenBlock opens a further row of the running step.
	OpenBlock(ctx context.Context, fence Fence, open BlockOpen) (Message, error)

	// AppendVersions flushes streaming messages. It waits for nobody: the versions of
	// claims that are void, or whose session another transaction keeps locked, are
	// skipped, and those claims returned. A version that is there already is kept as
	// it is: repeating a flush whose outcome is unknown changes nothing.
	AppendVersions(ctx context.Context, versions []FencedVersion) (Appended, error)

	// SettleStep settles a step: rows, call, hashes, statistics, step.generated
	// (step.error if a row failed or was cancelled) and, with End, the turn. Legal
	// with End also when the rows failed or were cancelled; without End the turn
	// goes on (at its tools, or with a new attempt).
	SettleStep(ctx context.Context, fence Fence, settle StepSettle) (StepSettled, error)

	// SettleTool records a tool's result, and ends a pending approval of the call.
	// CodeConflict when the call has one.
	SettleTool(ctx context.Context, fence Fence, settle ToolSettle) (Message, error)

	// ParkTurn makes the turn wait; it holds no worker from then on. CodeMore when
	// nothing is open (for approval, input, tool_result and child: no tool_call of
	// the turn lacks a result), when an approval of an open call was decided, or,
	// unless it waits for a person or a child, when a steer is undelivered. A turn
	// that was asked to stop is cancelled instead.
	ParkTurn(ctx context.Context, fence Fence, reason WaitReason) (Turn, error)

	// FinishTurn ends a turn outside any step. More as for SettleStep.
	FinishTurn(ctx context.Context, fence Fence, end TurnEnd) (StepSettled, error)

	// ReleaseTurn gives a claim back unfinished (drain): the turn is ready again,
	// or cancelled if it was asked to stop.
	ReleaseTurn(ctx context.Context, fence Fence) error

	// RequestCancel asks for the first unfinished turn (or turnID, when set) to
	// stop. Held by nobody it is settled at once; otherwise a flag is set and
	// Cancelled.Held is true. alsoQueued cancels the queued turns behind it.
	// CodeNothingToCancel when nothing ever ran; CodeConflict with the state when
	// the turn had finished.
	RequestCancel(ctx context.Context, scope Scope, sessionID, turnID ID, alsoQueued bool) (Cancelled, error)

	// TakeCancel takes a flagged turn from its holder (epoch + 1) and settles it
	// from its versions; open tool calls are settled as "effect unknown". A turn
	// that finished meanwhile is returned as it is, Settled empty.
	TakeCancel(ctx context.Context, scope Scope, sessionID, turnID ID) (Cancelled, error)

	// DeleteSession purges: a tombstone at once (CodeNotFound everywhere, key
	// free, epoch + 1, turns cancelled), tool children too; rows go by the outbox.
	DeleteSession(ctx context.Context, scope Scope, sessionID ID) error
}

// ControlStore is how people steer what runs and what waits to run. Each method
// is a transition like those of TurnStore.
type ControlStore interface {
	// SendQueued has a queued message heard now: as DuringSteer it is shown to the
	// first unfinished turn at its next step, and the turn that it waited for is
	// cancelled; as DuringInterrupt that turn is cancelled and this message runs
	// next. claimBy is as for PostMessage. One that runs next already stays as it
	// is. CodeConflict once it is in the record, was removed, or starts no turn.
	SendQueued(ctx context.Context, scope Scope, messageID ID, how During, claimBy ID) (Posted, error)

	// MoveQueued puts a queued message before another one of its queue, or to the
	// end (zero). CodeNotFound for a message that is not in this queue; CodeConflict
	// once it is in the record, was removed, or when it or the other one is about
	// to start.
	MoveQueued(ctx context.Context, scope Scope, messageID, before ID) (Message, error)

	// RetryTurn takes a failed or cancelled turn up again, as a new turn on the
	// same message: what it had settled stays, the answer that failed or was
	// interrupted is asked for anew. claimBy is as for PostMessage. CodeConflict
	// with the state for any other turn, while a turn is unfinished, and when the
	// record has gone on; CodeArchived; CodeKeyReused.
	RetryTurn(ctx context.Context, scope Scope, sessionID, turnID ID, again TurnAgain, claimBy ID) (TurnResumed, error)

	// ContinueTurn has a turn go on that stopped at a limit: a waiting one for
	// budget or rate_limit is ready again; one that failed with ClassLimit is taken
	// up by a new turn, as RetryTurn does. The same refusals.
	ContinueTurn(ctx context.Context, scope Scope, sessionID, turnID ID, again TurnAgain, claimBy ID) (TurnResumed, error)
}

// TurnAgain is the turn that takes up another one.
type TurnAgain struct {
	TurnID      ID // minted by the caller
	Idempotency Idempotency
}

// TurnResumed is the answer to RetryTurn and ContinueTurn.
type TurnResumed struct {
	Turn          Turn  // the one that runs now
	EventSequence int64 // the session's last event before
	Replayed      bool  // the idempotency key was used before: this is the first answer
	Claim         *Claim
}

// NewLoop is a loop on its way into a session.
type NewLoop struct {
	Loop        Loop            // ID, Prompt, Max, Until, Context, ArchiveDone and Author; the rest is the store's
	First       NewMessage      // its first iteration's message
	Content     json.RawMessage // canonical, of every iteration's message
	Idempotency Idempotency
}

// LoopStarted is the answer to StartLoop.
type LoopStarted struct {
	Loop          Loop
	EventSequence int64 // the session's last event before
	Replayed      bool  // the idempotency key was used before: this is the first answer
	Claim         *Claim
}

// LoopQuery lists the loops of a session, newest first unless Ascending.
type LoopQuery struct {
	Ascending bool
	AfterID   ID
	Limit     int
}

// LoopStore keeps loops. Their iterations are made by the transitions that end
// turns.
type LoopStore interface {
	// StartLoop makes a loop with its first iteration, which runs at once on an idle
	// session and waits in the queue else. claimBy is as for PostMessage.
	// CodeConflict while another loop of the session runs; CodeArchived;
	// CodeKeyReused.
	StartLoop(ctx context.Context, scope Scope, sessionID ID, loop NewLoop, claimBy ID) (LoopStarted, error)
	// StopLoop ends a running loop: no further iteration follows, one that has not
	// begun is taken back, one that runs is left to its end. A stopped loop stays as
	// it is; CodeConflict with the state for one that had ended otherwise.
	StopLoop(ctx context.Context, scope Scope, sessionID, loopID ID) (Loop, error)
	Loop(ctx context.Context, scope Scope, id ID) (Loop, error)
	Loops(ctx context.Context, scope Scope, sessionID ID, query LoopQuery) ([]Loop, error)
}

// Process is one Parley process, known by its lease.
type Process struct {
	ID    ID
	Name  string // host and pid, for people
	Slots int    // turns that it runs at once, for people
}

// LeaseStore keeps the leases of processes, by the database's clock.
type LeaseStore interface {
	// RegisterProcess starts a lease.
	RegisterProcess(ctx context.Context, process Process, lease time.Duration) error
	// RenewLease prolongs it, and returns the turns claimed by this process whose
	// cancellation was asked for. A lease that has run out and that no sweep took
	// lives on; CodeFenced when it is gone.
	RenewLease(ctx context.Context, processID ID, lease time.Duration) (cancels []ID, err error)
	// ReleaseProcess ends the lease of a process that holds no claim any more.
	ReleaseProcess(ctx context.Context, processID ID) error
	// HeldTurns reads the claims that this process holds. One that it does not run
	// was lost on its way to it.
	HeldTurns(ctx context.Context, processID ID) ([]Fence, error)
	// NextExpiry is how long until the first lease of any process runs out unless
	// renewed; 0 or less when one has, an hour when there is no process. It is
	// cheap: every process asks about once a second.
	NextExpiry(ctx context.Context) (time.Duration, error)
	// Sweep takes over the claims of processes whose lease has expired: flagged
	// turns are cancelled, a turn taken over CrashLoopLimit times without progress
	// fails as crash_loop, the others become ready. It also repairs any session
	// whose unfinished turn is neither held, waiting nor ready, and ends approvals
	// whose time is over. It returns how many sessions it touched.
	Sweep(ctx context.Context) (int, error)
}

// SessionQuery lists sessions, last activity first.
type SessionQuery struct {
	AgentID, ProjectID, ParentID ID // zero: any
	Type, Feature, Task          string
	Kind                         SessionKind
	Mode                         Mode
	Status                       SessionStatus
	Archived                     *bool // nil: both
	Pinned                       *bool
	Tag                          string
	CreatedFrom, CreatedTo       Time // [from, to)
	Ascending                    bool
	AfterUpdated                 Time // the last row of the page before; with AfterID
	AfterID                      ID
	Limit                        int
}

// SessionChange is a PATCH: nil leaves a field alone.
type SessionChange struct {
	Title        *string
	Instructions *string
	Pinned       *bool
	Tags         *[]string
	ProjectID    *ID // zero detaches
	Metadata     *json.RawMessage
	Overrides    OverridesChange // its zero value changes nothing
	Policy       **Policy
	Retry        **RetryPolicy
	During       *During
	Visibility   *Visibility
	Archived     *bool
}

// HeadState is a session's place in its event sequence, and who may see it.
type HeadState struct {
	SessionID  ID
	LastEvent  int64
	Deleted    bool       // then the others are empty
	OwnerID    ID         // of the session
	Visibility Visibility // of the session
}

// SessionStore reads and changes sessions outside their turns.
type SessionStore interface {
	Session(ctx context.Context, scope Scope, id ID) (Session, error)
	SessionByKey(ctx context.Context, scope Scope, key string) (Session, error)
	Sessions(ctx context.Context, scope Scope, query SessionQuery) ([]Session, error)
	// UpdateSession applies a change. CodeConflict when archiving with a turn unfinished.
	UpdateSession(ctx context.Context, scope Scope, id ID, change SessionChange) (Session, error)
	// ArchiveFeature archives all sessions of a feature that have no unfinished
	// turn, one transaction each, and returns the archived and the busy ones.
	ArchiveFeature(ctx context.Context, scope Scope, feature string) (archived, busy []ID, err error)
	// Events reads durable events after a sequence, ascending, complete: at most
	// limit, and no more behind the one with which they reach MaxPageBytes.
	Events(ctx context.Context, scope Scope, sessionID ID, after int64, limit int) ([]Event, error)
	// Heads reads where sessions stand; unknown ones count as deleted.
	Heads(ctx context.Context, sessionIDs []ID) ([]HeadState, error)
}

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
	Message(ctx context.Context, scope Scope, id ID) (Message, error)
	// MarkMessage changes marks, with a message.marked event when one is another then.
	MarkMessage(ctx context.Context, scope Scope, id ID, change MarksChange) (Message, error)
	// Versions lists a message's versions ascending, texts filled in: from the rows
	// while it streams, sliced from the settled message after; the last one ends
	// at the settled text's end.
	Versions(ctx context.Context, scope Scope, messageID ID) ([]Version, error)
	// ContextTail reads the record for a model's context, newest first: settled,
	// not internal, before a sequence (0: from the end), nothing older than the
	// latest context edge.
	ContextTail(ctx context.Context, workspaceID, sessionID ID, before int64, limit int) ([]Message, error)
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

// AgentQuery lists agents by slug.
type AgentQuery struct {
	Status     AgentStatus
	Tag        string
	Descending bool
	AfterSlug  string
	Limit      int
}

// AgentStore keeps agents and their versions.
type AgentStore interface {
	// CreateAgent stores version 1. CodeConflict when the slug is taken. The bool
	// reports an idempotent repeat.
	CreateAgent(ctx context.Context, agent Agent, idempotency Idempotency) (Agent, bool, error)
	// UpdateAgent stores the agent as a new version, if agent.Version is still the
	// current one (CodeConflict otherwise), and returns it.
	UpdateAgent(ctx context.Context, agent Agent) (Agent, error)
	// Agent finds by id or by slug.
	Agent(ctx context.Context, workspaceID ID, idOrSlug string) (Agent, error)
	// AgentVersion finds an earlier version.
	AgentVersion(ctx context.Context, workspaceID, agentID ID, version int) (Agent, error)
	Agents(ctx context.Context, workspaceID ID, query AgentQuery) ([]Agent, error)
}

// ProjectQuery lists projects, last access first.
type ProjectQuery struct {
	Ascending   bool
	AfterAccess Time
	AfterID     ID
	Limit       int
}

// ProjectStore keeps projects.
type ProjectStore interface {
	// ChooseProject adds the project, or refreshes the one with this path; the
	// bool reports that it is new.
	ChooseProject(ctx context.Context, project Project) (Project, bool, error)
	Project(ctx context.Context, workspaceID, id ID) (Project, error)
	Projects(ctx context.Context, workspaceID ID, query ProjectQuery) ([]Project, error)
	// DeleteProject removes it at once; its sessions are detached, or with cascade
	// deleted, by the outbox.
	DeleteProject(ctx context.Context, workspaceID, id ID, cascade bool) error
}

// NewKey is a key on its way into the store; its workspace and principal are
// made if they are new.
type NewKey struct {
	Key  Key
	Hash Hash // SHA-256 of the secret
}

// KeyStore keeps workspaces, principals and keys.
type KeyStore interface {
	// Workspace finds a workspace by name, making it (with its built-in agent) if new.
	Workspace(ctx context.Context, name string) (ID, error)
	// LocalOwner is the principal of the machine's own user in a workspace, made if new.
	LocalOwner(ctx context.Context, workspaceID ID) (Principal, error)
	// CreateKey stores a key with a principal of its own. CodeConflict when the
	// workspace has an unrevoked key of that name.
	CreateKey(ctx context.Context, key NewKey) (Key, error)
	// Authenticate finds the principal of a key by hash. CodeUnauthenticated for an
	// unknown or revoked one.
	Authenticate(ctx context.Context, hash Hash) (Principal, error)
	// Keys lists the keys of a workspace, newest first, without secrets.
	Keys(ctx context.Context, workspaceID ID) ([]Key, error)
	RevokeKey(ctx context.Context, workspaceID, id ID) (Key, error)
	// HasKeys reports whether any workspace has an unrevoked key.
	HasKeys(ctx context.Context) (bool, error)
}

// ClientStore keeps what each client (window, tab) of a principal has open.
type ClientStore interface {
	SetClientSession(ctx context.Context, scope Scope, principalID ID, client string, sessionID ID) error
	ClientSession(ctx context.Context, scope Scope, principalID ID, client string) (Session, error)
	ClearClientSession(ctx context.Context, scope Scope, principalID ID, client string) error
}

// OutboxStore applies what transactions left to be done elsewhere.
type OutboxStore interface {
	// ApplyOutbox takes the row that has been due for longest, applies a bounded
	// piece of it by a transaction of its own that can be repeated safely, and reports
	// whether more is due. A row that is not done goes to the end. Several may run at
	// once.
	ApplyOutbox(ctx context.Context) (more bool, err error)
}
