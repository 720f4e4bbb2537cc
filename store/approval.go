package store

import (
	"context"
	"encoding/json"
	"time"

	"example.org/parley"
)

// Ask is a question about one tool call of a step that settles.
type Ask struct {
	ApprovalID parley.ID // minted by the caller
	ToolCallID string
	Timeout    time.Duration

	Reason       parley.ApprovalReason // "": a rule asks
	Approvers    int                   // approvals needed; 0 means one
	RequesterIDs []parley.ID           // may not approve: they asked for the call
	Named        bool                  // a rule names the approvers
	Digest       string                // of the tool's current definition
	Rules        parley.Hash           // the agent's rules about the tool

	Question *parley.ToolQuestion // of AskTool: what the tool asks
	State    json.RawMessage      // of AskTool: what it gets back with the answer
}

// ApprovalUse starts an approved call.
type ApprovalUse struct {
	ApprovalID  parley.ID
	Fingerprint parley.Hash // of the call that is about to run
}

// Decided is the result of DecideApproval.
type Decided struct {
	Approval parley.Approval
	Claim    *Claim
}

// ApprovalQuery lists approvals, newest first unless Ascending.
type ApprovalQuery struct {
	SessionID    parley.ID // a root session includes the tool sessions below it; zero: any
	AgentID      parley.ID // zero: any
	State        parley.ApprovalState
	Ascending    bool
	AfterCreated parley.Time // last row of the previous page; set together with AfterID
	AfterID      parley.ID
	Limit        int
}

// Approvals stores the questions about tool calls. SettleStep creates them, Sweep expires them, and they end with their
// turn.
type Approvals interface {
	// DecideApproval records a decision on a pending approval. A no ends the approval; a yes ends it if no further yes
	// is needed and is recorded otherwise. When a yes ends it, the transaction adds the grant for the session or what
	// the owner accepts. A waiting turn becomes ready again; with claimBy, the same transaction may claim it, as in
	// PostMessage.
	//
	// CodeNotFound. CodeConflict, with the state, if the approval is not pending or has expired, and for a second yes
	// from the same principal; CodeConflict if the session has no room for the grant. CodeForbidden for a yes from
	// somebody who asked for the call, and for a change that only the owner may accept. CodeInvalid for a scope that
	// the approval does not offer, and for the dismissal of anything but a tool's question.
	DecideApproval(
		ctx context.Context,
		scope Scope,
		id parley.ID,
		decision parley.Decision,
		claimBy parley.ID,
	) (Decided, error)
	// UseApprovals records, before the tools run, which approvals the calls of the running turn use; an approval is
	// used once. CodeConflict unless each is approved and unused (or the denied or expired question
	// of a tool), its call has no result, and the three fingerprints
	// (the approval's, the recorded call's, the given one) are equal.
	UseApprovals(ctx context.Context, fence Fence, uses []ApprovalUse) error
	// AskTool records a question that a tool asks while its call of the running turn is open; the turn then waits as
	// for other approvals. Repeating it changes nothing. CodeConflict if the call has its result.
	AskTool(ctx context.Context, fence Fence, ask Ask) error
	Approval(ctx context.Context, scope Scope, id parley.ID) (parley.Approval, error)
	// Approvals lists the approvals of the sessions that the scope may see. CodeNotFound for a foreign SessionID.
	Approvals(ctx context.Context, scope Scope, query ApprovalQuery) ([]parley.Approval, error)
}
