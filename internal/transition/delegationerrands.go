package transition

import "example.org/parley"

// The pause, in milliseconds, of a delegation's errand that cannot be done yet. One that waits for a place in a queue
// doubles it each time.
const (
	delegationRest    = parley.Time(2000)
	maxDelegationRest = parley.Time(60_000)
)

// delegationBatch bounds how many delegations one part of the work ends.
const delegationBatch = 50

// Why delegations end that nobody ended by themselves.
const (
	reasonMember   = "an agent left the team"
	reasonAgent    = "the agent is archived, or belongs to somebody else now"
	reasonSession  = "a background session was deleted"
	reasonPerson   = "the conversation with the question was deleted"
	reasonArchived = "a background session was archived"
	reasonAbove    = "the work that it was for has ended"
	reasonFull     = "the queue of their conversation with you stayed full; it is in their inbox, but not there"
)

// DeliverDelegation brings a delegation into its receiver's background session.
type DeliverDelegation struct {
	DelegationID parley.ID `json:"-"`
}

// ReturnDelegation tells the sender how a delegation ended.
type ReturnDelegation struct {
	DelegationID parley.ID `json:"-"`

	answers []parley.Message // if a turn of this process has answered, as long as it remembers; not in the row
}

// ExpireDelegation ends a delegation at its deadline.
type ExpireDelegation struct {
	DelegationID parley.ID `json:"-"`
}

// StopDelegation stops the work for a delegation that ended: its turns (unless Below is set), and the tasks and
// questions that they sent on. Reports and briefings still arrive: they say what was found.
type StopDelegation struct {
	DelegationID parley.ID `json:"-"`
	Below        bool      `json:"below,omitempty"` // only what was sent on
}

// EndDelegations ends the open delegations from and to an agent that left its team, or a session that was deleted or
// archived.
type EndDelegations struct {
	SubjectID parley.ID   `json:"-"`
	Session   bool        `json:"session,omitempty"`  // the subject is a session
	Archived  bool        `json:"archived,omitempty"` // which was archived
	Until     parley.Time `json:"until,omitempty"`    // what was sent later goes on; 0: nothing does
}

// LeavesTeam returns the errand of an agent that leaves its team, its owner or its work by a change: its open
// delegations end. What it sends and gets in its new place does not. false if the agent stays where it is.
func LeavesTeam(before, after *parley.Agent, now parley.Time) (Errand, bool) {
	left := !before.LeadID.IsZero() && before.LeadID != after.LeadID
	stopped := after.Status == parley.AgentArchived && before.Status != after.Status
	if !left && !stopped && before.OwnerID == after.OwnerID {
		return Errand{}, false
	}
	return Errand{WorkspaceID: before.WorkspaceID, Work: EndDelegations{SubjectID: before.ID, Until: now}}, true
}

// Kind implements Work.
func (DeliverDelegation) Kind() string { return "deliver_delegation" }

// Target implements Work.
func (w DeliverDelegation) Target() parley.ID { return w.DelegationID }

// do delivers, or else ends the delegation under its sender's lock. While a person's conversation is full, it is tried
// again; at the deadline of a briefing, only the inbox gets it.
func (w DeliverDelegation) do(workspaceID parley.ID, by Doer) (bool, error) {
	refused := ""
	if left, err := by.LastStep(workspaceID, func(t *Tx) (left bool, err error) {
		refused, left, err = t.deliverDelegation(workspaceID, w.DelegationID)
		return left || refused != "", err
	}); err != nil || refused == "" {
		return err == nil && !left, err
	}
	return once(by, workspaceID, func(t *Tx) error {
		d, err := t.rows.Delegation(workspaceID, w.DelegationID)
		if err != nil || d == nil || d.Status != parley.DelegationSent {
			return err
		}
		h, err := t.placeOfDelegation(d)
		if err != nil || h == nil {
			return err
		}
		if refused == reasonFull {
			if err := t.keepBriefing(h, d); err != nil {
				return err
			}
		}
		move := parley.DelegationFail
		if refused == reasonMember {
			move = parley.DelegationCancel // as what had been delivered is
		}
		return t.finishDelegation(h, d, move, refused)
	})
}

// Kind implements Work.
func (ReturnDelegation) Kind() string { return "return_delegation" }

// Target implements Work.
func (w ReturnDelegation) Target() parley.ID { return w.DelegationID }

func (w ReturnDelegation) do(workspaceID parley.ID, by Doer) (bool, error) {
	again, err := by.LastStep(workspaceID, func(t *Tx) (bool, error) {
		return t.returnDelegation(workspaceID, w)
	})
	return !again, err
}

// Kind implements Work.
func (ExpireDelegation) Kind() string { return "expire_delegation" }

// Target implements Work.
func (w ExpireDelegation) Target() parley.ID { return w.DelegationID }

func (w ExpireDelegation) do(workspaceID parley.ID, by Doer) (bool, error) {
	again, err := by.LastStep(workspaceID, func(t *Tx) (bool, error) {
		return t.expireDelegation(workspaceID, w.DelegationID)
	})
	return !again, err
}

// Kind implements Work.
func (StopDelegation) Kind() string { return "stop_delegation" }

// Target implements Work.
func (w StopDelegation) Target() parley.ID { return w.DelegationID }

func (w StopDelegation) do(workspaceID parley.ID, by Doer) (bool, error) {
	if !w.Below {
		again, err := by.Step(workspaceID, func(t *Tx) (bool, error) {
			return t.stopDelegated(workspaceID, w.DelegationID)
		})
		if err != nil || again {
			return false, err
		}
	}
	ids, err := by.AskedBelow(workspaceID, w.DelegationID, delegationBatch)
	if err != nil {
		return false, err
	}
	return endEach(by, workspaceID, ids, because(reasonAbove))
}

// Kind implements Work.
func (EndDelegations) Kind() string { return "end_delegations" }

// Target implements Work.
func (w EndDelegations) Target() parley.ID { return w.SubjectID }

func (w EndDelegations) do(workspaceID parley.ID, by Doer) (bool, error) {
	ids, err := by.OpenDelegations(workspaceID, w.SubjectID, w.Until, delegationBatch)
	if err != nil {
		return false, err
	}
	return endEach(by, workspaceID, ids, w.reason)
}

// reason says why the work ends a delegation.
func (w EndDelegations) reason(d *parley.Delegation) string {
	asksPerson := !d.ToPrincipalID.IsZero()
	switch {
	case w.Archived:
		return reasonArchived
	case w.Session && asksPerson:
		return reasonPerson
	case w.Session:
		return reasonSession
	case asksPerson:
		return reasonAgent
	}
	return reasonMember
}

// because is the same reason for every delegation.
func because(reason string) func(*parley.Delegation) string {
	return func(*parley.Delegation) string { return reason }
}

// endEach cancels a batch of open delegations, and reports whether it was the last one.
func endEach(
	by Doer,
	workspaceID parley.ID,
	ids []parley.ID,
	reason func(*parley.Delegation) string,
) (done bool, err error) {
	for _, id := range ids {
		if _, err := once(by, workspaceID, func(t *Tx) error {
			return t.endOpenDelegation(workspaceID, id, parley.DelegationCancel, reason)
		}); err != nil {
			return false, err
		}
	}
	return len(ids) < delegationBatch, nil
}
