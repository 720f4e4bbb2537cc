package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// planned is a database with enough rows to make the planner choose, in many workspaces: the queried one has a tenth of
// the sessions.
type planned struct {
	t         *testing.T
	conn      *pgx.Conn
	workspace parley.ID
	session   parley.ID // with most of the messages
}

func newPlanned(t *testing.T) *planned {
	t.Helper()
	conn := connected(t, ownDatabase(t))
	p := &planned{t: t, conn: conn, workspace: parley.NewID(), session: parley.NewID()}
	id := func(of string) string { return "md5((" + of + ")::text)::uuid" }
	workspace := fmt.Sprintf("CASE WHEN i %% 10 = 0 THEN '%s'::uuid ELSE md5('w' || i %% 500)::uuid END", p.workspace)
	run(
		t,
		conn,
		"BEGIN",
		"SET LOCAL ROLE "+systemRole,
		`INSERT INTO parley.sessions (id, workspace_id, agent_id, owner_id, visibility, project_id, parent_session_id,
			log_id, kind, mode, type, feature, task, key,
 pinned, status, archived_at, created_at, updated_at) SELECT `+id(
			"i",
		)+", "+workspace+", "+id(
			"i / 10 % 7",
		)+", "+id(
			"i / 10 % 3",
		)+`, 'private',
 CASE WHEN i / 10 % 5 = 0 THEN `+id(
			"i / 10 % 50",
		)+" END, CASE WHEN i / 10 % 9 = 0 THEN "+id(
			"i / 10 % 90",
		)+" END, "+id(
			"i",
		)+`,
 CASE WHEN i / 10 % 11 = 0 THEN 'tool' ELSE 'agent' END, CASE WHEN i / 10 % 13 = 0 THEN 'background' ELSE 'foreground'
  END,
 CASE WHEN i / 10 % 3 = 0 THEN 't' || i / 10 % 20 ELSE '' END,
  CASE WHEN i / 10 % 4 = 0 THEN 'f' || i / 10 % 40 ELSE '' END,
  	CASE WHEN i / 10 % 8 = 0 THEN 'k' || i / 10 % 80 ELSE '' END,
 NULL, i / 10 % 100 = 0, (ARRAY['completed', 'completed', 'completed', 'completed', 'failed', 'running', 'pending',
  'completed'])[1 + i / 10 % 8],
 CASE WHEN i / 10 % 6 = 0 THEN 1 END, i, i FROM generate_series(1, 40000) i`,
		"INSERT INTO parley.heads (session_id, workspace_id, log_id, turn_id, holder) "+
			"SELECT id, workspace_id, log_id, CASE WHEN status = 'running' THEN agent_id END, "+
			"CASE WHEN status = 'running' THEN owner_id END FROM parley.sessions",
		"INSERT INTO parley.session_tags SELECT workspace_id, 'tag' || created_at / 10 % 30, id FROM parley.sessions",
		fmt.Sprintf(
			`INSERT INTO parley.sessions (id, workspace_id, agent_id, owner_id, visibility, log_id, kind, mode, status,
				created_at, updated_at)
 VALUES ('%[2]s', '%[1]s', '%[2]s', '%[2]s', 'private', '%[2]s', 'agent', 'foreground', 'completed', 5, 5)`,
			p.workspace,
			p.session,
		),
		`INSERT INTO parley.messages (id, workspace_id, session_id, log_id, sequence, turn_id, role, status,
			author_kind, content, tool_name, tool_call_id, internal, agent_type, iteration,
 context_edge, created_at, updated_at) SELECT `+id(
			"i",
		)+fmt.Sprintf(
			`, '%s', s, s, CASE WHEN i <= 20000 THEN i ELSE i / 20 END, `,
			p.workspace,
		)+id(
			"i / 4",
		)+`,
 (ARRAY['user', 'assistant', 'tool_call', 'tool_result'])[1 + i % 4],
  CASE WHEN i % 50 = 0 THEN 'failed' ELSE 'completed' END, 'person', '{"text":""}',
 CASE WHEN i % 4 > 1 THEN 'tool' || i % 9 ELSE '' END, CASE WHEN i % 4 > 1 THEN 'call' || i ELSE '' END, i % 30 = 0,
  CASE WHEN i % 40 = 0 THEN 'critic' ELSE '' END, i % 60 % 7,
 i % 9000 = 0, i, i FROM generate_series(1, 40000) i, LATERAL (SELECT CASE WHEN i <= 20000 THEN '`+p.session.String()+
			"'::uuid ELSE "+id(
			"i % 20",
		)+` END) s (s)`,
		`INSERT INTO parley.agents (id, workspace_id, slug, status, version, tags, body, created_at, updated_at)
			SELECT `+id(
			"i",
		)+", "+workspace+`, 'a' || i,
 CASE WHEN i / 10 % 20 = 0 THEN 'archived' ELSE 'active' END, 1, '[]', '{}', i, i FROM generate_series(1, 20000) i`,
		"INSERT INTO parley.agent_tags SELECT workspace_id, 'tag' || created_at / 10 % 30, id FROM parley.agents",
		"INSERT INTO parley.projects (id, workspace_id, path, name, created_at, last_access_at) SELECT "+id(
			"i",
		)+", "+workspace+", '/' || i, 'p', i, i FROM generate_series(1, 20000) i",
		"INSERT INTO parley.turns (id, workspace_id, session_id, trigger_message_id, ordinal, status, created_at) "+
			"SELECT "+id(
			"i",
		)+", "+workspace+", "+id(
			"i % 300",
		)+", "+id(
			"i",
		)+", i, 'completed', i FROM generate_series(1, 20000) i",
		"INSERT INTO parley.calls (id, workspace_id, session_id, turn_id, message_id, ordinal, step, attempt, model, "+
			"parameters, think, search, manifest, request_hash, encoder_version, outcome, created_at) SELECT "+
			id(
				"i",
			)+", "+workspace+", "+id(
			"i % 300",
		)+", "+id(
			"i % 3000",
		)+", "+id(
			"i",
		)+", i, 1, 1, 'm', '{}', false, false, '{}', '', 1, 'completed', i FROM generate_series(1, 20000) i",
		"INSERT INTO parley.events (workspace_id, session_id, sequence, type, data, created_at) SELECT "+
			workspace+", "+id(
			"i % 300",
		)+", i, 't', '{}', i FROM generate_series(1, 20000) i",
		"INSERT INTO parley.session_marks (session_id, sequence, workspace_id, message_id, pinned, context_edge, "+
			"set_aside, pinned_event) SELECT "+id(
			"i % 300",
		)+", i, "+workspace+", "+id(
			"i",
		)+", true, i % 50 = 0, false, 0 FROM generate_series(1, 20000) i",
		"INSERT INTO parley.approvals (id, workspace_id, session_id, root_id, agent_id, turn_id, message_id, "+
			"tool_call_id, tool_name, arguments, fingerprint, state, created_at, expires_at) SELECT "+
			id(
				"i",
			)+", "+workspace+", "+id(
			"i % 3000",
		)+", CASE WHEN i % 3 = 0 THEN "+id(
			"i % 300",
		)+" ELSE "+id(
			"i % 3000",
		)+" END, "+id(
			"i / 10 % 7",
		)+", "+id(
			"i % 3000",
		)+", "+id(
			"i",
		)+
			", 'c', 't', '{}', '', CASE WHEN i / 10 % 40 = 0 THEN 'pending' ELSE 'approved' END, i, i FROM "+
			"generate_series(1, 40000) i",
		"COMMIT",
		"ANALYZE",
	)
	return p
}

