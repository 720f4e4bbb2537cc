package event

import "example.org/parley"

// SessionStarted reports that a turn runs: a worker claimed it for the first time, or
// again after a wait, a release or the death of the process that ran it.
//
//event:durable
type SessionStarted struct {
	TurnID  parley.ID `json:"turn_id"` // the turn that runs
	Attempt int       `json:"attempt"` // claims of the turn so far; 0 for the turn of an outside agent
}

// TurnEnd is the data of the three events that end a turn.
type TurnEnd struct {
	TurnID parley.ID   `json:"turn_id"` // the turn that ended
	Turn   parley.Turn `json:"turn"`    // the turn as it ended
}

// SessionCompleted ends a turn that did what it was asked. A turn ends with exactly
// one of session.completed, session.failed and session.cancelled.
//
//event:durable
type SessionCompleted struct{ TurnEnd }

// SessionFailed ends a turn that failed; the turn's error says why.
//
//event:durable
type SessionFailed struct{ TurnEnd }

// SessionCancelled ends a turn that was cancelled. A queued turn that is removed ends with it too.
//
//event:durable
type SessionCancelled struct{ TurnEnd }

// SessionWaiting reports that the running turn waits for something outside, and for what. It is
// sent again when the turn waits for something else.
//
//event:durable
type SessionWaiting struct {
	TurnID parley.ID         `json:"turn_id"` // the turn that waits
	Reason parley.WaitReason `json:"reason"`  // what it waits for
	*Refused
}

// Refused says which limit a turn waits for. It is given with the reasons budget and
// rate_limit alone.
type Refused struct {
	// the limit that was reached; null for rate_limit and while the model's price is unknown
	Limit    *parley.Limit `json:"limit"`
	Sentence string        `json:"sentence"` // for people: which limit was reached, and what to do
}

// ContextCleared reports that the context was cleared: later calls do not see earlier messages. The
// record keeps them.
//
//event:durable
type ContextCleared struct {
	ClearedAt parley.Time `json:"cleared_at"` // when the context was cleared
}
