package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.org/parley"
	"example.org/parley/internal/bounded"
	"example.org/parley/internal/pgtest"
	"example.org/parley/internal/tables"
	"example.org/parley/internal/transfer"
	"example.org/parley/store"
)

func TestLeases(t *testing.T) {
	t.Parallel()
	db, _ := opened(t)
	ctx, id := t.Context(), parley.NewID()
	if left, err := db.NextExpiry(ctx); err != nil || left < 1000*time.Hour {
		t.Errorf("without a process a lease expires in %v, %v", left, err)
	}
	if err := db.RegisterProcess(ctx, store.Process{ID: id, Name: "x"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if left, err := db.NextExpiry(ctx); err != nil || left > time.Minute || left < 30*time.Second {
		t.Errorf("the lease expires in %v, %v", left, err)
	}
	if _, err := db.RenewLease(ctx, id, -time.Second); err != nil {
		t.Error(err)
	}
	if left, err := db.NextExpiry(ctx); err != nil || left > 0 {
		t.Errorf("the expired lease expires in %v, %v", left, err)
	}
	if _, err := db.RenewLease(ctx, id, time.Minute); err != nil {
		t.Errorf("a lease that was not swept: %v", err)
	}
	if err := db.ReleaseProcess(ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, err := db.RenewLease(ctx, id, time.Minute); refusal(t, err) != parley.CodeFenced {
		t.Errorf("a lease that is gone: %v", err)
	}
}

// TestLeaseIsApartFromThePool renews a lease while every pooled connection is taken, and after the server ended the
// lease's own.
func TestLeaseIsApartFromThePool(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	db := openedAt(t, url, Options{MaxConns: 2})
	ctx, id := t.Context(), parley.NewID()
	if err := db.RegisterProcess(ctx, store.Process{ID: id, Name: "x"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	var taken []*pgxpool.Conn
	for range 2 {
		c, err := db.pool.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, c)
	}
	if _, err := db.RenewLease(ctx, id, time.Minute); err != nil {
		t.Errorf("with the pool exhausted: %v", err)
	}
	if _, err := taken[0].Exec(
		ctx,
		"SELECT pg_terminate_backend($1)",
		int32(db.lease.conn.PgConn().PID()),
	); err != nil { //nolint:gosec // a process id
		t.Fatal(err)
	}
	if _, err := db.RenewLease(ctx, id, time.Minute); err != nil {
		t.Errorf("with its connection ended: %v", err)
	}
	for _, c := range taken {
		c.Release()
	}
}

// TestTextThatCannotBeStored: a NUL is refused like any invalid input, and nothing of its request is stored.
func TestTextThatCannotBeStored(t *testing.T) {
	t.Parallel()
	db, _ := opened(t)
	workspace, err := db.Workspace(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a\x00b", "\xff"} {
		_, _, err := db.ChooseProject(t.Context(), parley.Project{WorkspaceID: workspace, Path: "/" + text, Name: "p"})
		if refusal(t, err) != parley.CodeInvalid {
			t.Errorf("%q: %v", text, err)
		}
	}
	if projects, err := db.Projects(t.Context(), workspace, store.ProjectQuery{}); err != nil || len(projects) != 0 {
		t.Errorf("%d projects, %v", len(projects), err)
	}
}

// TestProtocolModes: every value arrives unchanged in the modes that poolers need.
func TestProtocolModes(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			db := openedAt(t, url+"&default_query_exec_mode="+mode, Options{MaxConns: 1})
			workspace, err := db.Workspace(t.Context(), mode)
			if err != nil {
				t.Fatal(err)
			}
			id, text, raw, n, yes := parley.NewID(), `it's \ "odd" é`, []byte{0, 1, 0xff}, int64(-5), true
			hash := parley.HashOf(raw)
			for range 2 { // the first time statements are prepared
				b := tenant(workspace)
				b.read(
					"SELECT $1::uuid, $2::text, $3::bytea, $4::bigint, $5::boolean, $6::bytea, $7::integer, "+
						"NULL::text, "+
						"NULL::bigint, $8::uuid",
					func(r *row) error {
						got := fmt.Sprint(
							r.id(),
							r.text(),
							string(r.bytes()),
							r.int64(),
							r.bool(),
							r.hash(),
							r.int(),
							r.text(),
							r.maybe(),
							r.id(),
						)
						if want := fmt.Sprint(
							id,
							text,
							string(raw),
							n,
							yes,
							hash,
							7,
							"",
							(*int64)(nil),
							parley.ID{},
						); got != want {
							t.Errorf("got  %s\nwant %s", got, want)
						}
						return nil
					},
					id,
					text,
					raw,
					n,
					yes,
					hash,
					7,
					parley.ID{},
				)
				b.read(
					"SELECT count(*), min(id::text), max(n), bool_and(b), (array_agg(r ORDER BY n DESC))[1] "+
						"FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::boolean[], $5::bytea[]) u (id, t, "+
						"n, b, r)",
					func(r *row) error {
						if n, first, sum, all, last := r.int(), r.text(), r.int64(), r.bool(), r.bytes(); n != 2 ||
							first != id.String() ||
							sum != 2 ||
							all ||
							string(last) != "\xff" {
							t.Errorf("arrays: %d %s %d %t %q", n, first, sum, all, last)
						}
						return nil
					},
					[]parley.ID{id, parley.NewID()},
					[]string{"a", text},
					[]int64{1, 2},
					[]bool{true, false},
					[][]byte{{1}, {0xff}},
				)
				if err := db.send(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
			if agents, err := db.Agents(t.Context(), workspace, store.AgentQuery{}); err != nil || len(agents) != 1 {
				t.Errorf("%d agents, %v", len(agents), err)
			}
			copiesColumns(t, db)
		})
	}
}

// copiesColumns sends a column of each kind as a copy does.
func copiesColumns(t *testing.T, db *Store) {
	t.Helper()
	archive, err := db.Archive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := archive.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, kind := range []tables.Kind{tables.ID, tables.Bytes, tables.Text, tables.Flag, tables.Integer} {
		element, values := array(kind, []transfer.Row{{{}}, {{}}}, 0)
		query := "SELECT count(*) - count(v) FROM unnest($1::" + element + "[]) v"
		err := archive.each(t.Context(), query, func(r *row) error {
			if nulls := r.int(); nulls != 2 {
				t.Errorf("%s: %d nulls", element, nulls)
			}
			return nil
		}, values)
		if err != nil {
			t.Errorf("%s: %v", element, err)
		}
	}
}

// TestMigratesInEveryMode: a new database gets its schema in the modes that do not ask the server for types.
func TestMigratesInEveryMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"exec", "simple_protocol"} {
		openedAt(t, databases.Empty(t)+"&default_query_exec_mode="+mode, Options{MaxConns: 1})
	}
}

// restarted returns a durable server and a store on it.
func restarted(t *testing.T) (*pgtest.Cluster, *Store) {
	t.Helper()
	cluster, err := pgtest.Start(pgtest.Options{Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.Run(
		t.Context(),
		pgtest.Superuser,
		"postgres",
		"CREATE DATABASE parley OWNER "+pgtest.Owner,
	); err != nil {
		t.Fatal(err)
	}
	return cluster, openedAt(t, cluster.URL(pgtest.Owner, "parley"), Options{})
}

// underRestarts runs workers concurrently, each repeatedly, and kills the server twice meanwhile.
func underRestarts(t *testing.T, cluster *pgtest.Cluster, workers int, work func(worker, round int) error) {
	t.Helper()
	const before, restarts = 20, 2
	progress, stop := make(chan struct{}, 1), make(chan struct{})
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() { // ends when stop is closed
			for n := 0; ; n++ {
				if err := work(i, n); err != nil {
					t.Errorf("worker %d, round %d: %v", i, n, err)
				}
				select {
				case <-stop:
					return
				case progress <- struct{}{}:
				default: // one that is not counted
				}
			}
		})
	}
	for range restarts {
		for range before {
			bounded.Receive(t, progress, "a post")
		}
		if err := errors.Join(cluster.Stop(), cluster.Resume()); err != nil {
			t.Error(err)
		}
	}
	for range before {
		bounded.Receive(t, progress, "a post")
	}
	close(stop)
	group.Wait()
}

// TestServerRestartsUnderLoad kills the server while many callers write: acknowledged writes exist once, however often
// they were sent, and nobody waits forever.
func TestServerRestartsUnderLoad(t *testing.T) {
	t.Parallel()
	cluster, db := restarted(t)
	ctx := context.Background()
	workspace, err := db.Workspace(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	agents := make([]parley.Agent, 8)
	for i := range agents {
		if agents[i], _, err = db.CreateAgent(
			ctx,
			parley.Agent{
				WorkspaceID: workspace,
				Slug:        fmt.Sprintf("agent-%d", i),
				Name:        "A",
				Runtime:     parley.StandardRuntime,
			},
			store.Idempotency{},
		); err != nil {
			t.Fatal(err)
		}
	}
	underRestarts(t, cluster, len(agents), func(i, n int) error {
		agent := &agents[i]
		agent.Description = fmt.Sprint(n)
		next, err := db.UpdateAgent(ctx, *agent)
		for parley.ErrorCode(err) == parley.CodeUnavailable { // it may or may not exist; check
			if next, err = db.Agent(
				ctx,
				workspace,
				agent.ID.String(),
			); err == nil && next.Version != agent.Version &&
				next.Version != agent.Version+1 {
				return fmt.Errorf("a change to version %d left version %d", agent.Version, next.Version)
			}
		}
		if err == nil {
			*agent = next
		}
		return err
	})
	for i := range agents {
		for n := 1; n <= agents[i].Version; n++ {
			if _, err := db.AgentVersion(ctx, workspace, agents[i].ID, n); err != nil {
				t.Errorf("version %d of agent %d: %v", n, i, err)
			}
		}
	}
}

// TestPostsSurviveRestarts: posts that are repeated until acknowledged are in the record once each, in the order of
// their senders, without gaps.
func TestPostsSurviveRestarts(t *testing.T) {
	t.Parallel()
	cluster, db := restarted(t)
	ctx := context.Background()
	const sessions, posters = 2, 8
	by := newTalker(t, db, sessions)
	var answered [posters]int
	underRestarts(t, cluster, posters, func(i, n int) error {
		message := by.said(fmt.Sprintf("%d/%d", i, n))
		message.TurnID = parley.ID{} // recorded without a turn
		message.Idempotency = store.Idempotency{
			Key:         fmt.Sprintf("%d/%d", i, n),
			Fingerprint: parley.HashOf(message.Content),
		}
		posted, err := db.PostMessage(ctx, by.scope, by.sessions[i%sessions], message, parley.ID{})
		for parley.ErrorCode(err) == parley.CodeUnavailable {
			posted, err = db.PostMessage(ctx, by.scope, by.sessions[i%sessions], message, parley.ID{})
		}
		if err == nil && posted.Message.ID != message.ID {
			err = errors.New("the answer is about a different message")
		}
		answered[i] = n + 1
		return err
	})
	var found [posters]int
	for _, session := range by.sessions {
		sequence := int64(0)
		for {
			page, err := db.Messages(
				ctx,
				by.scope,
				session,
				store.MessageQuery{AfterSequence: sequence, Limit: parley.MaxPage},
			)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, m := range page {
				var poster, n int
				if _, err := fmt.Sscanf(
					string(m.Content),
					`{"parts":[{"text":"%d/%d","type":"text"}]}`,
					&poster,
					&n,
				); err != nil {
					t.Fatalf("%s: %v", m.Content, err)
				}
				if sequence++; m.Sequence != sequence || n != found[poster] {
					t.Fatalf(
						"message %d of poster %d at position %d with sequence %d; want message %d",
						n,
						poster,
						sequence,
						m.Sequence,
						found[poster],
					)
				}
				found[poster]++
			}
		}
	}
	if found != answered {
		t.Errorf("the record has %v posts, %v were acknowledged", found, answered)
	}
}

// TestOutOfReach: the error without a server, or with the wrong one.
func TestOutOfReach(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	for what, c := range map[string]struct{ url, says string }{
		"no server":   {"postgres://parley@/x?host=" + t.TempDir(), "cannot be reached"},
		"no database": {strings.Replace(url, "/test_", "/none_", 1), "the database does not exist"},
		"no role":     {strings.Replace(url, pgtest.Owner+"@", "nobody@", 1), "refuses the login"},
	} {
		_, err := Open(t.Context(), c.url, Options{})
		if err == nil || refusal(t, err) != parley.CodeUnavailable || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	store := openedAt(t, url, Options{})
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Ping(t.Context()); refusal(t, err) != parley.CodeUnavailable {
		t.Errorf("a closed store: %v", err)
	}
}

// TestConversations: several batches are one transaction; an error undoes them, and a process that falls silent between
// them loses its locks.
func TestConversations(t *testing.T) {
	t.Parallel()
	store, _ := opened(t)
	ctx := t.Context()
	write := func(name string) *batch {
		b := system()
		b.write("INSERT INTO parley.workspaces (id, name, created_at) VALUES ($1, $2, 1)", parley.NewID(), name)
		return b
	}
	for name, fails := range map[string]bool{"kept": false, "undone": true} {
		failure := errors.New("changed its mind")
		err := store.together(ctx, func(c *conversation) error {
			if err := c.send(write(name + " 1")); err != nil {
				return err
			}
			bound := ""
			b := write(name + " 2")
			b.read("SELECT current_setting('idle_in_transaction_session_timeout')", func(r *row) error {
				bound = r.text()
				return nil
			})
			if err := c.send(b); err != nil {
				return err
			}
			if bound != "3s" {
				t.Errorf("a silent conversation may last %q", bound)
			}
			if fails {
				return failure
			}
			return c.commit(write(name + " 3"))
		})
		if fails != errors.Is(err, failure) {
			t.Errorf("%s: %v", name, err)
		}
		for _, part := range []string{" 1", " 2", " 3"} {
			id, err := store.workspaceNamed(ctx, name+part)
			if err != nil || id.IsZero() != fails {
				t.Errorf("%s: a row is there: %t, %v", name+part, !id.IsZero(), err)
			}
		}
	}
}
