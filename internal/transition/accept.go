package transition

import (
	"encoding/json"

	"example.org/parley"
)

// terms are what an approval has beside its columns: why it was created, who may decide it, what a tool asks, and the
// answer. Only the answer changes.
type terms struct {
	Reason     parley.ApprovalReason `json:"reason,omitempty"`
	Approvers  int                   `json:"approvers,omitempty"`
	Requesters []parley.ID           `json:"requester_ids,omitempty"`
	Named      bool                  `json:"named,omitempty"`
	Digest     string                `json:"digest,omitempty"`
	Rules      parley.Hash           `json:"rules,omitzero"`
	Question   *parley.ToolQuestion  `json:"question,omitempty"`
	State      json.RawMessage       `json:"state,omitempty"`
	Answer     json.RawMessage       `json:"answer,omitempty"`
}

// encodeTerms returns the JSON of an approval's terms.
func encodeTerms(a *parley.Approval) (string, error) {
	text, err := json.Marshal(
		terms{a.Reason, a.Approvers, a.RequesterIDs, a.Named, a.Digest, a.Rules, a.Question, a.Carried, a.Answer},
	)
	return string(text), err
}

// readTerms sets an approval's terms and its approvers so far. Both texts are empty for approvals older than these
// columns.
func readTerms(a *parley.Approval, text, approvedBy string) error {
	if text != "" {
		var t terms
		if err := json.Unmarshal([]byte(text), &t); err != nil {
			return parley.WrapError(parley.CodeInternal, err, "an approval's terms cannot be read")
		}
		a.Reason, a.Approvers, a.RequesterIDs, a.Named, a.Digest, a.Rules = t.Reason, t.Approvers, t.Requesters,
			t.Named, t.Digest, t.Rules
		a.Question, a.Carried, a.Answer = t.Question, t.State, t.Answer
	}
	if approvedBy != "" {
		if err := json.Unmarshal([]byte(approvedBy), &a.ApprovedBy); err != nil {
			return parley.WrapError(parley.CodeInternal, err, "an approval's approvers cannot be read")
		}
	}
	return nil
}

// ReadAccepted parses the column of what a session's owner has accepted; nil if it is empty.
func ReadAccepted(text string) (*parley.Accepted, error) {
	if text == "" {
		return nil, nil
	}
	var accepted parley.Accepted
	if err := json.Unmarshal([]byte(text), &accepted); err != nil {
		return nil, parley.WrapError(parley.CodeInternal, err, "a session's accepted tools cannot be read")
	}
	return &accepted, nil
}

// AcceptedBefore returns what the owner of a session has accepted. Without a recorded acceptance that is the version
// that the session's agent had at the time, or 0 for a newer agent.
func AcceptedBefore(accepted *parley.Accepted, agentID parley.ID, version int) parley.Accepted {
	if accepted == nil {
		accepted = &parley.Accepted{Before: true}
	}
	if accepted.Before && version > 0 {
		accepted.Agents = map[parley.ID]int{agentID: version}
	}
	return *accepted
}

// accept extends what a session's owner has accepted.
func (t *Tx) accept(h *Head, add func(*parley.Accepted)) error {
	accepted := h.Changes.Accepted // what this transition has accepted already
	if accepted == nil {
		var err error
		if accepted, err = t.rows.Accepted(h); err != nil {
			return err
		}
	}
	if accepted == nil {
		accepted = &parley.Accepted{Before: true}
	}
	add(accepted)
	h.Changes.Accepted = accepted
	return nil
}

// acceptTools accepts tools in their current definition.
func (t *Tx) acceptTools(h *Head, digests []string) error {
	if len(digests) == 0 {
		return nil
	}
	return t.accept(h, func(accepted *parley.Accepted) {
		if !accepted.Before { // Before accepts every tool of that version
			accepted.AddTools(digests)
		}
	})
}

// acceptInTree approves the tool of an approval for the tree of a session.
func (t *Tx) acceptInTree(h *Head, a *parley.Approval) error {
	return t.accept(h, func(accepted *parley.Accepted) { accepted.AddToTree(a.InTree()) })
}

// acceptChange accepts the change that caused an approval.
func (t *Tx) acceptChange(h *Head, a *parley.Approval) error {
	return t.accept(h, func(accepted *parley.Accepted) { accepted.AddChange(a.Change()) })
}
