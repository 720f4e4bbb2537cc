package transition

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
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

// Heard are answers and reports that a turn begins with or, if MessageID is set, one whose message will not be read.
type Heard struct{ TurnID, MessageID parley.ID }

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
	d, err := t.rows.DelegationOf(h, triggerID)
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

// send records what a call's result has the session send to another agent. It is CodeInvalid, with a sentence for the
// model, for what may not be sent.
func (t *Tx) send(h *Head, call *parley.Message, sending *parley.Sending) error {
	if !h.InBackground() {
		return parley.Errorf(parley.CodeInvalid, "only an agent that works in the background sends to its team")
	}
	if err := t.checkTeam(h, sending); err != nil {
		return err
	}
	turn, err := t.currentTurn(h)
	if err != nil {
		return err
	}
	at, err := t.assigned(h, turn.TriggerMessageID)
	if err != nil {
		return err
	}
	d := &parley.Delegation{
		ID: parley.DelegationID(call.ID), WorkspaceID: h.WorkspaceID, Kind: sending.Kind,
		Status: parley.DelegationSent, FromAgentID: h.AgentID, FromSessionID: h.ID, CallMessageID: call.ID,
		ToAgentID: sending.To, RootID: at.root, Hop: at.hop, Text: sending.Text, CreatedAt: t.now,
	}
	if sending.To.IsZero() {
		d.ToAgentID = h.AgentID
		if d.ToPrincipalID, err = t.rows.Recipient(h.WorkspaceID, h.OwnerID); err != nil {
			return err
		}
	}
	if at.work != nil {
		d.ParentID = at.work.ID
	}
	if err := t.checkChain(h, d); err != nil {
		return err
	}
	h.Changes.NewDelegations = append(h.Changes.NewDelegations, d)
	if sending.Final {
		if answered, err := t.answerByReport(h, d, at.work); err != nil || answered {
			return err
		}
	}
	t.tellDelegation(h, d)
	h.leave(DeliverDelegation{DelegationID: d.ID}, 0)
	if d.Kind.Asks() {
		deadline := sending.Deadline
		if deadline == 0 {
			deadline = parley.DefaultDelegationDeadline
			if !d.ToPrincipalID.IsZero() {
				deadline = parley.PersonDeadline
			}
		}
		d.DeadlineAt = t.now + parley.Time(deadline.Milliseconds())
		h.leave(ExpireDelegation{DelegationID: d.ID}, deadline)
	}
	return nil
}

// checkTeam refuses to send to anybody but a subordinate (a task), the lead, or a person: a briefing, or the question
// of an agent without a lead.
func (t *Tx) checkTeam(h *Head, sending *parley.Sending) error {
	if sending.To.IsZero() {
		return t.checkToPerson(h, sending)
	}
	below, above := sending.To, h.AgentID
	if sending.Kind != parley.DelegationTask {
		below, above = above, below
	}
	subordinate, err := t.agentNow(h.WorkspaceID, below)
	if err != nil {
		return err
	}
	if subordinate == nil || subordinate.LeadID != above || above.IsZero() {
		return parley.Errorf(parley.CodeInvalid, "this agent is not in your team any more")
	}
	return nil
}

func (t *Tx) checkToPerson(h *Head, sending *parley.Sending) error {
	agent, err := t.agentNow(h.WorkspaceID, h.AgentID)
	if err != nil {
		return err
	}
	switch {
	case sending.Kind == parley.DelegationBriefing && agent != nil:
		return nil
	case sending.Kind == parley.DelegationQuestion && agent != nil && agent.LeadID.IsZero():
		return nil
	}
	return parley.Errorf(parley.CodeInvalid, "you cannot send this to a person; send it to your lead")
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
	h.leave(ReturnDelegation{DelegationID: d.ID}, 0)
	if was != parley.DelegationSent && move != parley.DelegationAnswer {
		h.leave(StopDelegation{DelegationID: d.ID}, 0)
	}
	return nil
}

