package event

import "example.org/parley"

// Delegation is the data of the events of a delegation: all but its text. The session that
// sends it is told that it was sent and how it ended, the session that receives it all but
// the first.
type Delegation struct {
	DelegationID  parley.ID               `json:"delegation_id"`   // the delegation
	Kind          parley.DelegationKind   `json:"kind"`            // task, question, report or briefing
	Status        parley.DelegationStatus `json:"status"`          // its state now
	FromAgentID   parley.ID               `json:"from_agent_id"`   // the agent that sent it
	FromSessionID parley.ID               `json:"from_session_id"` // that agent's background session
	ToAgentID     parley.ID               `json:"to_agent_id"`     // the agent that receives it
	ToSessionID   *parley.ID              `json:"to_session_id"`   // its background session; null before delivery
	ParentID      *parley.ID              `json:"parent_id"`       // the delegation that the sender worked for; or null
	RootID        parley.ID               `json:"root_id"`         // the message that began the chain
	Hop           int                     `json:"hop"`             // 1 for the first of the chain
	Title         string                  `json:"title"`           // the first line of its text, shortened
	Reason        *string                 `json:"reason"`          // for people: why it has no answer; or null
	DeadlineAt    *parley.Time            `json:"deadline_at"`     // when it expires; null for a report
}

// DelegationSent reports that the session's agent has sent something to another agent.
//
//event:durable,feed
type DelegationSent struct{ Delegation }

// DelegationDelivered reports that a delegation has arrived, as a message with a turn.
//
//event:durable,feed
type DelegationDelivered struct{ Delegation }

// DelegationRunning reports that the work on a task or a question has begun.
//
//event:durable,feed
type DelegationRunning struct{ Delegation }

// DelegationAnswered reports that a task or a question is answered.
//
//event:durable,feed
type DelegationAnswered struct{ Delegation }

// DelegationFailed reports that a delegation cannot be answered.
//
//event:durable,feed
type DelegationFailed struct{ Delegation }

// DelegationCancelled reports that somebody cancelled a delegation.
//
//event:durable,feed
type DelegationCancelled struct{ Delegation }

// DelegationExpired reports that nobody answered a delegation by its deadline.
//
//event:durable,feed
type DelegationExpired struct{ Delegation }

// DelegationRefused reports that an agent could not send something to another one because its chain has reached a
// bound. No delegation was made. It is written to the sessions of both agents, unless the receiver is archived.
//
//event:durable
type DelegationRefused struct {
	CallMessageID parley.ID             `json:"call_message_id"` // the tool call that wanted to send it
	Kind          parley.DelegationKind `json:"kind"`            // task, question, report or briefing
	FromAgentID   parley.ID             `json:"from_agent_id"`   // the agent that wanted to send it
	FromSessionID parley.ID             `json:"from_session_id"` // that agent's background session
	ToAgentID     parley.ID             `json:"to_agent_id"`     // the agent that it was for
	RootID        parley.ID             `json:"root_id"`         // the message that began the chain
	Hop           int                   `json:"hop"`             // 1 for the first of the chain
	Title         string                `json:"title"`           // the first line of its text, shortened
	Reason        string                `json:"reason"`          // what the sender was told
}