// plan returns how the server runs a query for a tenant, with a custom plan and with a generic one.
func (p *planned) plan(inOrder bool, query string, args []arg) string {
	p.t.Helper()
	var all strings.Builder
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		tx, err := p.conn.Begin(p.t.Context())
		if err != nil {
			p.t.Fatal(err)
		}
		enter := enterTenant
		if inOrder {
			enter = enterOrdered
		}
		if _, err := tx.Exec(p.t.Context(), enter, p.workspace.String()); err != nil {
			p.t.Fatal(err)
		}
		if _, err := tx.Exec(p.t.Context(), "SELECT set_config('plan_cache_mode', $1, true)", mode); err != nil {
			p.t.Fatal(err)
		}
		name := "planned_" + mode
		if _, err := tx.Prepare(p.t.Context(), name, query); err != nil {
			p.t.Fatalf("%s\n%v", query, err)
		}
		literals := make([]string, len(args))
		for i, value := range args {
			switch v := value.(type) {
			case parley.ID:
				literals[i] = "'" + v.String() + "'"
			case string:
				literals[i] = "'" + v + "'"
			case []string:
				literals[i] = "'{" + strings.Join(v, ",") + "}'"
			default:
				literals[i] = fmt.Sprint(v)
			}
		}
		explain := "EXPLAIN EXECUTE " + name
		if len(literals) > 0 {
			explain += " (" + strings.Join(literals, ", ") + ")"
		}
		rows, err := tx.Query(p.t.Context(), explain, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			p.t.Fatalf("%s\n%v", explain, err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			p.t.Fatalf("%s\n%v", explain, err)
		}
		fmt.Fprintf(&all, "%s:\n  %s\n", mode, strings.Join(lines, "\n  "))
		if err := tx.Rollback(context.Background()); err != nil {
			p.t.Fatal(err)
		}
		if err := p.conn.Deallocate(context.Background(), name); err != nil {
			p.t.Fatal(err)
		}
	}
	return all.String()
}

