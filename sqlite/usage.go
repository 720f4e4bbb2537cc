package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// usageOf selects one number of a call's usage; null if unknown.
func usageOf(field string) string {
	return "(CASE WHEN json_valid(c.usage) THEN c.usage ->> '$." + field + "' END)"
}

// usageQuery sums up calls by the index of their time.
func usageQuery(scope store.Scope, q store.UsageQuery) (text string, args []arg) {
	id, model, day, name, group, order := "NULL", "''", "0", "''", "", "2 DESC, 3 DESC"
	join := ""
	switch q.Group {
	case parley.UsageByAgent:
		id, name, group = "c.agent_id", "max(coalesce(a.slug, ''))", "c.agent_id"
		join = " LEFT JOIN agents a ON a.id = c.agent_id AND a.workspace_id = c.workspace_id"
	case parley.UsageByModel:
		model, group = "c.model", "c.model"
	case parley.UsageByPurpose:
		model, group = "c.purpose", "c.purpose"
	case parley.UsageBySession:
		id, name, group = "c.session_id", "max(coalesce(c.title, ''))", "c.session_id"
	case parley.UsageByDay:
		day, group, order = "c.created_at / 86400000", "c.created_at / 86400000", "day DESC"
	}
	if q.Daily && group != "" && q.Group != parley.UsageByDay {
		day, group, order = "c.created_at / 86400000", group+", c.created_at / 86400000", "day DESC, "+order
	}
	var l list
	l.must(
		"c.workspace_id = ? AND c.created_at >= ? AND c.created_at < ? AND c.outcome <> 'open'",
		scope.WorkspaceID,
		q.From,
		q.To,
	)
	l.visible(scope)
	l.among("s.agent_id", q.AgentIDs)
	l.among("s.project_id", q.ProjectIDs)
	l.among("s.id", q.SessionIDs)
	var dry list
	dry.dryUsage(scope, q)
	input, output, cached := usageOf("input_tokens"), usageOf("output_tokens"), usageOf("cached_tokens")
	text = "SELECT count(*), coalesce(sum(c.cost), 0), coalesce(sum(" + input + "), 0) + coalesce(sum(" + output +
		"), 0), " + id + ", " + model + ", " + day + " AS day, " + name + `,
 coalesce(sum(` + input + "), 0), coalesce(sum(" + output + "), 0), coalesce(sum(" + cached +
		"), 0), count(*) FILTER (WHERE coalesce(" + input + ", " + output + `) IS NULL),
 count(*) FILTER (WHERE c.cost IS NULL), count(*) FILTER (WHERE ` + cached + " > 0), coalesce(sum(" + usageOf(
		"cache_write_tokens",
	) + `), 0), coalesce(sum(c.saved), 0), count(*) FILTER (WHERE c.estimated),
 coalesce(sum(c.cost) FILTER (WHERE c.estimated), 0)
 FROM (SELECT ` + usedColumns + `, coalesce(nullif(c.purpose, ''), 'step') AS purpose, s.agent_id, s.title
 FROM calls c INDEXED BY calls_time JOIN sessions s ON s.id = c.session_id WHERE ` + l.where.String() + `
 UNION ALL SELECT ` + usedColumns + `, 'dry_run', c.agent_id, s.title
 FROM dry_calls c INDEXED BY dry_calls_time LEFT JOIN sessions s ON s.id = c.session_id WHERE ` + dry.where.String() +
		") c" + join
	if group != "" {
		text += " GROUP BY " + group
	}
	return text + " ORDER BY " + order + ", 4, 5 LIMIT ?", append(append(l.args, dry.args...), limited(q.Limit))
}

// usedColumns are what usage sums up of a call, also of a dry run's.
const usedColumns = "c.workspace_id, c.session_id, c.model, c.usage, c.cost, c.saved, c.estimated, c.created_at"

// dryUsage selects the calls of dry runs in visible sessions, and of the viewer's own in sessions that were never made.
func (l *list) dryUsage(scope store.Scope, q store.UsageQuery) {
	l.must("c.workspace_id = ? AND c.created_at >= ? AND c.created_at < ?", scope.WorkspaceID, q.From, q.To)
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

func scanUsage(r *row, group parley.UsageGroup) parley.UsageSum {
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
	return u
}

// Usage implements store.Usage.
func (s *Store) Usage(
	ctx context.Context,
	scope store.Scope,
	query store.UsageQuery,
) (sums []parley.UsageSum, err error) {
	text, args := usageQuery(scope, query)
	err = s.read(ctx, func(c *conn) error {
		sums = []parley.UsageSum{}
		return c.each(text, func(r *row) error {
			sums = append(sums, scanUsage(r, query.Group))
			return nil
		}, args...)
	})
	return sums, err
}
