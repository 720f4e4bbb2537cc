package parley

import "context"

// AuditEntry says that a principal did something (D18): who, what, to which
// session and when. It holds no content and outlives what it is about.
type AuditEntry struct {
	ID            ID     `json:"id"`
	WorkspaceID   ID     `json:"workspace_id"`
	At            Time   `json:"at"` // by the clock of the process that answered
	PrincipalID   ID     `json:"principal_id"`
	PrincipalName string `json:"principal_name"`
	Action        string `json:"action"`     // operationId of the API, or the tool that read another session
	SessionID     ID     `json:"session_id"` // null when it concerns no single session
	TargetID      ID     `json:"target_id"`  // the message, turn, call, agent … that was meant; null: the session, or a list
	RequestID     ID     `json:"request_id"`
}

// AuditQuery lists entries, newest first.
type AuditQuery struct {
	SessionID   ID // zero: any
	PrincipalID ID
	Without     []string // actions that are left out
	Ascending   bool
	AfterAt     Time // the last row of the page before; with AfterID
	AfterID     ID
	Limit       int
}

// AuditStore keeps the audit: entries are added, and never changed or removed.
type AuditStore interface {
	// AppendAudit adds entries of any workspaces in one transaction. Entries that
	// are there already stay as they are, so that a batch can be sent again.
	AppendAudit(ctx context.Context, entries []AuditEntry) error
	Audit(ctx context.Context, workspaceID ID, query AuditQuery) ([]AuditEntry, error)
}
