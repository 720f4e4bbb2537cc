package worker

import (
	"slices"

	"example.org/parley"
	"example.org/parley/store"
)

// The bounds of a page of messages whose authors are read. All pages are read.
const (
	requestersPage  = 200
	requestersBytes = 1 << 20
)

// all returns the principals that a turn acts for: the session's owner and the authors of what the turn answers; for a
// tool session those of the turns above it too.
func (r *requesters) all() ([]parley.ID, error) {
	found := []parley.ID{r.claim.Session.OwnerID}
	session, turnID, before := r.claim.Session, r.fence.TurnID, int64(0)
	scope := store.Scope{WorkspaceID: r.fence.WorkspaceID}
	for range maxAncestors {
		err := r.askers(&session, turnID, before, func(by parley.Author) {
			if by.Kind != parley.AuthorAgent && !slices.Contains(found, by.ID) {
				found = append(found, by.ID)
			}
		})
		if err != nil {
			return nil, err
		}
		if session.Kind != parley.KindTool || session.ParentMessageID.IsZero() {
			break
		}
		call, err := r.w.store.Message(r.writes, scope, session.ParentMessageID)
		if err != nil {
			return nil, err
		}
		if session, err = r.w.store.Session(r.writes, scope, session.ParentSessionID); err != nil {
			return nil, err
		}
		turnID, before = call.TurnID, call.Sequence
	}
	return found, nil
}

// askers reports who wrote what a turn answers: the message that began it, its steers, and everything that no earlier
// turn answered, of any role, whether or not it asked for an answer: text that a person put into the agent's mouth is a
// request too. before is the sequence of a call that the turn made, 0 for the end of the record.
func (r *requesters) askers(session *parley.Session, turnID parley.ID, before int64, asked func(parley.Author)) error {
	if err := r.trigger(turnID, asked); err != nil {
		return err
	}
	if before > 0 { // steers after the call
		steers := store.MessageQuery{TurnID: turnID, AfterSequence: before}
		err := r.messages(session.ID, steers, func(m *parley.Message) (bool, error) {
			asked(m.Author)
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	var last parley.Turn             // the turn read last
	imported := map[parley.ID]bool{} // sessions whose owner was reported
	return r.messages(
		session.ID,
		store.MessageQuery{AfterSequence: before, Descending: true},
		func(m *parley.Message) (bool, error) {
			if !m.TurnID.IsZero() && m.TurnID != turnID {
				if m.TurnID != last.ID {
					turn, err := r.w.store.Turn(r.writes, store.Scope{WorkspaceID: r.fence.WorkspaceID}, m.TurnID)
					if err != nil &&
						parley.ErrorCode(err) != parley.CodeNotFound { // a fork may outlive its parent
						return false, err
					}
					last = turn
				}
				if last.ID == m.TurnID && last.Status == parley.TurnCompleted { // it was answered
					return m.ID != last.TriggerMessageID, nil
				}
			}
			asked(m.Author)
			if m.TurnID.IsZero() && m.Author.ID.IsZero() && !imported[m.SessionID] {
				imported[m.SessionID] = true
				return true, r.importer(m.SessionID, asked)
			}
			return true, nil
		},
	)
}

// importer reports the owner of an imported session. Its messages name their authors as text only, so the person who
// imported it counts as having asked. A fork may have another owner.
func (r *requesters) importer(sessionID parley.ID, asked func(parley.Author)) error {
	session, err := r.w.store.Session(r.writes, store.Scope{WorkspaceID: r.fence.WorkspaceID}, sessionID)
	if parley.ErrorCode(err) == parley.CodeNotFound { // the fork outlives it
		return nil
	}
	if err == nil {
		asked(parley.Author{Kind: parley.AuthorPerson, ID: session.OwnerID})
	}
	return err
}

// trigger reports who wrote the message that began a turn.
func (r *requesters) trigger(turnID parley.ID, asked func(parley.Author)) error {
	if turnID == r.fence.TurnID {
		asked(r.claim.Trigger.Author)
		return nil
	}
	scope := store.Scope{WorkspaceID: r.fence.WorkspaceID}
	turn, err := r.w.store.Turn(r.writes, scope, turnID)
	if err != nil {
		return err
	}
	trigger, err := r.w.store.Message(r.writes, scope, turn.TriggerMessageID)
	if err == nil {
		asked(trigger.Author)
	}
	return err
}

// messages walks the record's messages until the callback stops it.
func (r *requesters) messages(
	sessionID parley.ID,
	query store.MessageQuery,
	each func(*parley.Message) (more bool, err error),
) error {
	query.RecordOnly, query.Limit, query.MaxBytes = true, requestersPage, requestersBytes
	for {
		page, err := r.w.store.Messages(r.writes, store.Scope{WorkspaceID: r.fence.WorkspaceID}, sessionID, query)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			if more, err := each(&page[i]); err != nil || !more {
				return err
			}
		}
		query.AfterSequence = page[len(page)-1].Sequence
		if query.Descending && query.AfterSequence <= 1 {
			return nil // 0 would mean the end again
		}
	}
}
