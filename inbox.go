package parley

// InboxType is what an item of an inbox wants of its principal.
type InboxType string

// The types. A question and an approval wait for an answer; a briefing and an alert want to be read.
const (
	InboxBriefing InboxType = "briefing" // what an agent has found or decided
	InboxQuestion InboxType = "question" // what an agent needs to know to continue
	InboxApproval InboxType = "approval" // a call of background work that a person must approve
	InboxAlert    InboxType = "alert"    // something that went wrong without anybody looking
)

// InboxTypes lists every type.
func InboxTypes() []InboxType {
	return []InboxType{InboxBriefing, InboxQuestion, InboxApproval, InboxAlert}
}

// The bounds of an item.
const (
	MaxInboxTitleBytes   = 300
	MaxInboxSummaryBytes = 2000
	MaxInboxCitations    = 64
)

// InboxItem is one entry of a principal's inbox. It moves under the lock of its session.
type InboxItem struct {
	ID          ID        `json:"id"`
	WorkspaceID ID        `json:"workspace_id"`
	PrincipalID ID        `json:"principal_id"` // whose inbox it is in
	Type        InboxType `json:"type"`
	Title       string    `json:"title"`
	Summary     string    `json:"summary"` // "" for an item that is its title
	AgentID     ID        `json:"agent_id"`
	// where it stands: a briefing and a question as the agent's message in the principal's foreground session with it,
	// an approval as the tool_call that waits
	SessionID ID `json:"session_id"`
	MessageID ID `json:"message_id"`
	// the work behind it: the agent's background session, and the tool_call there that made the item
	SourceSessionID ID `json:"source_session_id"`
	SourceMessageID ID `json:"source_message_id"`
	DelegationID    ID `json:"delegation_id"` // of a briefing and a question
	ApprovalID      ID `json:"approval_id"`   // of an approval
	// the messages that a briefing cites as [session:sequence], each once, in order; checked when it was made
	Citations  []InboxCitation `json:"citations"`
	CreatedAt  Time            `json:"created_at"`
	ReadAt     Time            `json:"read_at"`
	AnsweredAt Time            `json:"answered_at"`
	ClosedAt   Time            `json:"closed_at"` // when it ended without an answer, which it cannot get any more
}

// Waits reports whether the item still wants an answer.
func (i *InboxItem) Waits() bool {
	return (i.Type == InboxQuestion || i.Type == InboxApproval) && i.AnsweredAt == 0 && i.ClosedAt == 0
}

// InboxAlertCause is what the server itself raises an alert about.
type InboxAlertCause string

// The causes. An alert has one item for each cause and subject, however often it happens.
const (
	AlertRunFailed  InboxAlertCause = "run failed"   // of a schedule
	AlertRunLate    InboxAlertCause = "run late"     // of a schedule: it had not ended by its deadline
	AlertRunSkipped InboxAlertCause = "run skipped"  // of a schedule: ScheduleAlertAfter in a row
	AlertBudget     InboxAlertCause = "budget"       // of a background session
	AlertChain      InboxAlertCause = "chain bounds" // of a root of delegations
	AlertWebhook    InboxAlertCause = "webhook"      // paused, because its endpoint failed for a day
)

// InboxAlertID returns the id of the item for a cause and its subject.
func InboxAlertID(cause InboxAlertCause, subject ID) ID {
	return derived("parley inbox alert "+string(cause)+" ", subject)
}

// InboxItemID returns the id of the item that something makes: a delegation or an approval.
func InboxItemID(from ID) ID { return derived("parley inbox item ", from) }

// InboxAnswerID returns the id of the message with which a person answers a delegation.
func InboxAnswerID(delegationID ID) ID { return derived("parley inbox answer ", delegationID) }