// moved has a delegation written in its new state.
func (h *Head) moved(d *parley.Delegation, was parley.DelegationStatus) {
	h.Changes.Head = true
	h.Changes.Delegations = append(h.Changes.Delegations, MovedDelegation{d, was})
}

// leave leaves an errand in the session's workspace.
func (h *Head) leave(work Work, delay time.Duration) {
	h.Changes.Outbox = append(h.Changes.Outbox, Errand{WorkspaceID: h.WorkspaceID, Work: work, Delay: delay})
}

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
	m, err := t.delegated(h, parley.DelegationMessageID(d.ID), d, agentAuthor(from), carryingText(d, from))
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
	d.Status, d.ToSessionID, d.MessageID, d.TurnID, d.DeliveredAt = parley.DelegationDelivered, h.ID, m.ID, m.TurnID,
		t.now
	if d.Finished() {
		d.FinishedAt = t.now
	}
	h.moved(d, parley.DelegationSent)
	t.tellDelegation(h, d)
	return "", false, nil
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

// enter posts a delegation's message: into a turn that has not begun, or with a turn of its own.
func (t *Tx) enter(h *Head, m *parley.Message, wake *parley.Turn) error {
	t.touch(h)
	if wake == nil {
		var posted store.Posted
		return t.postTurn(
			h, m, store.NewMessage{TurnID: parley.NewID(), During: parley.DuringQueue}, parley.ID{}, &posted,
		)
	}
	m.TurnID = wake.ID
	status, err := t.rows.MessageStatus(h.WorkspaceID, wake.TriggerMessageID)
	if err != nil {
		return err
	}
	if status == parley.MessageQueued {
		t.enqueue(h, m, h.takeBack(), store.Idempotency{})
		return nil
	}
	return t.record(h, m, store.Idempotency{}) // the turn is the session's next, and nobody has claimed it
}

// wakeTurn finds a turn of the session that has not begun and reads answers and reports for the same work of the same
// root, if it has room for another; nil if there is none.
func (t *Tx) wakeTurn(h *Head, rootID, workID parley.ID) (*parley.Turn, error) {
	turns, err := t.rows.WakeTurns(h, rootID, workID)
	if err != nil {
		return nil, err
	}
	counts := map[parley.ID]int{}
	for _, id := range turns {
		counts[id]++
	}
	for id, n := range counts {
		if n >= parley.MaxDelegationBatch {
			continue
		}
		turn, err := t.rows.Turn(h, id)
		if err != nil {
			return nil, err
		}
		if turn != nil && turn.Status == parley.TurnQueued && turn.Attempt == 0 {
			return turn, nil
		}
	}
	return nil, nil
}

// members returns the queued messages that enter with a turn's trigger; the queue has been read as a whole.
func (q *queue) members(turn *parley.Turn) (members []Entry) {
	for _, e := range q.entries {
		if e.TurnID == turn.ID && !e.Steer && e.ID != turn.TriggerMessageID {
			members = append(members, e)
		}
	}
	return members
}

// member returns the turn that a queued message enters without being its trigger; nil for any other message.
func (t *Tx) member(h *Head, m *parley.Message) (*parley.Turn, error) {
	if h.Mode != parley.ModeBackground || m.Steer || m.TurnID.IsZero() || !carriesDelegation(m) {
		return nil, nil
	}
	turn, err := t.readTurn(h, m.TurnID)
	if err != nil || turn.TriggerMessageID == m.ID {
		return nil, err
	}
	return turn, nil
}

// enterMembers enters what waits to begin a turn with its trigger.
func (t *Tx) enterMembers(h *Head, turn *parley.Turn) error {
	if h.Queued == 0 || h.Mode != parley.ModeBackground {
		return nil
	}
	q, err := t.queueOf(h, true)
	if err != nil {
		return err
	}
	members := q.members(turn)
	if len(members) == 0 {
		return nil
	}
	messages, err := t.rows.Queued(h, idsOf(members))
	if err != nil {
		return err
	}
	for i := range messages {
		if err := t.enterRecord(h, &messages[i]); err != nil {
			return err
		}
	}
	return nil
}

