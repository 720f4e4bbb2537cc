package postgres

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/parley"
	"example.org/parley/internal/pgtest"
	"example.org/parley/store"
)

// ear records what it hears of other processes, and wakes a waiting test.
type ear struct {
	mu      sync.Mutex // guards all fields below
	commits []store.Commit
	hints   []store.RelayHints
	from    map[parley.ID]bool
	resyncs int
	changed chan struct{}
}

func newEar(store *Store) *ear {
	e := &ear{from: map[parley.ID]bool{}, changed: make(chan struct{})}
	store.Listen(e)
	store.Relay().Hear(e)
	return e
}

func (e *ear) note(what func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	what()
	close(e.changed)
	e.changed = make(chan struct{})
}

func (e *ear) Committed(c store.Commit) { e.note(func() { e.commits = append(e.commits, c) }) }
func (e *ear) Resync()                  { e.note(func() { e.resyncs++ }) }
func (e *ear) Heard(from parley.ID, hints store.RelayHints) {
	e.note(func() { e.hints, e.from[from] = append(e.hints, hints), true })
}

// resynced returns how often it was told to read everything again.
func (e *ear) resynced() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.resyncs
}

// until waits until the condition holds.
func (e *ear) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		e.mu.Lock()
		ok, changed := holds(), e.changed
		e.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("waited too long for: %s", what)
		}
	}
}

// commitOf reports whether a commit of a session was heard that reaches an event.
func (e *ear) commitOf(sessionID parley.ID, last int64) func() bool {
	return func() bool {
		for _, c := range e.commits {
			if c.SessionID == sessionID && c.Remote && c.LastEvent >= last {
				return true
			}
		}
		return false
	}
}

// pair returns two processes on one database that hear each other.
func pair(t *testing.T, url string) (stores [2]*Store, ears [2]*ear) {
	t.Helper()
	return pairOf(t, url, Options{})
}

func pairOf(t *testing.T, url string, options Options) (stores [2]*Store, ears [2]*ear) {
	t.Helper()
	for i := range stores {
		stores[i] = openedAt(t, url, options)
		ears[i] = newEar(stores[i])
	}
	for _, e := range ears {
		e.until(t, "the other process", func() bool { return e.resyncs > 0 })
	}
	for i, e := range ears {
		ears[1-i].until(t, "a sign of life of the other process", func() bool { return len(ears[1-i].from) > 0 })
		meet(t, stores[1-i], e)
	}
	return stores, ears
}

// meet waits until what one process tells reaches the other.
func meet(t *testing.T, teller *Store, listener *ear) {
	t.Helper()
	id := parley.NewID()
	teller.Relay().Committed(store.Commit{SessionID: id, Events: []parley.Event{{Sequence: 1}}})
	listener.until(t, "a commit of the other process", listener.commitOf(id, 1))
}

func TestAloneNobodyIsTold(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	first := openedAt(t, url, Options{})
	own := newEar(first)
	relay := first.Relay()
	tick := time.NewTicker(beat / 20)
	defer tick.Stop()
	for !relay.alone.Load() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it never noticed being alone")
		}
	}
	relay.Committed(store.Commit{SessionID: parley.NewID(), Events: []parley.Event{{Sequence: 1}}})
	if waits := relay.Stats().Queued; waits != 0 {
		t.Fatalf("%d hints wait for nobody", waits)
	}
	second := openedAt(t, url, Options{})
	other := newEar(second)
	own.until(t, "the other process", func() bool { return len(own.from) > 0 })
	other.until(t, "a resync for missing hints, apart from its own start", func() bool { return other.resyncs > 1 })
	meet(t, first, other)
}

