package postgres

import (
	"slices"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// recordQuery builds the query over the record, by sequence; "" if no message of the record can match. Several roles
// become one query each, merged in order, so the index of roles serves them, too.
func recordQuery(
	columns string,
	scope store.Scope,
	sessionID parley.ID,
	shared []transition.Part,
	q store.MessageQuery,
) (string, []arg) {
	if q.AfterPosition != nil || q.Status == parley.MessageQueued {
		return "", nil
	}
	var l filter
	log := l.visibleLog(scope, sessionID)
	word, _ := direction(!q.Descending)
	limit, _ := limited(q.Limit)
	order := " ORDER BY m.sequence " + word
	roles := slices.Compact(slices.Sorted(slices.Values(q.Roles))) // ignore repeated roles
	arms := make([]string, 0, max(len(roles), 1)*(len(shared)+1))
	for _, logs := range l.logs(log, touchedParts(shared, q)) {
		for i := range max(len(roles), 1) {
			l.where.Reset()
			l.record(logs, q, roles[min(i, len(roles)):min(i+1, len(roles))])
			arms = append(arms, " FROM parley.messages m WHERE "+l.where.String()+order+limit)
		}
	}
	rows := merged(arms, order+limit)
	columns, marks := l.ownMarks(columns, sessionID, shared)
	if q.MaxBytes <= 0 {
		return "SELECT " + columns + " FROM (" + rows + ") m" + marks + order, l.args
	}
	return l.sized(columns, rows, order, marks, 2, q.MaxBytes), l.args
}

// sized selects the messages that begin within a number of bytes, and the first few in any case.
func (l *filter) sized(columns, rows, order, marks string, first, most int) string {
	return "SELECT " + columns + " FROM (SELECT m.*, row_number() OVER w AS row, sum(" + messageSize +
		") OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before" +
		" FROM (" + rows + ") m WINDOW w AS (" + strings.TrimSpace(order) + ")) m" + marks +
		" WHERE m.row <= " + strconv.Itoa(first) + " OR m.before < " + l.arg(most) + order
}

// messageSize computes parley.Message.Size of a row without reading large values: those beyond the page's end stay on
// disk.
const messageSize = "octet_length(m.content)::bigint + octet_length(m.context_note) + " +
	"coalesce(octet_length(m.provider_data), 0) + octet_length(m.metadata)"

// record adds the terms for messages of the record, for one role or for all.
func (l *filter) record(logs string, q store.MessageQuery, role []parley.Role) {
	l.must(logs)
	if !q.TurnID.IsZero() {
		l.must("m.turn_id = ?", q.TurnID)
	}
	if q.ToolName != "" {
		l.must("m.tool_name = ? AND m.tool_name <> ''", q.ToolName)
	}
	if q.AgentType != "" {
		l.must("m.agent_type = ? AND m.agent_type <> ''", q.AgentType)
	}
	switch {
	case q.Iteration != nil && *q.Iteration > 0:
		l.must("m.iteration = ? AND m.iteration > 0", *q.Iteration)
	case q.Iteration != nil:
		l.must("m.iteration = ?", *q.Iteration)
	}
	switch { // most messages are completed and not internal, so those are found by sequence
	case q.Status == parley.MessageCompleted:
		l.must("m.status = 'completed'")
	case q.Status != "":
		l.must("m.status = ? AND m.status <> 'completed'", string(q.Status))
	}
	if len(role) == 1 {
		l.must("m.role = ?", string(role[0]))
	}
	switch {
	case q.Internal != nil && *q.Internal:
		l.must("m.internal")
	case q.Internal != nil:
		l.must("NOT m.internal")
	}
	switch {
	case q.Descending && q.AfterSequence > 0:
		l.must("m.sequence < ?", q.AfterSequence)
	case !q.Descending:
		l.must("m.sequence > ?", q.AfterSequence)
	}
}

// queueQuery builds the query over the queue, which follows the record; "" if the list does not include it.
func queueQuery(columns string, sessionID parley.ID, q store.MessageQuery) (string, []arg) {
	if q.Descending || q.RecordOnly || q.Status != "" && q.Status != parley.MessageQueued {
		return "", nil
	}
	var l filter // at most MaxQueued rows, so one index is enough
	l.must("m.workspace_id = "+here+" AND m.session_id = ? AND m.position IS NOT NULL", sessionID)
	if q.AfterPosition != nil {
		l.must("m.position > ?", *q.AfterPosition)
	}
	if len(q.Roles) > 0 {
		roles := make([]string, len(q.Roles))
		for i, role := range q.Roles {
			roles[i] = string(role)
		}
		l.must("m.role = ANY(?)", roles)
	}
	if !q.TurnID.IsZero() {
		l.must("m.turn_id = ?", q.TurnID)
	}
	if q.Internal != nil {
		l.must("m.internal = ?", *q.Internal)
	}
	if q.Iteration != nil {
		l.must("m.iteration = ?", *q.Iteration)
	}
	if q.ToolName != "" {
		l.must("m.tool_name = ?", q.ToolName)
	}
	if q.AgentType != "" {
		l.must("m.agent_type = ?", q.AgentType)
	}
	limit, _ := limited(q.Limit)
	return "SELECT " + columns + " FROM parley.messages m WHERE " + l.where.String() + " ORDER BY m.position" +
		limit, l.args
}