// sorted says whether a page may be sorted, because its index has another order.
type sorted bool

// served requires that no table is read whole and that one of the indexes serves, in both kinds of plan; and that a
// page is read in order, unless it may be sorted.
func (p *planned) served(may sorted, index, query string, args []arg) {
	p.t.Helper()
	plan := p.plan(!bool(may), query, args)
	for _, part := range strings.Split(plan, "force_generic_plan:") {
		switch {
		case strings.Contains(part, "Seq Scan"):
			p.t.Errorf("a whole table is read for\n%s\n%s", query, plan)
		case !bool(may) && strings.Contains(part, "Sort  (cost"):
			p.t.Errorf("a page is sorted instead of read in order for\n%s\n%s", query, plan)
		case !slices.ContainsFunc(strings.Split(index, "|"), func(one string) bool {
			return strings.Contains(part, " "+one+" ")
		}):
			p.t.Errorf("%s does not serve\n%s\n%s", index, query, plan)
		default:
			continue
		}
		return
	}
}

func TestFiltersAreServedByIndexes(t *testing.T) {
	t.Parallel()
	p := newPlanned(t)
	for name, check := range map[string]func(*planned){"sessions": sessionPlans, "messages": messagePlans,
		"other lists": otherPlans, "approvals": approvalPlans, "what waits": parkedPlans, "chains": chainPlans,
		"errands": duePlans, "transforms": transformPlans} {
		t.Run(name, func(t *testing.T) {
			within := *p
			within.t = t
			check(&within)
		})
	}
}

