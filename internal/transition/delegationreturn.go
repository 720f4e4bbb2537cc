package transition

import (
	"encoding/json"
	"fmt"

	"example.org/parley"
)

// longestAnswer bounds the answer that is kept with its errand, in bytes.
const longestAnswer = 16 << 10

// noteAnswer keeps a settled row that may be a part of the answer to what its turn carries.
func (t *Tx) noteAnswer(h *Head, row *OpenRow, settled *parley.Message) {
	if h.carried == nil || h.carried.delegation == nil || row.Role != parley.RoleAssistant ||
		settled.Status != parley.MessageCompleted {
		return
	}
	t.answers = append(t.answers, parley.Message{
		ID: row.ID, SessionID: h.ID, Sequence: row.Sequence, Role: row.Role, Status: settled.Status,
		Author: row.Author, Content: settled.Content,
	})
}

// shortEnough returns answers if they may be kept with their errand, else nil: then they are read again.
func shortEnough(answers []parley.Message) []parley.Message {
	size := 0
	for i := range answers {
		size += len(answers[i].Content)
	}
	if size > longestAnswer {
		return nil
	}
	return answers
}

// returnDelegation tells the sender how a delegation ended: a message in its session, and a turn that reads it. It
// reports whether it must be tried again because the session's queue is full.
func (t *Tx) returnDelegation(workspaceID parley.ID, w ReturnDelegation) (again bool, err error) {
	d, err := t.rows.Delegation(workspaceID, w.DelegationID)
	if err != nil || d == nil || !d.Finished() || !d.ReturnMessageID.IsZero() {
		return false, err
	}
	h, err := t.load(d.FromSessionID)
	if err != nil || h == nil || h.DeletedAt != 0 {
		return false, err
	}
	if read, err := t.readsReturn(h, d); err != nil {
		return false, err
	} else if !read {
		first, err := t.deliver(h, Delivery{w.Kind(), d.ID})
		if first {
			t.tellDelegation(h, d)
		}
		return false, err
	}
	to, err := t.agentNow(workspaceID, d.ToAgentID)
	if err != nil || to == nil {
		return false, err
	}
	answer, err := t.answerOf(h, d, w.answers)
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
	if wake == nil {
		if err := t.limitContinued(h, m.TurnID, d.RootID, d.ParentID); err != nil {
			return false, err
		}
	}
	d.ReturnMessageID, d.ReturnTurnID = m.ID, m.TurnID
	h.moved(d, d.Status)
	t.tellDelegation(h, d)
	return false, t.claimDelivered(h, m, d)
}

// readsReturn reports whether the sender still works on what asked for a delegation: not if its session or the agent is
// archived, if the agent works for another owner now, or if a cancelled one was for work that has ended too.
func (t *Tx) readsReturn(h *Head, d *parley.Delegation) (bool, error) {
	if h.ArchivedAt != 0 {
		return false, nil
	}
	if d.Status == parley.DelegationCancelled {
		above, err := t.delegation(h.WorkspaceID, d.ParentID)
		if err != nil || above != nil && above.Finished() {
			return false, err
		}
	}
	from, err := t.agentNow(h.WorkspaceID, d.FromAgentID)
	return worksIn(h, from), err
}

// answer is what a delegation was answered with.
type answer struct {
	text  string
	cited string        // how it is cited, with a space before it; "" if the sender cannot cite it
	by    parley.Author // of an answer that a person wrote
}

// answerOf returns an answered delegation's answer, and notes the message that has it. Answers that are kept with the
// errand need not be read: they are settled and do not change.
func (t *Tx) answerOf(h *Head, d *parley.Delegation, kept []parley.Message) (given answer, err error) {
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
			given = answer{text: said.Text, by: m.Author}
			if d.ToPrincipalID == h.OwnerID {
				given.cited = citation(m.SessionID, m.Sequence)
			}
			return given, err
		}
		var call parley.ToolCallContent
		var report struct {
			Result string `json:"result"`
		}
		if json.Unmarshal(m.Content, &call) == nil && json.Unmarshal(call.Arguments, &report) == nil {
			return answer{text: report.Result, cited: citation(m.SessionID, m.Sequence)}, nil
		}
		return answer{}, nil
	}
	answers := kept
	if len(answers) == 0 {
		answers, err = t.rows.Answers(h, d.AnswerTurnID, d.AnswerStep)
	}
	if err != nil || len(answers) == 0 {
		return answer{}, err
	}
	last := &answers[len(answers)-1]
	d.AnswerMessageID = last.ID
	text, refused, _, err := textOfAnswers(answers)
	if text == "" {
		text = refused
	}
	if len(text) > parley.MaxChildResultBytes {
		text = parley.Clip(text, parley.MaxChildResultBytes) + childCut
	}
	return answer{text: text, cited: citation(d.ToSessionID, last.Sequence)}, err
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
		return fmt.Sprintf("Answer to %s%s:\n\n%s", what, answered.cited, answered.text)
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
