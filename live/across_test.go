package live_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/internal/pgtest"
	"example.org/parley/live"
	"example.org/parley/postgres"
	"example.org/parley/store"
)

var databases = pgtest.NewDatabases(pgtest.Options{}, func(ctx context.Context, url string) error {
	_, err := postgres.Migrate(ctx, url, slog.New(slog.DiscardHandler))
	return err
})

func TestMain(m *testing.M) { goleak.VerifyTestMain(databases.Main(m)) }

// patience bounds a test's waits.
const patience = 30 * time.Second

// process is the live side of one Parley process.
type process struct {
	store *postgres.Store
	relay *postgres.Relay
	hub   *live.Hub
}

// world is a database with one session, whose rows the test writes as a worker would, and the processes on it. The
// first process has the turns.
type world struct {
	testing.TB
	url       string
	conn      *pgx.Conn
	processes []process

	workspace, session, turn parley.ID
	events                   int64
	epoch                    int64

	flushing sync.WaitGroup
	writing  sync.Mutex // guards the connection and what follows
	open     map[parley.ID]*written
}

// written is a streaming message, and how much of it is stored.
type written struct {
	stream   *live.Stream
	versions int
	flushed  int
}

func newWorld(tb testing.TB, processes int) *world {
	tb.Helper()
	w := &world{
		TB:        tb,
		url:       databases.New(tb),
		workspace: parley.NewID(),
		session:   parley.NewID(),
		turn:      parley.NewID(),
		epoch:     1,
		open:      map[parley.ID]*written{},
	}
	cluster := databases.Cluster(tb)
	var err error
	if w.conn, err = pgx.Connect(
		tb.Context(),
		strings.Replace(w.url, pgtest.Owner+"@", pgtest.Superuser+"@", 1),
	); err != nil {
		tb.Fatal(err, cluster.Dir())
	}
	tb.Cleanup(func() { w.must(w.conn.Close(context.Background())) })
	now := time.Now().UnixMilli()
	w.exec(
		`INSERT INTO parley.sessions (id, workspace_id, agent_id, owner_id, visibility, log_id, kind, mode, status,
			created_at, updated_at)
 VALUES ($1, $2, $3, $3, 'workspace', $1, 'agent', 'foreground', 'running', $4, $4)`,
		w.session,
		w.workspace,
		parley.NewID(),
		now,
	)
	w.exec(
		"INSERT INTO parley.heads (session_id, workspace_id, log_id, turn_id, turn_status, epoch) "+
			"VALUES ($1, $2, $1, $3, 'running', 1)",
		w.session,
		w.workspace,
		w.turn,
	)
	for range processes {
		w.join()
	}
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) exec(statement string, args ...any) {
	w.Helper()
	for i, value := range args {
		if id, ok := value.(parley.ID); ok {
			args[i] = id.String()
		}
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	if _, err := w.conn.Exec(context.Background(), statement, args...); err != nil {
		w.Fatalf("%s: %v", statement, err)
	}
}

// until waits for what another process makes true and announces to nobody here.
func (w *world) until(what string, holds func() bool) {
	w.Helper()
	look, enough := time.NewTicker(time.Millisecond), time.After(patience)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-enough:
			w.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// join starts one more process.
func (w *world) join() process {
	w.Helper()
	store, err := postgres.Open(context.Background(), w.url, postgres.Options{})
	w.must(err)
	p := process{store: store, relay: store.Relay()}
	p.hub = live.New(store, live.Options{Relay: p.relay, Log: slog.New(slog.DiscardHandler)})
	store.Listen(p.hub)
	// Nothing here flushes regularly, so the relay must be connected.
	w.until("the relay is connected", func() bool { return p.relay.Stats().Connected })
	p.hub.FlushWith(func(parley.ID) { w.flushing.Go(w.flush) }) // ends with the flush
	w.processes = append(w.processes, p)
	w.Cleanup(func() {
		p.hub.Close()
		w.flushing.Wait()
		w.must(store.Close())
	})
	return p
}

// commit writes events, and reports them to the first process.
func (w *world) commit(settled []parley.ID, events ...parley.Event) {
	w.Helper()
	from := w.events
	for i := range events {
		w.events++
		events[i].SessionID, events[i].Sequence, events[i].TurnID = w.session, w.events, w.turn
		data := string(events[i].Data)
		if events[i].Type == parley.EventStepGenerated {
			data = stored(w, events[i].Data)
		}
		w.exec(
			"INSERT INTO parley.events (session_id, sequence, workspace_id, type, turn_id, data, created_at) "+
				"VALUES ($1, $2, $3, $4, $5, $6, 0)",
			w.session,
			w.events,
			w.workspace,
			string(events[i].Type),
			w.turn,
			data,
		)
	}
	w.exec("UPDATE parley.heads SET next_event = $2, epoch = $3 WHERE session_id = $1", w.session, w.events+1, w.epoch)
	commit := store.Commit{
		WorkspaceID: w.workspace,
		SessionID:   w.session,
		Epoch:       w.epoch,
		Events:      events,
		Settled:     settled,
	}
	if from < w.events {
		w.processes[0].relay.Committed(commit)
		w.processes[0].hub.Committed(commit)
	}
}

// stored returns a settle event as the table holds it: without contents.
func stored(w *world, data json.RawMessage) string {
	var step event.Settled
	w.must(json.Unmarshal(data, &step))
	for i := range step.Messages {
		step.Messages[i].Content = nil
	}
	text, err := json.Marshal(step)
	w.must(err)
	return string(text)
}

// begin makes a message stream in the first process.
func (w *world) begin() (*live.Stream, parley.ID) {
	w.Helper()
	id := parley.NewID()
	w.exec(
		`INSERT INTO parley.messages (id, workspace_id, session_id, log_id, sequence, turn_id, role, status,
			author_kind, content, created_at, updated_at)
 VALUES ($1, $2, $3, $3, $4, $5, 'assistant', 'streaming', 'agent', '{}', 0, 0)`,
		id,
		w.workspace,
		w.session,
		w.events+1,
		w.turn,
	)
	w.commit(nil, parley.Event{Type: parley.EventMessageCreated, Data: fmt.Appendf(nil, `{"message_id":%q}`, id)})
	stream := w.processes[0].hub.Open(
		live.StreamRef{WorkspaceID: w.workspace, SessionID: w.session, TurnID: w.turn, MessageID: id, Epoch: w.epoch},
	)
	w.writing.Lock()
	defer w.writing.Unlock()
	w.open[id] = &written{stream: stream}
	return stream, id
}

// flush stores the streaming text, as a worker does.
func (w *world) flush() {
	w.writing.Lock()
	defer w.writing.Unlock()
	for id, o := range w.open {
		text := o.stream.Text(parley.KindText)
		if len(text) == o.flushed {
			continue
		}
		o.versions++
		if _, err := w.conn.Exec(
			context.Background(),
			`INSERT INTO parley.versions (workspace_id, message_id, n, kind, "offset", "end", chunks, text, created_at)
 VALUES ($1, $2, $3, 'text', $4, $5, 1, $6, 0)`,
			w.workspace.String(),
			id.String(),
			o.versions,
			o.flushed,
			len(text),
			text[o.flushed:],
		); err != nil {
			w.Error(err)
			return
		}
		o.flushed = len(text)
		o.stream.Kept(parley.KindText, len(text))
	}
}

// settle ends a message.
func (w *world) settle(id parley.ID, text string) {
	w.Helper()
	w.writing.Lock()
	delete(w.open, id)
	w.writing.Unlock()
	content, err := parley.EncodeContent(parley.AssistantContent{Text: text})
	w.must(err)
	w.exec(
		"UPDATE parley.messages SET status = 'completed', content = $3 WHERE workspace_id = $1 AND id = $2",
		w.workspace,
		id,
		string(content),
	)
	data, err := json.Marshal(event.Settled{TurnID: w.turn, Messages: []event.SettledMessage{
		{MessageID: id, Role: parley.RoleAssistant, Status: parley.MessageCompleted, End: len(text), Content: content},
	}})
	w.must(err)
	w.commit([]parley.ID{id}, parley.Event{Type: parley.EventStepGenerated, Data: data})
}

// watch starts watching the session on a process.
func (w *world) watch(at int, after int64) *viewer {
	v := &viewer{TB: w.TB, after: after, texts: map[parley.ID]string{}}
	v.watcher = w.processes[at].hub.Watch(live.WatchRequest{
		Scope: store.Scope{WorkspaceID: w.workspace}, Sessions: []live.Place{{SessionID: w.session, After: after}},
	})
	w.Cleanup(v.watcher.Close)
	return v
}

// viewer folds frames by the rule for clients.
type viewer struct {
	testing.TB
	watcher *live.Watcher
	after   int64
	texts   map[parley.ID]string
}

// until reads until the condition holds.
func (v *viewer) until(what string, holds func() bool) {
	v.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for !holds() {
		frame, err := v.watcher.Next(ctx)
		if err != nil {
			v.Fatalf("waiting for %s at event %d: %v", what, v.after, err)
		}
		switch frame.Kind {
		case live.EventFrame:
			if frame.Event.Sequence != v.after+1 {
				v.Fatalf("event %d came after event %d", frame.Event.Sequence, v.after)
			}
			v.after++
			if frame.Event.Type == parley.EventStepGenerated {
				v.settled(frame.Event.Data)
			}
		case live.DeltaFrame:
			d := frame.Delta
			text := v.texts[d.MessageID]
			if d.Offset != 0 && d.Offset != len(text) {
				v.Fatalf("a delta at %d, the text ends at %d", d.Offset, len(text))
			}
			v.texts[d.MessageID] = text[:d.Offset] + d.Text
		}
	}
}

func (v *viewer) settled(data json.RawMessage) {
	v.Helper()
	var step event.Settled
	if err := json.Unmarshal(data, &step); err != nil {
		v.Fatal(err)
	}
	for _, m := range step.Messages {
		var content parley.AssistantContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			v.Fatal(err)
		}
		v.texts[m.MessageID] = content.Text
	}
}

// has waits until a message has a text.
func (v *viewer) has(id parley.ID, text string) {
	v.Helper()
	v.until(fmt.Sprintf("%.40q", text), func() bool { return v.texts[id] == text })
}

// A turn of one process is watched on another: from its beginning, by somebody who joins in the middle, and to its end.
func TestWatchedOnAnotherProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	early := w.watch(1, 0)
	stream, id := w.begin()
	stream.Append(parley.KindText, "Größe, ")
	early.has(id, "Größe, ")
	stream.Append(parley.KindText, strings.Repeat("🙂", 3000))
	early.has(id, "Größe, "+strings.Repeat("🙂", 3000))

	w.join()
	late := w.watch(2, w.events)
	late.has(id, stream.Text(parley.KindText))
	stream.Append(parley.KindText, " end")
	text := stream.Text(parley.KindText)
	for _, v := range []*viewer{early, late} {
		v.has(id, text)
	}
	w.settle(id, text+".")
	for _, v := range []*viewer{early, late} {
		v.until("the end", func() bool { return v.after == w.events })
		if v.texts[id] != text+"." {
			t.Errorf("a watcher ends with %d bytes of text, want %d", len(v.texts[id]), len(text)+1)
		}
	}
}

