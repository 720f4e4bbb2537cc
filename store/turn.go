package store

import (
	"context"
	"encoding/json"
	"time"

	"example.org/parley"
)

// NewMessage is a message to be stored.
type NewMessage struct {
	ID          parley.ID // minted by the caller
	TurnID      parley.ID // minted by the caller for a user message that starts a turn; zero: the message starts none
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
	LoopID      parley.ID // of a loop's first iteration; only StartLoop sets it
	Settings    parley.Settings
	During      parley.During // "" means the session's own setting, else queue
	Follows     int64         // CodeChanged unless the record's last message has this sequence; 0: any has
	OfAgent     parley.ID     // CodeInvalid, of agent_id, unless the session is of this agent; zero: of any
	// Urgent: a person waits for the answer. In an agent's background session the message goes before those that wait,
	// after earlier urgent ones, and its turn runs at foreground priority; elsewhere it means nothing.
	Urgent bool
	Title  string // becomes the session's title if it has none
	// opens an assistant message that an outside agent appends to and settles, in the turn TurnID
	Streaming bool
	Model     parley.ModelID // of a streaming message: the model that writes it, if known
	Timeout   time.Duration  // of a streaming message: how long it may go without an append
	// TokenEstimate of the content, with its files; 0: the store estimates.
	TokenEstimate int
	Idempotency   Idempotency
}

// Posted is the result of a post.
type Posted struct {
	Message       parley.Message
	Turn          *parley.Turn // of a message that starts or joins a turn
	EventSequence int64        // the session's last event before this post
	Replayed      bool         // the idempotency key was used before with the same body; this is the first result
	Claim         *Claim
}

// NewSession is a session to be stored.
type NewSession struct {
	Session     parley.Session // the caller mints ids; the store sets status, statistics and times
	First       *NewMessage
	Transform   *parley.Transform // opened with the session, whose first turn it follows; First is set then
	ClientID    string            // the client that opens the session, if any
	Quota       parley.Quota      // of sessions; for a tool session the store looks up its owner's
	Named       Named             // what somebody else's session with the same key must match
	Idempotency Idempotency
}

// Serves refuses to return an existing session with the key for the wanted one. Keys can be guessed, and anybody may
// take one first: somebody else's session must be visible to the caller, have the named agent, and not be visible to
// more people.
func (wanted *NewSession) Serves(scope Scope, s *parley.Session) error {
	switch {
	case s.OwnerID == wanted.Session.OwnerID:
		return nil
	case !scope.ViewerID.IsZero() && s.Visibility != parley.VisibilityWorkspace:
		return errKeyTaken()
	case wanted.Named.Agent && s.AgentID != wanted.Session.AgentID:
		return errKeyDiffers("agent")
	case wanted.Named.Visibility && s.Visibility != wanted.Session.Visibility &&
		s.Visibility != parley.VisibilityPrivate:
		return errKeyDiffers("visibility")
	}
	return nil
}

// Named says which settings of a session its caller named. The others are defaults, so any value will do.
type Named struct {
	Agent, Visibility bool
}

// errKeyTaken refuses a key whose session the caller may not see. It reveals that the session exists, because the key
// is taken, and nothing else about it.
func errKeyTaken() error {
	return parley.Errorf(
		parley.CodeConflict,
		"this key is taken by somebody else's private session. Its owner can share that session with "+
			"PATCH /v1/sessions/{session} {\"visibility\": \"workspace\"}; otherwise use another key",
	)
}

// errKeyDiffers refuses a key whose session the caller sees, but did not ask for.
func errKeyDiffers(field string) error {
	return parley.Errorf(
		parley.CodeConflict,
		"somebody else's session has this key and another %s; use another key, or leave %s out to get that session "+
			"as it is",
		field,
		field,
	)
}

// Opened is the result of EnsureSession.
type Opened struct {
	Session  parley.Session
	Created  bool // false: a session with this key existed
	Posted   *Posted
	Replayed bool
}

// Mode is the priority at which the claimed turn runs.
func (c *Claim) Mode() parley.Mode { return c.Turn.Mode(c.Session.Mode) }

// Claim is the right to run one turn, with everything that a fresh run needs.
type Claim struct {
	Fence   Fence
	Session parley.Session
	Agent   parley.Agent // in the version that the turn is bound to
	Turn    parley.Turn  // running; Attempt > 1 means: call RecoverTurn first
	Trigger parley.Message
	Steers  bool         // steers wait for the turn's next step
	Loop    *parley.Loop // loop of the turn, if any
}

