package transition

import (
	"cmp"

	"example.org/parley"
)

// send records what a call's result has the session send to another agent. It is CodeInvalid, with a sentence for the
// model, for what may not be sent.
func (t *Tx) send(h *Head, call *parley.Message, sending *parley.Sending) error {
	if err := t.maySend(h, sending); err != nil {
		return err
	}
	d, at, err := t.sent(h, call, sending)
	if err != nil {
		return err
	}
	if sending.Kind == parley.DelegationBriefing {
		by := citing{h.WorkspaceID, h.ID, h.OwnerID, at.root}
		if _, wrong, err := t.citations(by, sending.Title, sending.Summary, sending.Text); err != nil || wrong != nil {
			return cmp.Or(err, wrong)
		}
	}
	if err := t.checkChain(h, d); err != nil {
		return err
	}
	h.Changes.NewDelegations = append(h.Changes.NewDelegations, d)
	if h.carried != nil {
		h.carried.nothingSent = false
	}
	if sending.Final {
		if answered, err := t.answerByReport(h, d, at.work); err != nil || answered {
			return err
		}
	}
	t.tellDelegation(h, d)
	h.leave(DeliverDelegation{DelegationID: d.ID}, 0)
	if d.Kind == parley.DelegationReport {
		return nil
	}
	deadline := sending.Deadline
	if deadline == 0 {
		deadline = parley.DefaultDelegationDeadline
		if d.Kind.Asks() && !d.ToPrincipalID.IsZero() {
			deadline = parley.PersonDeadline
		}
	}
	d.DeadlineAt = t.now + parley.Time(deadline.Milliseconds())
	if d.Kind.Asks() { // a briefing ends when it is delivered, or by the errand that cannot deliver it
		h.leave(ExpireDelegation{DelegationID: d.ID}, deadline)
	}
	return nil
}

// maySend refuses what the agent of a session may not send from there, in whatever chain.
func (t *Tx) maySend(h *Head, sending *parley.Sending) error {
	if !h.InBackground() {
		return parley.Errorf(parley.CodeInvalid, "only an agent that works in the background sends to its team")
	}
	agent, err := t.agentNow(h.WorkspaceID, h.AgentID)
	if err != nil {
		return err
	}
	if !worksIn(h, agent) {
		return parley.Errorf(parley.CodeInvalid, "you do not work in this session any more, so nothing is sent")
	}
	return t.checkTeam(agent, sending)
}

// worksIn reports whether a background session is the one in which an agent works now: an agent that got another owner
// works in another one, and an archived one does not work.
func worksIn(h *Head, agent *parley.Agent) bool {
	return agent != nil && agent.Status == parley.AgentActive && agent.OwnerID == h.OwnerID
}

// sent returns the delegation that a call of the current turn sends, and the turn's position in its chain.
func (t *Tx) sent(h *Head, call *parley.Message, sending *parley.Sending) (*parley.Delegation, assignment, error) {
	turn, err := t.currentTurn(h)
	if err != nil {
		return nil, assignment{}, err
	}
	at, err := t.assigned(h, turn.TriggerMessageID)
	if err != nil {
		return nil, at, err
	}
	d := &parley.Delegation{
		ID: parley.DelegationID(call.ID), WorkspaceID: h.WorkspaceID, Kind: sending.Kind,
		Status: parley.DelegationSent, FromAgentID: h.AgentID, FromSessionID: h.ID, CallMessageID: call.ID,
		ToAgentID: sending.To, RootID: at.root, Hop: at.hop, Text: sending.Text, CreatedAt: t.now,
	}
	if at.work != nil {
		d.ParentID = at.work.ID
	}
	if sending.To.IsZero() {
		d.ToAgentID = h.AgentID
		d.ToPrincipalID, err = t.recipient(h)
	}
	return d, at, err
}

// checkTeam refuses to send to anybody but a subordinate (a task), the lead, or a person: a briefing, or the question
// of an agent without a lead.
func (t *Tx) checkTeam(agent *parley.Agent, sending *parley.Sending) error {
	if sending.To.IsZero() {
		if sending.Kind == parley.DelegationBriefing ||
			sending.Kind == parley.DelegationQuestion && agent.LeadID.IsZero() {
			return nil
		}
		return parley.Errorf(parley.CodeInvalid, "you cannot send this to a person; send it to your lead")
	}
	to, err := t.agentNow(agent.WorkspaceID, sending.To)
	if err != nil {
		return err
	}
	if to == nil || !teammates(sending.Kind, agent, to) {
		return parley.Errorf(parley.CodeInvalid, "this agent is not in your team any more")
	}
	return nil
}

// checkChain refuses what exceeds the bounds of a chain.
func (t *Tx) checkChain(h *Head, d *parley.Delegation) error {
	if d.Hop > parley.MaxDelegationHops {
		return parley.Errorf(
			parley.CodeInvalid,
			"this work has already been passed on %d times, the maximum; do it yourself or end your turn",
			parley.MaxDelegationHops,
		)
	}
	all, pair, err := t.rows.CountDelegations(h, d.RootID, d.FromAgentID, d.ToAgentID)
	switch {
	case err != nil:
		return err
	case pair >= parley.MaxDelegationPair:
		return parley.Errorf(
			parley.CodeInvalid,
			"you have sent this receiver %d things for the same work, the maximum; go on with what you know",
			parley.MaxDelegationPair,
		)
	case all >= parley.MaxDelegations:
		return parley.Errorf(
			parley.CodeInvalid,
			"the agents have sent each other %d things for this work, the maximum; go on with what you know",
			parley.MaxDelegations,
		)
	}
	return nil
}

// answerByReport answers the work of a turn, or the nearest work above it that the report's receiver gave to this
// session, by a final report: its way is the answer's. false if there is no such work.
func (t *Tx) answerByReport(h *Head, report, work *parley.Delegation) (bool, error) {
	for range parley.MaxDelegationHops {
		if work == nil {
			return false, nil
		}
		if work.ToSessionID == h.ID && work.FromAgentID == report.ToAgentID && !work.Finished() {
			break
		}
		var err error
		if work, err = t.delegation(h.WorkspaceID, work.ParentID); err != nil {
			return false, err
		}
	}
	if work == nil || work.ToSessionID != h.ID || work.FromAgentID != report.ToAgentID || work.Finished() {
		return false, nil
	}
	report.Status, report.ToSessionID, report.DeliveredAt = parley.DelegationDelivered, work.FromSessionID, t.now
	report.FinishedAt = t.now
	t.tellDelegation(h, report)
	work.AnswerMessageID = report.CallMessageID
	if err := t.finishDelegation(h, work, parley.DelegationAnswer, ""); err != nil {
		return false, err
	}
	h.leave(StopDelegation{DelegationID: work.ID, Below: true}, 0)
	return true, nil
}
