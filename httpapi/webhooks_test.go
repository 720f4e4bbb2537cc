package httpapi

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// endpoint receives the requests of a webhook.
type endpoint struct {
	*httptest.Server
	t *testing.T

	mu      sync.Mutex // guards the rest
	secrets []string   // as parley shows them; each must have signed
	fail    func(received) int
	got     []received
	arrived chan struct{} // closed and renewed with each request
}

// received is a request to an endpoint.
type received struct {
	id   string
	body string
	data struct {
		SessionID parley.ID        `json:"session_id"`
		Sequence  int64            `json:"sequence"`
		Type      parley.EventType `json:"type"`
		Data      json.RawMessage  `json:"data"`
	}
	took bool // it was answered 200
}

func receive(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{t: t, arrived: make(chan struct{})}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

// trust sets the secrets that must have signed, and how to answer; nil: 200.
func (e *endpoint) trust(fail func(received) int, secrets ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.secrets, e.fail = secrets, fail
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender is gone
	}
	got := received{id: r.Header.Get("Webhook-Id"), body: string(body)}
	if err := json.Unmarshal(body, &got.data); err != nil {
		e.t.Errorf("the body cannot be read: %v: %s", err, body)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if signed, want := r.Header.Get("Webhook-Signature"), signatures(r, body, e.secrets); signed != want &&
		len(e.secrets) > 0 {
		e.t.Errorf("the signature is %q; want %q", signed, want)
	}
	status := http.StatusOK
	if e.fail != nil {
		if failed := e.fail(got); failed != 0 {
			status = failed
		}
	}
	got.took = status == http.StatusOK
	e.got = append(e.got, got)
	if status >= 300 && status < 400 {
		w.Header().Set("Location", e.URL+"/elsewhere")
	}
	w.WriteHeader(status)
	close(e.arrived)
	e.arrived = make(chan struct{})
}

// signatures is what Standard Webhooks wants in webhook-signature, written anew here.
func signatures(r *http.Request, body []byte, secrets []string) string {
	var all []string
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return err.Error()
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(bytes.Join([][]byte{[]byte(r.Header.Get("Webhook-Id")),
			[]byte(r.Header.Get("Webhook-Timestamp")), body}, []byte(".")))
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}

// until returns what was received once it fulfils a condition.
func (e *endpoint) until(what string, enough func([]received) bool) []received {
	e.t.Helper()
	deadline := time.After(patience)
	for {
		e.mu.Lock()
		got, arrived := append([]received{}, e.got...), e.arrived
		e.mu.Unlock()
		if enough(got) {
			return got
		}
		select {
		case <-arrived:
		case <-deadline:
			e.t.Fatalf("%s did not arrive; there are %d requests: %+v", what, len(got), got)
		}
	}
}

// tookEnds reports whether a session's turns have ended as often, as far as an endpoint took it.
func tookEnds(session parley.ID, times int) func([]received) bool {
	return func(got []received) bool {
		ends := map[string]bool{}
		for i := range got {
			if got[i].took && got[i].data.SessionID == session && got[i].data.Type.EndsTurn() {
				ends[got[i].id] = true
			}
		}
		return len(ends) == times
	}
}

// answers requires a status.
func (s *testServer) answers(status int, method, path, body string, headers ...string) {
	s.Helper()
	if got := s.do(method, path, body, headers...); got.status != status {
		s.Errorf("%s %s: status %d: %s; want %d", method, path, got.status, got.body, status)
	}
}

// subscribe makes a webhook to an endpoint, with more fields.
func (s *testServer) subscribe(e *endpoint, more string, headers ...string) parley.Webhook {
	s.Helper()
	hook := want[struct {
		parley.Webhook
		Secret string `json:"secret"`
	}](s, 201, "POST", "/v1/webhooks", fmt.Sprintf(`{"url":%q%s}`, e.URL, more), headers...)
	hook.NewSecret = hook.Secret
	return hook.Webhook
}

// TestWebhooksGetTheStream: a webhook gets every event of a session exactly as the stream shows it, in order, signed.
func TestWebhooksGetTheStream(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	e := receive(t)
	hook := s.subscribe(e, "")
	e.trust(nil, hook.NewSecret)
	session := s.session(`{}`)
	path := "/v1/sessions/" + session.ID.String()
	want[parley.Message](s, 201, "POST", path+"/messages", `{"content":{"text":"hello"}}`)
	got := e.until("the end of the turn", tookEnds(session.ID, 1))
	stream := s.stream("GET", path+"/events", "")
	defer func() { _ = stream.body.Close() }()
	for i := range got {
		if shown := stream.data(); got[i].data.Sequence != int64(i+1) || shown != got[i].body {
			t.Errorf("request %d is\n%s\nand the stream has\n%s", i+1, got[i].body, shown)
		}
	}
	if hook := want[parley.Webhook](s, 200, "GET", "/v1/webhooks/"+hook.ID.String(), ""); hook.NewSecret != "" ||
		hook.FailingSince != 0 {
		t.Errorf("read again: %+v", hook)
	}
}

// data returns the next line of data as it was sent.
func (f *frames) data() string {
	f.Helper()
	for {
		line, err := f.lines.ReadString('\n')
		if err != nil {
			f.Fatal(err)
		}
		if data, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: "); is {
			return data
		}
	}
}

