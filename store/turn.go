package store

import (
	"context"
	"encoding/json"
	"time"

	"example.org/parley"
)

// NewMessage is a message on its way into a session.
type NewMessage struct {
	ID          parley.ID // minted by the caller
	TurnID      parley.ID // minted by the caller for a user message that starts a turn; zero records it alone
	Role        parley.Role
	Author      parley.Author
	Content     json.RawMessage // canonical
	ContextNote string
	ToolCallID  string // of a tool_result
	ToolName    string
	Internal    bool
	Metadata    json.RawMessage
	AgentType   string
	Iteration   int
	LoopID      parley.ID // of a loop's first iteration; set by StartLoop alone
	Settings    parley.Settings
	During      parley.During // "" means the session's own setting, else queue
	Title       string        // becomes the session's title if it has none
	// of an assistant's message: it is opened, to be appended to and settled from outside, by the turn TurnID
	Streaming bool
	Model     parley.ModelID // of it: what writes it, if that is known
	Timeout   time.Duration  // of it: how long it may stay without an append
	// TokenEstimate of the content, with its files; 0: the store estimates.
	TokenEstimate int
	Idempotency   Idempotency
}

// Posted is the answer to a post.
type Posted struct {
	Message       parley.Message
	Turn          *parley.Turn // of a message that starts or joins a turn
	EventSequence int64        // the session's last event before this post
	Replayed      bool         // the idempotency key was used before with the same body: this is the first answer
	Claim         *Claim
}

// NewSession is a session on its way into the store.
type NewSession struct {
	Session     parley.Session // ids minted by the caller; status, statistics and times are the store's
	First       *NewMessage
	ClientID    string       // the client that has it open from now on, if any
	Quota       parley.Quota // of sessions; that of the owner of a tool session is looked up
	Named       Named        // what a session that somebody else has under the key must be
	Idempotency Idempotency
}

// Serves reports whether a session that has the key may be given for the one wanted.
// Keys can be guessed and anybody may take one first: somebody else's session must be
// seen by the caller, be of the agent that was named, and not be seen by more people.
func (wanted *NewSession) Serves(scope Scope, s *parley.Session) bool {
	switch {
	case s.OwnerID == wanted.Session.OwnerID:
		return true
	case !scope.ViewerID.IsZero() && s.Visibility != parley.VisibilityWorkspace:
		return false
	case wanted.Named.Agent && s.AgentID != wanted.Session.AgentID:
		return false
	}
	return !wanted.Named.Visibility || s.Visibility == wanted.Session.Visibility ||
		s.Visibility == parley.VisibilityPrivate
}

// Named says which settings of a session its caller named: the others are defaults,
// and any do.
type Named struct {
	Agent, Visibility bool
}

// KeyTaken is the answer to a session's key that somebody else has. It tells nothing
// of their session.
func KeyTaken() error {
	return parley.Errorf(
		parley.CodeConflict,
		"somebody else's session has this key; use another key, or ask for that session as it is, if you "+
			"see it: "+
			"with its agent and its visibility, or without them",
	)
}

// Opened is the answer to EnsureSession.
type Opened struct {
	Session  parley.Session
	Created  bool // false: a session with this key existed
	Posted   *Posted
	Replayed bool
}

// Claim is the right to run one turn, with all that a fresh run needs.
type Claim struct {
	Fence   Fence
	Session parley.Session
	Agent   parley.Agent // in the turn's fixed version
	Turn    parley.Turn  // running; Attempt > 1 means: call RecoverTurn first
	Trigger parley.Message
	Steers  bool         // some wait for the turn's next step
	Loop    *parley.Loop // that the turn belongs to, if any
}

// TurnState is what a turn has in the record when a worker resumes it.
type TurnState struct {
	Messages  []parley.Message  // of the turn, in sequence order, the trigger first; all settled
	Attempts  int               // calls recorded for Turn.Step
	Approvals []parley.Approval // of the turn, by creation
}

// Steered names a queued steer as a worker has read it.
type Steered struct {
	MessageID parley.ID
	Revision  int
}