// removeMembers removes what would have begun a queued turn with its trigger.
func (t *Tx) removeMembers(h *Head, turn *parley.Turn) error {
	if h.Queued == 0 || h.Mode != parley.ModeBackground {
		return nil
	}
	q, err := t.queueOf(h, true)
	if err != nil {
		return err
	}
	for _, member := range q.members(turn) {
		t.removeQueued(h, member.ID)
	}
	return nil
}

// beginDelegated notes that a claimed turn works on the delegation that its trigger carries, or reads answers.
func (t *Tx) beginDelegated(h *Head, turn *parley.Turn, trigger *parley.Message) error {
	if h.Mode != parley.ModeBackground || !carriesDelegation(trigger) {
		return nil
	}
	d, err := t.rows.DelegationOf(h, trigger.ID)
	if err != nil || d == nil {
		return err
	}
	if d.ReturnMessageID == trigger.ID || !d.Kind.Asks() {
		if d.HeardAt == 0 {
			h.Changes.Heard = append(h.Changes.Heard, Heard{TurnID: turn.ID})
		}
		return nil
	}
	if d.Status != parley.DelegationDelivered {
		return nil
	}
	if d.Status, err = d.Status.After(d.Kind, parley.DelegationBegin); err != nil {
		return err
	}
	h.moved(d, parley.DelegationDelivered)
	t.tellDelegation(h, d)
	return nil
}

// endDelegated settles what an ended turn worked for, unless something that it asked of others is still open: then a
// later turn goes on. The first turn that ends with nothing open answers.
func (t *Tx) endDelegated(h *Head, turn *parley.Turn) error {
	if h.Mode != parley.ModeBackground || !h.InBackground() {
		return nil
	}
	at, err := t.assigned(h, turn.TriggerMessageID)
	if err != nil || at.carried == nil {
		return err
	}
	if at.carried != at.work && at.carried.HeardAt == 0 { // a turn that was cancelled before it began
		h.Changes.Heard = append(h.Changes.Heard, Heard{TurnID: turn.ID})
	}
	if at.work == nil || at.work.Finished() || at.work.ToSessionID != h.ID {
		return nil
	}
	if turn.ID != h.TurnID && !h.TurnID.IsZero() { // cancelled behind another, which may be for the same work
		current, err := t.currentTurn(h)
		if err != nil {
			return err
		}
		if ahead, err := t.assigned(h, current.TriggerMessageID); err != nil {
			return err
		} else if ahead.work != nil && ahead.work.ID == at.work.ID {
			return nil
		}
	}
	unheard, err := t.rows.UnheardBelow(h, at.work.ID)
	if err != nil {
		return err
	}
	for _, one := range unheard {
		if one.ReturnTurnID.IsZero() || one.ReturnTurnID != turn.ID {
			return nil
		}
	}
	switch turn.Status {
	case parley.TurnFailed:
		return t.finishDelegation(h, at.work, parley.DelegationFail, failureText(turn.Error))
	case parley.TurnCancelled:
		return t.finishDelegation(h, at.work, parley.DelegationCancel, "its turn was cancelled")
	}
	at.work.AnswerTurnID, at.work.AnswerStep = turn.ID, turn.Step
	return t.finishDelegation(h, at.work, parley.DelegationAnswer, "")
}

