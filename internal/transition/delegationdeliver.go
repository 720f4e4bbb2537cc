package transition

import (
	"errors"
	"fmt"

	"example.org/parley"
	"example.org/parley/store"
)

// deliverDelegation brings a delegation into the background session of its receiver: a message by the sending agent,
// and its turn. A delegation that has left the state sent is left alone. refused says, for people, why the receiver
// cannot take it; again, that a person's session is full.
func (t *Tx) deliverDelegation(workspaceID, id parley.ID) (refused string, again bool, err error) {
	d, err := t.rows.Delegation(workspaceID, id)
	if err != nil || d == nil || d.Status != parley.DelegationSent {
		return "", false, err
	}
	from, err := t.agentNow(workspaceID, d.FromAgentID)
	if err != nil {
		return "", false, err
	}
	if from != nil && !d.ToPrincipalID.IsZero() {
		again, err = t.deliverToPerson(d, from)
		if again && d.Kind == parley.DelegationBriefing && t.now >= d.DeadlineAt {
			return reasonFull, false, err
		}
		return "", again, err
	}
	to, err := t.agentNow(workspaceID, d.ToAgentID)
	switch {
	case err != nil:
		return "", false, err
	case from == nil || to == nil:
		return "the agent does not exist any more", false, nil
	case to.Status == parley.AgentArchived:
		return "the agent is archived", false, nil
	case !teammates(d.Kind, from, to):
		return reasonMember, false, nil
	}
	h, err := t.background(workspaceID, to.ID, 0)
	if known, ok := refusal(err); ok {
		return known.Message, false, nil
	} else if err != nil {
		return "", false, err
	}
	if h.ArchivedAt != 0 {
		return "the agent's background session is archived", false, nil
	}
	if d.Kind == parley.DelegationReport {
		if d.WorkID, err = t.reportedWork(h, d); err != nil {
			return "", false, err
		}
	}
	text, err := t.carryingText(d, from)
	if err != nil {
		return "", false, err
	}
	m, err := t.delegated(h, parley.DelegationMessageID(d.ID), d, agentAuthor(from), text)
	if err != nil {
		return "", false, err
	}
	if !h.TurnID.IsZero() {
		if known, ok := refusal(t.checkQueue(h, m)); ok {
			return known.Message, false, nil
		}
	}
	var wake *parley.Turn
	if !d.Kind.Asks() {
		if wake, err = t.wakeTurn(h, d.RootID, d.WorkID); err != nil {
			return "", false, err
		}
	}
	if err := t.enter(h, m, wake); err != nil {
		return "", false, err
	}
	if wake == nil && !d.Kind.Asks() {
		if err := t.limitContinued(h, m.TurnID, d.RootID, d.WorkID); err != nil {
			return "", false, err
		}
	}
	d.Status, d.ToSessionID, d.MessageID, d.TurnID, d.DeliveredAt = parley.DelegationDelivered, h.ID, m.ID, m.TurnID,
		t.now
	if d.Finished() {
		d.FinishedAt = t.now
	}
	h.moved(d, parley.DelegationSent)
	t.tellDelegation(h, d)
	return "", false, t.claimDelivered(h, m, d)
}

// teammates reports whether one agent may send another what is of a kind: a task to a subordinate, the rest to the
// lead.
func teammates(kind parley.DelegationKind, from, to *parley.Agent) bool {
	if kind == parley.DelegationTask {
		return to.LeadID == from.ID
	}
	return from.LeadID == to.ID
}

// refusal returns an error that tells people why something cannot be done now, other than a failure of the database.
func refusal(err error) (*parley.Error, bool) {
	var known *parley.Error
	if !errors.As(err, &known) {
		return nil, false
	}
	switch known.Code {
	case parley.CodeNotFound, parley.CodeArchived, parley.CodeConflict, parley.CodeTooLarge, parley.CodeForbidden,
		parley.CodeRateLimited:
		return known, true
	}
	return nil, false
}

// reportedWork returns what the receiver of a report works for when it reads it: the parent of the nearest delegation
// above the report that the receiver's session has sent.
func (t *Tx) reportedWork(h *Head, report *parley.Delegation) (parley.ID, error) {
	above, err := t.delegation(h.WorkspaceID, report.ParentID)
	for range parley.MaxDelegationHops {
		if err != nil || above == nil {
			break
		}
		if above.FromSessionID == h.ID {
			return above.ParentID, nil
		}
		above, err = t.delegation(h.WorkspaceID, above.ParentID)
	}
	return parley.ID{}, err
}

// agentAuthor returns an agent as the author of a message.
func agentAuthor(agent *parley.Agent) parley.Author {
	return parley.Author{Kind: parley.AuthorAgent, ID: agent.ID, Name: agent.Name}
}

// delegated builds a message of a delegation in a session.
func (t *Tx) delegated(
	h *Head,
	id parley.ID,
	d *parley.Delegation,
	author parley.Author,
	text string,
) (*parley.Message, error) {
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	if err != nil {
		return nil, err
	}
	note, err := t.contextNote(h, author, "")
	if err != nil {
		return nil, err
	}
	return t.messageOf(h, store.NewMessage{
		ID: id, Role: parley.RoleUser, Author: author, Content: content, ContextNote: note,
		Metadata: parley.LinkDelegation(d.ID),
	}), nil
}

// carryingText is the text of the message that carries a delegation. A report says how to cite it.
func (t *Tx) carryingText(d *parley.Delegation, from *parley.Agent) (string, error) {
	sender := fmt.Sprintf("%s (%s)", from.Name, from.Slug)
	switch d.Kind {
	case parley.DelegationQuestion:
		return fmt.Sprintf("Question from %s. Your answer goes back to them.\n\n%s", sender, d.Text), nil
	case parley.DelegationReport:
		call, err := t.rows.Message(d.WorkspaceID, d.CallMessageID)
		if err != nil {
			return "", err
		}
		if call != nil {
			sender += citation(call.SessionID, call.Sequence)
		}
		return fmt.Sprintf("Report from %s:\n\n%s", sender, d.Text), nil
	}
	return fmt.Sprintf("Task from %s. Your answer goes back to them.\n\n%s", sender, d.Text), nil
}
