package sqlite

import (
	"context"
	"encoding/json"

	"parley"
)

// RequestCancel implements parley.TurnStore.
func (s *Store) RequestCancel(ctx context.Context, scope parley.Scope, sessionID, turnID parley.ID, alsoQueued bool) (parley.Cancelled, error) {
	return transact(ctx, s, func(tx *txn) (cancelled parley.Cancelled, err error) {
		h, err := tx.lock(scope, sessionID)
		if err != nil {
			return cancelled, err
		}
		target, err := tx.cancelTarget(h, turnID)
		if err != nil {
			return cancelled, err
		}
		switch {
		case target.Status == parley.TurnCancelled:
			return parley.Cancelled{Turn: target, Before: true}, nil
		case target.Status.Finished():
			return cancelled, parley.Errorf(parley.CodeConflict, "the turn had ended before: it is %s", target.Status)
		}
		if alsoQueued { // first, so that none of them becomes the next turn
			if err := tx.cancelQueued(h, target.ID); err != nil {
				return cancelled, err
			}
		}
		if target.ID != h.TurnID {
			cancelled.Turn, err = tx.cancelWaiting(h, target)
			return cancelled, err
		}
		held, err := tx.held(h)
		if err != nil {
			return cancelled, err
		}
		if held {
			h.cancel, h.hint.Cancel, h.dirty = h.TurnID, h.TurnID, true
			return parley.Cancelled{Turn: target, Held: true}, nil
		}
		return tx.settleCancelled(h)
	})
}

// cancelTarget finds the turn that a cancel means: the one named, else the first
// unfinished one, else the last one.
func (t *txn) cancelTarget(h *head, turnID parley.ID) (parley.Turn, error) {
	if turnID.IsZero() {
		turnID = h.TurnID
	}
	if !turnID.IsZero() {
		if turnID == h.TurnID {
			turn, err := t.currentTurn(h)
			if err != nil {
				return parley.Turn{}, err
			}
			return *turn, nil
		}
		return readTurn(t.conn, h.ID, turnID)
	}
	var last parley.Turn
	found, err := t.one("SELECT "+turnColumns+" FROM turns t WHERE t.session_id = ? ORDER BY t.id DESC LIMIT 1", func(r *row) (err error) {
		last, err = scanTurn(r)
		return err
	}, h.ID)
	if err == nil && !found {
		err = parley.Errorf(parley.CodeNothingToCancel, "nothing ever ran in this session")
	}
	return last, err
}

// held reports whether a process with a live lease runs the turn.
func (t *txn) held(h *head) (bool, error) {
	if h.holder.IsZero() {
		return false, nil
	}
	return t.has("SELECT 1 FROM processes WHERE id = ? AND lease_until > ?", h.holder, t.now)
}

// settleCancelled ends the first unfinished turn as cancelled, whoever holds it:
// its rows from their versions, its open tools as "effect unknown". What waited
// in the queue comes next.
func (t *txn) settleCancelled(h *head) (parley.Cancelled, error) {
	turn, err := t.currentTurn(h)
	if err != nil {
		return parley.Cancelled{}, err
	}
	if !h.holder.IsZero() {
		h.epoch++
	}
	settled, err := t.settleOpen(h, turn, parley.MessageCancelled, parley.CallCancelled, nil)
	if err != nil {
		return parley.Cancelled{}, err
	}
	results, err := t.settleTools(h)
	if err != nil {
		return parley.Cancelled{}, err
	}
	if turn.Status == parley.TurnQueued && turn.Attempt == 0 {
		if err := t.dropTrigger(h, turn.TriggerMessageID); err != nil {
			return parley.Cancelled{}, err
		}
	}
	if err := t.end(h, turn, parley.TurnEnd{Status: parley.TurnCancelled}); err != nil {
		return parley.Cancelled{}, err
	}
	return parley.Cancelled{Turn: *turn, Settled: append(settled, results...)}, nil
}

// dropTrigger takes a trigger that still waits in the queue out of it.
func (t *txn) dropTrigger(h *head, messageID parley.ID) error {
	removed, err := t.exec("UPDATE messages SET status = 'cancelled', position = NULL, updated_at = ? WHERE id = ? AND status = 'queued'", t.now, messageID)
	if err != nil || removed == 0 {
		return err
	}
	h.queued--
	h.dirty = true
	t.event(h, parley.EventMessageRemoved, parley.ID{}, removedData(messageID))
	return nil
}

// cancelWaiting cancels a queued turn behind the first unfinished one.
func (t *txn) cancelWaiting(h *head, turn parley.Turn) (parley.Turn, error) {
	if err := t.dropTrigger(h, turn.TriggerMessageID); err != nil {
		return turn, err
	}
	if err := h.move(&turn, parley.MoveCancel); err != nil {
		return turn, err
	}
	turn.FinishedAt = t.now
	data, err := endedData(&turn)
	if err != nil {
		return turn, err
	}
	t.event(h, parley.EventSessionCancelled, turn.ID, data)
	return turn, t.saveTurn(&turn)
}