// returnDelegation tells the sender how a delegation ended: a message in its session, and a turn that reads it. It
// reports whether it must be tried again because the session's queue is full.
func (t *Tx) returnDelegation(workspaceID parley.ID, w ReturnDelegation) (again bool, err error) {
	d, err := t.rows.Delegation(workspaceID, w.DelegationID)
	if err != nil || d == nil || !d.Finished() || !d.ReturnMessageID.IsZero() {
		return false, err
	}
	h, err := t.load(d.FromSessionID)
	if err != nil || h == nil || h.DeletedAt != 0 || h.ArchivedAt != 0 {
		return false, err
	}
	if d.Status == parley.DelegationCancelled { // nobody reads it if the work that asked has ended too
		above, err := t.delegation(workspaceID, d.ParentID)
		if err != nil {
			return false, err
		}
		if above != nil && above.Finished() {
			first, err := t.deliver(h, Delivery{w.Kind(), d.ID})
			if first {
				t.tellDelegation(h, d)
			}
			return false, err
		}
	}
	to, err := t.agentNow(workspaceID, d.ToAgentID)
	if err != nil || to == nil {
		return false, err
	}
	answer, err := t.answerOf(h, d)
	if err != nil {
		return false, err
	}
	by := agentAuthor(to)
	if !d.ToPrincipalID.IsZero() && d.Status == parley.DelegationAnswered {
		by = answer.by
	}
	m, err := t.delegated(h, parley.DelegationReturnID(d.ID), d, by, returnText(d, to, answer))
	if err != nil {
		return false, err
	}
	wake, err := t.wakeTurn(h, d.RootID, d.ParentID)
	if err != nil {
		return false, err
	}
	if !h.TurnID.IsZero() {
		if _, full := refusal(t.checkQueue(h, m)); full {
			return true, nil
		}
	}
	if err := t.enter(h, m, wake); err != nil {
		return false, err
	}
	d.ReturnMessageID, d.ReturnTurnID = m.ID, m.TurnID
	h.moved(d, d.Status)
	t.tellDelegation(h, d)
	return false, nil
}

// answer is what a delegation was answered with.
type answer struct {
	text string
	by   parley.Author // of an answer that a person wrote
}

// answerOf returns an answered delegation's answer, and notes the message that has it.
func (t *Tx) answerOf(h *Head, d *parley.Delegation) (answer, error) {
	if d.Status != parley.DelegationAnswered {
		return answer{}, nil
	}
	if d.AnswerTurnID.IsZero() {
		m, err := t.rows.Message(h.WorkspaceID, d.AnswerMessageID)
		if err != nil || m == nil {
			return answer{}, err
		}
		if !d.ToPrincipalID.IsZero() {
			var said parley.UserContent
			err := json.Unmarshal(m.Content, &said)
			return answer{said.Text, m.Author}, err
		}
		var call parley.ToolCallContent
		var report struct {
			Result string `json:"result"`
		}
		if json.Unmarshal(m.Content, &call) == nil && json.Unmarshal(call.Arguments, &report) == nil {
			return answer{text: report.Result}, nil
		}
		return answer{}, nil
	}
	answers, err := t.rows.Answers(h, d.AnswerTurnID, d.AnswerStep)
	if err != nil || len(answers) == 0 {
		return answer{}, err
	}
	d.AnswerMessageID = answers[len(answers)-1].ID
	text, refused, _, err := textOfAnswers(answers)
	if text == "" {
		text = refused
	}
	if len(text) > parley.MaxChildResultBytes {
		text = parley.Clip(text, parley.MaxChildResultBytes) + childCut
	}
	return answer{text: text}, err
}

// carryingText is the text of the message that carries a delegation.
func carryingText(d *parley.Delegation, from *parley.Agent) string {
	switch d.Kind {
	case parley.DelegationQuestion:
		return fmt.Sprintf("Question from %s (%s). Your answer goes back to them.\n\n%s", from.Name, from.Slug, d.Text)
	case parley.DelegationReport:
		return fmt.Sprintf("Report from %s (%s):\n\n%s", from.Name, from.Slug, d.Text)
	}
	return fmt.Sprintf("Task from %s (%s). Your answer goes back to them.\n\n%s", from.Name, from.Slug, d.Text)
}

// returnText is the text of the message that tells the sender how a delegation ended: who answers what.
func returnText(d *parley.Delegation, to *parley.Agent, answered answer) string {
	receiver := fmt.Sprintf("%s (%s)", to.Name, to.Slug)
	if !d.ToPrincipalID.IsZero() {
		receiver = "the person you work for"
	}
	what := fmt.Sprintf("your %s to %s, %q", d.Kind, receiver, d.Title())
	switch d.Status {
	case parley.DelegationAnswered:
		if answered.text == "" {
			answered.text = "(The answer has no text.)"
		}
		return fmt.Sprintf("Answer to %s:\n\n%s", what, answered.text)
	case parley.DelegationExpired:
		return fmt.Sprintf("No answer to %s: its deadline has passed.", what)
	}
	reason := ""
	if d.Reason != "" {
		reason = ": " + d.Reason
	}
	return fmt.Sprintf("No answer to %s: it %s%s.", what, map[parley.DelegationStatus]string{
		parley.DelegationFailed: "failed", parley.DelegationCancelled: "was cancelled",
	}[d.Status], reason)
}

