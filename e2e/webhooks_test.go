package e2e

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// receiverProgram writes the program of docs/clients/webhooks.md beside the packages that it imports.
func receiverProgram(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/clients/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```js\n")
	program, _, ends := strings.Cut(rest, "```")
	if lines := strings.Count(program, "\n"); !found || !ends || lines > 30 {
		t.Fatalf("the document's program has %d lines; want one of at most 30", lines)
	}
	packages, err := filepath.Abs("../.cache/receiver/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(packages); err != nil {
		t.Fatalf("%v: `make .cache/receiver/node_modules` installs the packages", err)
	}
	dir := t.TempDir()
	if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "receiver.mjs")
	if err := os.WriteFile(path, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTheReceiverOfTheDocument checks signatures with the specification's own library: it takes a turn's events, and
// refuses what Parley did not sign.
func TestTheReceiverOfTheDocument(t *testing.T) {
	program, node := receiverProgram(t), node(t)
	onEach(t, func(t *testing.T, at place) {
		const settings = "webhooks: {allow_private: true}\n"
		if err := os.WriteFile(filepath.Join(at.dir, "parley.yaml"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		s := startAt(t, at)
		hook, err := s.client.CreateWebhook(t.Context(), client.WebhookInput{
			URL: "http://127.0.0.1:1/", Events: []string{"session.*"},
		})
		if err != nil {
			t.Fatal(err)
		}
		receiver := exec.CommandContext(t.Context(), node, program)
		receiver.Env = append(cleanEnvironment(), "PORT=0", "WEBHOOK_SECRET="+hook.NewSecret)
		out, err := receiver.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := receiver.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = receiver.Process.Kill()
			_ = receiver.Wait()
		}()
		lines := make(chan string, 16)
		go func() { // ends with the receiver
			defer close(lines)
			for scanner := bufio.NewScanner(out); scanner.Scan(); {
				lines <- scanner.Text()
			}
		}()
		deadline := time.After(webhookDeadline)
		next := func() string {
			select {
			case line := <-lines:
				return line
			case <-deadline:
				t.Fatal("the receiver says nothing more")
				return ""
			}
		}
		url := strings.TrimPrefix(next(), "ready on ")
		forged, err := http.Post(url, "application/json", strings.NewReader(`{"type":"session.completed"}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = forged.Body.Close()
		if forged.StatusCode != http.StatusBadRequest {
			t.Errorf("a request without a signature: status %d", forged.StatusCode)
		}
		patch := client.WebhookPatch{}
		patch.URL.Set, patch.URL.Value = true, url
		if _, err := s.client.UpdateWebhook(t.Context(), hook.ID, patch); err != nil {
			t.Fatal(err)
		}
		if answer, err := s.client.PingWebhook(t.Context(), hook.ID); err != nil || !answer.Delivered {
			t.Fatalf("PingWebhook: %+v, %v", answer, err)
		}
		session := newSession(t, s.client, "sim/echo")
		if _, err := s.client.Post(t.Context(), session.ID, client.UserMessage("hello")); err != nil {
			t.Fatal(err)
		}
		got := []string{strings.TrimSpace(next()), next(), next()}
		for i, kind := range []string{"webhook.ping", "session.started", "session.completed"} {
			if !strings.HasPrefix(got[i], kind) || i > 0 && !strings.Contains(got[i], session.ID.String()) {
				t.Errorf("the receiver says %q", got)
				break
			}
		}
	})
}
