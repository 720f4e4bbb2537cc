package storetest

import (
	"slices"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// outlives are the tables with rows that do not belong to sessions; the others must be empty once every session is
// deleted. The outbox still has the end of an unfinished upload; request counts belong to a principal.
var outlives = []string{ //nolint:gochecknoglobals // never written
	"workspaces",
	"principals",
	"keys",
	"agents",
	"agent_tags",
	"agent_versions",
	"schedules", "schedule_runs", // of agents
	"webhooks",
	"tool_authorizations",
	"transforms", "transform_inputs", "transform_outputs", // generations stay in lineages, without what was said
	"transform_definitions", "transform_definition_versions", // of a workspace
	"projects",
	"audit",
	"audit_links",
	"graves",
	"blobs",
	"blob_chunks",
	"outbox",
	"rates",
}

// Purge fills a store, deletes every session in it, including forks, and every artifact that has none, and requires
// that no row of theirs is left in any table. count returns the number of rows of each.
func Purge(t *testing.T, db store.Store, count func() map[string]int64) {
	t.Helper()
	Fill(t, db, 3)
	w := &world{ctx: t.Context(), store: db}
	w.indexed(t)
	before := count()
	generations := w.generations(t, "acme", parley.DefaultWorkspace)
	for _, workspace := range []string{parley.DefaultWorkspace, "acme"} {
		id, err := db.Workspace(w.ctx, workspace)
		must(t, "Workspace", err)
		scope := store.Scope{WorkspaceID: id}
		sessions, err := db.Sessions(w.ctx, scope, store.SessionQuery{Limit: parley.MaxPage})
		must(t, "Sessions", err)
		for _, session := range sessions {
			err := db.DeleteSession(w.ctx, scope, session.ID)
			if err != nil { // a tool session deleted with its parent
				refused(t, "DeleteSession", err, parley.CodeNotFound)
			}
		}
		artifacts, err := db.Artifacts(w.ctx, scope, store.ArtifactQuery{Limit: parley.MaxPage})
		must(t, "Artifacts", err)
		for i := range artifacts { // those of sessions are gone
			must(t, "DeleteArtifact", db.DeleteArtifact(w.ctx, scope, artifacts[i].ID))
		}
	}
	w.drainOutbox(t)
	for table, rows := range count() {
		if stay, of := generations[table]; of && rows != stay {
			t.Errorf("%d rows are left in %s; those of generations are %d", rows, table, stay)
		}
		switch {
		case slices.Contains(outlives, table):
		case before[table] == 0:
			t.Errorf("%s was empty before", table)
		case rows > 0:
			t.Errorf("%d rows are left in %s", rows, table)
		}
	}
}

// generations counts the rows that generations have in their tables, which edits share.
func (w *world) generations(t *testing.T, workspaces ...string) map[string]int64 {
	t.Helper()
	rows := map[string]int64{"transforms": 0, "transform_inputs": 0, "transform_outputs": 0}
	for _, workspace := range workspaces {
		id, err := w.store.Workspace(w.ctx, workspace)
		must(t, "Workspace", err)
		page, err := w.store.Transforms(w.ctx, store.Scope{WorkspaceID: id}, store.TransformQuery{
			Kind: parley.TransformGeneration, Limit: parley.MaxPage,
		})
		must(t, "Transforms", err)
		for i := range page {
			rows["transforms"]++
			rows["transform_inputs"] += int64(len(page[i].Inputs))
			rows["transform_outputs"] += int64(len(page[i].Outputs))
		}
	}
	return rows
}