// TestWebhooksKeepTheirOrder: whatever an endpoint refuses, it gets each session's events in order and each at least
// once, with one id for each.
func TestWebhooksKeepTheirOrder(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	e := receive(t)
	refused := map[string]bool{}
	hook := s.subscribe(e, "")
	e.trust(func(r received) int {
		if r.data.Sequence%4 == 2 && !refused[r.id] { // each of these once
			refused[r.id] = true
			return []int{500, 302, 404}[r.data.Sequence%3]
		}
		return 0
	}, hook.NewSecret)
	const sessions, turns = 3, 2
	var ids []parley.ID
	for range sessions {
		session := s.session(`{}`)
		ids = append(ids, session.ID)
		for range turns {
			want[parley.Message](s, 201, "POST", "/v1/sessions/"+session.ID.String()+"/messages",
				`{"content":{"text":"hello"}}`)
		}
	}
	var got []received
	for _, id := range ids {
		got = e.until("the end of all turns", tookEnds(id, turns))
	}
	through, idOf := map[parley.ID]int64{}, map[string]string{}
	for _, r := range got {
		place := fmt.Sprint(r.data.SessionID, r.data.Sequence)
		if earlier := idOf[place]; earlier != "" && earlier != r.id {
			t.Errorf("event %s came as %s and as %s", place, earlier, r.id)
		}
		idOf[place] = r.id
		switch last := through[r.data.SessionID]; {
		case r.data.Sequence > last+1:
			t.Errorf("after event %d of a session came %d", last, r.data.Sequence)
		case r.took && r.data.Sequence == last+1:
			through[r.data.SessionID]++
		}
	}
	if len(refused) == 0 {
		t.Error("nothing was refused")
	}
	deliveries := want[page[parley.WebhookDelivery]](s, 200, "GET",
		"/v1/webhooks/"+hook.ID.String()+"/deliveries?limit=1000", "").Data
	if len(deliveries) != len(refused) {
		t.Errorf("%d deliveries are listed; want the %d that failed at first", len(deliveries), len(refused))
	}
}

// TestADeadEndpointDelaysNoOther: an endpoint that never answers, with more sessions than a process sends for at once,
// leaves room for one that does, which need not wait until a request to the dead one is given up.
func TestADeadEndpointDelaysNoOther(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	asked, over := make(chan struct{}, 1), make(chan struct{})
	var givenUp atomic.Int64
	dead := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else nobody sees the sender leave
		select {
		case asked <- struct{}{}:
		default:
		}
		select {
		case <-r.Context().Done():
			givenUp.Add(1)
		case <-over:
		}
	}))
	t.Cleanup(func() {
		close(over)
		dead.Close()
	})
	s.answers(201, "POST", "/v1/webhooks", fmt.Sprintf(`{"url":%q}`, dead.URL))
	const sessions, attempts = 300, 5
	for range sessions {
		want[parley.Message](s, 201, "POST", "/v1/sessions/"+s.session(`{}`).ID.String()+"/messages",
			`{"content":{"text":"hello"},"respond":false}`)
	}
	select {
	case <-asked:
	case <-time.After(patience):
		t.Fatal("the dead endpoint was never asked")
	}
	live := receive(t)
	s.subscribe(live, "")
	for range attempts { // a request may be given up while a slow machine answers
		before := givenUp.Load()
		session := s.session(`{}`)
		want[parley.Message](s, 201, "POST", "/v1/sessions/"+session.ID.String()+"/messages",
			`{"content":{"text":"hello"}}`)
		live.until("the end of the turn", tookEnds(session.ID, 1))
		if givenUp.Load() == before {
			return
		}
	}
	t.Error("the live endpoint waited for the deadline of the dead one, again and again")
}