// TestRawOnAnotherProcess: unprocessed text crosses to the process where it is read, in its place among the events, and
// the process that has the text learns when the last reader leaves.
func TestRawOnAnotherProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	holder := w.processes[0].hub
	watcher := w.processes[1].hub.Watch(live.WatchRequest{
		Scope: store.Scope{WorkspaceID: w.workspace}, Raw: true,
		Sessions: []live.Place{{SessionID: w.session}},
	})
	defer watcher.Close()
	_, id := w.begin()
	w.until("raw text is wanted elsewhere", func() bool { return holder.WantsRaw(w.session) })
	text := strings.Repeat("größe 🙂\n", 2000)
	piece := store.RawPiece{SessionID: w.session, TurnID: w.turn, MessageID: id, End: 9, Text: text}
	holder.AppendRaw(piece)
	piece.Offset, piece.End, piece.Text = 9, 12, "end"
	holder.AppendRaw(piece)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var seen int64 // the last event before
	for got, end := "", int64(0); end < 12; {
		frame, err := watcher.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if frame.Kind == live.EventFrame {
			seen = frame.Event.Sequence
		}
		if frame.Kind != live.RawFrame {
			continue
		}
		if frame.Raw.Offset != end || frame.Raw.MessageID != id || seen != w.events {
			t.Fatalf("a piece at %d after %d, of %s, after event %d", frame.Raw.Offset, end, frame.Raw.MessageID, seen)
		}
		if got, end = got+frame.Raw.Text, frame.Raw.End; end == 12 && got != text+"end" {
			t.Errorf("%d bytes arrived, want %d", len(got), len(text)+3)
		}
	}
	watcher.Close()
	w.until("nobody wants raw text any more", func() bool { return !holder.WantsRaw(w.session) })
}

