package postgres

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"example.org/parley"
	"example.org/parley/store"
)

// TestForeignRevisionDoesNotCount: a change with a lost result does not count as committed just because another process
// made the next revision.
func TestForeignRevisionDoesNotCount(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	other := openedAt(t, url, Options{})
	ctx, talk := t.Context(), newTalker(t, db, 1)
	session, scope := talk.sessions[0], talk.scope
	mine, theirs := "mine", "theirs"
	for name, c := range map[string]struct {
		mine   func(a *attempt) error
		theirs func() error
	}{
		"a change": {func(a *attempt) error {
			_, err := a.tx.UpdateSession(scope, session, store.SessionChange{Title: &mine})
			return err
		}, func() error {
			_, err := other.UpdateSession(ctx, scope, session, store.SessionChange{Instructions: &theirs})
			return err
		}},
		"an opened session": {func(a *attempt) error {
			return a.tx.SetClientSession(scope, talk.owner.ID, mine, session)
		},
			func() error { return other.SetClientSession(ctx, scope, talk.owner.ID, theirs, session) }},
	} {
		lanes := &held{cache: db.heads}
		attempted := func() *attempt {
			a := newAttempt(ctx, db, scope.WorkspaceID, lanes, exact)
			if err := c.mine(a); err != nil {
				t.Fatal(err)
			}
			a.tx.Finish()
			return a
		}
		lost := attempted()
		if err := c.theirs(); err != nil {
			t.Fatal(err)
		}
		if found, err := lost.committed(ctx); err != nil || found {
			t.Errorf("%s: mistaken for the change of another process (%v)", name, err)
		}
		kept := attempted()
		if err := kept.write(); err != nil {
			t.Fatal(err)
		}
		if found, err := kept.committed(ctx); err != nil || !found {
			t.Errorf("%s: it is not found (%v)", name, err)
		}
		lanes.leave()
	}
}

// TestClaimSkipsLockedSessions: a locked session does not keep a process with one free slot from the others.
func TestClaimSkipsLockedSessions(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	ctx, talk := t.Context(), newTalker(t, db, 4)
	for _, session := range talk.sessions {
		if _, err := db.PostMessage(ctx, talk.scope, session, talk.said("go"), parley.ID{}); err != nil {
			t.Fatal(err)
		}
	}
	stopped := connected(t, url)
	run(t, stopped, "BEGIN", "SET LOCAL ROLE parley_system")
	for _, session := range talk.sessions[:3] { // the oldest
		run(t, stopped, "SELECT 1 FROM parley.heads WHERE session_id = '"+session.String()+"' FOR UPDATE")
	}
	claims, err := db.Claim(ctx, talk.process, 1, store.Occupancy{Slots: 8, Reserve: 2})
	if err != nil || len(claims) != 1 || claims[0].Fence.SessionID != talk.sessions[3] {
		t.Errorf("%d claims, %v", len(claims), err)
	}
	run(t, stopped, "ROLLBACK")
}

