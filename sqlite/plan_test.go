package sqlite

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// plan returns how SQLite would run a query.
func plan(t *testing.T, store *Store, query string, args []arg) (steps []string) {
	t.Helper()
	if err := store.read(t.Context(), func(c *conn) error {
		return c.each("EXPLAIN QUERY PLAN "+query, func(r *row) error {
			r.int64()
			r.int64()
			r.int64()
			steps = append(steps, r.text())
			return nil
		}, args...)
	}); err != nil {
		t.Fatalf("%s\n%v", query, err)
	}
	return steps
}

// served requires that no table is scanned and that the named index is searched.
func served(t *testing.T, store *Store, index, query string, args []arg) {
	t.Helper()
	steps := plan(t, store, query, args)
	found := false
	for _, step := range steps {
		if strings.HasPrefix(step, "SCAN ") {
			t.Errorf("a whole table is read: %s\nin %s", step, query)
		}
		found = found || strings.HasPrefix(step, "SEARCH ") && strings.Contains(step, index)
	}
	if !found {
		t.Errorf("%s does not serve\n%s\nbut %s", index, query, strings.Join(steps, "; "))
	}
}

func TestSessionFiltersAreServedByIndexes(t *testing.T) {
	t.Parallel()
	db := opened(t)
	id, yes, no := parley.NewID(), true, false
	for index, queries := range map[string][]store.SessionQuery{
		"sessions_recent": {{}, {AfterID: id, AfterUpdated: 5}, {Ascending: true, AfterID: id, AfterUpdated: 5},
			{Archived: &no}, {Pinned: &no},
			{Kind: parley.KindAgent}, {Mode: parley.ModeForeground}, {Status: parley.SessionCompleted}},
		"sessions_agent": {{AgentID: id},
			{AgentID: id, Kind: parley.KindTool, Status: parley.SessionFailed, AfterID: id, AfterUpdated: 5}},
		"sessions_project": {{ProjectID: id}, {ProjectID: id, AgentID: id}},
		"sessions_branch":  {{BranchesOf: id}, {BranchesOf: id, ParentID: id}},
		"sessions_parent":  {{ParentID: id}, {ParentID: id, ProjectID: id, Type: "t"}},
		"sessions_type":    {{Type: "chat"}},
		"sessions_feature": {{Feature: "f"}, {Feature: "f", Type: "t"}},
		"sessions_task":    {{Task: "t"}, {Task: "t", Feature: "f", Type: "t"}},
		"sessions_kind":    {{Kind: parley.KindTool}},
		"sessions_mode":    {{Mode: parley.ModeBackground}},
		"sessions_status": {{Status: parley.SessionPending}, {Status: parley.SessionRunning},
			{Status: parley.SessionWaiting}, {Status: parley.SessionFailed},
			{Status: parley.SessionCancelled}},
		"sessions_pinned":   {{Pinned: &yes}, {Pinned: &yes, Archived: &no}},
		"sessions_archived": {{Archived: &yes}},
		"sessions_created": {{CreatedFrom: 1}, {CreatedTo: 9},
			{CreatedFrom: 1, CreatedTo: 9, AfterID: id, AfterUpdated: 5}},
		"g USING PRIMARY": {{Tag: "t"}, {Tag: "t", Kind: parley.KindTool, AfterID: id, AfterUpdated: 5}},
	} {
		for _, query := range queries {
			for _, viewer := range []parley.ID{{}, id} {
				text, args := sessionsQuery(store.Scope{WorkspaceID: id, ViewerID: viewer}, query)
				served(t, db, index, text, args)
				if index == "g USING PRIMARY" || index == "sessions_created" {
					continue // found by another index, then sorted
				}
				for _, step := range plan(t, db, text, args) {
					if strings.Contains(step, "TEMP B-TREE") {
						t.Errorf("a page is sorted instead of read in order: %s\nin %s", step, text)
					}
				}
			}
		}
	}
}

