package worker

import (
	"slices"

	"example.org/parley"
	"example.org/parley/store"
)

// The bounds of a page of messages whose authors are looked at. All pages are.
const (
	requestersPage  = 200
	requestersBytes = 1 << 20
)

// all are the principals that asked for what the turn does: whose session it
// is, and who wrote what the turn answers; of a tool session those of the turns above
// too.
func (r *requesters) all() ([]parley.ID, error) {
	found := []parley.ID{r.claim.Session.OwnerID}
	session, turnID, before := r.claim.Session, r.fence.TurnID, int64(0)
	scope := store.Scope{WorkspaceID: r.fence.WorkspaceID}
	for range mostAbove {
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

// askers tells who wrote what a turn answers: the message that began it, its steers,
// and all that no turn before it answered, of whatever role, whether or not it asked for
// an answer: an answer that a person put into the agent's mouth asks as well.
// before is the sequence of a call that the turn made, 0 for the end of the record.
func (r *requesters) askers(session *parley.Session, turnID parley.ID, before int64, asked func(parley.Author)) error {
	if err := r.trigger(turnID, asked); err != nil {
		return err
	}
	if before > 0 { // steers behind the call
		steers := store.MessageQuery{TurnID: turnID, AfterSequence: before}
		err := r.messages(session.ID, steers, func(m *parley.Message) (bool, error) {
			asked(m.Author)
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	var last parley.Turn // that was looked at
	return r.messages(
		session.ID,
		store.MessageQuery{AfterSequence: before, Descending: true},
		func(m *parley.Message) (bool, error) {
			if !m.TurnID.IsZero() && m.TurnID != turnID {
				if m.TurnID != last.ID {
					turn, err := r.w.store.Turn(r.writes, store.Scope{WorkspaceID: r.fence.WorkspaceID}, m.TurnID)
					if err != nil &&
						parley.ErrorCode(err) != parley.CodeNotFound { // a fork may outlive the session that it is of
						return false, err
					}
					last = turn
				}
				if last.ID == m.TurnID && last.Status == parley.TurnCompleted { // it was answered
					return m.ID != last.TriggerMessageID, nil
				}
			}
			asked(m.Author)
			return true, nil
		},
	)
}

// trigger tells who wrote the message that began a turn.
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

// messages walks the record's messages until it is told to stop.
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
			return nil // 0 would be the end again
		}
	}
}