// cancelQueued cancels every queued turn behind the first unfinished one, but
// for the excepted one; if that is the first, its undelivered steers go too.
func (t *txn) cancelQueued(h *head, except parley.ID) error {
	var queued []parley.Turn
	if err := t.each("SELECT "+turnColumns+` FROM messages m JOIN turns t ON t.id = m.turn_id
 WHERE m.session_id = ? AND m.position IS NOT NULL AND m.steer = 0 AND m.turn_id <> ? ORDER BY m.position`, func(r *row) error {
		turn, err := scanTurn(r)
		queued = append(queued, turn)
		return err
	}, h.ID, h.TurnID); err != nil {
		return err
	}
	for _, turn := range queued {
		if turn.ID == except {
			continue
		}
		if _, err := t.cancelWaiting(h, turn); err != nil {
			return err
		}
	}
	if except != h.TurnID || h.steers == 0 {
		return nil
	}
	steers, err := t.undelivered(h, h.TurnID) // they would become turns of their own
	for i := 0; err == nil && i < len(steers); i++ {
		h.steers--
		err = t.dropTrigger(h, steers[i].ID)
	}
	return err
}

// TakeCancel implements parley.TurnStore.
func (s *Store) TakeCancel(ctx context.Context, scope parley.Scope, sessionID, turnID parley.ID) (parley.Cancelled, error) {
	return transact(ctx, s, func(tx *txn) (parley.Cancelled, error) {
		h, err := tx.lock(scope, sessionID)
		if err != nil {
			return parley.Cancelled{}, err
		}
		turn, err := readTurn(tx.conn, h.ID, turnID)
		if err != nil {
			return parley.Cancelled{}, err
		}
		switch {
		case turn.Status.Finished():
			return parley.Cancelled{Turn: turn}, nil
		case h.TurnID != turnID || h.cancel != turnID:
			return parley.Cancelled{}, parley.Errorf(parley.CodeConflict, "nobody asked this turn to stop")
		}
		return tx.settleCancelled(h)
	})
}

// EditQueued implements parley.TurnStore.
func (s *Store) EditQueued(ctx context.Context, scope parley.Scope, messageID parley.ID, content json.RawMessage) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) {
		h, m, err := tx.lockQueued(scope, messageID)
		if err != nil {
			return parley.Message{}, err
		}
		m.Content, m.UpdatedAt = content, tx.now
		m.Revision++
		tx.event(h, parley.EventMessageQueued, m.TurnID, queuedData(m))
		_, err = tx.exec("UPDATE messages SET content = ?, revision = ?, updated_at = ? WHERE id = ?", content, m.Revision, tx.now, m.ID)
		return *m, err
	})
}

// RemoveQueued implements parley.TurnStore.
func (s *Store) RemoveQueued(ctx context.Context, scope parley.Scope, messageID parley.ID) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) {
		h, m, err := tx.lockQueued(scope, messageID)
		if err != nil {
			return parley.Message{}, err
		}
		switch {
		case m.Steer:
			h.steers--
			err = tx.dropTrigger(h, m.ID)
		case m.TurnID.IsZero():
			err = tx.dropTrigger(h, m.ID)
		case m.TurnID == h.TurnID:
			_, err = tx.settleCancelled(h)
		default:
			var turn parley.Turn
			if turn, err = readTurn(tx.conn, h.ID, m.TurnID); err == nil {
				_, err = tx.cancelWaiting(h, turn)
			}
		}
		m.Status, m.Position, m.UpdatedAt = parley.MessageCancelled, nil, tx.now
		return *m, err
	})
}

// lockQueued locks the session of a queued message: CodeConflict once it is in
// the record or was removed.
func (t *txn) lockQueued(scope parley.Scope, messageID parley.ID) (*head, *parley.Message, error) {
	m, err := t.readMessage("m.id = ? AND m.workspace_id = ?", messageID, scope.WorkspaceID)
	if err != nil {
		return nil, nil, err
	}
	if m == nil {
		return nil, nil, notFound("message")
	}
	h, err := t.lock(scope, m.SessionID)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return nil, nil, notFound("message")
	} else if err != nil {
		return nil, nil, err
	}
	switch {
	case m.Status == parley.MessageQueued:
		return h, m, nil
	case m.Sequence == 0:
		return nil, nil, parley.Errorf(parley.CodeConflict, "this message was removed from the queue before")
	}
	return nil, nil, parley.Errorf(parley.CodeConflict, "this message is in the record by now and cannot be changed")
}