func TestMessageFiltersAreServedByIndexes(t *testing.T) {
	t.Parallel()
	db := opened(t)
	id, yes, no, zero, two := parley.NewID(), true, false, 0, 2
	at := location{workspaceID: id, sessionID: id, logID: id}
	position := int64(3)
	for index, queries := range map[string][]store.MessageQuery{
		"messages_sequence": {{}, {AfterSequence: 7}, {Descending: true}, {Descending: true, AfterSequence: 7},
			{Internal: &no}, {Iteration: &zero},
			{Status: parley.MessageCompleted}},
		"messages_role": {{Roles: []parley.Role{parley.RoleUser}},
			{Roles: []parley.Role{parley.RoleUser, parley.RoleSummary, parley.RoleUser}},
			{Roles: []parley.Role{parley.RoleUser, parley.RoleAssistant}, Descending: true, AfterSequence: 7}},
		"messages_status": {{Status: parley.MessageFailed}, {Status: parley.MessageStreaming},
			{Status: parley.MessageCancelled, Roles: []parley.Role{parley.RoleUser}}},
		"messages_internal":  {{Internal: &yes}},
		"messages_turn":      {{TurnID: id}, {TurnID: id, AfterSequence: 3, ToolName: "t"}},
		"messages_iteration": {{Iteration: &two}},
		"messages_tool":      {{ToolName: "t"}},
		"messages_agenttype": {{AgentType: "t"}},
	} {
		for _, query := range queries {
			text, args := recordQuery(listedColumns, at, query, 10)
			served(t, db, index, text, args)
			for _, step := range plan(t, db, text, args) {
				if strings.Contains(step, "TEMP B-TREE") {
					t.Errorf("a page is sorted instead of read in order: %s\nin %s", step, text)
				}
			}
		}
	}
	for _, query := range []store.MessageQuery{{}, {AfterPosition: &position},
		{Roles: []parley.Role{parley.RoleUser, parley.RoleSummary}, Internal: &no}} {
		text, args := queueQuery(listedColumns, at, query, 10)
		served(t, db, "messages_queue", text, args)
	}
	served(t, db, "messages_edge", contextTail, []arg{id, 9, 9, 9})
	served(t, db, "versions USING PRIMARY KEY", thinVersions, []arg{id[:], 9})
	served(t, db, "messages_role", activeSummary, []arg{id})
	served(t, db, "messages_role", firstTask, []arg{id, 9})
	served(t, db, "messages_pinned", pinnedMessages, []arg{id, id, 9, 9})
	served(t, db, "messages_call", pairOf, []arg{id, "c", 1, 9, "tool_result"})
	served(t, db, "messages_sequence", sharedTail, []arg{id, 9, 9, 9, 9})
	served(t, db, "session_marks_edge", sharedEdge, []arg{id, id})
	served(t, db, "messages_role", sharedSummary, []arg{id, id, 9, 9})
	served(t, db, "messages_role", sharedFirst, []arg{id, id, 9, 9})
	served(t, db, "k USING PRIMARY KEY", sharedPins, []arg{id, 9, 9})
}

func TestOtherListsAreServedByIndexes(t *testing.T) {
	t.Parallel()
	db := opened(t)
	id := parley.NewID()
	for index, queries := range map[string][]store.AgentQuery{
		"agents_slug":     {{}, {AfterSlug: "a"}, {Descending: true, AfterSlug: "a"}},
		"agents_status":   {{Status: parley.AgentArchived}, {Status: parley.AgentActive, AfterSlug: "a"}},
		"g USING PRIMARY": {{Tag: "t"}, {Tag: "t", Status: parley.AgentActive}},
	} {
		for _, query := range queries {
			text, args := agentsQuery(id, query)
			served(t, db, index, text, args)
		}
	}
	for _, query := range []store.ProjectQuery{{}, {AfterID: id, AfterAccess: 4}, {Ascending: true}} {
		text, args := projectsQuery(id, query)
		served(t, db, "projects_recent", text, args)
	}
	const generation, edit = parley.TransformGeneration, parley.TransformEdit
	for index, queries := range map[string][]store.TransformQuery{
		"transforms_recent": {{}, {AfterID: id}, {Kind: edit}, {Status: parley.TransformCompleted}},
		"transforms_generations": {{Kind: generation}, {Kind: generation, AfterID: id, Ascending: true},
			{Status: parley.TransformFailed}},
		"transforms_project": {{ProjectID: id}, {ProjectID: id, Kind: edit}},
		"transforms_project_generations": {{ProjectID: id, Kind: generation, AfterID: id},
			{ProjectID: id, Status: parley.TransformStreaming}},
		"transforms_trigger": {{TriggerSessionID: id, Kind: generation}},
		"transforms_run":     {{RunID: id}},
	} {
		for _, query := range queries {
			text, args := transformsQuery(store.Scope{WorkspaceID: id, ViewerID: id}, query)
			served(t, db, index, text, args)
		}
	}
}

func TestTransitionsOfToolsAreServedByIndexes(t *testing.T) {
	t.Parallel()
	db := opened(t)
	id := parley.NewID()
	served(t, db, "messages_call", "SELECT "+messageColumns+" FROM messages m WHERE "+callTerm, []arg{id, "call"})
	served(t, db, "messages_call", "SELECT 1 FROM messages m WHERE "+resultTerm, []arg{id, "call", 1})
	for index, queries := range map[string][]store.ApprovalQuery{
		"approvals_recent":  {{}, {State: parley.ApprovalDenied}, {AfterID: id, AfterCreated: 5}},
		"approvals_pending": {{State: parley.ApprovalPending}},
		"approvals_agent":   {{AgentID: id}},
		"approvals_session": {{SessionID: id}, {SessionID: id, State: parley.ApprovalPending}},
		"approvals_root":    {{SessionID: id, AgentID: id}},
	} {
		for _, query := range queries {
			text, args := approvalsQuery(store.Scope{WorkspaceID: id}, query)
			served(t, db, index, text, args)
		}
	}
}

// TestErrandsAreServedByIndexes: what is due, and what the clock left behind, is found however many errands are due
// later.
func TestErrandsAreServedByIndexes(t *testing.T) {
	t.Parallel()
	db := opened(t)
	served(t, db, "outbox_due", takeErrand, []arg{1})
	served(t, db, "outbox_created", anyLate, []arg{1})
}