// TestWebhooksOfOthers: a webhook sends only what its owner may read, and shows itself only to them and to admins.
func TestWebhooksOfOthers(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	e := receive(t)
	ada := []string{"Authorization", s.key(parley.DefaultWorkspace, "ada", parley.RoleMember)}
	bob := []string{"Authorization", s.key(parley.DefaultWorkspace, "bob", parley.RoleMember)}
	hook := s.subscribe(e, `,"events":["session.completed"]`, ada...)
	path := "/v1/webhooks/" + hook.ID.String()
	s.answers(404, "GET", path, "", bob...)
	s.answers(404, "PATCH", path, `{"status":"paused"}`, bob...)
	s.answers(404, "POST", path+"/ping", "", bob...)
	if list := want[page[parley.Webhook]](s, 200, "GET", "/v1/webhooks", "", bob...).Data; len(list) != 0 {
		t.Errorf("another member sees %+v", list)
	}
	e.trust(nil, hook.NewSecret)
	private := s.session(`{"visibility":"private"}`, bob...)
	shared := s.session(`{"visibility":"workspace"}`, bob...)
	for _, session := range []parley.Session{private, shared} {
		want[parley.Message](s, 201, "POST", "/v1/sessions/"+session.ID.String()+"/messages",
			`{"content":{"text":"hello"}}`, bob...)
	}
	got := e.until("the shared session's end", tookEnds(shared.ID, 1))
	for _, r := range got {
		if r.data.SessionID != shared.ID || r.data.Type != parley.EventSessionCompleted {
			t.Errorf("ada's webhook got %s", r.body)
		}
	}
}

// TestAWebhookChangesItsSecret: with an overlap both secrets sign, in the order new, old; without one the new alone.
func TestAWebhookChangesItsSecret(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	e := receive(t)
	hook := s.subscribe(e, "")
	path := "/v1/webhooks/" + hook.ID.String()
	type secret struct {
		Secret string `json:"secret"`
	}
	ping := func(secrets ...string) {
		t.Helper()
		e.trust(nil, secrets...)
		if a := want[engine.WebhookAnswer](s, 200, "POST", path+"/ping", ""); !a.Delivered || *a.ResponseStatus != 200 {
			t.Errorf("the ping was not delivered: %+v", a)
		}
	}
	ping(hook.NewSecret)
	second := want[secret](s, 200, "POST", path+"/secret", `{"overlap_seconds":60}`).Secret
	ping(second, hook.NewSecret)
	third := want[secret](s, 200, "POST", path+"/secret", `{}`).Secret
	ping(third)
	e.trust(func(received) int { return 500 })
	if a := want[engine.WebhookAnswer](s, 200, "POST", path+"/ping", ""); a.Delivered || *a.ResponseStatus != 500 {
		t.Errorf("a ping that failed: %+v", a)
	}
}

// TestADeadDeliveryIsSentAgain: with the same id, and only while it is dead.
func TestADeadDeliveryIsSentAgain(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	e := receive(t)
	hook := s.subscribe(e, `,"events":["session.completed"]`)
	session := s.session(`{}`)
	want[parley.Message](s, 201, "POST", "/v1/sessions/"+session.ID.String()+"/messages",
		`{"content":{"text":"hello"}}`)
	sent := e.until("the end of the turn", tookEnds(session.ID, 1))[0]
	path := s.deadDelivery(hook.ID, session.ID, sent.data.Sequence) + "/resend"
	e.trust(func(received) int { return 503 })
	failed := want[parley.WebhookDelivery](s, 200, "POST", path, "")
	if failed.Status != parley.DeliveryDead || failed.Attempts != 12 || *failed.ResponseStatus != 503 {
		t.Errorf("after another failure: %+v", failed)
	}
	e.trust(nil)
	if done := want[parley.WebhookDelivery](s, 200, "POST", path, ""); done.Status != parley.DeliveryDelivered ||
		done.Attempts != 13 || done.Error != "" {
		t.Errorf("sent again: %+v", done)
	}
	s.answers(409, "POST", path, "")
	got := e.until("the repetitions", func(got []received) bool { return len(got) == 3 })
	if got[1].id != got[2].id || got[2].body != sent.body {
		t.Errorf("the repetitions are %+v; the event was %s", got[1:], sent.body)
	}
}

