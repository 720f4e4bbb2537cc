package parley

// AuditEntry says that a principal did something (D18): who, what, to which session and when. It holds no content and
// outlives its subject.
type AuditEntry struct {
	ID            ID     `json:"id"`
	WorkspaceID   ID     `json:"workspace_id"`
	At            Time   `json:"at"` // by the clock of the process that answered
	PrincipalID   ID     `json:"principal_id"`
	PrincipalName string `json:"principal_name"`
	Action        string `json:"action"`     // an operationId of the API, or the tool that read another session
	SessionID     ID     `json:"session_id"` // null when it concerns no single session
	// the message, turn, call, agent … concerned; null: the session, or a list
	TargetID  ID `json:"target_id"`
	RequestID ID `json:"request_id"`
}