// TestCreationConfirmsWhatItFound: rows that a creation found, and no revision covers, are confirmed when it is
// written.
func TestCreationConfirmsWhatItFound(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	other := openedAt(t, url, Options{})
	ctx, talk := t.Context(), newTalker(t, db, 1)
	workspace := talk.scope.WorkspaceID
	project, _, err := db.ChooseProject(ctx, parley.Project{WorkspaceID: workspace, Path: "/p", Name: "p"})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := db.Agent(ctx, workspace, parley.BuiltinAgentSlug)
	if err != nil {
		t.Fatal(err)
	}
	wanted := store.NewSession{
		Idempotency: store.Idempotency{Key: "once", Fingerprint: parley.HashOf([]byte("body"))},
		Session: parley.Session{
			ID:          parley.NewID(),
			WorkspaceID: workspace,
			AgentID:     agent.ID,
			OwnerID:     talk.owner.ID,
			Key:         "keyed",
			ProjectID:   project.ID,
			Visibility:  parley.VisibilityPrivate,
			Kind:        parley.KindAgent,
			Mode:        parley.ModeForeground,
		},
	}
	keyed, err := db.EnsureSession(ctx, talk.scope, wanted, parley.ID{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		finds func(a *attempt) (bool, error)
		goes  func() error
	}{
		"the session of a key": {func(a *attempt) (bool, error) {
			id, err := a.SessionByKey(workspace, "keyed")
			return !id.IsZero(), err
		}, func() error { return other.DeleteSession(ctx, talk.scope, keyed.Session.ID) }},
		"the project": {func(a *attempt) (bool, error) { return a.HasProject(workspace, project.ID) },
			func() error { return other.DeleteProject(ctx, store.Scope{WorkspaceID: workspace}, project.ID, false) }},
	} {
		a := newAttempt(ctx, db, workspace, &held{cache: db.heads}, exact)
		if found, err := c.finds(a); err != nil || !found {
			t.Fatalf("%s is missing: %v", name, err)
		}
		a.reads = 2 // as if the transition had read a head, too
		if err := a.confirm(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.goes(); err != nil {
			t.Fatal(err)
		}
		if err := a.confirm(); stateOf(err) != stateStale {
			t.Errorf("%s is gone but not noticed: %v", name, err)
		}
	}
}

// TestPreparedBeforeAMigration: a prepared statement whose column types have changed is prepared again without the
// caller noticing.
func TestPreparedBeforeAMigration(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	store := openedAt(t, url, Options{MaxConns: 1})
	workspace, err := store.Workspace(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Agent(t.Context(), workspace, parley.BuiltinAgentSlug); err != nil {
		t.Fatal(err)
	}
	run(t, connected(t, url), "ALTER TABLE parley.agents ALTER COLUMN body TYPE varchar")
	if agent, err := store.Agent(
		t.Context(),
		workspace,
		parley.BuiltinAgentSlug,
	); err != nil ||
		agent.Slug != parley.BuiltinAgentSlug {
		t.Errorf("after the migration: %v", err)
	}
}

// TestOutcomes: which errors leave a batch void, and which leave its result open.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for state, c := range map[string]struct{ unsent, contended, unknown bool }{
		"57P01": {unsent: true}, "25P03": {unsent: true}, "25P04": {unsent: true}, "40001": {contended: true},
		"0A000": {contended: true},
		"26000": {contended: true}, "08P01": {unknown: true}, "08006": {unknown: true}, "23505": {}, "PY001": {},
		"57014": {},
	} {
		err := error(&pgconn.PgError{Code: state})
		if unsent(err) != c.unsent || contended(err) != c.contended || unknown(err) != c.unknown {
			t.Errorf("%s: unsent %t, contended %t, unknown %t", state, unsent(err), contended(err), unknown(err))
		}
	}
}

// TestSilentConversationIsTriedAgain: a transition that froze and lost its lock is made again.
func TestSilentConversationIsTriedAgain(t *testing.T) {
	t.Parallel()
	store, _ := opened(t)
	talk := newTalker(t, store, 1)
	tries := 0
	err := store.trying(t.Context(), func() error {
		tries++
		return store.together(t.Context(), func(c *conversation) error {
			b := tenant(talk.scope.WorkspaceID)
			b.write("SELECT set_config('idle_in_transaction_session_timeout', '20ms', true)")
			if err := c.send(b); err != nil {
				return err
			}
			if tries == 1 { // the server ends the connection
				if _, err := c.conn.Conn().PgConn().ReceiveMessage(t.Context()); err != nil {
					return err
				}
			}
			return c.end()
		})
	}, unsent)
	if err != nil || tries != 2 {
		t.Errorf("after %d tries: %v", tries, err)
	}
}

// TestRepeatedCreationOfAKeyedSession: repeating a request that created a session under a key posts nothing more.
func TestRepeatedCreationOfAKeyedSession(t *testing.T) {
	t.Parallel()
	db, _ := opened(t)
	ctx, talk := t.Context(), newTalker(t, db, 0)
	agent, err := db.Agent(ctx, talk.scope.WorkspaceID, parley.BuiltinAgentSlug)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		first := talk.said("once")
		opened, err := db.EnsureSession(ctx, talk.scope, store.NewSession{
			Idempotency: store.Idempotency{Key: "once", Fingerprint: parley.HashOf([]byte("body"))},
			First:       &first,
			Session: parley.Session{
				ID:          parley.NewID(),
				WorkspaceID: talk.scope.WorkspaceID,
				AgentID:     agent.ID,
				OwnerID:     talk.owner.ID,
				Key:         "keyed",
				Visibility:  parley.VisibilityPrivate,
				Kind:        parley.KindAgent,
				Mode:        parley.ModeForeground,
			},
		}, parley.ID{})
		if err != nil || opened.Replayed != (n == 1) || opened.Session.Statistics.Messages != 1 ||
			opened.Session.Statistics.Turns != 1 {
			t.Errorf("request %d: replayed %t, %+v, %v", n+1, opened.Replayed, opened.Session.Statistics, err)
		}
	}
}

// TestServerThatHangs: a server that accepts connections but never answers keeps neither a process from giving up its
// lease nor a probe waiting.
func TestServerThatHangs(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	db := openedAt(t, url, Options{MaxConns: 1})
	db.lease.bound = 100 * time.Millisecond
	id := parley.NewID()
	if err := db.RegisterProcess(t.Context(), store.Process{ID: id, Name: "x"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	c, err := db.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	backends := []int{int(c.Conn().PgConn().PID()), int(db.lease.conn.PgConn().PID())}
	c.Release()
	for _, backend := range backends {
		if err := syscall.Kill(backend, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := syscall.Kill(backend, syscall.SIGCONT); err != nil {
				t.Error(err)
			}
		}()
	}
	if err := db.ReleaseProcess(context.WithoutCancel(t.Context()), id); err != nil { // over a new connection
		t.Errorf("a process that ends: %v", err)
	}
	probing, enough := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer enough()
	began := time.Now()
	if err := db.Ping(probing); refusal(t, err) != parley.CodeUnavailable || time.Since(began) > batchBound/2 {
		t.Errorf("a probe: %v after %v", err, time.Since(began))
	}
}