func TestRelayTellsOthers(t *testing.T) {
	t.Parallel()
	stores, ears := pair(t, databases.New(t))
	session, message := parley.NewID(), parley.NewID()
	commit := store.Commit{
		WorkspaceID: parley.NewID(), SessionID: session, Epoch: 4, Ready: true, Outbox: true, Cancel: parley.NewID(),
		Events: []parley.Event{{Sequence: 8}, {Sequence: 9}},
		Feed: []store.FeedEvent{
			{
				SessionID:  session,
				Type:       parley.FeedSessionUpdated,
				OwnerID:    parley.NewID(),
				Visibility: parley.VisibilityWorkspace,
				Data:       []byte(`{"a":1}`),
			},
			{
				SessionID: session,
				Type:      parley.FeedSessionStatusChanged,
				Data:      []byte(`"` + strings.Repeat("x", mostFeedBytes) + `"`),
			},
		},
	}
	stores[0].Relay().Committed(commit)
	text := strings.Repeat("Größe 🙂 ", 3000)
	stores[0].Relay().Tell(store.RelayHints{
		Interests: []store.Interest{{SessionID: session, PaceMS: 60, Flush: true}},
		Pieces: []store.StreamPiece{
			{SessionID: session, MessageID: message, Kind: parley.KindText, Offset: 5, Text: text},
		},
	})
	got := ears[1]
	var heard string
	got.until(t, "the text", func() bool {
		heard = ""
		for _, hints := range got.hints {
			for _, p := range hints.Pieces {
				heard += p.Text
			}
		}
		return heard == text
	})
	got.mu.Lock()
	defer got.mu.Unlock()
	var c store.Commit
	for _, one := range got.commits {
		if one.SessionID == session {
			c = one
		}
	}
	if !c.Remote || c.LastEvent != 9 || c.Epoch != 4 || !c.Ready || !c.Outbox || c.Cancel != commit.Cancel ||
		!c.FeedLost ||
		len(c.Events) != 0 {
		t.Errorf("heard %+v", c)
	}
	if len(c.Feed) != 1 || string(c.Feed[0].Data) != `{"a":1}` || c.Feed[0].OwnerID != commit.Feed[0].OwnerID ||
		c.Feed[0].WorkspaceID != commit.WorkspaceID {
		t.Errorf("list changes %+v", c.Feed)
	}
	if len(got.from) != 1 {
		t.Errorf("%d processes were heard", len(got.from))
	}
	ears[0].mu.Lock()
	defer ears[0].mu.Unlock()
	if ears[0].commitOf(session, 0)() {
		t.Error("a process received its own hints")
	}
	if stats := stores[0].Relay().Stats(); !stats.Connected || stats.Sent == 0 || stats.Dropped != 0 {
		t.Errorf("stats %+v", stats)
	}
}

// kill ends the connections of a kind, like an administrator.
func kill(t *testing.T, url, kind string) {
	t.Helper()
	conn := connected(t, url)
	run(
		t,
		conn,
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
			"WHERE datname = current_database() AND application_name = 'parley "+kind+"'",
	)
}

// TestKilledListener: a process whose listening connection is killed hears the others again, and is told to read
// everything again (failure 40).
func TestKilledListener(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	stores, ears := pair(t, url)
	before := ears[1].resynced()
	kill(t, url, "listen")
	ears[1].until(t, "a resync", func() bool { return ears[1].resyncs > before })
	meet(t, stores[0], ears[1])
	if got := stores[1].Relay().Stats().Reconnects; got == 0 {
		t.Error("the reconnection was not counted")
	}
}

// TestALateListenerReadsEverything: who begins to hear after the relay has connected is told to read everything again.
func TestALateListenerReadsEverything(t *testing.T) {
	t.Parallel()
	store := openedAt(t, databases.New(t), Options{})
	relay := store.Relay()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for relay.Stats().Sent == 0 { // it asks the others once it hears
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it never connected")
		}
	}
	if got := newEar(store).resynced(); got != 1 {
		t.Errorf("a late listener was told to read everything %d times", got)
	}
}

// TestKilledSender: hints sent while the sending connection is killed arrive.
func TestKilledSender(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	stores, ears := pair(t, url)
	for range 3 {
		kill(t, url, "notify")
		meet(t, stores[0], ears[1])
	}
}

// TestRelayOutlivesARestart: while the server is away only little is kept; when it is back, the others are told to read
// everything again.
func TestRelayOutlivesARestart(t *testing.T) {
	t.Parallel()
	cluster, err := pgtest.Start(pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.Run(
		context.Background(),
		pgtest.Superuser,
		"postgres",
		"CREATE DATABASE parley OWNER "+pgtest.Owner,
	); err != nil {
		t.Fatal(err)
	}
	stores, ears := pair(t, cluster.URL(pgtest.Owner, "parley"))
	before := [2]int{ears[0].resynced(), ears[1].resynced()}
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	sender := stores[0].Relay()
	text := strings.Repeat("x", 1<<20)
	for i := 0; sender.Stats().Dropped == 0; i++ {
		if i > 2*waitingBytes>>20 {
			t.Fatal("nothing was dropped")
		}
		sender.Tell(store.RelayHints{Pieces: []store.StreamPiece{{MessageID: parley.NewID(), Text: text}}})
	}
	if err := cluster.Resume(); err != nil {
		t.Fatal(err)
	}
	for i, e := range ears {
		e.until(t, "a resync", func() bool { return e.resyncs > before[i] }) // it hears again
	}
	for i, e := range ears {
		meet(t, stores[1-i], e)
	}
}

// TestRelayBehindAPooler: behind a pooler that gives each transaction a different connection, notifications are sent
// through it and heard on a direct connection.
func TestRelayBehindAPooler(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	bouncer, err := databases.Cluster(t).Bouncer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bouncer.Close(); err != nil {
			t.Error(err)
		}
	})
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	pooled := bouncer.URL(pgtest.Owner, config.Database) + "&default_query_exec_mode=cache_describe"
	teller := openedAt(t, pooled, Options{ListenURL: url})
	listener := openedAt(t, pooled, Options{ListenURL: url})
	newEar(teller)
	e := newEar(listener)
	e.until(t, "the connection", func() bool { return e.resyncs > 0 })
	for range 3 {
		meet(t, teller, e)
	}
}

