package sqlite

import (
	"slices"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// Parts of a ContextHead in one part of a fork's record; ?1 is the log, ?2 the fork. The fork's own marks say which
// shared messages are set aside.
const (
	placedColumns = "SELECT m.workspace_id, m.session_id, m.log_id, " + listedColumns
	sharedShown   = ` AND m.internal = 0 AND m.status IN ('completed', 'cancelled')
		AND (m.set_aside = 0 OR m.session_id <> ?2)
 AND NOT EXISTS (SELECT 1 FROM session_marks k WHERE k.session_id = ?2 AND k.sequence = m.sequence AND k.set_aside = 1)`
	sharedSummary = placedColumns + ` FROM messages m INDEXED BY messages_role
 WHERE m.log_id = ?1 AND m.role = 'summary' AND m.sequence IS NOT NULL AND m.sequence <= ?4
  AND m.covers_through >= ?3` + sharedShown + ` ORDER BY m.sequence DESC LIMIT 1`
	sharedFirst = placedColumns + ` FROM messages m INDEXED BY messages_role
 WHERE m.log_id = ?1 AND m.role = 'user' AND m.sequence IS NOT NULL AND m.sequence >= ?3 AND m.sequence <= ?4` +
		sharedShown + ` ORDER BY m.sequence LIMIT 1`
	sharedPins = placedColumns + ` FROM session_marks k CROSS JOIN messages m ON m.id = k.message_id
 WHERE k.session_id = ?1 AND k.pinned = 1 AND k.set_aside = 0 AND k.pinned_event >= (SELECT h.cleared_event FROM heads h
  WHERE h.session_id = ?1) AND ` + messageSize + ` <= ?3
 AND m.internal = 0 AND m.status IN ('completed', 'cancelled') ORDER BY k.sequence DESC LIMIT ?2`
)

// headOfFork returns the ContextHead of a fork: it asks the same questions of all parts of the record.
func headOfFork(c *conn, at location) (head parley.ContextHead, err error) {
	edge, err := edgeOf(c, at)
	if err != nil {
		return head, err
	}
	parts := append(slices.Clone(at.shared), transition.Own(at.sessionID, at.logID))
	var found []parley.Message
	placed := func(r *row) parley.Message {
		return scanListed(r, location{workspaceID: r.id(), sessionID: r.id(), logID: r.id()})
	}
	note := func(r *row) error {
		found = append(found, placed(r))
		return nil
	}
	for _, p := range slices.Backward(parts) {
		if err := c.each(sharedSummary, note, p.LogID, at.sessionID, edge, p.Through); err != nil {
			return head, err
		}
		if len(found) > 0 {
			break
		}
	}
	head.Edge = edge
	if len(found) > 0 {
		summary := found[0]
		head.Summary, found = &summary, nil
	}
	for _, p := range parts {
		if err := c.each(sharedFirst, note, p.LogID, at.sessionID, edge, p.Through); err != nil {
			return head, err
		}
		if len(found) > 0 {
			first := found[0]
			head.First = &first
			break
		}
	}
	pins := pinnedPage{left: parley.MaxPinnedBytes}
	if err := pins.readOwn(c, at); err != nil {
		return head, err
	}
	if err := pins.read(
		c,
		sharedPins,
		placed,
		at.sessionID,
		parley.MaxPinnedShown-len(pins.rows),
		parley.MaxPinnedBytes,
	); err != nil {
		return head, err
	}
	if head.Pinned, err = withPairs(c, at, pins.rows); err != nil {
		return head, err
	}
	for _, m := range []*parley.Message{head.Summary, head.First} {
		if m == nil {
			continue
		}
		marked := []parley.Message{*m}
		if err := ownMarks(c, at, marked); err != nil {
			return head, err
		}
		*m = marked[0]
	}
	return head, ownMarks(c, at, head.Pinned)
}

// withPairs adds the other halves of calls and results to pinned messages, newest first,
// and puts them in order. The first with which they are longer than may be carried ends
// them.
func withPairs(c *conn, at location, pins []parley.Message) ([]parley.Message, error) {
	messages := make([]parley.Message, 0, len(pins))
	left := parley.MaxPinnedBytes
	for i := range pins {
		m, pair, longer := &pins[i], []parley.Message(nil), false
		if role := transition.PairRole(m.Role); role != "" && m.ToolCallID != "" {
			of := location{workspaceID: m.WorkspaceID, sessionID: m.SessionID, logID: m.LogID}
			if err := c.each(pairOf, func(r *row) error {
				pair = append(pair, scanListed(r, of))
				longer = r.bool()
				return nil
			}, m.LogID, m.ToolCallID, m.CallOrdinal, left, string(role)); err != nil {
				return nil, err
			}
			if err := ownMarks(c, at, pair); err != nil {
				return nil, err
			}
			pair = slices.DeleteFunc(pair, func(m parley.Message) bool { return m.Marks.SetAside })
		}
		left -= m.Size()
		for i := range pair {
			left -= pair[i].Size()
		}
		if left < 0 || longer && len(pair) > 0 {
			break
		}
		messages = append(append(messages, *m), pair...)
	}
	return transition.Ordered(messages), nil
}
