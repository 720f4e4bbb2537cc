package postgres

import (
	"context"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// ContextTail implements store.Messages.
func (s *Store) ContextTail(
	ctx context.Context,
	workspaceID, sessionID parley.ID,
	before int64,
	limit, most int,
) (messages []parley.Message, more bool, err error) {
	err = s.record(ctx, store.Scope{WorkspaceID: workspaceID}, sessionID, func(b *batch, shared []transition.Part) {
		messages, more = []parley.Message{}, false
		size := 0
		text, rows, args := contextTail(sessionID, shared, before, limit, most)
		b.read(text, upTo(rows, func(r *row) error {
			if size >= most {
				return errPageFull
			}
			m, err := scanMessage(r)
			if err == nil && r.bool() { // longer than a page
				more = true
				return errPageFull
			}
			messages = append(messages, m)
			size += m.Size()
			more = len(messages) == rows || size >= most
			return err
		}), args...)
	})
	return messages, more, err
}

// contextTail reads a page of the record backwards, no further than the latest context edge.
func contextTail(
	sessionID parley.ID,
	shared []transition.Part,
	before int64,
	limit, most int,
) (text string, rows int, args []arg) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	var l filter
	log := l.visibleLog(store.Scope{}, sessionID)
	edge := l.edge(log, sessionID, shared)
	clause, rows := limited(limit)
	order := " ORDER BY m.sequence DESC"
	arms := make([]string, 0, len(shared)+1)
	for _, logs := range l.logs(log, shared) {
		l.where.Reset()
		l.must(logs+" AND m.sequence < ?", before)
		l.must("m.sequence >= " + edge + " AND NOT m.internal AND m.status <> 'streaming'")
		arms = append(arms, " FROM parley.messages m WHERE "+l.where.String()+order+clause)
	}
	columns, marks := l.ownMarks(messageColumns, sessionID, shared)
	columns = l.within(columns, most)
	return l.sized(columns, merged(arms, order+clause), order, marks, 1, most), rows, l.args
}

// within has columns leave what is large of a row that is longer than so many bytes on the
// disk; behind them it tells whether one is.
func (l *filter) within(columns string, most int) string {
	longer := "octet_length(m.content)::bigint + coalesce(octet_length(m.provider_data), 0) > " + l.arg(most)
	for _, large := range []string{"m.content", "m.provider_data"} {
		columns = strings.Replace(columns, large+",", "CASE WHEN NOT "+longer+" THEN "+large+" END,", 1)
	}
	return columns + ", " + longer
}

// edge is where the latest context edge of a session stands, 0 without one. As the
// result of a query of its own it bounds the index's search: of anything else the
// planner fears that it could tell of rows behind the policies.
func (l *filter) edge(log string, sessionID parley.ID, shared []transition.Part) string {
	own := "(SELECT coalesce(max(e.sequence), 0) FROM parley.messages e WHERE e.workspace_id = " + here +
		" AND e.log_id = " + log + " AND e.context_edge)"
	if len(shared) == 0 {
		return own
	}
	return "(SELECT greatest(" + own +
		", (SELECT coalesce(max(k.sequence), 0) FROM parley.session_marks k WHERE k.workspace_id = " + here +
		" AND k.session_id = " + l.arg(
		sessionID,
	) + " AND k.context_edge)))"
}

// shown are the terms of a ContextHead's messages: the fork's own marks say which shared messages are set aside.
func (l *filter) shown(sessionID parley.ID, shared []transition.Part) string {
	const settled = " AND NOT m.internal AND m.status IN ('completed', 'cancelled')"
	if len(shared) == 0 {
		return settled + " AND NOT m.set_aside"
	}
	return settled + " AND (NOT m.set_aside OR m.sequence <= " + l.arg(
		shared[len(shared)-1].Through,
	) + ") AND NOT EXISTS (SELECT 1 FROM parley.session_marks a WHERE a.workspace_id = " + here +
		" AND a.session_id = " + l.arg(
		sessionID,
	) + " AND a.sequence = m.sequence AND a.set_aside)"
}

// ContextHead implements store.Messages.
func (s *Store) ContextHead(
	ctx context.Context,
	workspaceID, sessionID parley.ID,
) (head parley.ContextHead, err error) {
	var pinned []parley.Message
	err = s.record(ctx, store.Scope{WorkspaceID: workspaceID}, sessionID, func(b *batch, shared []transition.Part) {
		head, pinned = parley.ContextHead{}, nil
		summary, args := activeSummary(sessionID, shared)
		l := filter{args: args}
		columns, marks := l.ownMarks(messageColumns, sessionID, shared)
		b.read("SELECT "+columns+" FROM (SELECT *"+summary+") m"+marks, func(r *row) error {
			m, err := scanMessage(r)
			head.Summary = &m
			return err
		}, l.args...)
		text, args := firstTask(sessionID, shared)
		b.read(text, func(r *row) error {
			m, err := scanMessage(r)
			head.First = &m
			return err
		}, args...)
		var e filter
		text = "SELECT " + e.edge(e.visibleLog(store.Scope{}, sessionID), sessionID, shared)
		b.read(text, func(r *row) error {
			head.Edge = r.int64()
			return nil
		}, e.args...)
		text, args = pinnedMessages(sessionID, shared)
		b.read(text, func(r *row) error {
			m, err := scanMessage(r)
			pinned = append(pinned, m)
			return err
		}, args...)
	})
	head.Pinned = transition.Ordered(pinned)
	return head, err
}

