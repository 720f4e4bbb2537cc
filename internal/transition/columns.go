package transition

import (
	"encoding/json"

	"example.org/parley"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// Rows that differ from the domain's types.

// SessionRow is the listed row of a new session.
type SessionRow struct {
	*parley.Session
	Idempotency store.Idempotency
	Accepted    *parley.Accepted
}

// ListedRow returns the listed row of a session that the transition makes.
func (h *Head) ListedRow() SessionRow {
	return SessionRow{&h.Session, h.Changes.New.Idempotency, h.Changes.New.Accepted}
}

// Row returns the row of a call that a step of h opens.
func (n *NewCall) Row(h *Head) parley.Call {
	c := n.Call
	c.WorkspaceID, c.SessionID, c.TurnID = h.WorkspaceID, h.ID, n.TurnID
	c.Outcome, c.CreatedAt = parley.CallOpen, h.Changes.At
	return c
}

// CallRow is a call as stored in its row.
type CallRow struct {
	parley.Call
	ReservedTokens *int64
	ReservedCost   *parley.Money
	Saved          *parley.Money
}

// Whole returns the call.
func (r *CallRow) Whole() parley.Call {
	c := r.Call
	c.Provider, c.Cache = c.Model.Provider(), parley.CacheOf(c.Usage, r.Saved)
	if r.ReservedTokens != nil {
		c.Reserved = &parley.Reserved{Tokens: *r.ReservedTokens, Cost: r.ReservedCost}
	}
	return c
}

// ApprovalRow is an approval as stored in its row.
type ApprovalRow struct {
	*parley.Approval
	By        parley.Author
	Terms     string // JSON
	Approvers string // JSON; empty until somebody approves
}

// RowOf returns the row of an approval.
func RowOf(a *parley.Approval) (row ApprovalRow, err error) {
	row.Approval = a
	if a.DecidedBy != nil {
		row.By = *a.DecidedBy
	}
	if row.Terms, err = encodeTerms(a); err != nil || len(a.ApprovedBy) == 0 {
		return row, err
	}
	approvers, err := json.Marshal(a.ApprovedBy)
	row.Approvers = string(approvers)
	return row, err
}

// Whole returns the approval.
func (r *ApprovalRow) Whole() (parley.Approval, error) {
	if r.By.Kind != "" {
		r.DecidedBy = &r.By
	}
	err := readTerms(r.Approval, r.Terms, r.Approvers)
	return *r.Approval, err
}

// Mend replaces unreadable JSON of a message that was read from its row, so a tampered row can still be shown.
func Mend(m *parley.Message) {
	if m.ContentHash.IsZero() {
		m.ChainVersion = 0
	}
	if len(m.Content) == 0 || m.Content[0] != '{' || !ReadableJSON(m.Content) {
		m.Content, m.Error = parley.UnreadableContent(m.Role, m.Content)
	}
}

// ReadFailure parses the JSON of an error; nil for none.
func ReadFailure(text string) *parley.Failure {
	if text == "" {
		return nil
	}
	failure := &parley.Failure{}
	if json.Unmarshal([]byte(text), failure) != nil {
		return &parley.Failure{Class: parley.ClassInternal, Sentence: "The stored error could not be read."}
	}
	return failure
}

// ReadSettings parses the JSON of a message's settings; unreadable settings are empty.
func ReadSettings(text string) (settings parley.Settings) {
	if text != "" && json.Unmarshal([]byte(text), &settings) != nil {
		return parley.Settings{}
	}
	return settings
}

// StoredSettings returns a message's settings as stored in its row: nil for none.
func StoredSettings(settings *parley.Settings) (any, error) {
	if setting.IsZero(settings) {
		return nil, nil
	}
	text, err := json.Marshal(settings)
	return string(text), err
}

// SessionSettings returns a session's settings as stored in its row.
func SessionSettings(settings *parley.Settings) (string, error) {
	stored := setting.Stored(*settings)
	if setting.IsZero(&stored) {
		return "{}", nil
	}
	text, err := json.Marshal(stored)
	return string(text), err
}
