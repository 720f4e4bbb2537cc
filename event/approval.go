package event

import "example.org/parley"

// Approval is the data of the events of an approval: all but the arguments, which only
// the approval itself shows. The root of a tool session's tree is told too, with the
// tool session's own session_id in the data.
type Approval struct {
	TurnID      parley.ID              `json:"turn_id"`      // the turn that waits
	ApprovalID  parley.ID              `json:"approval_id"`  // the approval
	SessionID   parley.ID              `json:"session_id"`   // the session of the call
	RootID      parley.ID              `json:"root_id"`      // the root of its tree; session_id when it has none
	MessageID   parley.ID              `json:"message_id"`   // the tool_call message
	ToolCallID  string                 `json:"tool_call_id"` // the call's id, as the model gave it
	Name        string                 `json:"name"`         // the tool
	Fingerprint parley.Hash            `json:"fingerprint"`  // SHA-256 of the tool's name and its exact arguments
	State       parley.ApprovalState   `json:"state"`        // the approval's state
	Scope       *parley.ApprovalScope  `json:"scope"`        // how far the answer reaches; null before it
	Covers      *parley.ApprovalCovers `json:"covers"`       // what a yes for the session covers; null for others
	DecidedBy   *string                `json:"decided_by"`   // the name of the one who decided; null before
	Comment     *string                `json:"comment"`      // what that person wrote; null for nothing
	Explanation *string                `json:"explanation"`  // for people: why it is asked; null when a rule asks
	Approvers   int                    `json:"approvers"`    // how many people must say yes
	Missing     int                    `json:"missing"`      // how many of them have not said it yet
	ExpiresAt   parley.Time            `json:"expires_at"`   // when it expires, and counts as denied
}

// ApprovalCreated reports that a person is asked about one exact tool call.
//
//event:durable,feed
type ApprovalCreated struct{ Approval }

// ApprovalApproved reports that one of several people said yes. The approval is still
// pending.
//
//event:durable,feed
type ApprovalApproved struct{ Approval }

// ApprovalResolved reports that an approval is approved, denied, expired or cancelled.
//
//event:durable,feed
type ApprovalResolved struct{ Approval }
