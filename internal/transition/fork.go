package transition

import (
	"slices"

	"example.org/parley"
	"example.org/parley/store"
)

// cutReach bounds how many rows after a message are searched for the end of its step; a step has far fewer calls and
// results.
const cutReach = 1000

// Link is what a cut needs of a message of the record.
type Link struct {
	ID          parley.ID
	Sequence    int64
	TurnID      parley.ID
	Step        int
	Role        parley.Role
	Status      parley.MessageStatus
	Ordinal     int64 // of a tool_call; of a tool_result its call's
	ContentHash parley.Hash
}

// Tally counts what a record has up to a sequence.
type Tally struct {
	Internal int64 // messages
	Calls    int64 // ordinal of the last tool_call
}

// Inherited is what a fork inherits.
type Inherited struct {
	Parts []Part    // insert; all before the fork's own log
	From  parley.ID // session whose marks of the shared messages are copied
	Own   parley.ID // that session's log: the messages themselves hold the marks of what it wrote
}

// Fork implements the transition of store.History.
func (t *Tx) Fork(scope store.Scope, wanted store.NewFork, claimBy parley.ID) (store.Opened, error) {
	if opened, err := t.forkedBefore(scope, wanted); err != nil || opened != nil {
		if opened == nil {
			return store.Opened{}, err
		}
		return *opened, err
	}
	parent, err := t.lock(scope, wanted.Session.ParentSessionID)
	if err != nil {
		return store.Opened{}, err
	}
	if err := t.checkQuota(&wanted.Session, wanted.Quota); err != nil {
		return store.Opened{}, err
	}
	if err := t.checkAgent(scope.WorkspaceID, wanted.Session.AgentID); err != nil {
		return store.Opened{}, err
	}
	if err := t.checkProject(scope.WorkspaceID, wanted.Session.ProjectID); err != nil {
		return store.Opened{}, err
	}
	parts, err := t.parts(parent)
	if err != nil {
		return store.Opened{}, err
	}
	at, err := t.forkedAt(parent, parts, wanted)
	if err != nil {
		return store.Opened{}, err
	}
	cut, err := t.cut(parent, parts, at, wanted.Before)
	if err != nil {
		return store.Opened{}, err
	}
	if parts = upTo(parts, cut.Sequence); len(parts) >= store.MaxForkedLogs {
		return store.Opened{}, parley.Errorf(
			parley.CodeConflict,
			"this conversation is a fork of forks, %d deep; fork an earlier one, or at an earlier message",
			store.MaxForkedLogs,
		)
	}
	tally, err := t.tally(parent, parts, cut.Sequence)
	if err != nil {
		return store.Opened{}, err
	}
	wanted.Session.ParentMessageID = at.ID
	if wanted.Session.OwnerID == parent.OwnerID && wanted.Session.AgentID == parent.AgentID {
		if wanted.Session.Accepted, err = t.rows.Accepted(
			parent,
		); err != nil { // continuing elsewhere accepts nothing new
			return store.Opened{}, err
		}
	}
	h := t.createFork(parent, wanted, parts, cut, tally)
	opened := store.Opened{Created: true}
	if wanted.First != nil {
		posted, err := t.post(h, *wanted.First, claimBy)
		if err != nil {
			return store.Opened{}, err
		}
		opened.Posted = &posted
	}
	t.updatedFeed(h)
	opened.Session = h.Session
	return opened, nil
}

// forkedBefore rebuilds the first result under an idempotency key.
func (t *Tx) forkedBefore(scope store.Scope, wanted store.NewFork) (*store.Opened, error) {
	return t.openedBefore(scope, store.NewSession{First: wanted.First, Idempotency: wanted.Idempotency})
}

// createFork makes a session that continues after a cut.
func (t *Tx) createFork(parent *Head, wanted store.NewFork, parts []Part, cut Link, tally Tally) *Head {
	through := cut.Sequence
	wanted.Session.ForkedThrough, wanted.Session.RootLogID = &through, parent.RootLog()
	h := t.createSession(store.NewSession{Session: wanted.Session, Idempotency: wanted.Idempotency})
	h.LastSequence, h.LastHash, h.NextCall = cut.Sequence, cut.ContentHash, tally.Calls+1
	h.Statistics.Messages, h.Statistics.UserFacing = cut.Sequence, cut.Sequence-tally.Internal
	h.Context = parent.ContextAt(cut.Sequence)
	h.Changes.New.Inherited = &Inherited{Parts: parts, From: parent.ID, Own: parent.LogID}
	return h
}

