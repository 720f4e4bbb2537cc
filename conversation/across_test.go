package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/event"
	"example.org/parley/internal/bounded"
	"example.org/parley/internal/pgtest"
	"example.org/parley/live"
	"example.org/parley/postgres"
	"example.org/parley/store"
	"example.org/parley/stream"
	"example.org/parley/tool/builtin"
	"example.org/parley/worker"
)

var databases = pgtest.NewDatabases(pgtest.Options{}, func(ctx context.Context, url string) error {
	_, err := postgres.Migrate(ctx, url, slog.New(slog.DiscardHandler))
	return err
})

// patience bounds every wait of a test.
const patience = 60 * time.Second

// Parts of a test's process.
const (
	runs  = 1 << iota // a worker
	hears             // a relay
)

// process is a whole Parley process on a shared database.
type process struct {
	*testing.T
	store  *postgres.Store
	hub    *live.Hub
	engine *engine.Engine
	owner  parley.Principal
}

func newProcess(t *testing.T, url string, parts int) *process {
	t.Helper()
	p := &process{T: t}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	var err error
	p.store, err = postgres.Open(context.Background(), url, postgres.Options{Log: log, MaxConns: 4})
	p.must(err)
	t.Cleanup(func() { p.must(p.store.Close()) })
	options := live.Options{Log: log}
	if parts&hears != 0 {
		relay := p.store.Relay()
		options.Relay = relay
		// Hints sent before the relay listens are lost until the next poll.
		for began := time.Now(); !relay.Stats().Connected; <-time.After(time.Millisecond) {
			if time.Since(began) > patience {
				t.Fatal("the relay did not connect")
			}
		}
	}
	p.hub = live.New(p.store, options)
	t.Cleanup(p.hub.Close)
	p.store.Listen(p.hub)
	verbs := engine.Options{Store: p.store, Models: models(), Tools: builtin.Tools(), Log: log}
	if parts&runs != 0 {
		w := worker.New(p.store, verbs.Models, verbs.Tools, p.hub, worker.Options{Log: log, Drain: time.Second})
		p.store.Listen(w)
		p.must(w.Start(t.Context()))
		t.Cleanup(func() { p.must(w.Stop(context.Background())) })
		verbs.Runner = w
	}
	p.engine = engine.New(verbs)
	p.owner, err = p.engine.LocalOwner(t.Context(), parley.DefaultWorkspace)
	p.must(err)
	return p
}

func (p *process) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *process) open(model parley.ModelID) parley.ID {
	p.Helper()
	opened, err := p.engine.OpenSession(p.Context(), p.owner, with(model), store.Idempotency{})
	p.must(err)
	return opened.Session.ID
}

func (p *process) post(session parley.ID, text string) parley.ID {
	p.Helper()
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	p.must(err)
	posted, err := p.engine.PostMessage(
		p.Context(),
		p.owner,
		session,
		engine.MessageInput{Content: content},
		store.Idempotency{},
	)
	p.must(err)
	return posted.Turn.ID
}

// watch starts watching sessions, or without any the workspace.
func (p *process) watch(sessions ...parley.ID) *viewer {
	v := &viewer{process: p, texts: map[parley.ID]string{}}
	request := stream.Request{Feed: len(sessions) == 0}
	for _, id := range sessions {
		request.Sessions = append(request.Sessions, stream.Place{SessionID: id})
	}
	var err error
	v.watcher, err = stream.New(p.engine, p.hub).Open(p.Context(), p.owner, request)
	p.must(err)
	p.Cleanup(v.watcher.Close)
	return v
}

// viewer folds frames by the rule for clients.
type viewer struct {
	*process
	watcher *stream.Stream
	after   int64
	deltas  int
	texts   map[parley.ID]string
	ended   parley.EventType
	feed    []store.FeedEvent
	gone    bool
}

// until reads until the condition holds, or the watcher ends.
func (v *viewer) until(what string, holds func() bool) {
	v.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for !holds() {
		frame, err := v.watcher.Next(ctx)
		if errors.Is(err, io.EOF) {
			v.gone = true
			return
		}
		if err == nil {
			err = v.take(frame)
		}
		if err != nil {
			v.Errorf("waiting for %s at event %d: %v", what, v.after, err)
			return
		}
	}
}

func (v *viewer) take(frame live.Frame) error {
	switch frame.Kind {
	case live.FeedFrame:
		v.feed = append(v.feed, frame.Feed)
	case live.DeltaFrame:
		d := frame.Delta
		text := v.texts[d.MessageID]
		if d.Kind != parley.KindText {
			return nil
		}
		if d.Offset != 0 && d.Offset != len(text) {
			return fmt.Errorf("a delta at %d, the text ends at %d", d.Offset, len(text))
		}
		v.texts[d.MessageID] = text[:d.Offset] + d.Text
		v.deltas++
	case live.EventFrame:
		if frame.Event.Sequence != v.after+1 {
			return fmt.Errorf("event %d came after event %d", frame.Event.Sequence, v.after)
		}
		v.after++
		switch {
		case frame.Event.Type.EndsTurn():
			v.ended = frame.Event.Type
		case frame.Event.Type == parley.EventStepGenerated, frame.Event.Type == parley.EventStepError:
			return v.settled(frame.Event.Data)
		}
	}
	return nil
}

func (v *viewer) settled(data json.RawMessage) error {
	var step event.Settled
	if err := json.Unmarshal(data, &step); err != nil {
		return err
	}
	for _, m := range step.Messages {
		var content parley.AssistantContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			return err
		}
		v.texts[m.MessageID] = content.Text
	}
	return nil
}