// StepBegin opens a step: the call's record, the step's first assistant message
// (streaming, its place taken) and the steers that the request holds.
type StepBegin struct {
	Call       parley.Call   // ID, MessageID, Step, Attempt and all that describes the request
	System     string        // text behind Call.SystemHash, kept once per hash
	Tools      []byte        // canonical JSON behind Call.ToolsHash, kept once per hash
	Middleware []byte        // text behind Call.MiddlewareHash, kept once per hash
	Author     parley.Author // the agent
	// AgentType is the trigger's: what a turn writes is found by it too.
	AgentType string
	Steers    []Steered
	// Window is what of the record the request holds; nil leaves the session's
	// Context as it is.
	Window *Window
	// Reservation is what the call wants to be sure of first; nil without limits on
	// tokens and money. CodeOverBudget, and nothing is written, when there is no room.
	Reservation *Reservation
}

// Window is what a request shows of the record, without steers: from then on it is
// the session's Context.
type Window struct {
	Anchor   int64
	Messages int64
	Tokens   int64 // estimated
}

// StepBegun is the answer to BeginStep.
type StepBegun struct {
	Message parley.Message   // the assistant message, streaming
	Steered []parley.Message // in the record now
}

// BlockOpen opens a further row of the running step before its first delta.
type BlockOpen struct {
	MessageID  parley.ID
	Step       int
	Role       parley.Role // assistant or tool_call
	Author     parley.Author
	AgentType  string // the trigger's
	Model      parley.ModelID
	ToolCallID string // of a tool_call: Parley's own id
	ToolName   string
}

// FencedVersion is a store flush of one streaming message.
type FencedVersion struct {
	Fence   Fence
	Version parley.Version
}

// Appended is what became of the claims of a flush. The versions of those that it
// does not name are in the store; the others' are not, none of them.
type Appended struct {
	Fenced []Fence // void: nothing under them will be written
	Locked []Fence // another transaction has their session: flush the same versions again
}

// CallSettled ends a call's record.
type CallSettled struct {
	CallID       parley.ID
	Outcome      parley.CallOutcome
	Usage        parley.Usage
	Cost         *parley.Money
	Saved        *parley.Money // by caching, see Price.Saved
	Finish       parley.FinishReason
	Error        *parley.Failure
	FirstTokenMS *int64
	TotalMS      *int64
}

// BlockSettled ends one row of a step.
type BlockSettled struct {
	MessageID     parley.ID
	Status        parley.MessageStatus
	Content       json.RawMessage // canonical
	ProviderData  []byte
	ToolName      string
	Error         *parley.Failure
	Usage         *parley.Usage   // of the step's first row
	Metadata      json.RawMessage // nil keeps what the row was opened with
	Model         parley.ModelID  // "" keeps what the row was opened with
	TokenEstimate int
	Chunks        int // provider chunks received
}

// TurnEnd ends a turn with a step or alone. Status is a finished one.
type TurnEnd struct {
	Status  parley.TurnStatus
	Failure *parley.Failure // of failed
	Met     bool            // of a completed turn of a loop: the loop's condition holds
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
	Turn parley.Turn
	More bool // End was refused: a steer is undelivered, so the turn goes on
}

// ProgressNote is the data of tool.progress.
type ProgressNote struct {
	ToolCallID string
	ToolName   string
	parley.ToolProgress
}

// RetryNotice is the data of step.retrying.
type RetryNotice struct {
	Attempt int // the one that comes next
	Class   parley.ErrorClass
	Wait    time.Duration
}

// ToolSettle is a tool's answer: its result message enters the record.
type ToolSettle struct {
	MessageID  parley.ID // of the new tool_result
	Step       int
	ToolCallID string
	ToolName   string
	Content    json.RawMessage // canonical ToolResultContent
	// TokenEstimate of Content; 0: the store estimates.
	TokenEstimate int
	Author        parley.Author
	ApprovalID    parley.ID // of a call that was asked about: pending still, it is cancelled with the result
}

// Cancelled is the answer to the two cancels.
type Cancelled struct {
	Turn    parley.Turn
	Settled []parley.ID // messages that the cancel settled
	Held    bool        // a live worker holds the turn: it was told, and will settle by itself
	Before  bool        // the turn had been cancelled before
}

