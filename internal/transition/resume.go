package transition

import (
	"example.org/parley"
	"example.org/parley/store"
)

// RetryTurn implements the transition of store.Control.
func (t *Tx) RetryTurn(
	scope store.Scope,
	sessionID, turnID parley.ID,
	again store.TurnAgain,
	claimBy parley.ID,
) (store.TurnResumed, error) {
	h, turn, earlier, err := t.lockEnded(scope, sessionID, turnID, again)
	if err != nil || earlier != nil {
		return resumedOr(earlier), err
	}
	switch turn.Status {
	case parley.TurnFailed, parley.TurnCancelled:
		if turn.Outside() {
			return store.TurnResumed{}, parley.Conflict(
				turn.Status,
				"an outside agent wrote this turn and only it can try again; post a message instead",
			)
		}
	case parley.TurnCompleted:
		return store.TurnResumed{}, parley.Conflict(
			turn.Status,
			"this turn is completed; only a failed or cancelled one is tried again. Ask for another answer in a "+
				"branch: POST /v1/messages/%s/regenerate",
			turn.TriggerMessageID,
		)
	default:
		return store.TurnResumed{}, parley.Conflict(
			turn.Status,
			"this turn is %s and has not ended; cancel it first, or let it finish",
			turn.Status,
		)
	}
	return t.resumeEnded(h, turn, again, claimBy)
}

// ContinueTurn implements the transition of store.Control.
func (t *Tx) ContinueTurn(
	scope store.Scope,
	sessionID, turnID parley.ID,
	again store.TurnAgain,
	claimBy parley.ID,
) (store.TurnResumed, error) {
	h, turn, earlier, err := t.lockEnded(scope, sessionID, turnID, again)
	if err != nil || earlier != nil {
		return resumedOr(earlier), err
	}
	switch {
	case turn.Status == parley.TurnWaiting &&
		(turn.WaitReason == parley.WaitBudget || turn.WaitReason == parley.WaitRateLimit):
		return t.resumeWaiting(h, turn, claimBy)
	case turn.Status == parley.TurnWaiting:
		return store.TurnResumed{}, parley.Conflict(
			turn.Status,
			"this turn waits for %s, not at a limit",
			turn.WaitReason,
		)
	case turn.Status == parley.TurnFailed && turn.Error != nil && turn.Error.Class == parley.ClassLimit:
		return t.resumeEnded(h, turn, again, claimBy)
	}
	return store.TurnResumed{}, parley.Conflict(
		turn.Status,
		"this turn is %s and did not stop at a limit; nothing is left to continue",
		turn.Status,
	)
}

// resumedOr returns an earlier result, or an empty one.
func resumedOr(resumed *store.TurnResumed) store.TurnResumed {
	if resumed == nil {
		return store.TurnResumed{}
	}
	return *resumed
}

// lockEnded locks a session and reads the turn to resume, or the first result under the same key.
func (t *Tx) lockEnded(
	scope store.Scope,
	sessionID, turnID parley.ID,
	again store.TurnAgain,
) (*Head, *parley.Turn, *store.TurnResumed, error) {
	h, err := t.lock(scope, sessionID)
	if err != nil {
		return nil, nil, nil, err
	}
	if earlier, err := t.resumedBefore(h, again.Idempotency); err != nil || earlier != nil {
		return h, nil, earlier, err
	}
	if h.ArchivedAt != 0 {
		return nil, nil, nil, parley.Errorf(
			parley.CodeArchived,
			"this session is archived; reopen it with PATCH {\"archived\": false}, then try again",
		)
	}
	if turnID == h.TurnID {
		turn, err := t.currentTurn(h)
		return h, turn, nil, err
	}
	turn, err := t.readTurn(h, turnID)
	return h, turn, nil, err
}

// resumedBefore rebuilds the first result under an idempotency key; nil if the key is new.
func (t *Tx) resumedBefore(h *Head, idempotency store.Idempotency) (*store.TurnResumed, error) {
	if idempotency.Key == "" {
		return nil, nil
	}
	earlier, err := t.rows.ResumedTurn(h, idempotency.Key)
	if err != nil || earlier.ID.IsZero() {
		return nil, err
	}
	if earlier.Fingerprint != idempotency.Fingerprint {
		return nil, KeyReused()
	}
	turn, err := t.readTurn(h, earlier.ID)
	if err != nil {
		return nil, err
	}
	return &store.TurnResumed{Turn: *turn, EventSequence: earlier.PostedEvent, Replayed: true}, nil
}

// resumeWaiting makes a turn ready that waits at a limit.
func (t *Tx) resumeWaiting(h *Head, turn *parley.Turn, claimBy parley.ID) (store.TurnResumed, error) {
	resumed := store.TurnResumed{EventSequence: h.LastEvent}
	t.touch(h)
	if err := t.answer(h, turn); err != nil {
		return resumed, err
	}
	err := t.claimResumed(h, turn, claimBy, &resumed)
	return resumed, err
}

// resumeEnded starts a new turn on the message of an ended one.
func (t *Tx) resumeEnded(
	h *Head,
	ended *parley.Turn,
	again store.TurnAgain,
	claimBy parley.ID,
) (store.TurnResumed, error) {
	if !h.TurnID.IsZero() {
		return store.TurnResumed{}, parley.Conflict(
			h.TurnStatus,
			"another turn of this session is unfinished (it is %s); wait for it or cancel it first",
			h.TurnStatus,
		)
	}
	last, err := t.rows.TurnAtEnd(h)
	if err != nil {
		return store.TurnResumed{}, err
	}
	if last == nil || last.ID != ended.ID {
		return store.TurnResumed{}, parley.Conflict(
			ended.Status,
			"the conversation has continued since this %s turn, or its message was removed; post the message again "+
				"instead",
			ended.Status,
		)
	}
	resumed := store.TurnResumed{EventSequence: h.LastEvent}
	turn := &parley.Turn{
		ID:               again.TurnID,
		WorkspaceID:      h.WorkspaceID,
		SessionID:        h.ID,
		TriggerMessageID: ended.TriggerMessageID,
		ContinuesID:      ended.ID,
		Status:           parley.TurnQueued,
		Iteration:        ended.Iteration,
		Urgent:           ended.Urgent,
		CreatedAt:        t.now,
	}
	if err := t.resumeLoop(h, ended, turn); err != nil {
		return resumed, err
	}
	h.addTurn(turn)
	h.Changes.Resumed = append(
		h.Changes.Resumed,
		Resumed{TurnID: turn.ID, ContinuesID: ended.ID, PostedEvent: h.LastEvent, Idempotency: again.Idempotency},
	)
	h.TurnID, h.TurnStatus, h.turn, h.open = turn.ID, parley.TurnQueued, turn, nil
	h.Status, h.WaitReason, h.FinishedAt = parley.SessionRunning, "", 0
	h.Changes.Head, h.Changes.Ready = true, true
	t.touch(h)
	err = t.claimResumed(h, turn, claimBy, &resumed)
	return resumed, err
}

// claimResumed claims the turn if it may run now.
func (t *Tx) claimResumed(h *Head, turn *parley.Turn, claimBy parley.ID, resumed *store.TurnResumed) error {
	claimed, err := t.claimsDirectly(h, claimBy)
	if err == nil && claimed {
		var claim store.Claim
		if claim, err = t.claim(h, claimBy); err == nil {
			resumed.Claim = &claim
		}
	}
	resumed.Turn = *turn
	return err
}