// expireDelegation ends a delegation whose deadline has passed by the database's clock. It reports whether it is not
// due yet, which a clock that was set back may cause.
func (t *Tx) expireDelegation(workspaceID, id parley.ID) (again bool, err error) {
	d, err := t.rows.Delegation(workspaceID, id)
	if err != nil || d == nil || d.Finished() {
		return false, err
	}
	if t.now < d.DeadlineAt {
		return true, nil
	}
	h, err := t.load(d.SessionID())
	if err != nil || h == nil {
		return false, err
	}
	return false, t.finishDelegation(h, d, parley.DelegationExpire, "")
}

// endOpenDelegation fails or cancels a delegation on behalf of an errand; it ignores a finished one.
func (t *Tx) endOpenDelegation(workspaceID, id parley.ID, move parley.DelegationMove, reason string) error {
	d, err := t.rows.Delegation(workspaceID, id)
	if err != nil || d == nil || d.Finished() {
		return err
	}
	h, err := t.load(d.SessionID())
	if err == nil && h == nil { // its rows are purged
		h, err = t.load(d.FromSessionID)
	}
	if err != nil || h == nil {
		return err
	}
	return t.finishDelegation(h, d, move, reason)
}

// CancelDelegation implements the transition of store.Delegations.
func (t *Tx) CancelDelegation(scope store.Scope, id parley.ID) (parley.Delegation, error) {
	d, err := t.rows.Delegation(scope.WorkspaceID, id)
	if err == nil && d == nil {
		err = NotFound("delegation")
	}
	if err != nil {
		return parley.Delegation{}, err
	}
	h, err := t.lock(scope, d.SessionID())
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return parley.Delegation{}, NotFound("delegation")
	} else if err != nil {
		return parley.Delegation{}, err
	}
	t.about.TargetID = d.ID
	if d.Status == parley.DelegationCancelled {
		return *d, nil
	}
	if d.Finished() {
		return parley.Delegation{}, parley.Conflict(d.Status, "this %s has already ended: it is %s", d.Kind, d.Status)
	}
	err = t.finishDelegation(h, d, parley.DelegationCancel, "")
	return *d, err
}

// stopDelegated stops the turns that work for a delegation which ended otherwise. A worker that holds one is told first
// and loses the turn at the next visit if it has not settled it. It reports whether another visit is needed.
func (t *Tx) stopDelegated(workspaceID, id parley.ID) (again bool, err error) {
	d, err := t.rows.Delegation(workspaceID, id)
	if err != nil || d == nil || d.ToSessionID.IsZero() {
		return false, err
	}
	h, err := t.load(d.ToSessionID)
	if err != nil || h == nil || h.DeletedAt != 0 || h.TurnID.IsZero() {
		return false, err
	}
	current, err := t.currentTurn(h)
	if err != nil {
		return false, err
	}
	at, err := t.assigned(h, current.TriggerMessageID)
	if err != nil {
		return false, err
	}
	if at.work == nil || at.work.ID != d.ID {
		turn, err := t.rows.Turn(h, d.TurnID)
		if err != nil || turn == nil || turn.Status.Finished() {
			return false, err
		}
		if _, err := t.queueOf(h, true); err != nil {
			return false, err
		}
		return false, t.cancelWaiting(h, turn, parley.ID{})
	}
	held, err := t.held(h)
	if err != nil {
		return false, err
	}
	if held && h.Cancel != h.TurnID {
		h.Cancel, h.hint.Cancel, h.Changes.Head = h.TurnID, h.TurnID, true
		return true, nil
	}
	_, err = t.settleCancelled(h, parley.ByCanceller)
	return false, err
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