// forkedAt finds the message to fork at.
func (t *Tx) forkedAt(parent *Head, parts []Part, wanted store.NewFork) (Link, error) {
	from := wanted.Sequence
	if !wanted.At.IsZero() {
		m, err := t.rows.Message(parent.WorkspaceID, wanted.At)
		switch {
		case err != nil:
			return Link{}, err
		case m == nil, m.Sequence == 0 && m.SessionID != parent.ID, m.Sequence > 0 && !holds(parts, m):
			return Link{}, NotFound("message")
		case m.Sequence == 0:
			return Link{}, parley.Conflict(
				m.Status,
				"this message is not in the record: it is %s; fork at one that is",
				m.Status,
			)
		}
		from = m.Sequence
	}
	if from == 0 {
		from = parent.LastSequence
	}
	if from < 1 || from > parent.LastSequence {
		return Link{}, parley.Errorf(
			parley.CodeConflict,
			"this session's record has messages 1 to %d; it can be forked at one of them",
			parent.LastSequence,
		)
	}
	rows, err := t.rows.Stretch(parent, parts, from, 1)
	if err == nil && len(rows) == 0 {
		err = NotFound("message")
	}
	if err != nil {
		return Link{}, err
	}
	return rows[0], nil
}

// cut returns the last message that a fork at a given one shares; the zero value if none.
func (t *Tx) cut(parent *Head, parts []Part, at Link, before bool) (Link, error) {
	if before {
		return t.cutBefore(parent, parts, at)
	}
	rows, err := t.rows.Stretch(parent, parts, at.Sequence, cutReach)
	if err != nil {
		return Link{}, err
	}
	tally, err := t.tally(parent, parts, at.Sequence)
	if err != nil {
		return Link{}, err
	}
	last := 0
	for i, r := range rows {
		together := r.Step > 0 && r.TurnID == at.TurnID && r.Step == at.Step
		answers := r.Role == parley.RoleToolResult && r.Ordinal > 0 && r.Ordinal <= tally.Calls
		for ; (together || answers) && last < i; last++ { // messages in between are shared as well
			tally.Calls = max(tally.Calls, rows[last+1].Ordinal)
		}
	}
	for _, r := range rows[:last+1] {
		if !r.Status.Settled() {
			return Link{}, parley.Conflict(
				r.Status,
				"message %d is still being written; wait for its turn or cancel it, or fork at an earlier message",
				r.Sequence,
			)
		}
	}
	return rows[last], t.stepDone(parent, rows[last])
}

// stepDone refuses a cut in a step that its turn is still running.
func (t *Tx) stepDone(parent *Head, at Link) error {
	if at.Step == 0 || at.TurnID != parent.TurnID {
		return nil
	}
	turn, err := t.currentTurn(parent)
	if err == nil && turn.Step == at.Step {
		err = parley.Conflict(
			turn.Status,
			"the turn is still at the step of this message (it is %s); wait for it or cancel it, or fork at an "+
				"earlier message",
			turn.Status,
		)
	}
	return err
}

// cutBefore returns the message before one that is asked again.
func (t *Tx) cutBefore(parent *Head, parts []Part, at Link) (Link, error) {
	if at.Role != parley.RoleUser {
		return Link{}, parley.Errorf(
			parley.CodeConflict,
			"only a user's message can be edited or asked again; this one is of role %s",
			at.Role,
		)
	}
	if at.Sequence == 1 {
		return Link{}, nil
	}
	rows, err := t.rows.Stretch(parent, parts, at.Sequence-1, cutReach)
	if err != nil {
		return Link{}, err
	}
	if len(rows) == 0 || !rows[0].Status.Settled() {
		return Link{}, parley.Errorf(
			parley.CodeConflict,
			"the message before this one is still being written; wait for its turn or cancel it",
		)
	}
	tally, err := t.tally(parent, parts, at.Sequence-1)
	if err != nil {
		return Link{}, err
	}
	if slices.ContainsFunc(rows[1:], func(r Link) bool {
		return r.Role == parley.RoleToolResult && r.Ordinal > 0 && r.Ordinal <= tally.Calls
	}) {
		return Link{}, parley.Errorf(
			parley.CodeConflict,
			"this message stands between a tool's call and its result; edit an earlier one",
		)
	}
	return rows[0], nil
}

// tally counts a record up to a sequence.
func (t *Tx) tally(h *Head, parts []Part, through int64) (Tally, error) {
	if through == 0 {
		return Tally{}, nil
	}
	return t.rows.Tally(h, upTo(parts, through))
}
