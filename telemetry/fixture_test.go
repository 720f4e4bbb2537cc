package telemetry

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/httpapi"
	"example.org/parley/internal/sqlitetest"
	"example.org/parley/live"
	"example.org/parley/llm"
	"example.org/parley/llm/sim"
	"example.org/parley/sqlite"
	"example.org/parley/stream"
	"example.org/parley/tool/builtin"
	"example.org/parley/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests; only a failing test reaches it.
const patience = time.Minute

// logBuffer collects a log.
type logBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// house is the whole of Parley with telemetry, behind a real loopback listener.
type house struct {
	*testing.T
	url       string
	telemetry *Telemetry
	worker    *worker.Worker
	store     *sqlite.Store
	client    *http.Client
	log       *logBuffer
}

// environment returns a fixed environment.
func environment(set map[string]string) func(string) string {
	return func(name string) string { return set[name] }
}

// open starts a house without traces.
func open(t *testing.T) *house { return openWith(t, environment(nil)) }

// openWith starts a house; env holds telemetry's settings.
func openWith(t *testing.T, env func(string) string) *house {
	t.Helper()
	h := &house{T: t, log: &logBuffer{}}
	log := slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if h.telemetry, err = New(t.Context(), Options{Version: "test", Log: log, Env: env}); err != nil {
		t.Fatal(err)
	}
	log = h.telemetry.Logger(log)
	if h.store, err = sqlite.Open(t.Context(), sqlitetest.Dir(t), sqlite.Options{Log: log}); err != nil {
		t.Fatal(err)
	}
	models, err := llm.NewRegistry(
		llm.Options{
			Providers: []llm.Provider{
				{Name: "sim", Model: sim.New(), DefaultModel: "echo", Models: sim.Models(), Simulator: true},
			},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	hub := live.New(h.store, live.Options{Log: log})
	h.worker = worker.New(
		h.store,
		models,
		builtin.Tools(),
		hub,
		worker.Options{Log: log, Slots: 8, Drain: time.Second, Observer: h.telemetry},
	)
	h.store.Listen(hub)
	h.store.Listen(h.worker)
	ready := func(ctx context.Context) error { return h.store.Ping(ctx) }
	h.telemetry.Watch(
		Sources{
			Queue:    h.store.Queue,
			Ready:    ready,
			Worker:   h.worker.Stats,
			Streams:  hub.Stats,
			Database: h.store.Stats,
		},
	)
	if err := h.worker.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	verbs := engine.New(
		engine.Options{Store: h.store, Models: models, Tools: builtin.Tools(), Runner: h.worker, Log: log},
	)
	handler, err := httpapi.New(httpapi.Options{
		Engine: verbs, Streams: stream.New(verbs, hub), LocalToken: "token", Loopback: true, Log: log,
		Metrics: h.telemetry.Metrics(), Ready: ready, Limited: h.telemetry.RateLimited,
	})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	h.client = &http.Client{Transport: transport}
	h.url = serve(t, h.telemetry.HTTP(handler))
	t.Cleanup(func() { // before the listener ends
		transport.CloseIdleConnections()
		hub.Close()
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		err := h.worker.Stop(ctx)
		h.telemetry.Shutdown(ctx)
		if err := errors.Join(err, h.store.Close()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// serve serves a handler on loopback until the test ends.
func serve(t *testing.T, handler http.Handler) (url string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: patience}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }() // ended by Close below
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}

// do sends a request to the API and reads the whole answer.
func (h *house) do(method, path, body string, headers ...string) (status int, answer string) {
	h.Helper()
	ctx, stop := context.WithTimeout(h.Context(), patience)
	defer stop()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, h.url+path, reader)
	if err == nil {
		request.Header.Set("Authorization", "Bearer token")
	}
	if err != nil {
		h.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := h.client.Do(request)
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // already read
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		h.Fatal(err)
	}
	return response.StatusCode, string(raw)
}

// say opens a session with a message for a model and reads the turn's frames.
func (h *house) say(model, text string, headers ...string) (session parley.ID, frames string) {
	h.Helper()
	status, answer := h.do("POST", "/v1/sessions", `{"message":{"content":{"text":"`+text+`"},"model":"`+model+`"}}`,
		append(headers, "Accept", "text/event-stream")...)
	if status != http.StatusOK || !strings.Contains(answer, "event: session.") {
		h.Fatalf("status %d: %s", status, answer)
	}
	return sessionIn(h, answer), answer
}

func sessionIn(t testing.TB, frames string) parley.ID {
	t.Helper()
	_, data, _ := strings.Cut(frames, "\ndata: ")
	line, _, _ := strings.Cut(data, "\n")
	var frame struct {
		SessionID parley.ID `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(line), &frame); err != nil {
		t.Fatalf("%s: %v", frames, err)
	}
	return frame.SessionID
}

// rest waits until the worker has released every turn: it reports a turn to its observer after the turn's last event.
func (h *house) rest() {
	h.Helper()
	ctx, stop := context.WithTimeout(h.Context(), patience)
	defer stop()
	for h.worker.Stats().Running > 0 {
		if ctx.Err() != nil {
			h.Fatal("the worker does not come to rest")
		}
		runtime.Gosched()
	}
}

// scrape reads the metrics as Prometheus does: from name with labels to value.
func (h *house) scrape() map[string]string {
	h.Helper()
	status, text := h.do("GET", "/metrics", "")
	if status != http.StatusOK {
		h.Fatalf("status %d: %s", status, text)
	}
	return samples(text)
}

func samples(text string) map[string]string {
	found := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if line := lines.Text(); !strings.HasPrefix(line, "#") {
			if i := strings.LastIndexByte(line, ' '); i > 0 {
				found[line[:i]] = line[i+1:]
			}
		}
	}
	return found
}

// expect compares samples with a scrape.
func expect(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q; want %s", name, got[name], value)
		}
	}
}