// The listening connection of the watcher's process is killed in the middle of a stream, while events and text are
// written: nothing is missing and nothing comes twice (failures 23 and 40).
func TestListenerKilledWhileWatched(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	v := w.watch(1, 0)
	stream, id := w.begin()
	stream.Append(parley.KindText, "before, ")
	v.has(id, "before, ")
	w.exec(
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
			"WHERE datname = current_database() AND application_name = 'parley listen'",
	)
	stream.Append(parley.KindText, "meanwhile, ")
	w.flush()
	for range 5 {
		w.commit(nil, parley.Event{Type: parley.EventMessageQueued, Data: []byte(`{}`)})
	}
	v.has(id, "before, meanwhile, ")
	v.until("the events", func() bool { return v.after == w.events })
	stream.Append(parley.KindText, "after")
	w.flush()
	v.has(id, "before, meanwhile, after")
	w.settle(id, "before, meanwhile, after")
	v.until("the end", func() bool { return v.after == w.events })
}

// A process dies in the middle of a stream: watchers elsewhere see another process settle its message, even if the dead
// one's last words arrive late (failure 28).
func TestTakenOverWhileWatched(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	v := w.watch(2, 0)
	stream, id := w.begin()
	stream.Append(parley.KindText, "half an ans")
	v.has(id, "half an ans")
	w.processes = w.processes[1:]
	w.epoch++
	w.settle(id, "half an")
	stream.Append(parley.KindText, "wer that nobody may see")
	v.until("the settle event", func() bool { return v.after == w.events })
	again, next := w.begin()
	again.Append(parley.KindText, "once more")
	v.has(next, "once more")
	if got := v.texts[id]; got != "half an" {
		t.Errorf("the text of the dead process's message is %q", got)
	}
	stream.Drop()
}

