package sqlite

import (
	"iter"
	"slices"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// A session's record is a list of parts: what a fork shares of other logs, each up to a sequence, and the session's own
// log. Sequences continue across parts, so a page is read part by part, and most pages touch only the last one.

// readersOf joins the forks "s" that share a message "m" of a log.
const readersOf = "session_logs g ON g.log_id = m.log_id AND g.through >= m.sequence " +
	"JOIN sessions s ON s.id = g.session_id"

// sharedParts returns the parts of a fork's record before its own log.
func sharedParts(c *conn, sessionID parley.ID) (parts []transition.Part, err error) {
	err = c.each(
		"SELECT log_id, writer_id, through FROM session_logs WHERE session_id = ? ORDER BY through",
		func(r *row) error {
			parts = append(parts, transition.Part{LogID: r.id(), Writer: r.id(), Through: r.int64()})
			return nil
		},
		sessionID,
	)
	return parts, err
}

// part returns the location of a shared part.
func (at location) part(p transition.Part) location {
	return location{workspaceID: at.workspaceID, sessionID: p.Writer, logID: p.LogID, through: p.Through}
}

// parts yields the places of the parts that a page may touch, in the page's order; the session's own log is at itself.
func (at location) parts(q store.MessageQuery) iter.Seq[location] {
	return func(yield func(location) bool) {
		begins := int64(0) // the own log begins after it
		if n := len(at.shared); n > 0 {
			begins = at.shared[n-1].Through
		}
		if q.Descending && (q.AfterSequence == 0 || q.AfterSequence > begins+1) && !yield(at) {
			return
		}
		for i := range at.shared {
			p := at.shared[i]
			if q.Descending {
				p = at.shared[len(at.shared)-1-i]
			} else if p.Through <= q.AfterSequence {
				continue
			}
			if !yield(at.part(p)) {
				return
			}
		}
		if !q.Descending {
			yield(at)
		}
	}
}

// ownMarks gives shared messages the marks of the fork.
func ownMarks(c *conn, at location, messages []parley.Message) error {
	if len(at.shared) == 0 || len(messages) == 0 {
		return nil
	}
	least, most := int64(1<<63-1), int64(0)
	for i := range messages {
		if m := &messages[i]; m.LogID != at.logID {
			least, most, m.Marks = min(least, m.Sequence), max(most, m.Sequence), parley.Marks{}
		}
	}
	return c.each(
		"SELECT message_id, pinned, context_edge, set_aside FROM session_marks "+
			"WHERE session_id = ? AND sequence BETWEEN ? AND ?",
		func(r *row) error {
			id, marks := r.id(), parley.Marks{Pinned: r.bool(), ContextEdge: r.bool(), SetAside: r.bool()}
			if i := slices.IndexFunc(messages, func(m parley.Message) bool { return m.ID == id }); i >= 0 {
				messages[i].Marks = marks
			}
			return nil
		},
		at.sessionID,
		least,
		most,
	)
}

// sharedEdge selects the latest context edge among a fork's marks.
const sharedEdge = "SELECT max(k.sequence) FROM session_marks k INDEXED BY session_marks_edge " +
	"WHERE k.session_id = ?2 AND k.context_edge = 1"

// edgeOf returns the sequence of the latest context edge of a session, 0 without one.
func edgeOf(c *conn, at location) (sequence int64, err error) {
	_, err = c.one("SELECT max("+edge+", ifnull(("+sharedEdge+"), 0))", func(r *row) error {
		sequence = r.int64()
		return nil
	}, at.logID, at.sessionID)
	return sequence, err
}

// sharedTail reads a page of what a fork shares of a log backwards.
const sharedTail = "SELECT " + tailColumns + ` FROM messages m INDEXED BY messages_sequence
 WHERE m.log_id = ?1 AND m.sequence IS NOT NULL AND m.sequence < ?2 AND m.sequence >= ?3
 AND m.internal = 0 AND m.status <> 'streaming' ORDER BY m.sequence DESC LIMIT ?5`

// tailOfShared continues a fork's context tail in what it shares.
func tailOfShared(c *conn, at location, before int64, tail *tailPage) error {
	edge, err := edgeOf(c, at)
	if err != nil {
		return err
	}
	for _, p := range slices.Backward(at.shared) {
		if tail.full() || p.Through < edge {
			break
		}
		if err := tail.read(c, sharedTail, at.part(p), p.LogID, min(before, p.Through+1), edge, tail.most,
			tail.limit-len(tail.rows)); err != nil {
			return err
		}
	}
	return ownMarks(c, at, tail.rows)
}

// Shared implements transition.Rows.
func (t *txn) Shared(h *transition.Head) ([]transition.Part, error) {
	return sharedParts(t.conn, h.ID)
}

// Stretch implements transition.Rows.
func (t *txn) Stretch(
	_ *transition.Head,
	parts []transition.Part,
	from int64,
	limit int,
) (links []transition.Link, err error) {
	for _, p := range parts {
		if p.Through < from || len(links) >= limit {
			continue
		}
		if err := t.each(
			`SELECT id, sequence, turn_id, step, role, status, call_ordinal, content_hash
				FROM messages INDEXED BY messages_sequence
 WHERE log_id = ? AND sequence IS NOT NULL AND sequence BETWEEN ? AND ? ORDER BY sequence LIMIT ?`,
			func(r *row) error {
				links = append(
					links,
					transition.Link{
						ID:          r.id(),
						Sequence:    r.int64(),
						TurnID:      r.id(),
						Step:        r.int(),
						Role:        parley.Role(r.text()),
						Status:      parley.MessageStatus(r.text()),
						Ordinal:     r.int64(),
						ContentHash: r.hash(),
					},
				)
				return nil
			},
			p.LogID,
			from,
			p.Through,
			limit-len(links),
		); err != nil {
			return nil, err
		}
	}
	return links, nil
}

// Tally implements transition.Rows.
func (t *txn) Tally(_ *transition.Head, parts []transition.Part) (tally transition.Tally, err error) {
	for _, p := range parts {
		if _, err := t.one(
			"SELECT count(*) FROM messages INDEXED BY messages_internal "+
				"WHERE log_id = ? AND internal = 1 AND sequence IS NOT NULL AND sequence <= ?",
			func(r *row) error {
				tally.Internal += r.int64()
				return nil
			},
			p.LogID,
			p.Through,
		); err != nil {
			return tally, err
		}
		if _, err := t.one(
			`SELECT call_ordinal FROM messages INDEXED BY messages_role
				WHERE log_id = ? AND role = 'tool_call' AND sequence IS NOT NULL AND sequence <= ?
 ORDER BY sequence DESC LIMIT 1`,
			func(r *row) error {
				tally.Calls = max(tally.Calls, r.int64())
				return nil
			},
			p.LogID,
			p.Through,
		); err != nil {
			return tally, err
		}
	}
	return tally, nil
}

// SharedMarks implements transition.Rows.
func (t *txn) SharedMarks(h *transition.Head, sequence int64) (marks parley.Marks, err error) {
	_, err = t.one(
		"SELECT pinned, context_edge, set_aside FROM session_marks WHERE session_id = ? AND sequence = ?",
		func(r *row) error {
			marks = parley.Marks{Pinned: r.bool(), ContextEdge: r.bool(), SetAside: r.bool()}
			return nil
		},
		h.ID,
		sequence,
	)
	return marks, err
}

// inherit writes what a fork inherits: the parts that it reads, and its own copy of the marks.
func (t *txn) inherit(h *transition.Head, from *transition.Inherited) error {
	begins := int64(0)
	for _, p := range from.Parts {
		if _, err := t.exec(
			"INSERT INTO session_logs (session_id, through, workspace_id, log_id, writer_id) VALUES (?, ?, ?, ?, ?)",
			h.ID,
			p.Through,
			h.WorkspaceID,
			p.LogID,
			p.Writer,
		); err != nil {
			return err
		}
		statement, source := copySharedMarks, from.From
		if p.LogID == from.Own {
			statement, source = copyMarks, p.LogID
		}
		if _, err := t.exec(statement, h.ID, source, begins, p.Through, from.From); err != nil {
			return err
		}
		begins = p.Through
	}
	return nil
}

// Marks of a stretch: from the messages that the parent wrote, otherwise from its own copy.
const (
	copyMarks = `INSERT INTO session_marks (session_id, sequence, workspace_id, message_id, pinned, context_edge,
		set_aside, pinned_event)
 SELECT ?1, sequence, workspace_id, id, pinned, context_edge, set_aside, CASE WHEN pinned_event < (SELECT cleared_event
  FROM heads WHERE session_id = ?5) THEN -1 ELSE 0 END FROM messages INDEXED BY messages_marked
 WHERE log_id = ?2 AND sequence > ?3 AND sequence <= ?4 AND (pinned = 1 OR context_edge = 1 OR set_aside = 1)`
	copySharedMarks = `INSERT INTO session_marks (session_id, sequence, workspace_id, message_id, pinned, context_edge,
		set_aside, pinned_event)
 SELECT ?1, sequence, workspace_id, message_id, pinned, context_edge, set_aside,
  CASE WHEN pinned_event < (SELECT cleared_event FROM heads WHERE session_id = ?5) THEN -1 ELSE 0 END
  	FROM session_marks WHERE session_id = ?2 AND sequence > ?3 AND sequence <= ?4`
)

// markShared writes a fork's marks on a message that it shares.
func (t *txn) markShared(h *transition.Head, m transition.Marked) error {
	_, err := t.exec(
		`INSERT INTO session_marks (session_id, sequence, workspace_id, message_id, pinned, context_edge, set_aside,
			pinned_event) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT DO UPDATE SET pinned = excluded.pinned, context_edge = excluded.context_edge,
  set_aside = excluded.set_aside, pinned_event = max(session_marks.pinned_event, excluded.pinned_event)`,
		h.ID,
		m.Sequence,
		h.WorkspaceID,
		m.ID,
		m.Marks.Pinned,
		m.Marks.ContextEdge,
		m.Marks.SetAside,
		m.PinnedEvent,
	)
	return err
}
