package postgres

import (
	"fmt"
	"strings"

	"example.org/parley"
	"example.org/parley/store"
)

// fillTransforms adds documents, half of them in sessions, each with three versions: a sixth of those by generations,
// the others by edits.
func (p *planned) fillTransforms() {
	p.t.Helper()
	id := func(of string) string { return "md5((" + of + ")::text)::uuid" }
	workspace := fmt.Sprintf("CASE WHEN i %% 10 = 0 THEN '%s'::uuid ELSE md5('w' || i %% 500)::uuid END", p.workspace)
	transform := id("'t' || i || ' ' || n")
	const series = " FROM generate_series(1, 20000) i"
	const versions = series + ", generate_series(1, 3) n, LATERAL (SELECT (i / 10 + n) % 6 = 0) s (generated)"
	run(
		p.t,
		p.conn,
		"BEGIN",
		"SET LOCAL ROLE "+systemRole,
		"INSERT INTO parley.artifacts (id, workspace_id, session_id, owner_id, visibility, kind, name, search_name, "+
			"labels, version, newest, content_hash, size, revision, created_at, updated_at) SELECT "+id("i")+", "+
			workspace+", CASE WHEN i / 10 % 2 = 0 THEN "+id("i")+" END, "+id("i / 10 % 3")+
			", 'private', 'text', 'a', 'a', '[]', 3, 3, '', 1, 1, i, i"+series,
		"INSERT INTO parley.artifact_versions (artifact_id, number, workspace_id, parent, author_kind, author_name, "+
			"content_hash, size, created_at, transform_id) SELECT "+id("i")+", n, "+workspace+
			", nullif(n - 1, 0), 'person', 'p', '', 1, i, "+transform+versions,
		"INSERT INTO parley.transforms (id, workspace_id, project_id, kind, name, agent_id, instructions, model, "+
			"parameters, cite, status, chunks, session_id, turn_id, trigger_session_id, owner_id, created_by_id, "+
			"run_id, node, created_at) SELECT "+transform+", "+workspace+", CASE WHEN i / 10 % 5 = 0 THEN "+
			id("i / 10 % 50")+" END, CASE WHEN generated THEN 'generation' ELSE 'edit' END, '', "+
			"CASE WHEN generated THEN "+id("i")+" END, '', '', '{}', false, "+
			"CASE WHEN generated AND i / 10 % 4 = 0 THEN 'failed' ELSE 'completed' END, 0, "+
			"CASE WHEN generated THEN "+id("i")+" END, CASE WHEN generated THEN "+id("i")+" END, "+
			"CASE WHEN generated THEN "+id("i / 10 % 90")+" END, "+id("i / 10 % 3")+", "+id("i / 10 % 3")+", "+
			"CASE WHEN generated THEN "+id("i / 10 % 90")+" END, '', i"+versions,
		"INSERT INTO parley.transform_inputs (transform_id, position, workspace_id, name, artifact_id, version, "+
			"pointer) SELECT "+transform+", 1, "+workspace+", '', "+id("i")+", n - 1, ''"+versions+" WHERE n > 1",
		"INSERT INTO parley.transform_outputs (transform_id, position, workspace_id, name, kind, title, artifact_id, "+
			"creates, version, conflict) SELECT "+transform+", 1, "+workspace+", 'content', 'text', 'a', "+id("i")+
			", n = 1, n, false"+versions,
		"COMMIT",
		"ANALYZE",
	)
}

// transformPlans: transforms are found with the documents and the sessions that say who sees them, however many
// sessions the workspace has.
func transformPlans(p *planned) {
	p.fillTransforms()
	const generation, edit = parley.TransformGeneration, parley.TransformEdit
	id := parley.NewID()
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
			for _, viewer := range []parley.ID{{}, id} {
				text, _, args := transformsQuery(store.Scope{WorkspaceID: p.workspace, ViewerID: viewer}, query)
				p.served(false, index, text, args)
			}
		}
	}
	for _, viewer := range []parley.ID{{}, id} {
		text, _, args := artifactsQuery(store.Scope{WorkspaceID: p.workspace, ViewerID: viewer},
			store.ArtifactQuery{Stale: true})
		p.served(false, "artifacts_recent", text, args)
		if plan := p.plan(true, text, args); strings.Contains(plan, "transform_outputs_artifact") {
			p.t.Errorf("stale documents: all that wrote a document are read\n%s", plan)
		}
	}
	var l filter
	l.must("f.id = ?", id)
	l.ofTransforms(store.Scope{WorkspaceID: p.workspace, ViewerID: id})
	text := "SELECT " + transformColumns + transformTables + l.where.String()
	p.served(true, "transforms_pkey|transforms_recent", text, l.args)
	p.eachByKey("one transform", p.plan(false, text, l.args))
	ids := []string{id.String(), parley.NewID().String()}
	p.eachByKey("transforms of a lineage", p.plan(false, lineageTransforms, []arg{ids, []string{"0", "0"}}))
	p.eachByKey("versions of a lineage", p.plan(false, lineageVersions, []arg{ids, []string{"1", "2"}}))
	p.eachByKey("edits to be purged", p.plan(false, deleteEdits, []arg{p.workspace, ids}))
}

// eachByKey requires that a plan reads no table whole, nor a whole workspace of it, nor all versions of a document.
func (p *planned) eachByKey(what, plan string) {
	p.t.Helper()
	if strings.Contains(plan, "Seq Scan") {
		p.t.Errorf("%s: a whole table is read\n%s", what, plan)
	}
	if strings.Contains(plan, "transform_outputs_artifact") {
		p.t.Errorf("%s: all that wrote a document are read\n%s", what, plan)
	}
	if strings.Contains(plan, "Join Filter: (v.number = ") {
		p.t.Errorf("%s: all versions of a document are read\n%s", what, plan)
	}
	for _, line := range strings.Split(plan, "\n") {
		_, condition, is := strings.Cut(line, "Index Cond: ")
		if is && !strings.Contains(strings.ReplaceAll(condition, "workspace_id = ", ""), "id = ") {
			p.t.Errorf("%s: a whole workspace is read by %s\n%s", what, condition, plan)
		}
	}
}
