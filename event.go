package parley

import "encoding/json"

// EventType names a notification (C4). Events past tense, with a dot.
type EventType string

// The durable types. A turn ends with exactly one of session.completed,
// session.failed, session.cancelled, which carries the turn.
const (
	EventSessionStarted   EventType = "session.started"   // {turn_id, attempt}
	EventSessionCompleted EventType = "session.completed" // {turn_id, turn}
	EventSessionFailed    EventType = "session.failed"    // {turn_id, turn}
	EventSessionCancelled EventType = "session.cancelled" // {turn_id, turn}
	EventSessionWaiting   EventType = "session.waiting"   // {turn_id, reason}; for budget and rate_limit also limit and sentence
	EventMessageCreated   EventType = "message.created"   // {message_id, turn_id, role, message_sequence}
	EventMessageQueued    EventType = "message.queued"    // {message_id, turn_id, position, steer}
	EventMessageRemoved   EventType = "message.removed"   // {message_id}
	EventMessageMarked    EventType = "message.marked"    // {message_id, marks}
	EventContextCleared   EventType = "context.cleared"   // {cleared_at}
	EventStepStarted      EventType = "step.started"      // {turn_id, step, call_id, message_id, attempt, model}
	EventStepGenerated    EventType = "step.generated"    // {turn_id, step, error, messages}: authoritative; error is null
	EventStepError        EventType = "step.error"        // {turn_id, step, error, messages}: authoritative
	EventStepRetrying     EventType = "step.retrying"     // {turn_id, step, attempt, class, wait_ms}
	EventLimitWarning     EventType = "limit.warning"     // {turn_id, limit, scope, spent, of, share}
	EventLoopProgress     EventType = "loop.progress"     // {loop_id, turn_id, iteration, max, state, reason}: an iteration was made, or the loop ended
	EventToolStarted      EventType = "tool.started"      // {turn_id, message_id, tool_call_id, name}
	EventToolProgress     EventType = "tool.progress"     // {turn_id, tool_call_id, name, progress, total, message}: some of a call's; total is null when unknown
	EventToolCompleted    EventType = "tool.completed"    // {turn_id, message_id, tool_call_id, name, success, execution_time_ms}
	EventApprovalCreated  EventType = "approval.created"  // {turn_id, approval_id, session_id, root_id, message_id, tool_call_id, name, fingerprint, state, …, expires_at}; of a tool session at its root too
	EventApprovalApproved EventType = "approval.approved" // the same; one of several has said yes, and it is pending still
	EventApprovalResolved EventType = "approval.resolved" // the same; state is another
)

// The durable types of compactions, which turns have no part in. A compaction
// ends with compaction.completed, or with a compaction.failed whose again is false.
const (
	EventCompactionStarted   EventType = "compaction.started"   // {compaction_id, call_id, reason, attempt, model, covers_from, covers_through}
	EventCompactionCompleted EventType = "compaction.completed" // {compaction_id, call_id, message_id, covers_from, covers_through, queued}: queued is true when the summary enters as the turn ends that runs
	EventCompactionFailed    EventType = "compaction.failed"    // {compaction_id, call_id, attempt, error, again}
)

// EventCallReplayed tells of a recorded request that was sent again, to compare.
const EventCallReplayed EventType = "call.replayed" // {call_id, replay_of_id, model, outcome}

// The live types: no sequence, no id, never stored.
const (
	EventStepGenerating EventType = "step.generating" // a delta
	EventResync         EventType = "resync"          // {reason}: fetch again what you show
)

// The types of the workspace feed, none durable.
const (
	FeedSessionUpdated       EventType = "session.updated"        // {session}
	FeedSessionStatusChanged EventType = "session.status_changed" // {session_id, status, wait_reason}
	FeedSessionDeleted       EventType = "session.deleted"
	FeedSessionActivated     EventType = "session.activated"   // {client_id}
	FeedSessionDeactivated   EventType = "session.deactivated" // {client_id}
)

// EndsTurn reports whether the event is the one that ends a turn.
func (t EventType) EndsTurn() bool {
	return t == EventSessionCompleted || t == EventSessionFailed || t == EventSessionCancelled
}

// Event is a durable notification about a session, with its own gap-free
// sequence. Data is one JSON object. For step.generated and step.error the
// messages are stored by id alone; Data is complete in what the store returns
// and publishes (see SettledStep).
type Event struct {
	SessionID ID              `json:"session_id"`
	Sequence  int64           `json:"sequence"`
	Type      EventType       `json:"type"`
	CreatedAt Time            `json:"created_at"`
	TurnID    ID              `json:"-"`
	Data      json.RawMessage `json:"data"`
}

// SettledStep is the data of step.generated and step.error.
type SettledStep struct {
	TurnID   ID               `json:"turn_id"`
	Step     int              `json:"step"`
	Error    *Failure         `json:"error"`
	Messages []SettledMessage `json:"messages"`
}

// SettledMessage is what a client replaces its streamed text with.
type SettledMessage struct {
	MessageID ID              `json:"message_id"`
	Role      Role            `json:"role"`
	Status    MessageStatus   `json:"status"`
	End       int             `json:"end"` // bytes of the text, or of the arguments
	Content   json.RawMessage `json:"content"`
}
