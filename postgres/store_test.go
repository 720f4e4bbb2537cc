package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"parley"
	"parley/internal/pgtest"
)

func TestLeases(t *testing.T) {
	t.Parallel()
	store, _ := opened(t)
	ctx, id := t.Context(), parley.NewID()
	if left, err := store.NextExpiry(ctx); err != nil || left < 1000*time.Hour {
		t.Errorf("without a process a lease runs out in %v, %v", left, err)
	}
	if err := store.RegisterProcess(ctx, parley.Process{ID: id, Name: "x"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if left, err := store.NextExpiry(ctx); err != nil || left > time.Minute || left < 30*time.Second {
		t.Errorf("the lease runs out in %v, %v", left, err)
	}
	if _, err := store.RenewLease(ctx, id, -time.Second); err != nil {
		t.Error(err)
	}
	if left, err := store.NextExpiry(ctx); err != nil || left > 0 {
		t.Errorf("the expired lease runs out in %v, %v", left, err)
	}
	if _, err := store.RenewLease(ctx, id, time.Minute); err != nil {
		t.Errorf("a lease that nobody swept: %v", err)
	}
	if err := store.ReleaseProcess(ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, err := store.RenewLease(ctx, id, time.Minute); refusal(t, err) != parley.CodeFenced {
		t.Errorf("a lease that is gone: %v", err)
	}
}

// TestLeaseIsApartFromThePool renews a lease while every connection of the pool
// is taken, and after the server ended the lease's own.
func TestLeaseIsApartFromThePool(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	store := openedAt(t, url, Options{MaxConns: 2})
	ctx, id := t.Context(), parley.NewID()
	if err := store.RegisterProcess(ctx, parley.Process{ID: id, Name: "x"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	var taken []*pgxpool.Conn
	for range 2 {
		c, err := store.pool.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, c)
	}
	if _, err := store.RenewLease(ctx, id, time.Minute); err != nil {
		t.Errorf("with the pool exhausted: %v", err)
	}
	if _, err := taken[0].Exec(ctx, "SELECT pg_terminate_backend($1)", int32(store.lease.conn.PgConn().PID())); err != nil { //nolint:gosec // a process id
		t.Fatal(err)
	}
	if _, err := store.RenewLease(ctx, id, time.Minute); err != nil {
		t.Errorf("with its connection ended: %v", err)
	}
	for _, c := range taken {
		c.Release()
	}
}

// TestTextThatCannotBeStored: a NUL is refused like any input that breaks a rule,
// and what came with it is not there.
func TestTextThatCannotBeStored(t *testing.T) {
	t.Parallel()
	store, _ := opened(t)
	workspace, err := store.Workspace(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a\x00b", "\xff"} {
		_, _, err := store.ChooseProject(t.Context(), parley.Project{WorkspaceID: workspace, Path: "/" + text, Name: "p"})
		if refusal(t, err) != parley.CodeInvalid {
			t.Errorf("%q: %v", text, err)
		}
	}
	if projects, err := store.Projects(t.Context(), workspace, parley.ProjectQuery{}); err != nil || len(projects) != 0 {
		t.Errorf("%d projects, %v", len(projects), err)
	}
}

// TestProtocolModes: with the modes that poolers need every value arrives as it is.
func TestProtocolModes(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			store := openedAt(t, url+"&default_query_exec_mode="+mode, Options{MaxConns: 1})
			workspace, err := store.Workspace(t.Context(), mode)
			if err != nil {
				t.Fatal(err)
			}
			id, text, raw, n, yes := parley.NewID(), `it's \ "odd" é`, []byte{0, 1, 0xff}, int64(-5), true
			hash := parley.HashOf(raw)
			for range 2 { // the first time statements are prepared
				b := tenant(workspace)
				b.read("SELECT $1::uuid, $2::text, $3::bytea, $4::bigint, $5::boolean, $6::bytea, $7::integer, NULL::text, NULL::bigint, $8::uuid", func(r *row) error {
					got := fmt.Sprint(r.id(), r.text(), r.bytes(), r.int64(), r.bool(), r.hash(), r.int(), r.text(), r.maybe(), r.id())
					if want := fmt.Sprint(id, text, raw, n, yes, hash, 7, "", (*int64)(nil), parley.ID{}); got != want {
						t.Errorf("got  %s\nwant %s", got, want)
					}
					return nil
				}, id, text, raw, n, yes, hash, 7, parley.ID{})
				b.read("SELECT count(*), min(id::text), max(n), bool_and(b), (array_agg(r ORDER BY n DESC))[1] FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::boolean[], $5::bytea[]) u (id, t, n, b, r)", func(r *row) error {
					if n, first, sum, all, last := r.int(), r.text(), r.int64(), r.bool(), r.bytes(); n != 2 || first != id.String() || sum != 2 || all || string(last) != "\xff" {
						t.Errorf("arrays: %d %s %d %t %q", n, first, sum, all, last)
					}
					return nil
				}, []parley.ID{id, parley.NewID()}, []string{"a", text}, []int64{1, 2}, []bool{true, false}, [][]byte{{1}, {0xff}})
				if err := store.send(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
			if agents, err := store.Agents(t.Context(), workspace, parley.AgentQuery{}); err != nil || len(agents) != 1 {
				t.Errorf("%d agents, %v", len(agents), err)
			}
		})
	}
}

// TestServerRestartsUnderLoad kills the server while many write: what was
// answered is there once, whatever was sent again, and nobody waits for ever.
func TestServerRestartsUnderLoad(t *testing.T) {
	t.Parallel()
	cluster, err := pgtest.Start(pgtest.Options{Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.Run(t.Context(), pgtest.Superuser, "postgres", "CREATE DATABASE parley OWNER "+pgtest.Owner); err != nil {
		t.Fatal(err)
	}
	store := openedAt(t, cluster.URL(pgtest.Owner, "parley"), Options{})
	ctx := context.Background()
	workspace, err := store.Workspace(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	const writers, before, restarts = 8, 20, 2
	var answered, refused atomic.Int64
	progress := make(chan struct{}, 1024)
	stop := make(chan struct{})
	var group sync.WaitGroup
	versions := make([]int, writers)
	for i := range writers {
		group.Go(func() { // ends when stop is closed
			agent, _, err := store.CreateAgent(ctx, parley.Agent{WorkspaceID: workspace, Slug: fmt.Sprintf("agent-%d", i), Name: "A", Runtime: parley.StandardRuntime}, parley.Idempotency{})
			for n := 0; err == nil; n++ {
				select {
				case <-stop:
					versions[i] = agent.Version
					return
				case progress <- struct{}{}:
				}
				agent.Description = fmt.Sprint(n)
				next, updateErr := store.UpdateAgent(ctx, agent)
				switch parley.ErrorCode(updateErr) {
				case "":
					answered.Add(1)
				case parley.CodeUnavailable: // it may be there or not: look
					refused.Add(1)
					next, updateErr = store.Agent(ctx, workspace, agent.ID.String())
					if updateErr != nil {
						continue
					}
					if next.Version < agent.Version || next.Version > agent.Version+1 {
						t.Errorf("a change to version %d left version %d", agent.Version, next.Version)
					}
				default:
					err = updateErr
					continue
				}
				agent = next
			}
			t.Errorf("writer %d: %v", i, err)
		})
	}
	for range restarts {
		for range before {
			<-progress
		}
		if err := errors.Join(cluster.Stop(), cluster.Resume()); err != nil {
			t.Fatal(err)
		}
	}
	for range before * writers {
		<-progress
	}
	close(stop)
	go func() { // ends with the writers, who may stand at a full channel
		for range progress { //nolint:revive // emptied, not read
		}
	}()
	group.Wait()
	close(progress)
	for i, version := range versions {
		agent, err := store.Agent(ctx, workspace, fmt.Sprintf("agent-%d", i))
		if err != nil || agent.Version != version {
			t.Errorf("agent %d is at version %d, its writer at %d: %v", i, agent.Version, version, err)
		}
		for n := 1; n <= version; n++ {
			if _, err := store.AgentVersion(ctx, workspace, agent.ID, n); err != nil {
				t.Errorf("version %d of agent %d: %v", n, i, err)
			}
		}
	}
	t.Logf("%d changes answered, %d refused", answered.Load(), refused.Load())
}

// TestOutOfReach: what a person reads when there is no server, or the wrong one.
func TestOutOfReach(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	for what, c := range map[string]struct{ url, says string }{
		"no server":   {"postgres://parley@/x?host=" + t.TempDir(), "cannot be reached"},
		"no database": {strings.Replace(url, "/test_", "/none_", 1), "no such database"},
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

// TestConversations: several batches are one transaction; an error undoes them,
// and a process that falls silent between them loses its locks.
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
				t.Errorf("a silent conversation lasts %q", bound)
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