// TestASentDeliveryIsNoted, although the caller went away before its endpoint answered.
func TestASentDeliveryIsNoted(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	e := receive(t)
	hook := s.subscribe(e, `,"events":["session.completed"]`)
	session := s.session(`{}`)
	want[parley.Message](s, 201, "POST", "/v1/sessions/"+session.ID.String()+"/messages",
		`{"content":{"text":"hello"},"respond":false}`)
	path := s.deadDelivery(hook.ID, session.ID, 1)
	owner, err := s.store.LocalOwner(t.Context(), hook.WorkspaceID)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	e.trust(func(received) int {
		leave()
		return 0
	})
	delivery := s.idOf(path[strings.LastIndex(path, "/")+1:])
	if _, err := s.engine.ResendDelivery(ctx, owner, hook.ID, delivery); ctx.Err() == nil {
		t.Fatalf("nothing was sent: %v", err)
	}
	if got, err := s.store.WebhookDelivery(t.Context(), hook.WorkspaceID, delivery); err != nil ||
		got.Status != parley.DeliveryDelivered || got.Attempts != 12 {
		t.Errorf("the record has %+v, %v; want it delivered", got, err)
	}
}

// idOf reads an id of an answer.
func (s *testServer) idOf(text string) parley.ID {
	s.Helper()
	id, err := parley.ParseID(text)
	if err != nil {
		s.Fatal(err)
	}
	return id
}

// deadDelivery gives up an event of a session for a webhook, in the store, and returns the delivery's path.
func (s *testServer) deadDelivery(webhook, session parley.ID, sequence int64) string {
	s.Helper()
	workspace := want[parley.Webhook](s, 200, "GET", "/v1/webhooks/"+webhook.String(), "").WorkspaceID
	return s.deadDeliveryIn(workspace, webhook, session, sequence)
}

func (s *testServer) deadDeliveryIn(workspace, webhook, session parley.ID, sequence int64) string {
	s.Helper()
	lane := store.Lane{WorkspaceID: workspace, WebhookID: webhook, SessionID: session}
	status := 503
	for until := time.Now().Add(patience); ; {
		held, ok, err := s.store.HoldLane(s.Context(), lane, time.Minute)
		if err != nil || time.Now().After(until) {
			s.Fatalf("the lane cannot be held: %v", err)
		}
		if !ok { // the worker has it
			continue
		}
		dead := parley.WebhookDelivery{
			ID: parley.NewID(), WorkspaceID: workspace, WebhookID: webhook, SessionID: session,
			EventSequence: sequence, EventType: parley.EventSessionCompleted, Status: parley.DeliveryDead, Attempts: 11,
			ResponseStatus: &status, Error: "the endpoint answered 503",
		}
		if _, err := s.store.MoveLane(s.Context(), store.LaneMove{
			HeldLane: held, Seen: held.Through, Noted: []parley.WebhookDelivery{dead},
		}); err != nil {
			s.Fatal(err)
		}
		return "/v1/webhooks/" + webhook.String() + "/deliveries/" + dead.ID.String()
	}
}

// TestWebhooksAreChecked: each wrong field is named, and nothing is stored.
func TestWebhooksAreChecked(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for body, field := range map[string]string{
		`{"url":"ftp://example.com"}`:                                                          "url",
		`{"url":"https://ada:secret@example.com"}`:                                             "url",
		`{"url":"https://"}`:                                                                   "url",
		`{"url":"https://example.com/#a"}`:                                                     "url",
		`{"url":"https://example.com","events":["session.ended"]}`:                             "events",
		`{"url":"https://example.com","events":["*.completed"]}`:                               "events",
		`{"url":"https://example.com","events":["step.generating"]}`:                           "events",
		`{"url":"https://example.com","filter":{"tags":["` + strings.Repeat("x", 300) + `"]}}`: "filter",
	} {
		if got := s.do("POST", "/v1/webhooks", body); got.status != 422 || !strings.Contains(string(got.body), field) {
			t.Errorf("%s: status %d: %s; want 422 and the field %s", body, got.status, got.body, field)
		}
	}
	if list := want[page[parley.Webhook]](s, 200, "GET", "/v1/webhooks", "").Data; len(list) != 0 {
		t.Errorf("stored: %+v", list)
	}
}