// TurnState is what the record has of a turn when a worker resumes it.
type TurnState struct {
	// Messages are the turn's, in sequence order, the trigger first; all settled. Only the calls of the latest step
	// have their contents, and results only how long they took: all texts of a turn may be larger than the memory.
	Messages  []parley.Message
	Attempts  int               // calls recorded for Turn.Step
	Approvals []parley.Approval // of the turn, by creation
}

// Steered names a queued steer as the worker read it.
type Steered struct {
	MessageID parley.ID
	Revision  int
}

// StepBegin opens a step: the call's record, the step's first assistant message (streaming, with its sequence) and the
// steers that the request includes.
type StepBegin struct {
	Call       parley.Call // ID, MessageID, Step, Attempt and everything about the request
	System     string      // text of Call.SystemHash, stored once per hash
	Tools      []byte      // canonical JSON of Call.ToolsHash, stored once per hash
	Middleware []byte      // text of Call.MiddlewareHash, stored once per hash
	// Instruction is the text of Call.InstructionHash, stored once per hash; only requests for summaries have one.
	Instruction string
	Author      parley.Author // the agent
	// AgentType is the trigger's, so that searches by it find what the turn writes.
	AgentType string
	Steers    []Steered
	// Window is the part of the record that the request includes; nil leaves the session's Context unchanged.
	Window *Window
	// Reservation is what the call reserves first; nil without limits on tokens and money. CodeOverBudget, with nothing
	// written, if there is no room.
	Reservation *Reservation
}

// Window is the part of the record that a request includes, without steers; it becomes the session's Context.
type Window struct {
	Anchor   int64
	Messages int64
	Tokens   int64 // estimated
	// Dropped is what the request leaves out for length; nil if nothing. BeginStep writes context.dropped when it
	// begins or ends elsewhere than in the window before.
	Dropped *parley.Dropped
	// Steps are older steps of the running turn that the request is the first to leave out; nil if there are none.
	// BeginStep writes context.dropped for them too.
	Steps *parley.Dropped
	// Stubbed is how far results of older turns are shown by their size alone; 0: all are shown.
	Stubbed int64
	// Assumed is the assumed length of the model's context, once the window comes near it; 0: known, or far. BeginStep
	// writes context.assumed for the first one of a session.
	Assumed int64
}

// StepBegun is the result of BeginStep.
type StepBegun struct {
	Message parley.Message   // the assistant message, streaming
	Steered []parley.Message // now in the record
}

// BlockOpen opens another row of the running step before its first delta.
type BlockOpen struct {
	MessageID  parley.ID
	Step       int
	Role       parley.Role // assistant or tool_call
	Author     parley.Author
	AgentType  string // the trigger's
	Model      parley.ModelID
	ToolCallID string // of a tool_call: the id minted by Parley
	ToolName   string
}

// FencedVersion is a version of one streaming message, to be flushed.
type FencedVersion struct {
	Fence   Fence
	Version parley.Version
}

// Appended is the result of a flush. Versions under claims that it does not name are stored; under the named ones, none
// is.
type Appended struct {
	Fenced []Fence // void claims: no later write can succeed either
	Locked []Fence // sessions locked by another transaction: flush the same versions again
}

// CallSettled ends the record of a call.
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
	Estimated    bool // Cost is an estimate, because Usage is unknown
	Estimate     *parley.CallEstimate
	// Truncated says what the provider did not read; nil if it read all, or nothing tells. SettleStep writes
	// context.truncated for it.
	Truncated *parley.Truncation
}

// Uncounted reports whether a call may have used something that its provider did not count: every call without usage,
// except one that was refused before any answer.
func (s *CallSettled) Uncounted() bool {
	return (s.Usage.InputTokens == nil || s.Usage.OutputTokens == nil) &&
		(s.Outcome != parley.CallFailed || s.FirstTokenMS != nil)
}

// EstimateFrom estimates an uncounted call that was cut off, once: by the provider's own count of the request, if there
// is one, else by what was expected of it, and by the tokens of output that had streamed. A complete answer may have
// taken more than it shows.
func (s *CallSettled) EstimateFrom(expected parley.Expected, streamed int64) {
	if s.Outcome == parley.CallCompleted || !s.Uncounted() || s.Estimated || expected.IsZero() {
		return
	}
	if counted := s.Usage.InputTokens; counted != nil {
		if expected.InputCost != nil {
			expected.InputCost = new(parley.Money(
				float64(*expected.InputCost) * float64(*counted) / float64(expected.InputTokens)))
		}
		expected.InputTokens = *counted
	}
	s.Estimated = true
	s.Estimate = &parley.CallEstimate{InputTokens: expected.InputTokens, OutputTokens: streamed}
	if s.Cost == nil {
		s.Cost = expected.Cost(streamed)
	}
}

