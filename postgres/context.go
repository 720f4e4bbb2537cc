package postgres

import (
	"context"

	"parley"
	"parley/internal/transition"
)

// ContextTail reads what a model may see, newest first.
func (s *Store) ContextTail(ctx context.Context, workspaceID, sessionID parley.ID, before int64, limit int) (messages []parley.Message, err error) {
	err = s.page(ctx, parley.Scope{WorkspaceID: workspaceID}, sessionID, func(b *batch) {
		messages = []parley.Message{}
		text, rows, args := contextTail(sessionID, before, limit)
		b.read(text, upTo(rows, func(r *row) error {
			messages = append(messages, scanMessage(r))
			return nil
		}), args...)
	})
	return messages, err
}

// contextTail reads a page of the record backwards, from the latest context edge on.
func contextTail(sessionID parley.ID, before int64, limit int) (text string, rows int, args []arg) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	var l filter
	log := l.visibleLog(parley.Scope{}, sessionID)
	l.must("m.workspace_id = "+here+" AND m.log_id = "+log+" AND m.sequence IS NOT NULL AND m.sequence < ?", before)
	l.must("m.sequence >= " + edgeOf(log))
	l.must("NOT m.internal AND m.status <> 'streaming'")
	clause, rows := limited(limit)
	return "SELECT " + messageColumns + " FROM parley.messages m WHERE " + l.where.String() + " ORDER BY m.sequence DESC" + clause, rows, l.args
}

// edgeOf is where the latest context edge of a log stands, 0 without one.
func edgeOf(log string) string {
	return "coalesce((SELECT max(e.sequence) FROM parley.messages e WHERE e.workspace_id = " + here + " AND e.log_id = " + log + " AND e.context_edge), 0)"
}

// shown are the terms of a ContextHead's messages.
const shown = " AND NOT m.internal AND NOT m.set_aside AND m.status IN ('completed', 'cancelled')"

// ContextHead reads what may stand before a window.
func (s *Store) ContextHead(ctx context.Context, workspaceID, sessionID parley.ID) (head parley.ContextHead, err error) {
	var pinned []parley.Message
	err = s.page(ctx, parley.Scope{WorkspaceID: workspaceID}, sessionID, func(b *batch) {
		head, pinned = parley.ContextHead{}, nil
		text, args := activeSummary(sessionID)
		b.read("SELECT "+messageColumns+text, func(r *row) error {
			m := scanMessage(r)
			head.Summary = &m
			return nil
		}, args...)
		text, args = firstTask(sessionID)
		b.read(text, func(r *row) error {
			m := scanMessage(r)
			head.First = &m
			return nil
		}, args...)
		text, args = pinnedMessages(sessionID)
		b.read(text, func(r *row) error {
			pinned = append(pinned, scanMessage(r))
			return nil
		}, args...)
	})
	head.Pinned = transition.Ordered(pinned)
	return head, err
}

// activeSummary finds the latest summary that stands for what is behind the edge.
func activeSummary(sessionID parley.ID) (string, []arg) {
	var l filter
	log := l.visibleLog(parley.Scope{}, sessionID)
	return " FROM parley.messages m WHERE m.workspace_id = " + here + " AND m.log_id = " + log + " AND m.role = 'summary' AND m.sequence IS NOT NULL AND m.covers_through >= " + edgeOf(log) +
		shown + " ORDER BY m.sequence DESC LIMIT 1", l.args
}

// firstTask finds the first user message behind the edge, if the summary covers it.
func firstTask(sessionID parley.ID) (string, []arg) {
	summary, args := activeSummary(sessionID)
	l := filter{args: args}
	log := l.visibleLog(parley.Scope{}, sessionID)
	return "SELECT " + messageColumns + " FROM parley.messages m WHERE m.workspace_id = " + here + " AND m.log_id = " + log +
		" AND m.role = 'user' AND m.sequence IS NOT NULL AND m.sequence >= " + edgeOf(log) + " AND m.sequence <= (SELECT m.covers_through" + summary + ")" +
		shown + " ORDER BY m.sequence LIMIT 1", l.args
}

// pinnedMessages finds the newest pinned messages, and the other halves of calls
// and results among them.
func pinnedMessages(sessionID parley.ID) (string, []arg) {
	var l filter
	log := l.visibleLog(parley.Scope{}, sessionID)
	l.must("m.workspace_id = "+here+" AND m.log_id = "+log+" AND m.pinned AND m.sequence IS NOT NULL"+
		" AND m.pinned_event >= (SELECT h.cleared_event FROM parley.heads h WHERE h.workspace_id = "+here+" AND h.session_id = ?)"+shown, sessionID)
	return "WITH pins AS (SELECT m.* FROM parley.messages m WHERE " + l.where.String() + " ORDER BY m.sequence DESC LIMIT " + l.arg(parley.MaxPinnedShown) + ")" +
		" SELECT " + messageColumns + " FROM pins m UNION ALL SELECT " + messageColumns + " FROM pins p JOIN parley.messages m ON m.workspace_id = " + here +
		" AND m.log_id = p.log_id AND m.tool_call_id = p.tool_call_id AND m.tool_call_id <> '' AND m.call_ordinal = p.call_ordinal" +
		" AND m.role = CASE p.role WHEN 'tool_call' THEN 'tool_result' WHEN 'tool_result' THEN 'tool_call' END AND m.sequence IS NOT NULL" + shown, l.args
}
