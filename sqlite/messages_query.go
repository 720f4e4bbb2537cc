package sqlite

import (
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/store"
)

// recordQuery builds the query over the record, by sequence; "" if no message of the record can match. Several roles
// become one query each, merged in order, so the index of roles serves them, too.
func recordQuery(columns string, at location, q store.MessageQuery, limit int) (string, []arg) {
	if q.AfterPosition != nil || q.Status == parley.MessageQueued {
		return "", nil
	}
	word, _ := direction(!q.Descending)
	order := " ORDER BY m.sequence " + word + " LIMIT ?"
	roles := slices.Compact(slices.Sorted(slices.Values(q.Roles))) // ignore repeated roles
	if len(roles) < 2 {
		text, args := recordArm(columns, at, q, roles)
		return text + order, append(args, limit)
	}
	var texts []string
	var args []arg
	for i := range roles {
		text, armArgs := recordArm(columns, at, q, roles[i:i+1])
		texts, args = append(texts, text), append(args, armArgs...)
	}
	return strings.Join(texts, " UNION ALL ") + order, append(args, limit)
}

// recordArm builds the query for one role, or for all.
func recordArm(columns string, at location, q store.MessageQuery, role []parley.Role) (string, []arg) {
	var l list
	l.must("m.log_id = ? AND m.sequence IS NOT NULL", at.logID)
	if at.through > 0 {
		l.must("m.sequence <= ?", at.through)
	}
	if !q.TurnID.IsZero() {
		l.by("messages_turn", "m.turn_id = ?", q.TurnID)
	}
	if q.ToolName != "" {
		l.by("messages_tool", "m.tool_name = ? AND m.tool_name <> ''", q.ToolName)
	}
	if q.AgentType != "" {
		l.by("messages_agenttype", "m.agent_type = ? AND m.agent_type <> ''", q.AgentType)
	}
	if q.Iteration != nil {
		if *q.Iteration > 0 {
			l.by("messages_iteration", "m.iteration = ? AND m.iteration > 0", *q.Iteration)
		} else {
			l.must("m.iteration = ?", *q.Iteration)
		}
	}
	switch { // most messages are completed and not internal, so those are found by sequence
	case q.Status == parley.MessageCompleted:
		l.must("m.status = 'completed'")
	case q.Status != "":
		l.by("messages_status", "m.status = ? AND m.status <> 'completed'", string(q.Status))
	}
	if len(role) == 1 {
		l.by("messages_role", "m.role = ?", string(role[0]))
	}
	if q.Internal != nil {
		if *q.Internal {
			l.by("messages_internal", "m.internal = 1")
		} else {
			l.must("m.internal = 0")
		}
	}
	switch {
	case q.Descending && q.AfterSequence > 0:
		l.must("m.sequence < ?", q.AfterSequence)
	case !q.Descending:
		l.must("m.sequence > ?", q.AfterSequence)
	}
	return "SELECT " + columns + " FROM messages m" + l.indexed(
		"messages_sequence",
	) + "WHERE " + l.where.String(), l.args
}

// queueQuery builds the query over the queue, which follows the record; "" if the list does not include it.
func queueQuery(columns string, at location, q store.MessageQuery, limit int) (string, []arg) {
	if q.Descending || q.RecordOnly || q.Status != "" && q.Status != parley.MessageQueued {
		return "", nil
	}
	var l list // at most MaxQueued rows, so one index is enough
	l.must("m.session_id = ? AND m.position IS NOT NULL", at.sessionID)
	if q.AfterPosition != nil {
		l.must("m.position > ?", *q.AfterPosition)
	}
	if len(q.Roles) > 0 {
		roles := make([]arg, len(q.Roles))
		for i, role := range q.Roles {
			roles[i] = string(role)
		}
		l.must("m.role IN (?"+strings.Repeat(", ?", len(roles)-1)+")", roles...)
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
	return "SELECT " + columns + " FROM messages m INDEXED BY messages_queue WHERE " + l.where.String() +
			" ORDER BY m.position LIMIT ?",
		append(
			l.args,
			limit,
		)
}

// listMessages runs the queries of a page in one snapshot: one for each part of the record that the page touches, and
// one for the queue. visit gets each row and its location.
func listMessages(
	c *conn,
	columns string,
	at location,
	q store.MessageQuery,
	visit func(r *row, of location) error,
) error {
	limit, seen := limited(q.Limit), 0
	read := func(of location, text string, args []arg) error {
		return c.each(text, func(r *row) error {
			seen++
			return visit(r, of)
		}, args...)
	}
	for part := range at.parts(q) {
		if text, args := recordQuery(columns, part, q, limit-seen); text != "" {
			if err := read(part, text, args); err != nil || seen >= limit {
				return err
			}
		}
	}
	if text, args := queueQuery(columns, at, q, limit-seen); text != "" {
		return read(at, text, args)
	}
	return nil
}