// Connections of either kind are killed again and again while messages stream and watchers on three processes come and
// go: each watcher gets every event once, and ends with the text of the record (failures 23 and 40).
func TestWatchersUnderFire(t *testing.T) {
	t.Parallel()
	const messages, pieces, watchers = 12, 40, 9
	w := newWorld(t, 3)
	killer, err := pgx.Connect(t.Context(), strings.Replace(w.url, pgtest.Owner+"@", pgtest.Superuser+"@", 1))
	w.must(err)
	defer func() { w.must(killer.Close(context.Background())) }()
	const events = 2 * messages // each begins and settles
	over := make(chan struct{})
	texts := map[parley.ID]string{} // owned by the test's goroutine until over is closed
	var work sync.WaitGroup
	for i := range watchers {
		work.Go(func() { // ends when it has seen the last event
			v := w.watch(i%3, 0)
			for v.after < events {
				goal := min(v.after+1+rand.Int64N(4), events)
				v.until("events", func() bool { return v.after >= goal || rand.N(50) == 0 })
				if rand.N(3) == 0 { // it leaves, and continues elsewhere
					v.watcher.Close()
					v.watcher = w.watch(rand.N(3), v.after).watcher
				}
			}
			<-over
			for id, text := range texts {
				if v.texts[id] != text {
					t.Errorf("watcher %d has %.60q of a message, the record %.60q", i, v.texts[id], text)
				}
			}
		})
	}
	for range messages {
		stream, id := w.begin()
		for n := range pieces {
			stream.Append(parley.KindText, fmt.Sprint("größe ", n, " "))
			if n%10 == 0 {
				kind := []string{"listen", "notify"}[rand.N(2)]
				_, err := killer.Exec(
					t.Context(),
					"SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
						"WHERE datname = current_database() AND application_name = $1",
					"parley "+kind,
				)
				w.must(err)
				w.flush()
			}
		}
		texts[id] = stream.Text(parley.KindText)
		w.settle(id, texts[id])
	}
	close(over)
	work.Wait()
}

// BenchmarkFirstToken measures the way of a first token from the process that runs the turn: to a watcher there, and
// how much later to one on another process.
func BenchmarkFirstToken(b *testing.B) {
	w := newWorld(b, 2)
	here, there := w.watch(0, 0), w.watch(1, 0)
	seen := make(chan time.Time)
	ask := make(chan parley.ID)
	defer close(ask)
	go func() { // ends with the benchmark
		for id := range ask {
			there.has(id, "Hello")
			seen <- time.Now()
		}
	}()
	_, id := w.begin()
	w.settle(id, "")
	here.until("the beginning", func() bool { return here.after == w.events })
	var later []time.Duration
	for b.Loop() {
		stream, id := w.begin()
		ask <- id
		stream.Append(parley.KindText, "Hello")
		here.has(id, "Hello")
		at := time.Now()
		later = append(later, (<-seen).Sub(at))
		w.settle(id, "Hello")
	}
	slices.Sort(later)
	at := func(share float64) float64 {
		return float64(later[int(share*float64(len(later)-1))]) / float64(time.Millisecond)
	}
	b.ReportMetric(at(0.5), "ms-later-p50")
	b.ReportMetric(at(0.95), "ms-later-p95")
	b.ReportMetric(at(0.99), "ms-later-p99")
	b.ReportMetric(0, "ns/op")
}
