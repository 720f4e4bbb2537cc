package worker

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/internal/webhook"
	"example.org/parley/store"
)

// breakable is a store whose way to webhooks breaks down when it is told to.
type breakable struct {
	Store
	breaks func(method string) bool         // nil: it never does
	active func() []store.SubscribedWebhook // nil: those that there are
}

func (b *breakable) fails(method string) error {
	if b.breaks != nil && b.breaks(method) {
		return parley.Errorf(parley.CodeUnavailable, "the store is away")
	}
	return nil
}

func (b *breakable) SubscribedWebhooks(ctx context.Context, limit int) ([]store.SubscribedWebhook, error) {
	if b.active != nil {
		return b.active(), nil
	}
	return b.Store.SubscribedWebhooks(ctx, limit)
}

func (b *breakable) HoldLane(ctx context.Context, lane store.Lane, hold time.Duration) (store.HeldLane, bool, error) {
	if err := b.fails("HoldLane"); err != nil {
		return store.HeldLane{}, false, err
	}
	return b.Store.HoldLane(ctx, lane, hold)
}

func (b *breakable) Events(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	after int64,
	limit int,
) ([]parley.Event, error) {
	if err := b.fails("Events"); err != nil {
		return nil, err
	}
	return b.Store.Events(ctx, scope, sessionID, after, limit)
}

// post is a postman whose steps the test takes itself, with an endpoint.
type post struct {
	*rig
	*postman
	broken *breakable
	round  webhookRound
	now    time.Time
	hook   parley.Webhook

	mu  sync.Mutex // guards got
	got int        // requests
}

func newPost(t *testing.T) *post {
	t.Helper()
	p := &post{rig: newRig(t), now: time.Now().Add(time.Hour)}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.got++
	}))
	t.Cleanup(server.Close)
	p.broken = &breakable{Store: p.rig.store}
	options := p.rig.options
	options.Webhooks = webhook.NewSender(true)
	options = options.withDefaults()
	p.postman = newPostman(p.broken, &options)
	t.Cleanup(p.end)
	var err error
	p.hook, err = p.rig.store.CreateWebhook(t.Context(), parley.Webhook{
		ID: parley.NewID(), WorkspaceID: p.scope.WorkspaceID, Name: "hook", URL: server.URL, Events: []string{"*"},
		Status: parley.WebhookActive, Owner: p.owner.Author(), Secret: []byte("secret"),
	})
	p.must(err)
	for now := p.rig.store.Now(); p.rig.store.Now() <= now; { // what happens next is later than the webhook
		runtime.Gosched()
	}
	return p
}

// requests is how many the endpoint got.
func (p *post) requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got
}

// look takes one look as the loop does, and waits for what it sends.
func (p *post) look() {
	p.Helper()
	p.must(p.subscribe(p.Context()))
	p.must(p.resume(p.Context()))
	p.must(p.postman.look(p.Context(), &p.round, p.now))
	p.runs.Wait()
}

func (p *post) due() []store.Lane {
	p.Helper()
	due, err := p.rig.store.DueLanes(p.Context(), webhookDue)
	p.must(err)
	return due
}

// A lane that is due, and that its webhook no longer wants, does not stay due: it would go before all others, for ever.
// What it has is sent once the webhook wants it again.
func TestADueLaneThatNobodyWantsIsPutAway(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	session := p.session(parley.Settings{}, nil)
	p.postElsewhere(session, "hello")
	lane := store.Lane{WorkspaceID: p.hook.WorkspaceID, WebhookID: p.hook.ID, SessionID: session}
	if _, ok, err := p.rig.store.HoldLane(t.Context(), lane, -time.Second); err != nil || !ok {
		t.Fatalf("HoldLane: %t, %v", ok, err)
	}
	change := func(tags ...string) {
		t.Helper()
		var err error
		p.hook.Filter.Tags = tags
		p.hook, err = p.rig.store.UpdateWebhook(t.Context(), p.hook)
		p.must(err)
	}
	change("of no session")
	p.look()
	if due, n := p.due(), p.requests(); len(due) != 0 || n != 0 {
		t.Errorf("%d requests were sent, and due are %+v", n, due)
	}
	change()
	p.look()
	if p.requests() == 0 {
		t.Error("the events were lost")
	}
}

// Events that could not be read are sent at the next look, also by another process.
func TestEventsThatCannotBeReadAreSentLater(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	session := p.session(parley.Settings{}, nil)
	p.postElsewhere(session, "hello")
	p.broken.breaks = func(method string) bool { return method == "Events" }
	p.look()
	if due, n := p.due(), p.requests(); len(due) != 1 || due[0].SessionID != session || n != 0 {
		t.Errorf("%d requests were sent, and due are %+v; want the lane that failed", n, due)
	}
	p.broken.breaks = nil
	p.look()
	if p.requests() == 0 {
		t.Error("the events were lost")
	}
}

// After an error of the store the next pass looks at every session, however long ago it was active.
func TestAnErrorOfTheStoreHasEverySessionLookedAt(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	p.postElsewhere(p.session(parley.Settings{}, nil), "hello")
	p.broken.breaks = func(method string) bool { return method == "HoldLane" }
	p.look()
	p.broken.breaks = nil
	p.look()
	if n := p.requests(); n != 0 {
		t.Errorf("%d requests were sent before the next pass", n)
	}
	p.now = p.now.Add(webhookPass)
	p.look()
	if p.requests() == 0 {
		t.Error("the events were lost")
	}
}

// That there are more webhooks than a process serves is logged once.
func TestTooManyWebhooksAreLoggedOnce(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	var log loggedText
	p.postman.options.Log = slog.New(slog.NewTextHandler(&log, nil))
	p.broken.active = func() []store.SubscribedWebhook {
		many := make([]store.SubscribedWebhook, maxSubscribed)
		for i := range many {
			many[i].ID = parley.NewID()
		}
		return many
	}
	for range 2 {
		p.must(p.subscribe(t.Context()))
	}
	if n := strings.Count(log.String(), "more active webhooks than"); n != 1 {
		t.Errorf("it is logged %d times:\n%s", n, log.String())
	}
}