// activeSummary finds the latest summary that covers anything behind the edge.
func activeSummary(sessionID parley.ID, shared []transition.Part) (string, []arg) {
	var l filter
	log := l.visibleLog(store.Scope{}, sessionID)
	rest := " AND m.role = 'summary' AND m.covers_through >= " + l.edge(
		log,
		sessionID,
		shared,
	) + l.shown(
		sessionID,
		shared,
	) + " ORDER BY m.sequence DESC LIMIT 1"
	return l.firstOf(log, shared, rest, " ORDER BY m.sequence DESC LIMIT 1"), l.args
}

// firstOf ends a query for the first match in the parts of a record.
func (l *filter) firstOf(log string, shared []transition.Part, rest, order string) string {
	arms := make([]string, 0, len(shared)+1)
	for _, logs := range l.logs(log, shared) {
		arms = append(arms, " FROM parley.messages m WHERE "+logs+rest)
	}
	if len(arms) == 1 {
		return arms[0]
	}
	return " FROM (" + merged(arms, order) + ") m"
}

// firstTask finds the first user message behind the edge.
func firstTask(sessionID parley.ID, shared []transition.Part) (string, []arg) {
	var l filter
	log := l.visibleLog(store.Scope{}, sessionID)
	rest := " AND m.role = 'user' AND m.sequence >= " + l.edge(
		log,
		sessionID,
		shared,
	) +
		l.shown(
			sessionID,
			shared,
		) + " ORDER BY m.sequence LIMIT 1"
	found := l.firstOf(log, shared, rest, " ORDER BY m.sequence LIMIT 1")
	columns, marks := l.ownMarks(messageColumns, sessionID, shared)
	if len(shared) == 0 {
		return "SELECT " + columns + found, l.args
	}
	return "SELECT " + columns + found + marks, l.args
}

// pinnedMessages finds the newest pinned messages, and the other halves of calls
// and results among them, as far as they may be carried.
func pinnedMessages(sessionID parley.ID, shared []transition.Part) (string, []arg) {
	var l filter
	log := l.visibleLog(store.Scope{}, sessionID)
	session := l.arg(sessionID)
	cleared := "(SELECT h.cleared_event FROM parley.heads h WHERE h.workspace_id = " + here + " AND h.session_id = " +
		session + ")"
	shown, limit := l.shown(sessionID, shared), " ORDER BY m.sequence DESC LIMIT "+l.arg(parley.MaxPinnedShown)
	most := l.arg(parley.MaxPinnedBytes)
	short := " AND " + messageSize + " <= " + most
	pins := "SELECT m.* FROM parley.messages m WHERE m.workspace_id = " + here + " AND m.log_id = " + log +
		" AND m.pinned AND m.sequence IS NOT NULL AND m.pinned_event >= " + cleared + short + shown + limit
	if len(shared) > 0 {
		own := "SELECT m.* FROM parley.session_marks p JOIN parley.messages m ON m.workspace_id = p.workspace_id " +
			"AND m.id = p.message_id WHERE p.workspace_id = " + here +
			" AND p.session_id = " + session + " AND p.pinned AND p.pinned_event >= " + cleared + short + shown +
			" ORDER BY p.sequence DESC LIMIT " + l.arg(
			parley.MaxPinnedShown,
		)
		pins = "SELECT * FROM ((" + pins + ") UNION ALL (" + own + ")) m" + limit
	}
	columns, marks := l.ownMarks(messageColumns, sessionID, shared)
	// A pin and its other half are peers of the window: they are carried together.
	return "WITH pins AS (" + pins + "), halves AS (SELECT m.*, m.sequence AS pin FROM pins m UNION ALL " +
		"SELECT m.*, p.sequence FROM pins p JOIN parley.messages m ON m.workspace_id = " + here +
		" AND m.log_id = p.log_id AND m.tool_call_id = p.tool_call_id AND m.tool_call_id <> '' " +
		"AND m.call_ordinal = p.call_ordinal" +
		" AND m.role = CASE p.role WHEN 'tool_call' THEN 'tool_result' WHEN 'tool_result' THEN 'tool_call' END" +
		" WHERE m.sequence IS NOT NULL" + shown + ") SELECT " + columns +
		" FROM (SELECT m.*, sum(" + messageSize + ") OVER (ORDER BY m.pin DESC) AS total FROM halves m) m" + marks +
		" WHERE m.total <= " + most, l.args
}

// ClearContext implements store.Messages.
func (s *Store) ClearContext(ctx context.Context, scope store.Scope, sessionID parley.ID) (parley.Session, error) {
	return transact(
		ctx,
		s,
		scope.WorkspaceID,
		func(a *attempt) (parley.Session, error) { return a.tx.ClearContext(scope, sessionID) },
	)
}
