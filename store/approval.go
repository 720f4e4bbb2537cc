package store

import (
	"context"
	"time"

	"example.org/parley"
)

// Ask is a question about one call of a step that settles.
type Ask struct {
	ApprovalID parley.ID // minted by the caller
	ToolCallID string
	Timeout    time.Duration

	Reason       parley.ApprovalReason // "" is by a rule
	Approvers    int                   // who have to say yes; 0 is one
	RequesterIDs []parley.ID           // who may not, since they asked for the call
	Named        bool                  // a rule says who approves
	Digest       string                // of the tool as it is
	Rules        parley.Hash           // the agent's about it
}

// ApprovalUse begins an approved call.
type ApprovalUse struct {
	ApprovalID  parley.ID
	Fingerprint parley.Hash // of the call as it is about to run
}

// Decided is the answer to DecideApproval.
type Decided struct {
	Approval parley.Approval
	Claim    *Claim
}

// ApprovalQuery lists approvals, newest first unless Ascending.
type ApprovalQuery struct {
	SessionID    parley.ID // this session's, and those of the tool sessions below it when it is their root; zero: any
	AgentID      parley.ID // zero: any
	State        parley.ApprovalState
	Ascending    bool
	AfterCreated parley.Time // the last row of the page before; with AfterID
	AfterID      parley.ID
	Limit        int
}

// Approvals keeps the questions about tool calls. They are made by
// SettleStep, expire by Sweep and end with their turn.
type Approvals interface {
	// DecideApproval answers a pending approval. A no ends it; a yes does when it is the
	// last that is needed, and else is noted. The end adds the grant of a yes for the
	// session, or what its owner accepts, and makes a turn that waits ready again; with claimBy it may be
	// claimed in the same transaction, as by PostMessage. CodeNotFound;
	// CodeConflict with the state for one that is not pending, or whose time is
	// over; CodeConflict when the session has no room for the
	// grant, and with the state for a second yes of one principal; CodeForbidden for the
	// yes of one who asked for the call, and for a change that is not the owner's to
	// accept; CodeInvalid for a scope that the approval does not have.
	DecideApproval(
		ctx context.Context,
		scope Scope,
		id parley.ID,
		decision parley.Decision,
		claimBy parley.ID,
	) (Decided, error)
	// UseApprovals notes, before the tools run, that calls of the running turn run
	// under their approvals: each once. CodeConflict unless each is approved and
	// unused, its call has no result, and all three fingerprints (the approval's, the
	// recorded call's and the given one) are equal.
	UseApprovals(ctx context.Context, fence Fence, uses []ApprovalUse) error
	Approval(ctx context.Context, scope Scope, id parley.ID) (parley.Approval, error)
	// Approvals lists those of the sessions that the scope sees. CodeNotFound for a
	// foreign SessionID.
	Approvals(ctx context.Context, scope Scope, query ApprovalQuery) ([]parley.Approval, error)
}
