package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/internal/bounded"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// hold keeps the writer busy until release is called, so that everything submitted meanwhile forms one batch.
func (w *world) hold() (release func()) {
	started, over := make(chan struct{}), make(chan struct{})
	var once sync.Once
	done := make(chan error, 1)
	go func() { // ends with release
		done <- w.store.write(context.Background(), func(*txn) error {
			once.Do(func() { close(started) })
			<-over
			return nil
		})
	}()
	bounded.Receive(w.t, started, "the writer to be busy")
	return func() {
		close(over)
		if err := bounded.Receive(w.t, done, "the writer"); err != nil {
			w.t.Error(err)
		}
	}
}

// waiting blocks until n members wait in a lane.
func waiting(lane chan *member, n int) {
	for len(lane) < n {
		runtime.Gosched()
	}
}

func note(tx *txn, name string) error {
	_, err := tx.exec("INSERT INTO workspaces (id, name, created_at) VALUES (?, ?, 0)", parley.NewID(), name)
	return err
}

func (w *world) notes() (names []string) {
	w.t.Helper()
	if err := w.store.read(context.Background(), func(c *conn) error {
		names = nil
		return c.each("SELECT name FROM workspaces WHERE name LIKE 'note%' ORDER BY name", func(r *row) error {
			names = append(names, r.text())
			return nil
		})
	}); err != nil {
		w.t.Fatal(err)
	}
	return names
}