// BlockSettled settles one row of a step.
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

// TurnEnd ends a turn, with a step or without. Status is a finished one.
type TurnEnd struct {
	Status  parley.TurnStatus
	Failure *parley.Failure // of failed
	Met     bool            // of a completed loop iteration: the loop's condition holds
	// Transform is what the turn of a transform has made, also of one that failed.
	Transform *TransformEnd
}

// StepSettle settles every row of a step in one transaction and, if End is set, ends the turn, too.
type StepSettle struct {
	Step         int
	Call         CallSettled
	Blocks       []BlockSettled // every row of the step, by sequence
	ToolsStarted []string       // ids of tool_calls that start next: tool.started
	Asked        []Ask          // calls that a person must approve first; not with End
	End          *TurnEnd
}

// StepSettled is the result of SettleStep and FinishTurn.
type StepSettled struct {
	Turn parley.Turn
	More bool // End was refused because a steer is undelivered; the turn continues
}

// ProgressNote is the data of tool.progress.
type ProgressNote struct {
	ToolCallID string
	ToolName   string
	parley.ToolProgress
}

// RetryNotice is the data of step.retrying.
type RetryNotice struct {
	Attempt int // the next attempt
	Class   parley.ErrorClass
	Wait    time.Duration
}

// ToolSettle records the result message of a tool call.
type ToolSettle struct {
	MessageID  parley.ID // of the new tool_result
	Step       int
	ToolCallID string
	ToolName   string
	Content    json.RawMessage // canonical ToolResultContent
	// TokenEstimate of Content; 0: the store estimates.
	TokenEstimate int
	Author        parley.Author
	ApprovalID    parley.ID // of a call that needed approval; if pending, the result cancels it
	// Send is what the result has the session send to another agent, recorded with it; nil for nothing.
	Send *parley.Sending
	// Refused is what an earlier attempt at this result wanted to send and the store refused. If a bound of its chain
	// was the reason, the person behind the work is told by an item of type alert.
	Refused *parley.Sending
}

// Cancelled is the result of RequestCancel and TakeCancel.
type Cancelled struct {
	Turn    parley.Turn
	Settled []parley.ID // messages that the cancel settled
	Held    bool        // a live worker holds the turn; it was told and will settle the turn
	Before  bool        // the turn was already cancelled
}

