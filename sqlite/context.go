package sqlite

import (
	"context"
	"errors"

	"example.org/parley"
	"example.org/parley/store"
)

// edge selects the sequence of the latest context edge of a log, 0 without one.
const edge = "ifnull((SELECT max(e.sequence) FROM messages e INDEXED BY messages_edge " +
	"WHERE e.log_id = ?1 AND e.context_edge = 1), 0)"

// What a row takes (parley.Message.Size), and what is large of it; the listed columns, and
// whether that is more than ?4 bytes: then it stays on the disk.
const (
	messageSize = tailSize + " + octet_length(m.context_note) + octet_length(m.metadata)"
	tailSize    = "octet_length(m.content) + ifnull(octet_length(m.provider_data), 0)"
	tailColumns = listedBefore + "CASE WHEN " + tailSize + " <= ?4 THEN m.content END" +
		listedBehind + "CASE WHEN " + tailSize + " <= ?4 THEN m.provider_data END, " + tailSize + " > ?4"
)

// contextTail reads a page of the record backwards, from the latest context edge on.
const contextTail = "SELECT " + tailColumns + ` FROM messages m INDEXED BY messages_sequence
 WHERE m.log_id = ?1 AND m.sequence IS NOT NULL AND m.sequence < ?2
 AND m.sequence >= ` + edge + `
 AND m.internal = 0 AND m.status <> 'streaming' ORDER BY m.sequence DESC LIMIT ?3`

// tailPage is a page of the record, newest first.
type tailPage struct {
	rows        []parley.Message
	size        int  // of the rows, in bytes
	limit, most int  // rows and bytes with which it is full
	longer      bool // what comes next is a row that is longer than that
}

func (p *tailPage) full() bool { return p.longer || len(p.rows) >= p.limit || p.size >= p.most }

// read appends the rows of a query over one log until the page is full.
func (p *tailPage) read(c *conn, query string, of location, args ...arg) error {
	err := c.each(query, func(r *row) error {
		one := scanListed(r, of)
		if p.longer = r.bool(); p.longer {
			return errPageFull
		}
		p.rows = append(p.rows, one)
		if p.size += one.Size(); p.full() {
			return errPageFull
		}
		return nil
	}, args...)
	if errors.Is(err, errPageFull) {
		return nil
	}
	return err
}

// ContextTail implements store.Messages.
func (s *Store) ContextTail(
	ctx context.Context,
	workspaceID, sessionID parley.ID,
	before int64,
	limit, most int,
) (messages []parley.Message, more bool, err error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	err = s.read(ctx, func(c *conn) error {
		at, err := locate(c, store.Scope{WorkspaceID: workspaceID}, sessionID)
		if err != nil {
			return err
		}
		tail := tailPage{limit: limited(limit), most: most}
		tail.rows = make([]parley.Message, 0, min(tail.limit, parley.MaxPage))
		err = tail.read(c, contextTail, at, at.logID, before, tail.limit, tail.most)
		if err == nil && len(at.shared) > 0 {
			err = tailOfShared(c, at, before, &tail)
		}
		messages, more = tail.rows, tail.full()
		return err
	})
	return messages, more, err
}

// Parts of a ContextHead. They skip messages that another transaction settled or hid.
const (
	shown         = " AND m.internal = 0 AND m.set_aside = 0 AND m.status IN ('completed', 'cancelled')"
	activeSummary = "SELECT " + listedColumns + ` FROM messages m INDEXED BY messages_role
 WHERE m.log_id = ?1 AND m.role = 'summary' AND m.sequence IS NOT NULL AND m.covers_through >= ` + edge + shown +
		` ORDER BY m.sequence DESC LIMIT 1`
	latestEdge = "SELECT " + edge
	firstTask  = "SELECT " + listedColumns + ` FROM messages m INDEXED BY messages_role
 WHERE m.log_id = ?1 AND m.role = 'user' AND m.sequence >= ` + edge + shown + ` ORDER BY m.sequence LIMIT 1`
	pinnedMessages = "SELECT " + listedColumns + ` FROM messages m INDEXED BY messages_pinned
 WHERE m.log_id = ?1 AND m.pinned = 1 AND m.sequence IS NOT NULL AND ` + messageSize + ` <= ?4
 AND m.pinned_event >= (SELECT h.cleared_event FROM heads h WHERE h.session_id = ?2)` + shown +
		` ORDER BY m.sequence DESC LIMIT ?3`
	pairOf = "SELECT " + tailColumns + ` FROM messages m INDEXED BY messages_call
 WHERE m.log_id = ?1 AND m.tool_call_id = ?2 AND m.tool_call_id <> '' AND m.call_ordinal = ?3 AND m.role = ?5
  AND m.sequence IS NOT NULL` + shown + ` LIMIT 1`
)

// pinnedPage takes pinned messages, newest first, that together are no longer than may be
// carried.
type pinnedPage struct {
	rows []parley.Message
	left int // bytes
}

func (p *pinnedPage) take(m parley.Message) error {
	if p.left -= m.Size(); p.left < 0 {
		return errPageFull
	}
	p.rows = append(p.rows, m)
	return nil
}

// readOwn takes those that the session wrote itself.
func (p *pinnedPage) readOwn(c *conn, at location) error {
	return p.read(c, pinnedMessages, func(r *row) parley.Message { return scanListed(r, at) },
		at.logID, at.sessionID, parley.MaxPinnedShown, parley.MaxPinnedBytes)
}

// read takes the rows of a query of pinned messages.
func (p *pinnedPage) read(c *conn, query string, scan func(r *row) parley.Message, args ...arg) error {
	if p.left < 0 {
		return nil
	}
	err := c.each(query, func(r *row) error { return p.take(scan(r)) }, args...)
	if errors.Is(err, errPageFull) {
		return nil
	}
	return err
}

// ContextHead reads what may stand before a window.
func (s *Store) ContextHead(
	ctx context.Context,
	workspaceID, sessionID parley.ID,
) (head parley.ContextHead, err error) {
	err = s.read(ctx, func(c *conn) error {
		head = parley.ContextHead{}
		at, err := locate(c, store.Scope{WorkspaceID: workspaceID}, sessionID)
		if err != nil {
			return err
		}
		if len(at.shared) > 0 {
			head, err = headOfFork(c, at)
			return err
		}
		var messages []parley.Message
		note := func(r *row) error {
			messages = append(messages, scanListed(r, at))
			return nil
		}
		if err := c.each(activeSummary, note, at.logID); err != nil {
			return err
		}
		if len(messages) > 0 {
			head.Summary, messages = &messages[0], nil
		}
		if err := c.each(firstTask, note, at.logID); err != nil {
			return err
		}
		if len(messages) > 0 {
			head.First = &messages[0]
		}
		if _, err := c.one(latestEdge, func(r *row) error {
			head.Edge = r.int64()
			return nil
		}, at.logID); err != nil {
			return err
		}
		pins := pinnedPage{left: parley.MaxPinnedBytes}
		if err := pins.readOwn(c, at); err != nil {
			return err
		}
		head.Pinned, err = withPairs(c, at, pins.rows)
		return err
	})
	return head, err
}

// ClearContext implements store.Messages.
func (s *Store) ClearContext(ctx context.Context, scope store.Scope, sessionID parley.ID) (parley.Session, error) {
	return transact(ctx, s, func(tx *txn) (parley.Session, error) { return tx.core.ClearContext(scope, sessionID) })
}
