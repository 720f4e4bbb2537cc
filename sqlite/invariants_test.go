package sqlite

import (
	"context"
	"fmt"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// invariants checks, on one snapshot, what must hold for every session after every transition.
func (w *world) invariants() {
	w.t.Helper()
	if err := w.store.read(context.Background(), func(c *conn) error {
		var heads []*transition.Head
		if err := c.each("SELECT "+headColumns+sessionTables+"WHERE h.deleted_at IS NULL", func(r *row) error {
			h, err := scanHead(r)
			heads = append(heads, h)
			return err
		}); err != nil {
			return err
		}
		for _, h := range heads {
			if err := checkSession(c, h); err != nil {
				return fmt.Errorf("session %s: %w", h.ID, err)
			}
		}
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
}

func checkSession(c *conn, h *transition.Head) error {
	for _, check := range []func(*conn, *transition.Head) error{checkRecord, checkQueueRows, checkEvents, checkTurns} {
		if err := check(c, h); err != nil {
			return err
		}
	}
	return nil
}

// checkRecord: sequences without gaps, the hash chain, the statistics, every result after its call.
func checkRecord(c *conn, h *transition.Head) error {
	record, err := readMessages(c, "m.log_id = ? AND m.sequence IS NOT NULL ORDER BY m.sequence", h.LogID)
	if err != nil {
		return err
	}
	var last parley.Hash
	facing := int64(0)
	calls := map[int64]string{}
	for i, m := range record {
		if m.Sequence != int64(i+1) {
			return fmt.Errorf("sequence %d at position %d", m.Sequence, i+1)
		}
		if !m.Internal {
			facing++
		}
		if m.Position != nil || m.Steer {
			return fmt.Errorf("message %d is in the record and in the queue", m.Sequence)
		}
		switch m.Role {
		case parley.RoleToolCall:
			calls[m.CallOrdinal] = m.ToolCallID
		case parley.RoleToolResult:
			if id, ok := calls[m.CallOrdinal]; !ok || id != m.ToolCallID {
				return fmt.Errorf(
					"result %d answers call %q at ordinal %d, which is %q",
					m.Sequence,
					m.ToolCallID,
					m.CallOrdinal,
					id,
				)
			}
			delete(calls, m.CallOrdinal)
		}
		if m.Status == parley.MessageStreaming {
			if !m.ContentHash.IsZero() {
				return fmt.Errorf("streaming message %d has a hash", m.Sequence)
			}
			continue
		}
		if !m.Status.Settled() {
			return fmt.Errorf("message %d of the record is %s", m.Sequence, m.Status)
		}
		hash, err := parley.ChainHash(last, m.ChainInput())
		if err != nil {
			return err
		}
		if hash != m.ContentHash {
			return fmt.Errorf("message %d breaks the hash chain", m.Sequence)
		}
		last = hash
	}
	if last != h.LastHash {
		return fmt.Errorf("the head's last hash differs from the record's")
	}
	if n := int64(len(record)); n != h.LastSequence || n != h.Statistics.Messages || facing != h.Statistics.UserFacing {
		return fmt.Errorf(
			"%d messages (%d user-facing), but last sequence %d, statistics %d (%d)",
			n,
			facing,
			h.LastSequence,
			h.Statistics.Messages,
			h.Statistics.UserFacing,
		)
	}
	return nil
}

func checkQueueRows(c *conn, h *transition.Head) error {
	queue, err := readMessages(c, "m.session_id = ? AND m.position IS NOT NULL ORDER BY m.position", h.ID)
	if err != nil {
		return err
	}
	steers := int64(0)
	for _, m := range queue {
		if m.Status != parley.MessageQueued || m.Sequence != 0 || !m.ContentHash.IsZero() {
			return fmt.Errorf("queued message %s is %s with sequence %d", m.ID, m.Status, m.Sequence)
		}
		if m.Steer {
			steers++
			if m.TurnID != h.TurnID {
				return fmt.Errorf("steer %s is for a turn that is not the unfinished one", m.ID)
			}
		}
	}
	if int64(len(queue)) != h.Queued || steers != h.Steers {
		return fmt.Errorf("%d queued and %d steers, the head says %d and %d", len(queue), steers, h.Queued, h.Steers)
	}
	if h.TurnID.IsZero() && len(queue) > 0 {
		return fmt.Errorf("%d messages wait behind nothing", len(queue))
	}
	return nil
}

// checkEvents: no gaps, exactly one terminal event per finished turn, one message.created per message of the record, in
// order.
func checkEvents(c *conn, h *transition.Head) error {
	sequence, created := int64(0), int64(0)
	ends := map[parley.ID]int{}
	if err := c.each(
		"SELECT sequence, type, turn_id FROM events WHERE session_id = ? ORDER BY sequence",
		func(r *row) error {
			at, kind, turn := r.int64(), parley.EventType(r.text()), r.id()
			if sequence++; at != sequence {
				return fmt.Errorf("event %d at position %d", at, sequence)
			}
			if kind.EndsTurn() {
				ends[turn]++
			}
			if kind == parley.EventMessageCreated {
				created++
			}
			return nil
		},
		h.ID,
	); err != nil {
		return err
	}
	if sequence != h.LastEvent || created != h.LastSequence {
		return fmt.Errorf("%d events of %d, %d created for %d messages", sequence, h.LastEvent, created, h.LastSequence)
	}
	return c.each("SELECT id, status FROM turns WHERE session_id = ?", func(r *row) error {
		id, status := r.id(), parley.TurnStatus(r.text())
		want := 0
		if status.Finished() {
			want = 1
		}
		if ends[id] != want {
			return fmt.Errorf("turn %s is %s and has %d terminal events", id, status, ends[id])
		}
		return nil
	}, h.ID)
}

// checkTurns: the head names the first unfinished turn, and the session is ready exactly when that turn may run.
func checkTurns(c *conn, h *transition.Head) error {
	ready, err := c.has("SELECT 1 FROM ready WHERE session_id = ?", h.ID)
	if err != nil {
		return err
	}
	if want := h.TurnStatus == parley.TurnQueued; ready != want {
		return fmt.Errorf("ready is %t while the turn is %q", ready, h.TurnStatus)
	}
	if held := !h.Holder.IsZero(); held != (h.TurnStatus == parley.TurnRunning) {
		return fmt.Errorf("held is %t while the turn is %q", held, h.TurnStatus)
	}
	if h.TurnID.IsZero() {
		if open, err := c.has(
			"SELECT 1 FROM turns WHERE session_id = ? AND status IN ('queued', 'running', 'waiting')",
			h.ID,
		); err != nil ||
			open {
			return fmt.Errorf("an unfinished turn that the head does not know (%w)", err)
		}
		return nil
	}
	turn, err := readTurn(c, "t.id = ? AND t.session_id = ?", h.TurnID, h.ID)
	if err != nil {
		return err
	}
	if turn == nil {
		return fmt.Errorf("the first unfinished turn %s is missing", h.TurnID)
	}
	if turn.Status != h.TurnStatus || turn.Status.Finished() || h.Status != parley.SessionStatusOf(turn.Status) {
		return fmt.Errorf("the turn is %s, the head says %s, the session %s", turn.Status, h.TurnStatus, h.Status)
	}
	return nil
}
