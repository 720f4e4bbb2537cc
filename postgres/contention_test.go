package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.org/parley"
	"example.org/parley/internal/pgtest"
	"example.org/parley/store"
)

// TestDeadlock: a transition that the server aborts because of a deadlock is made again.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	other := connected(t, databases.Cluster(t).URL(pgtest.Superuser, databaseOf(t, url)))
	// The first to wait checks for a deadlock first, and only once: after the other waits, too.
	run(t, other, "ALTER DATABASE "+databaseOf(t, url)+" SET deadlock_timeout = '3s'", "SET deadlock_timeout = '1min'")
	db := openedAt(t, url, Options{})
	k := newTalker(t, db, 1)
	parent, child := k.sessions[0], parley.NewID()
	agent, err := db.Agent(t.Context(), k.scope.WorkspaceID, parley.BuiltinAgentSlug)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.EnsureSession(
		t.Context(),
		k.scope,
		store.NewSession{Session: parley.Session{
			ID:              child,
			WorkspaceID:     k.scope.WorkspaceID,
			AgentID:         agent.ID,
			OwnerID:         k.owner.ID,
			Visibility:      parley.VisibilityPrivate,
			Kind:            parley.KindTool,
			Mode:            parley.ModeForeground,
			ParentSessionID: parent,
		}},
		parley.ID{},
	); err != nil {
		t.Fatal(err)
	}
	lock := func(session parley.ID) {
		t.Helper()
		if _, err := other.Exec(
			context.Background(),
			"SELECT 1 FROM parley.heads WHERE session_id = $1 FOR UPDATE",
			session.String(),
		); err != nil {
			t.Fatal(err)
		}
	}
	run(t, other, "BEGIN")
	lock(child)
	deleted := make(chan error, 1)
	go func() {
		deleted <- db.DeleteSession(context.Background(), k.scope, parent)
	}() // ends with the other's transaction
	for waits := false; !waits; {
		if err := other.QueryRow(context.Background(),
			"SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() "+
				"AND wait_event_type = 'Lock')").
			Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	lock(parent) // held by the transition until the server aborts it
	run(t, other, "COMMIT")
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	for _, id := range []parley.ID{parent, child} {
		if _, err := db.Session(t.Context(), k.scope, id); parley.ErrorCode(err) != parley.CodeNotFound {
			t.Errorf("the session still exists: %v", err)
		}
	}
}

// TestChildOfADeletedSession: another process makes a child while the deletion of its parent, unaware of it, waits for
// the parent's lock. The child is deleted, too, or refused.
func TestChildOfADeletedSession(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	other, k := openedAt(t, url, Options{}), newTalker(t, db, 1)
	ctx, parent := context.Background(), k.sessions[0]
	agent, err := db.Agent(ctx, k.scope.WorkspaceID, parley.BuiltinAgentSlug)
	if err != nil {
		t.Fatal(err)
	}
	stopped := connected(t, databases.Cluster(t).URL(pgtest.Superuser, databaseOf(t, url)))
	run(t, stopped, "BEGIN", "SELECT 1 FROM parley.heads WHERE session_id = '"+parent.String()+"' FOR UPDATE")
	deleted, made := make(chan error, 1), make(chan error, 1)
	go func() { deleted <- db.DeleteSession(ctx, k.scope, parent) }() // ends with the other transaction
	waiting := func() (n int) {
		t.Helper()
		if err := stopped.QueryRow(ctx,
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").
			Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for waiting() < 1 {
		continue
	}
	child := parley.Session{
		ID:              parley.NewID(),
		WorkspaceID:     k.scope.WorkspaceID,
		AgentID:         agent.ID,
		OwnerID:         k.owner.ID,
		Visibility:      parley.VisibilityPrivate,
		Kind:            parley.KindTool,
		Mode:            parley.ModeForeground,
		ParentSessionID: parent,
	}
	go func() { // ends with the other transaction, too
		_, err := other.EnsureSession(ctx, k.scope, store.NewSession{Session: child}, parley.ID{})
		made <- err
	}()
	for waiting() < 2 && len(made) == 0 {
		continue
	}
	run(t, stopped, "COMMIT")
	if err := <-deleted; err != nil {
		t.Error(err)
	}
	if err := <-made; err != nil && parley.ErrorCode(err) != parley.CodeNotFound {
		t.Error(err)
	}
	if _, err := db.Session(ctx, k.scope, child.ID); parley.ErrorCode(err) != parley.CodeNotFound {
		t.Errorf("the child has outlived its parent: %v", err)
	}
}

// databaseOf returns the database in a URL.
func databaseOf(tb testing.TB, url string) string {
	tb.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		tb.Fatal(err)
	}
	return config.Database
}
