package parley

import (
	"crypto/sha256"
	"encoding/json"
	"time"
)

// DelegationKind is what one agent of a team sends to another.
type DelegationKind string

// The kinds. A task goes from a lead to a subordinate, a question or a report from a subordinate to its lead. A
// briefing, and a question of an agent without a lead, go to a person's inbox.
const (
	DelegationTask     DelegationKind = "task"
	DelegationQuestion DelegationKind = "question"
	DelegationReport   DelegationKind = "report"
	DelegationBriefing DelegationKind = "briefing"
)

// DelegationKinds lists every kind.
func DelegationKinds() []DelegationKind {
	return []DelegationKind{DelegationTask, DelegationQuestion, DelegationReport, DelegationBriefing}
}

// Asks reports whether the sender waits for an answer.
func (k DelegationKind) Asks() bool { return k == DelegationTask || k == DelegationQuestion }

// DelegationStatus is the state of a delegation. Only this file defines its legal moves:
//
//	sent ──deliver──▶ delivered ──begin──▶ running ──answer──▶ answered
//	  │                   │  └────────answer─────────────────────▲
//	  ▼                   ▼                   ▼
//	failed │ cancelled │ expired   (from each of the three)
//
// A report and a briefing want no answer: they end at delivered. A delegation moves under the lock of its sender's
// session until it is delivered, then under its receiver's, and each move names the state that it leaves.
type DelegationStatus string

// The states of a delegation.
const (
	DelegationSent      DelegationStatus = "sent"
	DelegationDelivered DelegationStatus = "delivered"
	DelegationRunning   DelegationStatus = "running"
	DelegationAnswered  DelegationStatus = "answered"
	DelegationFailed    DelegationStatus = "failed"
	DelegationCancelled DelegationStatus = "cancelled"
	DelegationExpired   DelegationStatus = "expired"
)

// DelegationStatuses lists every state.
func DelegationStatuses() []DelegationStatus {
	return []DelegationStatus{
		DelegationSent, DelegationDelivered, DelegationRunning, DelegationAnswered, DelegationFailed,
		DelegationCancelled, DelegationExpired,
	}
}

// DelegationMove is a move of a delegation's state machine.
type DelegationMove string

// The moves, each made by one store transition.
const (
	DelegationDeliver DelegationMove = "deliver" // its message is in the receiver's session
	DelegationBegin   DelegationMove = "begin"   // a worker has claimed its turn
	DelegationAnswer  DelegationMove = "answer"
	DelegationFail    DelegationMove = "fail"
	DelegationCancel  DelegationMove = "cancel"
	DelegationExpire  DelegationMove = "expire" // its deadline has passed
)

// Finished reports whether a delegation of a kind can never move again.
func (s DelegationStatus) Finished(kind DelegationKind) bool {
	switch s {
	case DelegationSent:
		return false
	case DelegationDelivered, DelegationRunning:
		return !kind.Asks()
	}
	return true
}

// After returns the state that a move of a kind leads to, or CodeConflict if the move is illegal here.
func (s DelegationStatus) After(kind DelegationKind, move DelegationMove) (DelegationStatus, error) {
	switch {
	case s.Finished(kind):
	case s == DelegationSent && move == DelegationDeliver:
		return DelegationDelivered, nil
	case s == DelegationDelivered && move == DelegationBegin:
		return DelegationRunning, nil
	case s != DelegationSent && move == DelegationAnswer:
		return DelegationAnswered, nil
	case move == DelegationFail:
		return DelegationFailed, nil
	case move == DelegationCancel:
		return DelegationCancelled, nil
	case move == DelegationExpire:
		return DelegationExpired, nil
	}
	return s, Conflict(s, "a %s that is %s cannot %s", kind, s, move)
}

// The bounds of delegations. Those of a root count everything that one message of a person or a schedule began.
const (
	MaxDelegations     = 256       // of one root
	MaxDelegationHops  = 16        // from a root's own session to the last one
	MaxDelegationPair  = 8         // of one root, from one agent to another
	MaxDelegationBytes = 256 << 10 // of a task, a question or a report
	MaxDelegationBatch = 32        // answers and reports that enter in one turn

	DefaultDelegationDeadline = 24 * time.Hour     // a briefing waits that long for a place in a full conversation
	PersonDeadline            = 7 * 24 * time.Hour // of a question to a person
	MinDelegationDeadline     = time.Minute
	MaxDelegationDeadline     = 30 * 24 * time.Hour

	delegationTitleRunes = 80
)

