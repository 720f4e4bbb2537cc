package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// webhookDeadline exceeds the time for which a dead process holds a session's way to a webhook.
const webhookDeadline = time.Minute

// receiver is the endpoint of a webhook. It answers nothing from a request on until it is released.
type receiver struct {
	*httptest.Server

	mu       sync.Mutex // guards the rest
	holdAt   int64      // sequence whose first request is held; 0: none
	held     chan struct{}
	release  chan struct{}
	taken    []int64 // sequences that were answered 200, in order
	finished chan struct{}
}

func newReceiver(t *testing.T, holdAt int64) *receiver {
	t.Helper()
	r := &receiver{
		holdAt: holdAt, held: make(chan struct{}), release: make(chan struct{}), finished: make(chan struct{}),
	}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var event struct {
		Sequence int64
		Type     parley.EventType
	}
	if json.NewDecoder(request.Body).Decode(&event) != nil {
		return // the sender is gone
	}
	r.mu.Lock()
	hold := r.holdAt != 0 && event.Sequence == r.holdAt
	if hold {
		r.holdAt = 0
	}
	r.mu.Unlock()
	if hold {
		close(r.held)
		<-r.release
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = append(r.taken, event.Sequence)
	if event.Type.EndsTurn() {
		close(r.finished)
	}
}

// TestWebhooksGoOnAfterAKill: a server that is killed while an endpoint thinks
// sends that event again when it runs again, and everything after it, in order.
func TestWebhooksGoOnAfterAKill(t *testing.T) {
	onEach(t, func(t *testing.T, at place) {
		const settings = "webhooks: {allow_private: true}\n"
		if err := os.WriteFile(filepath.Join(at.dir, "parley.yaml"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		const heldEvent = 3
		endpoint := newReceiver(t, heldEvent)
		s := startAt(t, at)
		if _, err := s.client.CreateWebhook(t.Context(), client.WebhookInput{URL: endpoint.URL}); err != nil {
			t.Fatal(err)
		}
		session := newSession(t, s.client, "sim/echo")
		if _, err := s.client.Post(t.Context(), session.ID, client.UserMessage("hello")); err != nil {
			t.Fatal(err)
		}
		deadline := time.After(webhookDeadline)
		select {
		case <-endpoint.held:
		case <-deadline:
			t.Fatalf("event %d was never sent", heldEvent)
		}
		s.kill()
		close(endpoint.release)
		s = startAt(t, at)
		select {
		case <-endpoint.finished:
		case <-deadline:
			t.Fatalf("the end of the turn was never sent: %s", s.stderr)
		}
		endpoint.mu.Lock()
		defer endpoint.mu.Unlock()
		through := int64(0)
		for _, sequence := range endpoint.taken {
			if sequence > through+1 {
				t.Errorf("after event %d came event %d: %v", through, sequence, endpoint.taken)
			}
			through = max(through, sequence)
		}
	})
}