// Turns is the state machine of sessions and turns. Each method begins by
// locking the session's head row.
type Turns interface {
	// EnsureSession creates a session, with its first message and turn if First is
	// set; if Session.Key exists in the workspace, First is posted there instead.
	// claimBy is as for PostMessage. CodeNotFound for a foreign agent, project or
	// parent; CodeArchived for an archived agent, or First on an archived session;
	// CodeKeyReused.
	EnsureSession(ctx context.Context, scope Scope, session NewSession, claimBy parley.ID) (Opened, error)

	// PostMessage records a message, and for one that starts a turn creates that
	// turn, in one transaction. On an idle session the message enters the record
	// at once; while a turn is unfinished During decides. With claimBy set (a
	// process that has a free slot for the workspace) a turn that may run at once
	// is claimed in the same transaction, unless the session is in the background:
	// such turns wait for Claim and its shares. A tool_result answers a waiting
	// turn; one whose turn runs at its tools enters too if a client is to answer the
	// call. CodeNotFound, CodeArchived, CodeBusy (reject), CodeConflict (late or
	// orphan result, full queue), CodeKeyReused.
	PostMessage(
		ctx context.Context,
		scope Scope,
		sessionID parley.ID,
		message NewMessage,
		claimBy parley.ID,
	) (Posted, error)

	// EditQueued replaces the content of a queued message, which is its author's alone
	// to do: CodeForbidden for another principal. CodeConflict once it is in the record.
	EditQueued(
		ctx context.Context,
		scope Scope,
		author, messageID parley.ID,
		content json.RawMessage,
	) (parley.Message, error)

	// RemoveQueued takes a queued message out of the queue: it stays as cancelled,
	// its turn too. CodeConflict once it is in the record.
	RemoveQueued(ctx context.Context, scope Scope, messageID parley.ID) (parley.Message, error)

	// Claim takes up to n ready sessions (never more than MaxClaims) for a process
	// with a lease: round robin over the workspaces that wait, oldest within each,
	// foreground before background, none that occupancy does not admit. Occupancy
	// is of the process, without the n places. The trigger enters the record if it
	// was queued; session.started is written. CodeFenced without a lease.
	Claim(ctx context.Context, processID parley.ID, n int, occupancy Occupancy) ([]Claim, error)

	// RecoverTurn settles what an earlier attempt left open: streaming messages
	// become failed (interrupted) with the text of their versions, an open call
	// becomes interrupted. It returns what the turn has.
	RecoverTurn(ctx context.Context, fence Fence) (TurnState, error)

	// PendingSteers reads the undelivered steers of a turn, in queue order.
	PendingSteers(ctx context.Context, fence Fence) ([]parley.Message, error)

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
	OpenBlock(ctx context.Context, fence Fence, open BlockOpen) (parley.Message, error)

	// AppendVersions flushes streaming messages. It waits for nobody: the versions of
	// claims that are void, or whose session another transaction keeps locked, are
	// skipped, and those claims returned. An existing version is kept as
	// it is: repeating a flush whose outcome is unknown changes nothing.
	AppendVersions(ctx context.Context, versions []FencedVersion) (Appended, error)

	// SettleStep settles a step: rows, call, hashes, statistics, step.generated
	// (step.error if a row failed or was cancelled) and, with End, the turn. Legal
	// with End also when the rows failed or were cancelled; without End the turn
	// goes on (at its tools, or with a new attempt).
	SettleStep(ctx context.Context, fence Fence, settle StepSettle) (StepSettled, error)

	// SettleTool records a tool's result, and ends a pending approval of the call.
	// CodeConflict when the call has one.
	SettleTool(ctx context.Context, fence Fence, settle ToolSettle) (parley.Message, error)

	// ParkTurn makes the turn wait; it holds no worker from then on. CodeMore when
	// nothing is open (for approval, input, tool_result and child: no tool_call of
	// the turn lacks a result), or when an approval of an open call was decided. An
	// undelivered steer waits with it: a message neither answers for a person or a
	// client nor takes a child's work away. A turn that was asked to stop is
	// cancelled instead.
	ParkTurn(ctx context.Context, fence Fence, reason parley.WaitReason) (parley.Turn, error)

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
	RequestCancel(ctx context.Context, scope Scope, sessionID, turnID parley.ID, alsoQueued bool) (Cancelled, error)

	// TakeCancel takes a flagged turn from its holder (epoch + 1) and settles it
	// from its versions; open tool calls are settled as "effect unknown". A turn
	// that finished meanwhile is returned as it is, Settled empty.
	TakeCancel(ctx context.Context, scope Scope, sessionID, turnID parley.ID) (Cancelled, error)

	// DeleteSession purges: a tombstone at once (CodeNotFound everywhere, key
	// free, epoch + 1, turns cancelled), tool children too; rows go by the outbox.
	DeleteSession(ctx context.Context, scope Scope, sessionID parley.ID) error
}
