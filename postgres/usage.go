package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// usageQuery sums up calls by the index of their time.
func usageQuery(scope store.Scope, q store.UsageQuery) (text string, rows int, args []arg) {
	id, model, day, name, group, order := "NULL::uuid", "''::text", "0::bigint", "''::text", "", "2 DESC, 3 DESC"
	join := ""
	switch q.Group {
	case parley.UsageByAgent:
		id, name, group = "c.agent_id", "max(coalesce(a.slug, ''))", "c.agent_id"
		join = " LEFT JOIN parley.agents a ON a.workspace_id = c.workspace_id AND a.id = c.agent_id"
	case parley.UsageByModel:
		model, group = "c.model", "c.model"
	case parley.UsageByPurpose:
		model, group = "c.purpose", "c.purpose"
	case parley.UsageBySession:
		id, name, group = "c.session_id", "max(coalesce(c.title, ''))", "c.session_id"
	case parley.UsageByDay:
		day, group, order = "c.created_at / 86400000", "c.created_at / 86400000", "6 DESC"
	}
	if q.Daily && group != "" && q.Group != parley.UsageByDay {
		day, group, order = "c.created_at / 86400000", group+", c.created_at / 86400000", "6 DESC, "+order
	}
	var l filter
	l.must("c.workspace_id = "+here+" AND c.created_at >= ? AND c.created_at < ? AND c.outcome <> 'open'", q.From, q.To)
	l.visible(scope)
	l.among("s.agent_id", q.AgentIDs)
	l.among("s.project_id", q.ProjectIDs)
	l.among("s.id", q.SessionIDs)
	ofCalls := l.where.String()
	l.where.Reset()
	l.dryUsage(scope, q)
	text = "SELECT count(*), coalesce(sum(c.cost), 0)::bigint, " +
		"(coalesce(sum(u.input_tokens), 0) + coalesce(sum(u.output_tokens), 0))::bigint, " + id + ", " + model + ", " +
		day + ", " + name + `,
 coalesce(sum(u.input_tokens), 0)::bigint, coalesce(sum(u.output_tokens), 0)::bigint,
  coalesce(sum(u.cached_tokens), 0)::bigint,
 count(*) FILTER (WHERE coalesce(u.input_tokens, u.output_tokens) IS NULL), count(*) FILTER (WHERE c.cost IS NULL),
  count(*) FILTER (WHERE u.cached_tokens > 0),
 coalesce(sum(u.cache_write_tokens), 0)::bigint, coalesce(sum(c.saved), 0)::bigint,
 count(*) FILTER (WHERE c.estimated), coalesce(sum(c.cost) FILTER (WHERE c.estimated), 0)::bigint
 FROM (SELECT ` + usedColumns + `, coalesce(nullif(c.purpose, ''), 'step') AS purpose, s.agent_id, s.title
 FROM parley.calls c JOIN parley.sessions s ON s.workspace_id = c.workspace_id AND s.id = c.session_id
 WHERE ` + ofCalls + `
 UNION ALL SELECT ` + usedColumns + `, 'dry_run', c.agent_id, s.title
 FROM parley.dry_calls c LEFT JOIN parley.sessions s ON s.workspace_id = c.workspace_id AND s.id = c.session_id
 WHERE ` + l.where.String() + `) c` + join + `
 LEFT JOIN LATERAL json_to_record(c.usage::json) u (input_tokens bigint, output_tokens bigint, cached_tokens bigint,
  cache_write_tokens bigint) ON true`
	if group != "" {
		text += " GROUP BY " + group
	}
	limit, rows := limited(q.Limit)
	return text + " ORDER BY " + order + ", 4, 5" + limit, rows, l.args
}

// usedColumns are what usage sums up of a call, also of a dry run's.
const usedColumns = "c.workspace_id, c.session_id, c.model, c.usage, c.cost, c.saved, c.estimated, c.created_at"

// dryUsage selects the calls of dry runs in visible sessions, and of the viewer's own in sessions that were never made.
func (l *filter) dryUsage(scope store.Scope, q store.UsageQuery) {
	l.must("c.workspace_id = "+here+" AND c.created_at >= ? AND c.created_at < ?", q.From, q.To)
	if scope.ViewerID.IsZero() {
		l.must("(c.session_id IS NULL OR s.deleted_at IS NULL AND s.id IS NOT NULL)")
	} else {
		l.must("(c.session_id IS NULL AND c.owner_id = ? OR s.deleted_at IS NULL AND (s.owner_id = ? OR "+
			"s.visibility = 'workspace'))", scope.ViewerID, scope.ViewerID)
	}
	l.among("c.agent_id", q.AgentIDs)
	l.among("s.project_id", q.ProjectIDs)
	l.among("c.session_id", q.SessionIDs)
}

func scanUsage(r *row, group parley.UsageGroup) (parley.UsageSum, error) {
	u := parley.UsageSum{Calls: r.int64(), Cost: parley.Money(r.int64())}
	r.int64() // all tokens, for the order
	id, model, day, name := r.id(), r.text(), r.int64(), r.text()
	u.Name = name
	switch group {
	case parley.UsageByModel:
		u.Model = parley.ModelID(model)
	case parley.UsageByPurpose:
		u.Purpose = parley.UsagePurpose(model)
	case parley.UsageByAgent:
		u.AgentID = id
	case parley.UsageBySession:
		u.SessionID = id
	}
	u.Day = parley.Time(day * 86400000) // 0 unless sums are daily
	u.Tokens = parley.Tokens{
		InputTokens:  r.int64(),
		OutputTokens: r.int64(),
		CachedTokens: r.int64(),
		Unknown:      r.int64(),
	}
	u.Unpriced, u.CacheHits, u.CacheWriteTokens, u.Saved = r.int64(), r.int64(), r.int64(), parley.Money(r.int64())
	u.Estimated, u.EstimatedCost = r.int64(), parley.Money(r.int64())
	return u, nil
}

// Usage implements store.Usage.
func (s *Store) Usage(ctx context.Context, scope store.Scope, query store.UsageQuery) ([]parley.UsageSum, error) {
	text, rows, args := usageQuery(scope, query)
	return all(
		ctx,
		s,
		tenant(scope.WorkspaceID),
		func(r *row) (parley.UsageSum, error) { return scanUsage(r, query.Group) },
		text,
		rows,
		args...)
}
