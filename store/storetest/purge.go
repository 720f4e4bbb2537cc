package storetest

import (
	"slices"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// outlives are the tables whose rows are not sessions': the others are empty when
// every session is deleted. What is left in the outbox ends an upload that nobody
// finishes; the requests that are counted are a principal's.
var outlives = []string{ //nolint:gochecknoglobals // never written
	"workspaces",
	"principals",
	"keys",
	"agents",
	"agent_tags",
	"agent_versions",
	"projects",
	"audit",
	"audit_links",
	"graves",
	"blobs",
	"blob_chunks",
	"outbox",
	"rates",
}

// Purge fills a store, deletes every session in it, forks among them, and demands
// that no row of theirs is left in any table. count tells how many rows each has.
func Purge(t *testing.T, db store.Store, count func() map[string]int64) {
	t.Helper()
	Fill(t, db, 3)
	w := &world{ctx: t.Context(), store: db}
	w.indexed(t)
	before := count()
	for _, workspace := range []string{parley.DefaultWorkspace, "acme"} {
		id, err := db.Workspace(w.ctx, workspace)
		must(t, "Workspace", err)
		scope := store.Scope{WorkspaceID: id}
		sessions, err := db.Sessions(w.ctx, scope, store.SessionQuery{Limit: parley.MaxPage})
		must(t, "Sessions", err)
		for _, session := range sessions {
			err := db.DeleteSession(w.ctx, scope, session.ID)
			if err != nil { // a tool session that went with its parent
				refused(t, "DeleteSession", err, parley.CodeNotFound)
			}
		}
	}
	w.drainOutbox(t)
	for table, rows := range count() {
		switch {
		case slices.Contains(outlives, table):
		case before[table] == 0:
			t.Errorf("nothing was in %s before", table)
		case rows > 0:
			t.Errorf("%d rows are left in %s", rows, table)
		}
	}
}