func sessionPlans(p *planned) {
	id, yes, no := parley.NewID(), true, false
	for index, queries := range map[string][]store.SessionQuery{
		"sessions_recent": {{}, {AfterID: id, AfterUpdated: 5000}, {Ascending: true, AfterID: id, AfterUpdated: 5000},
			{Archived: &no}, {Pinned: &no},
			{Kind: parley.KindAgent}, {Mode: parley.ModeForeground}, {Status: parley.SessionCompleted},
			{Limit: parley.MaxPage}},
		"sessions_agent":   {{AgentID: id}},
		"sessions_project": {{ProjectID: id}},
		"sessions_branch":  {{BranchesOf: id}},
		"sessions_parent":  {{ParentID: id}},
		"sessions_type":    {{Type: "t3"}},
		"sessions_feature": {{Feature: "f4"}},
		"sessions_task":    {{Task: "k8"}},
		"sessions_kind":    {{Kind: parley.KindTool}},
		"sessions_mode":    {{Mode: parley.ModeBackground}},
		"sessions_status": {{Status: parley.SessionPending}, {Status: parley.SessionRunning},
			{Status: parley.SessionFailed}},
		"sessions_pinned":   {{Pinned: &yes}},
		"sessions_archived": {{Archived: &yes}},
	} {
		for _, query := range queries {
			for _, viewer := range []parley.ID{{}, id} {
				if query.Limit == 0 {
					query.Limit = 10
				}
				text, _, args := sessionsQuery(store.Scope{ViewerID: viewer}, query)
				p.served(false, index, text, args)
			}
		}
	}
	for index, query := range map[string]store.SessionQuery{
		"sessions_created":  {CreatedFrom: 39000, CreatedTo: 39100},
		"session_tags_pkey": {Tag: "tag4"},
	} {
		text, _, args := sessionsQuery(store.Scope{}, query)
		p.served(true, index, text, args)
	}
	for _, query := range []store.SessionQuery{ // any index will do, if no table is read whole
		{AgentID: id, Kind: parley.KindTool, Status: parley.SessionFailed, AfterID: id, AfterUpdated: 5000},
		{ParentID: id, ProjectID: id, Type: "t"},
		{Task: "k8", Feature: "f4", Type: "t3"}, {Pinned: &yes, Archived: &no},
		{Tag: "tag4", Kind: parley.KindTool, AfterID: id, AfterUpdated: 5000},
		{CreatedTo: 9}, {CreatedFrom: 1, CreatedTo: 9000, AfterID: id, AfterUpdated: 5000},
	} {
		text, _, args := sessionsQuery(store.Scope{}, query)
		if plan := p.plan(false, text, args); strings.Contains(plan, "Seq Scan") {
			p.t.Errorf("a whole table is read for\n%s\n%s", text, plan)
		}
	}
}

func messagePlans(p *planned) {
	id, yes, no, zero, two := parley.NewID(), true, false, 0, 2
	position := int64(3)
	forked := []transition.Part{{LogID: parley.NewID(), Through: 400}, {LogID: p.session, Through: 19_000}}
	for index, queries := range map[string][]store.MessageQuery{
		"messages_sequence": {{}, {AfterSequence: 7}, {Descending: true}, {Descending: true, AfterSequence: 700},
			{Internal: &no}, {Iteration: &zero},
			{Status: parley.MessageCompleted}, {Limit: parley.MaxPage, MaxBytes: parley.MaxPageBytes}},
		"messages_role": {{Roles: []parley.Role{parley.RoleSummary}},
			{Roles: []parley.Role{parley.RoleUser, parley.RoleSummary, parley.RoleUser}},
			{Roles: []parley.Role{parley.RoleUser, parley.RoleAssistant}, Descending: true, AfterSequence: 700}},
		"messages_status":    {{Status: parley.MessageFailed}, {Status: parley.MessageStreaming}},
		"messages_internal":  {{Internal: &yes}},
		"messages_turn":      {{TurnID: id}},
		"messages_iteration": {{Iteration: &two}},
		"messages_tool":      {{ToolName: "tool3"}},
		"messages_agenttype": {{AgentType: "critic"}},
	} {
		for _, query := range queries {
			if query.Limit == 0 {
				query.Limit = 10
			}
			text, args := recordQuery(messageColumns, store.Scope{}, p.session, nil, query)
			p.served(false, index, text, args)
			text, args = recordQuery(messageColumns, store.Scope{}, id, forked, query)
			p.served(false, index, text, args)
		}
	}
	for _, query := range []store.MessageQuery{{}, {AfterPosition: &position},
		{Roles: []parley.Role{parley.RoleUser, parley.RoleSummary}, Internal: &no}} {
		text, args := queueQuery(messageColumns, p.session, query)
		p.served(false, "messages_queue", text, args)
	}
	text, _, args := contextTail(p.session, nil, 9, 9, 9)
	p.served(false, "messages_edge|messages_marked", text, args)
	text, _, args = contextTail(id, forked, 9, 9, 9)
	p.served(false, "messages_sequence", text, args)
	contextPlans(p, forked)
}