// Turns is the state machine of sessions and turns. Each method first locks the session's head row.
type Turns interface {
	// EnsureSession creates a session, with its first message and turn if First is set. If Session.Key exists in the
	// workspace, it posts First there instead. claimBy is as in PostMessage. CodeNotFound for a foreign agent, project
	// or parent; CodeArchived for an archived agent, or for First in an archived session; CodeKeyReused.
	EnsureSession(ctx context.Context, scope Scope, session NewSession, claimBy parley.ID) (Opened, error)

	// PostMessage records a message and, if it starts a turn, creates that turn, in one transaction. In an idle session
	// the message enters the record immediately; while a turn is unfinished, During decides.
	//
	// claimBy names a process with a free slot for the workspace: the same transaction claims a turn that may run now,
	// except in background sessions, whose turns wait for Claim and its shares. A tool_result answers a waiting turn;
	// while the turn runs its tools, it is accepted if a client is to answer the call.
	//
	// CodeNotFound, CodeArchived, CodeBusy (reject), CodeConflict (late or orphan result, full queue), CodeKeyReused,
	// CodeInvalid (a tool call with the id of an open one).
	PostMessage(
		ctx context.Context,
		scope Scope,
		sessionID parley.ID,
		message NewMessage,
		claimBy parley.ID,
	) (Posted, error)

	// EditQueued replaces the content of a queued message. Only the author may: CodeForbidden for another principal.
	// CodeConflict if the message is in the record.
	EditQueued(
		ctx context.Context,
		scope Scope,
		author, messageID parley.ID,
		content json.RawMessage,
	) (parley.Message, error)

	// RemoveQueued removes a message from the queue: it stays as cancelled, as does its turn. CodeConflict if it is in
	// the record.
	RemoveQueued(ctx context.Context, scope Scope, messageID parley.ID) (parley.Message, error)

	// Claim claims up to n ready sessions (at most MaxClaims) for a process with a lease: round robin over waiting
	// workspaces, oldest session within each, foreground before background, skipping those that occupancy does not
	// admit. Occupancy describes the process without these n. A queued trigger enters the record; session.started is
	// written. CodeFenced without a lease.
	Claim(ctx context.Context, processID parley.ID, n int, occupancy Occupancy) ([]Claim, error)

	// RecoverTurn settles what an earlier attempt left open: streaming messages become failed (interrupted) with the
	// text of their versions, and an open call becomes interrupted. It returns the turn's state.
	RecoverTurn(ctx context.Context, fence Fence) (TurnState, error)

	// PendingSteers returns the undelivered steers of a turn, in queue order.
	PendingSteers(ctx context.Context, fence Fence) ([]parley.Message, error)

	// BeginStep opens a step. CodeMore, with nothing written, if a named steer was edited or removed meanwhile.
	BeginStep(ctx context.Context, fence Fence, begin StepBegin) (StepBegun, error)

	// NoteProgress reports the progress of a tool call of the turn: tool.progress.
	NoteProgress(ctx context.Context, fence Fence, note ProgressNote) error

	// RetryCall ends a failed call whose message has shown nothing yet, and announces the next attempt in the same
	// message.
	RetryCall(ctx context.Context, fence Fence, step int, failed CallSettled, notice RetryNotice) error

	// BeginCall opens the record of another attempt in the same message.
	BeginCall(ctx context.Context, fence Fence, begin StepBegin) error

	// OpenBlock opens another row of the running step.
	OpenBlock(ctx context.Context, fence Fence, open BlockOpen) (parley.Message, error)

	// AppendVersions flushes streaming messages. It never waits: it skips versions whose claim is void or whose session
	// another transaction has locked, and returns those claims. It keeps versions that exist, so repeating a flush with
	// an unknown outcome changes nothing.
	AppendVersions(ctx context.Context, versions []FencedVersion) (Appended, error)

	// SettleStep settles a step: rows, call, hashes, statistics, step.generated (step.error if a row failed or was
	// cancelled) and, with End, the turn. End is also legal if rows failed or were cancelled; without End the turn
	// continues with its tools or a new attempt.
	SettleStep(ctx context.Context, fence Fence, settle StepSettle) (StepSettled, error)

	// SettleTool records a tool's result, ends a pending approval of the call, and records what it sends to another
	// agent, for the outbox to deliver. CodeConflict if the call has a result. CodeInvalid, for the model, if it may
	// not send that: nothing is recorded.
	SettleTool(ctx context.Context, fence Fence, settle ToolSettle) (parley.Message, error)

	// ParkTurn makes the turn wait and releases its worker. CodeMore if there is nothing to wait for (for approval,
	// input, tool_result and child: every tool_call of the turn has a result), or if an approval of an open call was
	// decided. Undelivered steers wait with the turn: a message neither answers for a person or client nor cancels a
	// child's work. A turn that is asked to stop is cancelled instead.
	ParkTurn(ctx context.Context, fence Fence, reason parley.WaitReason) (parley.Turn, error)

	// FinishTurn ends a turn outside any step. StepSettled.More is as in SettleStep.
	FinishTurn(ctx context.Context, fence Fence, end TurnEnd) (StepSettled, error)

	// ReleaseTurn gives up a claim before the turn finishes (drain): the turn becomes ready again, or cancelled if it
	// is asked to stop.
	ReleaseTurn(ctx context.Context, fence Fence) error

	// RequestCancel asks the first unfinished turn (or turnID, if set) to stop. It settles a turn without a holder
	// immediately; otherwise it sets a flag and Cancelled.Held. alsoQueued cancels the queued turns behind it.
	// CodeNothingToCancel if nothing ever ran; CodeConflict, with the state, if the turn has finished.
	RequestCancel(ctx context.Context, scope Scope, sessionID, turnID parley.ID, alsoQueued bool) (Cancelled, error)

	// TakeCancel takes a flagged turn from its holder (epoch + 1) and settles it from its versions, and open tool calls
	// as "effect unknown". It returns a turn that finished meanwhile unchanged, with Settled empty.
	TakeCancel(ctx context.Context, scope Scope, sessionID, turnID parley.ID) (Cancelled, error)

	// DeleteSession deletes a session: the tombstone takes effect immediately (CodeNotFound everywhere, key free, epoch
	// + 1, turns cancelled), also for tool children; the outbox deletes the rows.
	DeleteSession(ctx context.Context, scope Scope, sessionID parley.ID) error
}