// isRecord compares what was watched with the record.
func (v *viewer) isRecord(session parley.ID) {
	v.Helper()
	scope := store.Scope{WorkspaceID: v.owner.WorkspaceID}
	messages, err := v.store.Messages(context.Background(), scope, session, store.MessageQuery{
		Roles: []parley.Role{parley.RoleAssistant}, Limit: parley.MaxPage,
	})
	v.must(err)
	if len(messages) == 0 {
		v.Error("the record has no answer")
	}
	for _, m := range messages {
		var content parley.AssistantContent
		v.must(json.Unmarshal(m.Content, &content))
		if got := v.texts[m.ID]; got != content.Text {
			v.Errorf("a watcher has %.80q, the record %.80q", got, content.Text)
		}
	}
}

// TestCancelledFromAnotherProcess: a turn that one process runs is watched and cancelled on another; the process that
// runs it learns of the cancel and settles the turn itself.
func TestCancelledFromAnotherProcess(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	newProcess(t, url, runs|hears)
	api := newProcess(t, url, hears)
	session := api.open("sim/lorem-20000-2")
	v := api.watch(session)
	api.post(session, "Go on and on.")
	v.until("some text", func() bool { return v.deltas >= 10 })
	result, err := api.engine.Cancel(t.Context(), api.owner, session, engine.CancelInput{})
	api.must(err)
	if result.By != parley.ByHolder || len(result.Settled) != 1 {
		t.Errorf("cancelled by the %s, %d messages settled", result.By, len(result.Settled))
	}
	v.until("the end", func() bool { return v.ended != "" })
	if v.ended != parley.EventSessionCancelled {
		t.Errorf("it ended with %s", v.ended)
	}
	v.isRecord(session)
}

// TestFeedOfAnotherProcess: the workspace feed reports what happens on other processes.
func TestFeedOfAnotherProcess(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	runner := newProcess(t, url, runs|hears)
	api := newProcess(t, url, hears)
	v := api.watch()
	seen := func(kind parley.EventType, session parley.ID) func() bool {
		return func() bool {
			for _, event := range v.feed {
				if event.Type == kind && event.SessionID == session {
					return true
				}
			}
			return false
		}
	}
	first := runner.open("sim/echo")
	v.until("the new session", seen(parley.FeedSessionUpdated, first))
	runner.post(first, "Hello")
	v.until("its status", seen(parley.FeedSessionStatusChanged, first))
	api.must(runner.engine.SetClientSession(t.Context(), runner.owner, "tab", first))
	v.until("that it is open in a client", seen(parley.FeedSessionActivated, first))
	api.must(runner.engine.DeleteSession(t.Context(), runner.owner, first))
	v.until("its end", seen(parley.FeedSessionDeleted, first))
}

// TestDeletedOnAnotherProcess: a session is deleted on one process while another runs its turn; watchers on both are
// told, and the run ends.
func TestDeletedOnAnotherProcess(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	runner := newProcess(t, url, runs|hears)
	api := newProcess(t, url, hears)
	session := runner.open("sim/lorem-20000-2")
	here, there := runner.watch(session), api.watch(session)
	runner.post(session, "Go on and on.")
	for _, v := range []*viewer{here, there} {
		v.until("some text", func() bool { return v.deltas >= 3 })
	}
	api.must(api.engine.DeleteSession(t.Context(), api.owner, session))
	for i, v := range []*viewer{here, there} {
		v.until("the end", func() bool { return false })
		if !v.gone || len(v.feed) != 1 || v.feed[0].Type != parley.FeedSessionDeleted {
			t.Errorf("watcher %d got %+v, ended %v", i, v.feed, v.gone)
		}
	}
}

// TestProcessThatHearsNothing: a process that hears no hints still shows everything (failure 40).
func TestProcessThatHearsNothing(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	runner := newProcess(t, url, runs|hears)
	deaf := newProcess(t, url, 0)
	session := runner.open("sim/lorem-300-1")
	v := deaf.watch(session)
	deaf.post(session, "Say something.")
	v.until("the end", func() bool { return v.ended != "" })
	v.isRecord(session)
}

// TestAnyProcessShowsAnySession: turns run on three processes and are posted and watched through any of them, while the
// connections that carry hints are killed repeatedly. Every watcher gets every event once and ends with the record
// (failures 23 and 40).
func TestAnyProcessShowsAnySession(t *testing.T) {
	t.Parallel()
	const processes, sessions, turns = 3, 8, 3
	url := databases.New(t)
	all := make([]*process, processes)
	for i := range all {
		all[i] = newProcess(t, url, runs|hears)
	}
	config, err := pgx.ParseConfig(url)
	all[0].must(err)
	name := config.Database
	var work sync.WaitGroup
	left := make(chan struct{})
	killed := make(chan struct{})
	go func() { // ends with the last turn
		defer close(killed)
		for kind := "listen"; ; {
			select {
			case <-left:
				return
			case <-time.After(time.Duration(50+rand.IntN(200)) * time.Millisecond):
			}
			if err := databases.Cluster(t).Run(context.Background(), pgtest.Superuser, name,
				"SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
					"WHERE datname = current_database() AND application_name = 'parley "+kind+"'"); err != nil {
				t.Error(err)
			}
			kind = []string{"listen", "notify"}[rand.IntN(2)]
		}
	}()
	for range sessions {
		work.Go(func() { // ends with its turns
			one := func() *process { return all[rand.IntN(processes)] }
			session := one().open("sim/lorem-120-1")
			v, w := one().watch(session), one().watch(session)
			for range turns {
				one().post(session, "Say something.")
				for _, v := range []*viewer{v, w} {
					v.until("the end of a turn", func() bool { return v.ended != "" })
					v.ended = ""
				}
			}
			v.isRecord(session)
			w.isRecord(session)
		})
	}
	work.Wait()
	close(left)
	bounded.Receive(t, killed, "the connections to be killed")
}
