package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
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

	mu     sync.Mutex // guards the rest
	got    int        // requests
	answer func(r *http.Request) (status int)
}

func newPost(t *testing.T) *post {
	t.Helper()
	p := &post{rig: newRig(t), now: time.Now().Add(time.Hour)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.got++
		answer := p.answer
		p.mu.Unlock()
		if answer != nil {
			w.WriteHeader(answer(r))
		}
	}))
	t.Cleanup(server.Close)
	p.broken = &breakable{Store: p.rig.store}
	p.employ()
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

// employ has another postman, as another process would.
func (p *post) employ() {
	options := p.rig.options
	options.Webhooks = webhook.NewSender(true, nil)
	options = options.withDefaults()
	p.postman, p.round = newPostman(p.broken, &options), webhookRound{}
	p.Cleanup(p.end)
}

// answers sets how the endpoint answers; nil: 200.
func (p *post) answers(answer func(r *http.Request) (status int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
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

// events is how many a session has.
func (p *post) events(session parley.ID) int {
	p.Helper()
	heads, err := p.rig.store.Heads(p.Context(), []parley.ID{session})
	p.must(err)
	return int(heads[0].LastEvent)
}

func (p *post) due() []store.Lane {
	p.Helper()
	due, err := p.rig.store.DueLanes(p.Context(), webhookDue)
	p.must(err)
	return due
}

// What happened before a webhook was deleted or changed is not sent to it as it was, beyond the request under way.
func TestNothingMoreIsSentToAWebhookThatChanged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *post) error{
		"deleted": func(p *post) error {
			return p.rig.store.DeleteWebhook(p.Context(), p.hook.WorkspaceID, p.hook.ID)
		},
		"changed": func(p *post) error {
			p.hook.URL += "/new"
			_, err := p.rig.store.UpdateWebhook(p.Context(), p.hook)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPost(t)
			var old atomic.Int64
			p.answers(func(r *http.Request) int {
				if r.URL.Path != "/new" && old.Add(1) == 1 {
					if err := errors.Join(change(p), p.subscribe(p.Context())); err != nil {
						t.Error(err)
					}
				}
				return http.StatusOK
			})
			session := p.session(parley.Settings{}, nil)
			p.postElsewhere(session, "hello")
			p.postElsewhere(session, "and again")
			if p.events(session) < 2 {
				t.Fatal("there is one event alone")
			}
			p.look()
			if n := old.Load(); n != 1 {
				t.Errorf("%d requests were sent to it as it was, want 1", n)
			}
		})
	}
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

// A process that stops while an endpoint thinks does not know whether the event was taken: the next one sends it again.
func TestAStopDoesNotCountAsSent(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	session := p.session(parley.Settings{}, nil)
	p.postElsewhere(session, "hello")
	asked := make(chan struct{})
	p.answers(func(r *http.Request) int {
		_, _ = io.Copy(io.Discard, r.Body) // else nobody sees the sender leave
		close(asked)
		<-r.Context().Done()
		return http.StatusOK
	})
	p.must(p.subscribe(t.Context()))
	p.note(p.hook.WorkspaceID, session)
	p.wait("the request", asked)
	p.end()
	p.answers(nil)
	p.employ()
	p.look()
	if n, events := p.requests(), p.events(session); n != 1+events {
		t.Errorf("%d requests were sent; want the first of %d events twice", n, events)
	}
}

// An event whose last attempt fails is given up, and the session goes on with the next.
func TestAnEventIsGivenUp(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	session := p.session(parley.Settings{}, nil)
	p.postElsewhere(session, "hello")
	p.postElsewhere(session, "again")
	lane := store.Lane{WorkspaceID: p.hook.WorkspaceID, WebhookID: p.hook.ID, SessionID: session}
	held, ok, err := p.rig.store.HoldLane(t.Context(), lane, time.Minute)
	if err != nil || !ok {
		t.Fatalf("HoldLane: %t, %v", ok, err)
	}
	for held.Attempts = 1; parley.WebhookBackoff(held.Attempts+1) > 0; held.Attempts++ {
	}
	_, err = p.rig.store.MoveLane(t.Context(), store.LaneMove{HeldLane: held})
	p.must(err)
	failed := false
	p.answers(func(*http.Request) int { // one request at a time
		if failed {
			return http.StatusOK
		}
		failed = true
		return http.StatusServiceUnavailable
	})
	p.look()
	rows, err := p.rig.store.WebhookDeliveries(t.Context(), p.hook.WorkspaceID, p.hook.ID,
		store.WebhookDeliveryQuery{Limit: 10})
	p.must(err)
	if len(rows) != 1 || rows[0].Status != parley.DeliveryDead || rows[0].Attempts != held.Attempts+1 {
		t.Errorf("noted are %+v; want one that is dead", rows)
	}
	if n, events := p.requests(), p.events(session); n != events {
		t.Errorf("%d requests were sent; want one for each of %d events", n, events)
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

// A push notification is told of its own turn alone, and ends with it.
func TestPushesEndWithTheirTurn(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	p.must(p.rig.store.DeleteWebhook(t.Context(), p.scope.WorkspaceID, p.hook.ID))
	options := p.rig.options
	options.Webhooks = webhook.NewSender(true, func(turn parley.ID, e *parley.Event) []byte {
		if !e.Type.EndsTurn() || !bytes.Contains(e.Data, []byte(turn.String())) {
			return nil
		}
		return []byte(`{}`)
	})
	options = options.withDefaults()
	p.postman = newPostman(p.broken, &options)
	t.Cleanup(p.end)
	session := p.session(parley.Settings{}, nil)
	first, second := p.postElsewhere(session, "one").Turn.ID, p.postElsewhere(session, "two").Turn.ID
	push := p.hook
	push.ID, push.SessionID, push.TurnID, push.StartsAt = parley.NewID(), session, second, 1
	push.Push = &parley.WebhookPush{ID: "p"}
	push, err := p.rig.store.CreateWebhook(t.Context(), push)
	p.must(err)
	for _, c := range []struct {
		turn     parley.ID
		requests int
		left     bool
	}{{first, 0, true}, {second, 1, false}} {
		_, err := p.rig.store.RequestCancel(t.Context(), p.scope, session, c.turn, false)
		p.must(err)
		p.look()
		p.note(push.WorkspaceID, session)
		p.runs.Wait()
		_, err = p.rig.store.Webhook(t.Context(), p.scope.WorkspaceID, push.ID)
		if left := parley.ErrorCode(err) != parley.CodeNotFound; left != c.left || p.requests() != c.requests {
			t.Errorf("after the end of %s the push is there: %t, and %d were sent; want %t, %d", c.turn, left,
				p.requests(), c.left, c.requests)
		}
	}
}