// TestHeardProcessesAreBounded: notifications in the names of thousands of processes are told as ever, and only so many
// names are kept.
func TestHeardProcessesAreBounded(t *testing.T) {
	t.Parallel()
	stores, _ := pair(t, databases.New(t))
	r := stores[1].Relay()
	heard, received := map[wireID]time.Time{}, r.received.Load()
	first := wireID(parley.NewID())
	tell := func(from wireID, now time.Time) {
		pack := packer{head: noticeHead{From: from}}
		pack.begin()
		pack.end()
		r.hear(pack.texts[0], heard, now)
	}
	now := time.Now()
	tell(first, now)
	for range mostHeard + 100 {
		tell(wireID(parley.NewID()), now)
	}
	if len(heard) != mostHeard {
		t.Errorf("%d names are kept", len(heard))
	}
	if got := r.received.Load() - received; got < mostHeard+101 {
		t.Errorf("%d notifications were heard", got)
	}
	if tell(first, now.Add(beat)); !heard[first].Equal(now.Add(beat)) {
		t.Error("a known process is no longer heard")
	}
}

// TestSilentProcess: a process says goodbye when it ends; one that falls silent without that makes the others read
// everything again, once.
func TestSilentProcess(t *testing.T) {
	t.Parallel()
	stores, ears := pair(t, databases.New(t))
	r := stores[1].Relay()
	now := time.Now()
	before := ears[1].resynced()
	heard := map[wireID]time.Time{wireID(parley.NewID()): now}
	r.missed(heard, now.Add(silence))
	if ears[1].resynced() != before {
		t.Error("it was considered gone too early")
	}
	r.missed(heard, now.Add(silence+1))
	r.missed(heard, now.Add(2*silence))
	if got := ears[1].resynced() - before; got != 1 {
		t.Errorf("%d resyncs", got)
	}
	pack := packer{head: noticeHead{From: wireID(parley.NewID())}}
	for _, bye := range []bool{false, true} {
		pack.head.Bye = bye
		pack.begin()
		pack.end()
	}
	r.hear(pack.texts[0], heard, now)
	if len(heard) != 1 {
		t.Error("a process that was heard is unknown")
	}
	r.hear(pack.texts[1], heard, now)
	if len(heard) != 0 {
		t.Error("a process that said goodbye is waited for")
	}
}

// BenchmarkRelay announces commits as fast as it can, half of them with a piece of text for watchers elsewhere, and
// reports how long a notification then takes.
func BenchmarkRelay(b *testing.B) {
	url := databases.New(b)
	teller, hearer := openedAt(b, url, Options{}), openedAt(b, url, Options{})
	relay := teller.Relay()
	for !relay.Stats().Connected || !hearer.Relay().Stats().Connected {
		time.Sleep(time.Millisecond)
	}
	workspace, turn, text := parley.NewID(), parley.NewID(), strings.Repeat("word ", 8)
	sessions := make([]parley.ID, 1024)
	for i := range sessions {
		sessions[i] = parley.NewID()
	}
	said := 0
	for b.Loop() {
		id := sessions[said%len(sessions)]
		said++
		relay.Committed(
			store.Commit{
				WorkspaceID: workspace,
				SessionID:   id,
				Epoch:       1,
				Events:      []parley.Event{{Sequence: int64(said)}},
			},
		)
		if said%2 == 0 {
			relay.Tell(store.RelayHints{Pieces: []store.StreamPiece{
				{
					WorkspaceID: workspace,
					SessionID:   id,
					TurnID:      turn,
					MessageID:   id,
					Epoch:       1,
					After:       1,
					Kind:        parley.KindText,
					Offset:      said * len(text),
					Text:        text,
				},
			}})
		}
		for relay.Stats().Queued > 2000 { // a real process has this many turns at once
			time.Sleep(time.Millisecond)
		}
	}
	b.StopTimer()
	for relay.Stats().Queued > 0 {
		time.Sleep(time.Millisecond)
	}
	stats := relay.Stats()
	b.ReportMetric(float64(said)/b.Elapsed().Seconds(), "commits/s")
	b.ReportMetric(float64(stats.Sent)/b.Elapsed().Seconds(), "notifications/s")
	b.ReportMetric(float64(stats.Lag)/float64(time.Millisecond), "ms-lag")
	b.ReportMetric(float64(stats.Dropped), "dropped")
	if got := hearer.Relay().Stats().Received; got == 0 {
		b.Error("nothing was heard")
	}
}