// contextPlans checks the queries for what precedes a window.
func contextPlans(p *planned, forked []transition.Part) {
	id := parley.NewID()
	summary, args := activeSummary(p.session, nil)
	p.served(false, "messages_role", "SELECT "+messageColumns+summary, args)
	text, args := firstTask(p.session, nil)
	p.served(false, "messages_role", text, args)
	text, args = pinnedMessages(p.session, nil) // a few dozen rows, in the order in which their lengths are added up
	p.served(true, "messages_pinned|messages_marked", text, args)
	summary, args = activeSummary(id, forked)
	p.served(false, "messages_role", "SELECT "+messageColumns+summary, args)
	text, args = firstTask(id, forked)
	p.served(false, "messages_role", text, args)
	text, args = pinnedMessages(id, forked)
	p.served(true, "messages_pinned|messages_marked", text, args)
}

func approvalPlans(p *planned) {
	id := parley.NewID()
	for index, queries := range map[string][]store.ApprovalQuery{
		"approvals_recent": {{}, {AfterID: id, AfterCreated: 5000}, {Ascending: true, AfterID: id, AfterCreated: 5000},
			{State: parley.ApprovalApproved}},
		"approvals_pending": {{State: parley.ApprovalPending},
			{State: parley.ApprovalPending, Ascending: true, AfterID: id, AfterCreated: 5000}},
		"approvals_agent": {{AgentID: id}, {AgentID: id, AfterID: id, AfterCreated: 5000}},
	} {
		for _, query := range queries {
			query.Limit = 10
			text, _, args := approvalsQuery(store.Scope{}, query)
			p.served(false, index, text, args)
		}
	}
	for _, index := range []string{"approvals_session", "approvals_root"} { // both serve; two short runs are merged
		text, _, args := approvalsQuery(store.Scope{}, store.ApprovalQuery{SessionID: id, Limit: 10})
		p.served(true, index, text, args)
	}
}

// parkedPlans: counting parked turns, without a tenant, uses the index of open heads.
func parkedPlans(p *planned) {
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		run(
			p.t,
			p.conn,
			"BEGIN",
			enterSystemOrdered,
			"SET LOCAL plan_cache_mode = "+mode,
			"PREPARE parked AS "+parkedTurns,
		)
		rows, err := p.conn.Query(
			p.t.Context(),
			fmt.Sprintf("EXPLAIN EXECUTE parked (%d)", store.MaxParkedLook),
			pgx.QueryExecModeSimpleProtocol,
		)
		if err != nil {
			p.t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			p.t.Fatal(err)
		}
		if plan := strings.Join(
			lines,
			"\n",
		); !strings.Contains(plan, " heads_open ") ||
			strings.Contains(plan, "Seq Scan on heads") {
			p.t.Errorf("%s:\n%s", mode, plan)
		}
		run(p.t, p.conn, "ROLLBACK", "DEALLOCATE parked")
	}
}

