package transition

import (
	"example.org/parley"
	"example.org/parley/event"
)

// A delegation moves under one lock at a time: its sender's session until it is delivered, then its receiver's. Each
// move names the state that it leaves, so of two that meet one is computed again. What must happen in another session
// (delivery, the way back, a stop) is an errand that finds the same rows when it is repeated.

// MovedDelegation is a delegation in its new state, and the state that it left: the write is void if it has left that
// meanwhile. They are equal if only the other columns changed.
type MovedDelegation struct {
	*parley.Delegation
	Was parley.DelegationStatus
}

// Heard are the answers and reports of a root that a turn begins with or, if MessageID is set instead, one whose
// message will not be read.
type Heard struct{ TurnID, RootID, MessageID parley.ID }

// Unheard is a task or a question whose sender has not begun a turn with its answer.
type Unheard struct {
	ID           parley.ID
	ReturnTurnID parley.ID // the turn that will begin with the answer, or has; zero before the answer is there
}

// assignment is a turn's position in a chain of delegations.
type assignment struct {
	carried *parley.Delegation // what the turn's trigger carries, or answers; nil: neither
	work    *parley.Delegation // what the turn works for; nil: for no delegation
	root    parley.ID          // the message that began the chain
	hop     int                // of what the turn sends
}

// assigned returns what the turn of a trigger works for. An answer continues the work that asked for it; so does a
// report on a part of that work.
func (t *Tx) assigned(h *Head, triggerID parley.ID) (assignment, error) {
	d, err := t.delegationOf(h, triggerID)
	if err != nil || d == nil {
		return assignment{root: triggerID, hop: 1}, err
	}
	at := assignment{carried: d, root: d.RootID, hop: d.Hop + 1}
	workID := d.WorkID
	switch {
	case d.ReturnMessageID == triggerID:
		at.hop, workID = d.Hop, d.ParentID
	case d.Kind.Asks():
		at.work = d
		return at, nil
	}
	at.work, err = t.delegation(h.WorkspaceID, workID)
	return at, err
}

// delegation reads a delegation; nil for a zero id.
func (t *Tx) delegation(workspaceID, id parley.ID) (*parley.Delegation, error) {
	if id.IsZero() {
		return nil, nil
	}
	return t.rows.Delegation(workspaceID, id)
}

// agentNow reads an agent in its current version; nil if there is none.
func (t *Tx) agentNow(workspaceID, agentID parley.ID) (*parley.Agent, error) {
	version, status, err := t.agent(workspaceID, agentID)
	if err != nil || version == 0 {
		return nil, err
	}
	found, err := t.rows.AgentVersion(workspaceID, agentID, version)
	if err != nil || found == nil {
		return nil, err
	}
	agent := *found
	agent.Status = status
	return &agent, nil
}

// finishDelegation ends a delegation by a move, and has its sender told and its work stopped.
func (t *Tx) finishDelegation(h *Head, d *parley.Delegation, move parley.DelegationMove, reason string) error {
	was := d.Status
	next, err := was.After(d.Kind, move)
	if err != nil {
		return err
	}
	d.Status, d.Reason, d.FinishedAt = next, reason, t.now
	h.moved(d, was)
	if h.DeletedAt == 0 && h.ID != d.FromSessionID { // the way back tells the sender
		t.tellDelegation(h, d)
	}
	if !d.ToPrincipalID.IsZero() && move != parley.DelegationAnswer {
		if err := t.closeItem(h, d); err != nil {
			return err
		}
	}
	h.leave(ReturnDelegation{DelegationID: d.ID, answers: shortEnough(t.answers)}, 0)
	if was != parley.DelegationSent && move != parley.DelegationAnswer {
		h.leave(StopDelegation{DelegationID: d.ID}, 0)
	}
	return nil
}

// moved has a delegation written in its new state.
func (h *Head) moved(d *parley.Delegation, was parley.DelegationStatus) {
	h.Changes.Head = true
	if h.carried.is(d.ID) {
		h.carried.delegation = d
	}
	for i := range h.Changes.Delegations { // one write takes it through all states
		if moved := &h.Changes.Delegations[i]; moved.ID == d.ID {
			moved.Delegation = d
			return
		}
	}
	h.Changes.Delegations = append(h.Changes.Delegations, MovedDelegation{d, was})
}

// tellDelegation writes the event of a delegation's state into a session.
func (t *Tx) tellDelegation(h *Head, d *parley.Delegation) {
	told := event.Delegation{
		DelegationID: d.ID, Kind: d.Kind, Status: d.Status, FromAgentID: d.FromAgentID,
		FromSessionID: d.FromSessionID, ToAgentID: d.ToAgentID, ToSessionID: nilIfZero(&d.ToSessionID),
		ParentID: nilIfZero(&d.ParentID), RootID: d.RootID, Hop: d.Hop, Title: d.Title(),
		Reason: nilIfZero(&d.Reason), DeadlineAt: nilIfZero(&d.DeadlineAt),
	}
	var encoded event.Encoded
	switch d.Status {
	case parley.DelegationSent:
		encoded = event.DelegationSent{Delegation: told}.Encode()
	case parley.DelegationDelivered:
		encoded = event.DelegationDelivered{Delegation: told}.Encode()
	case parley.DelegationRunning:
		encoded = event.DelegationRunning{Delegation: told}.Encode()
	case parley.DelegationAnswered:
		encoded = event.DelegationAnswered{Delegation: told}.Encode()
	case parley.DelegationFailed:
		encoded = event.DelegationFailed{Delegation: told}.Encode()
	case parley.DelegationCancelled:
		encoded = event.DelegationCancelled{Delegation: told}.Encode()
	case parley.DelegationExpired:
		encoded = event.DelegationExpired{Delegation: told}.Encode()
	}
	t.event(h, parley.ID{}, encoded)
	t.feed(h, encoded)
}