// TestBatch: members of one transaction share its fate unless one fails unexpectedly; refusals and unexpected errors
// stay with their member. Each is a principal's call: the audit has every write once, and nothing else.
func TestBatch(t *testing.T) {
	refusal := parley.Errorf(parley.CodeConflict, "no")
	broken := errors.New("the disk hums")
	members := []struct {
		name string
		run  func(tx *txn) error
		want error
	}{
		{"note a", func(tx *txn) error { return note(tx, "note a") }, nil},
		{"refused", func(*txn) error { return refusal }, refusal},
		{"note b, then broken", func(tx *txn) error { return errors.Join(note(tx, "note b"), broken) }, broken},
		{"note c", func(tx *txn) error { return note(tx, "note c") }, nil},
		{"note d, then refused", func(tx *txn) error {
			if err := note(tx, "note d"); err != nil {
				return err
			}
			return refusal
		}, refusal},
		{"note e", func(tx *txn) error { return note(tx, "note e") }, nil},
	}
	w := newWorld(t, Options{})
	release := w.hold()
	results := make([]chan error, len(members))
	workspace := parley.NewID()
	for i, m := range members {
		results[i] = make(chan error, 1)
		ctx := store.WithAudit(
			context.Background(),
			store.NewAuditIntent(
				parley.AuditEntry{
					WorkspaceID: workspace,
					Action:      m.name,
					PrincipalID: parley.NewID(),
					RequestID:   parley.NewID(),
				},
			),
		)
		go func() { results[i] <- w.store.write(ctx, m.run) }() // ends with its answer
		waiting(w.store.writer.queue, i+1)
	}
	release()
	for i, m := range members {
		if err := <-results[i]; !errors.Is(err, m.want) {
			t.Errorf("%s: got %v, want %v", m.name, err, m.want)
		}
	}
	if diff := cmp.Diff([]string{"note a", "note c", "note e"}, w.notes()); diff != "" {
		t.Error(diff)
	}
	entries, err := w.store.Audit(t.Context(), workspace, store.AuditQuery{Ascending: true, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	if diff := cmp.Diff([]string{"note a", "note c", "note e"}, actions); diff != "" {
		t.Errorf("the audit: %s", diff)
	}
}

// TestCallerLeaves: a closure whose caller gave up before it started never runs.
func TestCallerLeaves(t *testing.T) {
	w := newWorld(t, Options{})
	release := w.hold()
	ctx, leave := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() { left <- w.store.write(ctx, func(tx *txn) error { return note(tx, "note left") }) }() // ends with leave
	waiting(w.store.writer.queue, 1)
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	if err := w.store.write(context.Background(), func(tx *txn) error { return note(tx, "note after") }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"note after"}, w.notes()); diff != "" {
		t.Error(diff)
	}
}

// TestOneOwner: a second Open is refused, naming the owner, and succeeds once the first is closed.
func TestOneOwner(t *testing.T) {
	dir := t.TempDir()
	first, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(context.Background(), dir, Options{})
	if parley.ErrorCode(err) != parley.CodeConflict ||
		!strings.Contains(err.Error(), fmt.Sprintf("in use by process %d on ", os.Getpid())) {
		t.Errorf("got %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFilesArePrivate: only the owner can read the database, even if others may read the directory.
func TestFilesArePrivate(t *testing.T) {
	w := newWorld(t, Options{})
	if err := os.Chmod(w.dir, 0o755); err != nil { //nolint:gosec // this mode is under test
		t.Fatal(err)
	}
	w.plainTurn(w.session(nil).ID, "a secret")
	files, err := os.ReadDir(w.dir)
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if info, err := file.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", file.Name(), info.Mode(), err)
		}
	}
}

// TestDamagedDatabase: a file that is not a database is named in the error, not overwritten.
func TestDamagedDatabase(t *testing.T) {
	dir := t.TempDir()
	path, damaged := filepath.Join(dir, DatabaseFile), []byte(strings.Repeat("not a database. ", 1000))
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(context.Background(), dir, Options{})
	if parley.ErrorCode(err) != parley.CodeUnavailable || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, damaged) { //nolint:gosec // of this test
		t.Errorf("the file was changed, %v", err)
	}
}

// TestNewerSchema: data of a newer Parley is refused and left unchanged.
func TestNewerSchema(t *testing.T) {
	w := newWorld(t, Options{})
	if err := w.store.write(context.Background(), func(tx *txn) error {
		_, err := tx.exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Open(context.Background(), w.dir, Options{})
	if parley.ErrorCode(err) != parley.CodeUnavailable || !strings.Contains(err.Error(), "newer Parley") {
		t.Errorf("got %v", err)
	}
}

// TestStorageFull: a full database refuses writes with its own code, still reads, keeps no partial writes, and writes
// again once there is room.
func TestStorageFull(t *testing.T) {
	w := newWorld(t, Options{})
	session := w.session(nil).ID
	w.pragma("PRAGMA max_page_count = 1") // SQLite raises it to the current size
	var err error
	posts := int64(0)
	for err == nil {
		alone := w.said(strings.Repeat("full ", 1000))
		alone.TurnID = parley.ID{}
		if _, err = w.store.PostMessage(context.Background(), w.scope, session, alone, parley.ID{}); err == nil {
			posts++
		}
	}
	if parley.ErrorCode(err) != parley.CodeStorageFull {
		t.Fatalf("got %v", err)
	}
	got, err := w.store.Session(context.Background(), w.scope, session)
	if err != nil || got.LastSequence != posts {
		t.Fatalf("%d posts succeeded, the session has %d (%v)", posts, got.LastSequence, err)
	}
	w.invariants()
	w.pragma("PRAGMA max_page_count = 1073741823")
	w.plainTurn(session, "there is room again")
	w.invariants()
}

// TestManyWriters: none of 100 concurrent writers meets a locked database, and every session's sequence is complete.
func TestManyWriters(t *testing.T) {
	w := newWorld(t, Options{})
	shared := w.session(nil).ID
	var wait sync.WaitGroup
	for range 100 {
		own := w.session(nil).ID
		wait.Go(func() {
			for range 3 {
				w.plainTurn(own, "answer")
				alone := w.said("to all")
				alone.TurnID = parley.ID{}
				if _, err := w.store.PostMessage(
					context.Background(),
					w.scope,
					shared,
					alone,
					parley.ID{},
				); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	w.invariants()
	got, err := w.store.Session(context.Background(), w.scope, shared)
	if err != nil || got.LastSequence != 300 {
		t.Errorf("%d messages, %v", got.LastSequence, err)
	}
}

// TestLogBound: a long read cannot make the write-ahead log grow without bound: the read is ended and the log emptied.
func TestLogBound(t *testing.T) {
	w := newWorld(t, Options{})
	if err := w.store.write(context.Background(), func(tx *txn) error {
		_, err := tx.exec("CREATE TABLE ballast (bytes BLOB)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	inside, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() { // ends when the test releases it
		ended <- w.store.read(context.Background(), func(c *conn) error {
			return c.each("SELECT version_id FROM goose_db_version ORDER BY version_id", func(r *row) error {
				if r.int() == 0 { // of the two rows
					close(inside)
					<-goOn
				}
				return nil
			})
		})
	}()
	bounded.Receive(t, inside, "the reader to be inside")
	for _, reader := range w.store.all {
		if reader.since.Load() != 0 {
			reader.since.Store(1) // pretend it began long ago
		}
	}
	fill := func(mib int) {
		for range mib {
			if err := w.store.write(context.Background(), func(tx *txn) error {
				_, err := tx.exec("INSERT INTO ballast VALUES (zeroblob(1 << 20))")
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	size := func() int64 {
		info, err := os.Stat(filepath.Join(w.dir, DatabaseFile+"-wal"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	fill(logLimit>>20 + 2)
	grown := size()
	close(goOn)
	if err := bounded.Receive(t, ended, "the write to end"); parley.ErrorCode(err) != parley.CodeUnavailable {
		t.Errorf("the old read ended with %v", err)
	}
	if err := w.store.write(context.Background(), func(tx *txn) error {
		tx.store.writer.paused = tx.store.writer.paused.Add(-pauseAgain)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	fill(2)
	if after := size(); grown <= logLimit || after > logBytes {
		t.Errorf("the log had %d bytes and has %d", grown, after)
	}
}

// TestClaimsDieWithTheirProcess: claims of a dead process are ready at Open, and crash_loop ends a turn that was taken
// over too often.
func TestClaimsDieWithTheirProcess(t *testing.T) {
	w := newWorld(t, Options{})
	session := w.session(nil).ID
	turn := w.post(session, w.said("hello"), w.process).Turn.ID
	for life := 1; life <= parley.CrashLoopLimit; life++ {
		if err := w.store.Close(); err != nil {
			t.Fatal(err)
		}
		w.open(Options{})
		w.invariants()
		got, err := w.store.Turn(context.Background(), w.scope, turn)
		if err != nil {
			t.Fatal(err)
		}
		if life == parley.CrashLoopLimit {
			if got.Status != parley.TurnFailed || got.Error == nil || got.Error.Class != parley.ClassCrashLoop {
				t.Errorf("the turn is %s, %v", got.Status, got.Error)
			}
			return
		}
		if got.Status != parley.TurnQueued || got.Takeovers != life {
			t.Fatalf("life %d: the turn is %s after %d takeovers", life, got.Status, got.Takeovers)
		}
		w.register()
		claims, err := w.store.Claim(context.Background(), w.process, 1, store.Occupancy{Slots: 10})
		if err != nil || len(claims) != 1 || claims[0].Turn.Attempt != life+1 {
			t.Fatalf("life %d: claims %v, %v", life, claims, err)
		}
	}
}

// TestClosed: every call after Close returns CodeUnavailable.
func TestClosed(t *testing.T) {
	w := newWorld(t, Options{})
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	_, postErr := w.store.PostMessage(context.Background(), w.scope, parley.NewID(), w.said("late"), parley.ID{})
	for _, err := range []error{postErr, w.store.Ping(context.Background())} {
		if parley.ErrorCode(err) != parley.CodeUnavailable {
			t.Errorf("got %v", err)
		}
	}
}

// listener records commits.
type listener struct{ commits []store.Commit }

func (l *listener) Committed(c store.Commit) { l.commits = append(l.commits, c) } // only on the writer's goroutine

// TestListeners: listeners get every event, in order and complete.
func TestListeners(t *testing.T) {
	w := newWorld(t, Options{})
	var heard listener
	session := w.session(nil).ID
	w.store.Listen(&heard)
	w.plainTurn(session, "the answer")
	if err := w.store.Close(); err != nil { // the writer has ended, so commits may be read
		t.Fatal(err)
	}
	var events []parley.Event
	for _, c := range heard.commits {
		events = append(events, c.Events...)
	}
	w.open(Options{})
	stored, err := w.store.Events(context.Background(), w.scope, session, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, events); diff != "" {
		t.Error(diff)
	}
	kinds := make([]parley.EventType, 0, len(events))
	for _, e := range events {
		kinds = append(kinds, e.Type)
	}
	want := []parley.EventType{
		parley.EventMessageCreated,
		parley.EventSessionStarted,
		parley.EventStepStarted,
		parley.EventMessageCreated,
		parley.EventStepGenerated,
		parley.EventSessionCompleted,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	if !slices.ContainsFunc(
		events,
		func(e parley.Event) bool { return strings.Contains(string(e.Data), "the answer") },
	) {
		t.Error("no event carries the answer")
	}
}

// TestCallerLeavesMidway: a caller that gives up during its transition still learns the result; otherwise its claim
// would be lost.
func TestCallerLeavesMidway(t *testing.T) {
	w := newWorld(t, Options{})
	ctx, leave := context.WithCancel(context.Background())
	answer, err := transact(ctx, w.store, func(*txn) (string, error) {
		leave()
		return "done", nil
	})
	if err != nil || answer != "done" {
		t.Errorf("a transition whose caller left in its middle: %q, %v", answer, err)
	}
	if _, err := transact(
		ctx,
		w.store,
		func(*txn) (string, error) { return "done", nil },
	); !errors.Is(
		err,
		context.Canceled,
	) {
		t.Errorf("a transition whose caller had already left: %v", err)
	}
}

// TestADuplicateEventFailsAlone although its statement ends the whole transaction: the other members of the batch run
// again, one by one.
func TestADuplicateEventFailsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	session := w.session(nil).ID
	members := []func(tx *txn) error{
		func(tx *txn) error { return note(tx, "note before") },
		func(tx *txn) error {
			h, err := tx.Head(session)
			if err != nil {
				return err
			}
			one := parley.Event{Sequence: 1_000, Type: parley.EventSessionCompleted, Data: []byte("{}"), CreatedAt: tx.now}
			return changes{tx}.AppendEvents(h, []transition.Event{{Event: one}, {Event: one}})
		},
		func(tx *txn) error { return note(tx, "note after") },
	}
	release := w.hold()
	results := make([]chan error, len(members))
	for i, run := range members {
		results[i] = make(chan error, 1)
		go func() { results[i] <- w.store.write(context.Background(), run) }() // ends with its answer
		waiting(w.store.writer.queue, i+1)
	}
	release()
	for i := range members {
		if err := <-results[i]; (err != nil) != (i == 1) {
			t.Errorf("member %d: %v", i+1, err)
		}
	}
	if diff := cmp.Diff([]string{"note after", "note before"}, w.notes()); diff != "" {
		t.Error(diff)
	}
	w.plainTurn(session, "hello") // the writer goes on
}

// TestTheWritersCachesFollowChanges of agents and processes, and of transactions that were rolled back.
func TestTheWritersCachesFollowChanges(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, Options{})
	session := w.session(nil).ID
	version := func(want int) {
		t.Helper()
		if turn := w.plainTurn(session, "hello"); turn.AgentVersion != want {
			t.Errorf("the turn runs version %d, want %d", turn.AgentVersion, want)
		}
	}
	version(1)
	next, err := w.store.UpdateAgent(ctx, w.agent)
	w.must(err)
	version(2)
	broken := errors.New("the disk hums")
	err = w.store.write(ctx, func(tx *txn) error {
		if _, err := tx.exec("UPDATE agents SET version = 3 WHERE id = ?", next.ID); err != nil {
			return err
		}
		delete(tx.current, next.ID)
		if seen, _, err := tx.Agent(w.scope.WorkspaceID, next.ID); err != nil || seen != 3 {
			t.Errorf("its own transaction sees version %d: %v", seen, err)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	version(2)
	foreign := func(tx *txn) error {
		if seen, _, err := tx.Agent(parley.NewID(), next.ID); err != nil || seen != 0 {
			t.Errorf("another workspace sees version %d: %v", seen, err)
		}
		return nil
	}
	w.must(w.store.write(ctx, foreign))
	w.must(w.store.ReleaseProcess(ctx, w.process))
	if posted := w.post(session, w.said("hello"), w.process); posted.Claim != nil {
		t.Error("a process that has gone took a claim")
	}
}