// duePlans: errands and schedules that are due are found by an index, however many are due later.
func duePlans(p *planned) {
	run(
		p.t,
		p.conn,
		"SET ROLE "+systemRole,
		`INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at)
 SELECT gen_random_uuid(), 'expire_run', gen_random_uuid(), now, now + 86400000 + i
  FROM parley.now_ms() now, generate_series(1, 20000) i`,
		`INSERT INTO parley.schedules (id, workspace_id, agent_id, name, every, time_zone, anchor, message, enabled,
  overlap, missed, author_kind, author_id, author_name, next_at, moved_at, skipped, revision, created_at, updated_at)
 SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), '', '1h', 'UTC', now, '', true, 'skip',
   'once', 'user', gen_random_uuid(), '', now + 86400000 + i, now, 0, 1, now, now
  FROM parley.now_ms() now, generate_series(1, 20000) i`,
		"RESET ROLE",
		"ANALYZE parley.outbox",
		"ANALYZE parley.schedules",
	)
	for _, query := range []struct {
		text, parameters, arguments string
		want                        []string
	}{
		{takeErrand, "bigint", "1", []string{"Index Cond: (due_at <= "}},
		{errandsDue, "", "", []string{" outbox_due "}},
		{catchUp, "bigint", "2000", []string{" outbox_created ", "One-Time Filter: "}},
		{dueSchedules, "bigint", "100", []string{" schedules_due ", "Index Cond: (next_at <= "}},
		{aheadSchedules, "bigint, bigint", "100, 2000", []string{" schedules_moved ", "Index Cond: (moved_at > "}},
	} {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			parameters, arguments := "", ""
			if query.parameters != "" {
				parameters, arguments = "("+query.parameters+")", "("+query.arguments+")"
			}
			run(p.t, p.conn, "BEGIN", enterSystem, "SET LOCAL plan_cache_mode = "+mode,
				"PREPARE due"+parameters+" AS "+query.text)
			rows, err := p.conn.Query(p.t.Context(), "EXPLAIN EXECUTE due"+arguments, pgx.QueryExecModeSimpleProtocol)
			if err != nil {
				p.t.Fatal(err)
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				p.t.Fatal(err)
			}
			plan := strings.Join(lines, "\n")
			for _, want := range query.want {
				if !strings.Contains(plan, want) {
					p.t.Errorf("%s: no %q for\n%s\n%s", mode, want, query.text, plan)
				}
			}
			run(p.t, p.conn, "ROLLBACK", "DEALLOCATE due")
		}
	}
}

func otherPlans(p *planned) {
	id := parley.NewID()
	for index, queries := range map[string][]store.AgentQuery{
		"agents_slug":   {{}, {AfterSlug: "a"}, {Descending: true, AfterSlug: "a5"}},
		"agents_status": {{Status: parley.AgentArchived}},
	} {
		for _, query := range queries {
			text, _, args := agentsQuery(query)
			p.served(false, index, text, args)
		}
	}
	text, _, args := agentsQuery(store.AgentQuery{Tag: "tag3"})
	p.served(true, "agent_tags_pkey", text, args)
	for _, query := range []store.ProjectQuery{{}, {AfterID: id, AfterAccess: 4000}, {Ascending: true}} {
		text, _, args := projectsQuery(query)
		p.served(false, "projects_recent", text, args)
	}
	for _, query := range []store.TurnQuery{{}, {Status: parley.TurnFailed, AfterID: id},
		{Ascending: true, AfterID: id}} {
		text, _, args := turnsQuery(id, query)
		p.served(false, "turns_session", text, args)
	}
	text, _, args = callsQuery(id, store.CallQuery{AfterID: id})
	p.served(false, "calls_session", text, args)
	text, _, args = callsQuery(id, store.CallQuery{TurnID: id})
	p.served(false, "calls_turn", text, args)
}

// chainPlans: a turn in the background asks for its chain before each request. Row-level security keeps a condition on
// a computed id from becoming an index's condition, so that a whole workspace's messages were once read for it.
func chainPlans(p *planned) {
	for _, query := range []struct {
		text string
		args []arg
	}{
		{chainOf, []arg{p.workspace, parley.NewID(), parley.MaxToolDepth + 1}},
		{chainBudget, []arg{p.workspace, parley.NewID()}},
		{makeChain, []arg{p.workspace, parley.NewID()}},
	} {
		plan := p.plan(false, query.text, query.args)
		for _, table := range []string{"sessions", "messages", "turns", "calls"} {
			if strings.Contains(plan, "Seq Scan on "+table) {
				p.t.Errorf("all %s are read for\n%s\n%s", table, query.text, plan)
			}
		}
	}
}