// Delegation is something that one agent of a team has sent to another: from background session to background session.
type Delegation struct {
	ID            ID               `json:"id"`
	WorkspaceID   ID               `json:"workspace_id"`
	Kind          DelegationKind   `json:"kind"`
	Status        DelegationStatus `json:"status"`
	FromAgentID   ID               `json:"from_agent_id"`
	FromSessionID ID               `json:"from_session_id"`
	CallMessageID ID               `json:"call_message_id"` // the tool_call that sent it
	ToAgentID     ID               `json:"to_agent_id"`     // of what goes to a person: the sender itself
	ToPrincipalID ID               `json:"to_principal_id"` // the person in whose inbox it arrives; null for an agent
	ToSessionID   ID               `json:"to_session_id"`   // once it is delivered
	ParentID      ID               `json:"parent_id"`       // the delegation that the sender's turn worked for
	RootID        ID               `json:"root_id"`         // the message of a person or a schedule that began it
	Hop           int              `json:"hop"`             // 1 for the first of a chain
	Text          string           `json:"text"`            // the task, the question or the report
	MessageID     ID               `json:"message_id"`      // the message that carried it, in the receiver's session
	TurnID        ID               `json:"turn_id"`         // the turn that this message began, or entered
	// the message that answered it, in the receiver's session: of its last turn, the call of a final report, or a
	// person's answer
	AnswerMessageID ID `json:"answer_message_id"`
	AnswerTurnID    ID `json:"answer_turn_id"` // zero if a report or a person answered
	// the message that told the sender how it ended, in the sender's session, and the turn that it began, or entered
	ReturnMessageID ID     `json:"return_message_id"`
	ReturnTurnID    ID     `json:"return_turn_id"`
	Reason          string `json:"reason,omitempty"` // for people: why it failed or was cancelled
	DeadlineAt      Time   `json:"deadline_at"`
	CreatedAt       Time   `json:"created_at"`
	DeliveredAt     Time   `json:"delivered_at"`
	FinishedAt      Time   `json:"finished_at"`

	AnswerStep int  `json:"-"` // the step of AnswerTurnID that answered
	WorkID     ID   `json:"-"` // of a delivered report: the delegation that the receiver works for when it reads it
	HeardAt    Time `json:"-"` // when the turn began that reads the answer, or the report
}

// MarshalJSON writes null for absent fields.
func (d Delegation) MarshalJSON() ([]byte, error) {
	type plain Delegation
	return EncodeJSON(struct {
		*plain
		Reason *string `json:"reason"`
	}{(*plain)(&d), OrNull(d.Reason)})
}

// Finished reports whether the delegation can never move again.
func (d *Delegation) Finished() bool { return d.Status.Finished(d.Kind) }

// Title returns the first line of the delegation's text, shortened.
func (d *Delegation) Title() string { return DelegationTitle(d.Text) }

// DelegationTitle returns the first line of a delegation's text, shortened.
func DelegationTitle(text string) string {
	title := []rune(TitleFrom(text))
	if len(title) > delegationTitleRunes {
		return string(title[:delegationTitleRunes-1]) + "…"
	}
	return string(title)
}

// SessionID returns the session under whose lock the delegation moves now.
func (d *Delegation) SessionID() ID {
	if d.Status == DelegationSent {
		return d.FromSessionID
	}
	return d.ToSessionID
}

// derived makes an id from another one, with its time and version 7. Whoever repeats the work finds the same row.
func derived(purpose string, from ID) ID {
	sum := sha256.Sum256(append([]byte(purpose), from[:]...))
	id := from
	copy(id[6:], sum[:])
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}

// DelegationID returns the id of the delegation that a tool_call sends. It derives from the id of the call's message.
func DelegationID(callMessageID ID) ID { return derived("parley delegation ", callMessageID) }

// DelegationMessageID returns the id of the message that carries a delegation to its receiver.
func DelegationMessageID(delegationID ID) ID {
	return derived("parley delegation message ", delegationID)
}

// DelegationReturnID returns the id of the message that tells the sender how a delegation ended.
func DelegationReturnID(delegationID ID) ID {
	return derived("parley delegation return ", delegationID)
}

// DelegationLink is metadata of the messages that carry a delegation and its answer.
type DelegationLink struct {
	DelegationID ID `json:"delegation_id"`
}

// LinkDelegation returns a DelegationLink as canonical JSON.
func LinkDelegation(id ID) json.RawMessage {
	return append(id.AppendText([]byte(`{"delegation_id":"`)), `"}`...)
}

// Sending is what a tool's result has its session send to another agent.
type Sending struct {
	Kind     DelegationKind
	To       ID // agent; zero: the person whose agent it is, through their inbox
	Text     string
	Deadline time.Duration // of a task or a question; 0: the default
	Final    bool          // of a report: it answers the task that the turn works for
	Title    string        // of a briefing
	Summary  string        // of a briefing; "" for none
	Type     InboxType     // of a briefing; "": InboxBriefing
}

// Validate returns CodeInvalid for a sending outside the bounds.
func (s *Sending) Validate() error {
	field := map[DelegationKind]string{
		DelegationTask: "task", DelegationQuestion: "question", DelegationReport: "result",
		DelegationBriefing: "text",
	}[s.Kind]
	switch {
	case TitleFrom(s.Text) == "":
		return InvalidField(field, "is missing or empty")
	case s.Deadline != 0 && (s.Deadline < MinDelegationDeadline || s.Deadline > MaxDelegationDeadline):
		return InvalidField("deadline", "must lie between 1m and 720h")
	}
	if s.Kind == DelegationBriefing {
		if err := s.validateBriefing(); err != nil {
			return err
		}
	}
	return CheckText(field, s.Text, MaxDelegationBytes)
}

func (s *Sending) validateBriefing() error {
	switch {
	case TitleFrom(s.Title) == "":
		return InvalidField("title", "is missing or empty")
	case s.Type != "" && s.Type != InboxBriefing && s.Type != InboxAlert:
		return InvalidField("type", "must be %s or %s", InboxBriefing, InboxAlert)
	}
	if err := CheckText("title", s.Title, MaxInboxTitleBytes); err != nil {
		return err
	}
	return CheckText("summary", s.Summary, MaxInboxSummaryBytes)
}
