package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"parley"
	"parley/internal/pgtest"
)

// TestDeadlock: a transition that the server gives up, because it and somebody
// else wait for each other, is made again.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	other := connected(t, databases.Cluster(t).URL(pgtest.Superuser, databaseOf(t, url)))
	// Who waits first looks for a deadlock first, and once: when the other waits too.
	run(t, other, "ALTER DATABASE "+databaseOf(t, url)+" SET deadlock_timeout = '3s'", "SET deadlock_timeout = '1min'")
	store := openedAt(t, url, Options{})
	k := newTalker(t, store, 1)
	parent, child := k.sessions[0], parley.NewID()
	agent, err := store.Agent(t.Context(), k.scope.WorkspaceID, parley.BuiltinAgentSlug)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.EnsureSession(t.Context(), k.scope, parley.NewSession{Session: parley.Session{ID: child, WorkspaceID: k.scope.WorkspaceID, AgentID: agent.ID,
		OwnerID: k.owner.ID, Visibility: parley.VisibilityPrivate, Kind: parley.KindTool, Mode: parley.ModeForeground, ParentSessionID: parent}}, parley.ID{}); err != nil {
		t.Fatal(err)
	}
	lock := func(session parley.ID) {
		t.Helper()
		if _, err := other.Exec(context.Background(), "SELECT 1 FROM parley.heads WHERE session_id = $1 FOR UPDATE", session.String()); err != nil {
			t.Fatal(err)
		}
	}
	run(t, other, "BEGIN")
	lock(child)
	deleted := make(chan error, 1)
	go func() { deleted <- store.DeleteSession(context.Background(), k.scope, parent) }() // ends with the other's transaction
	for waits := false; !waits; {
		if err := other.QueryRow(context.Background(), "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')").Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	lock(parent) // it has this one: only a server that gives it up lets go
	run(t, other, "COMMIT")
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	for _, id := range []parley.ID{parent, child} {
		if _, err := store.Session(t.Context(), k.scope, id); parley.ErrorCode(err) != parley.CodeNotFound {
			t.Errorf("the session is there: %v", err)
		}
	}
}

// databaseOf is the database that a URL names.
func databaseOf(tb testing.TB, url string) string {
	tb.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		tb.Fatal(err)
	}
	return config.Database
}
