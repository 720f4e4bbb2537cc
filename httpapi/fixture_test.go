package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/peer"
	"example.org/parley/internal/projectdir"
	"example.org/parley/internal/sqlitetest"
	"example.org/parley/internal/webhook"
	"example.org/parley/live"
	"example.org/parley/llm"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
	"example.org/parley/sqlite"
	"example.org/parley/stream"
	"example.org/parley/tool"
	"example.org/parley/tool/builtin"
	"example.org/parley/tool/document"
	"example.org/parley/tool/team"
	"example.org/parley/worker"
)

// A connection whose body was refused unread is held open by net/http for half a
// second, which is longer than goleak waits.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// patience bounds every wait of these tests; it is reached only when one fails.
const patience = time.Minute

const testToken = "local-token-of-this-test"

// testServer is the whole of Parley behind a real loopback listener.
type testServer struct {
	*testing.T
	url    string
	api    http.Handler
	engine *engine.Engine
	store  *sqlite.Store
	hub    *live.Hub
	client *http.Client
	log    *logBuffer
	root   string // directories that projects may lie in
	data   string // the store's directory
	audit  *engine.AuditLog
	behind *behindLog
	turns  *turnReads
}

// subdirectory makes a directory for a project.
func (s *testServer) subdirectory(name string) string {
	s.Helper()
	path := filepath.Join(s.root, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		s.Fatal(err)
	}
	return path
}

// logBuffer keeps what was logged.
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

func testModels(t *testing.T) *llm.Registry {
	t.Helper()
	tariff := sim.Info("echo")
	tariff.ID, tariff.Provider, tariff.ContextLength, tariff.Simulator = "tariff/echo", "tariff", 32768, false
	tariff.Price = &model.Price{Input: 10, Output: 20, CachedInput: 1}
	scripted := tariff
	scripted.ID, scripted.Name = "tariff/script", "script"
	models, err := llm.NewRegistry(llm.Options{Providers: []llm.Provider{
		{Name: "sim", Model: sim.New(), DefaultModel: "echo", Models: sim.Models(), Simulator: true},
		{Name: "tariff", Model: sim.New(), Models: []model.Info{tariff, scripted}}, // with prices
	}})
	if err != nil {
		t.Fatal(err)
	}
	return models
}

func startServer(t *testing.T, change ...func(*Options)) *testServer {
	t.Helper()
	return startServerWith(t, testModels, change...)
}

// startServerWith is startServer with models of the test's own.
func startServerWith(t *testing.T, registry func(*testing.T) *llm.Registry, change ...func(*Options)) *testServer {
	t.Helper()
	return startServerOf(t, registry, nil, change...)
}

// startServerWithTools is startServer with tools of the test's own.
func startServerWithTools(t *testing.T, tools tool.Source, change ...func(*Options)) *testServer {
	t.Helper()
	return startServerOf(t, testModels, tools, change...)
}

// startServerOf takes Parley's own tools for nil.
func startServerOf(
	t *testing.T,
	registry func(*testing.T) *llm.Registry,
	tools tool.Source,
	change ...func(*Options),
) *testServer {
	t.Helper()
	return startServerIn(t, t.TempDir(), sqlitetest.Dir(t), registry, tools, change...)
}

// startServerIn is startServerOf with directories of the test's own: for projects, and
// for the store, which may be filled.
func startServerIn(
	t *testing.T,
	root, data string,
	registry func(*testing.T) *llm.Registry,
	tools tool.Source,
	change ...func(*Options),
) *testServer {
	t.Helper()
	s := &testServer{T: t, log: &logBuffer{}, root: root, data: data}
	policy, err := projectdir.New(projectdir.Options{Roots: []string{s.root}, Data: s.data})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if s.store, err = sqlite.Open(t.Context(), s.data, sqlite.Options{Log: log}); err != nil {
		t.Fatal(err)
	}
	s.hub = live.New(s.store, live.Options{Log: log, Relay: s.store.Streams()})
	models := registry(t)
	if tools == nil {
		if tools, err = tool.Join(
			builtin.ToolsWithin(policy), builtin.Sessions(s.store), builtin.Record(s.store),
			document.Tools(s.store, document.Options{}),
		); err != nil {
			t.Fatal(err)
		}
	}
	w := worker.New(s.store, models, tools, s.hub, worker.Options{
		Log: log, Slots: 64, Drain: 100 * time.Millisecond, Background: team.Tools(s.store),
		Webhooks: webhook.NewSender(true, nil),
	})
	s.store.Listen(s.hub)
	s.store.Listen(w)
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.behind = &behindLog{AuditTrail: s.store}
	s.audit = engine.NewAuditLog(s.behind, log)
	s.turns = &turnReads{Store: s.store}
	s.engine = engine.New(
		engine.Options{
			Servers:   oneToolServer{s.store},
			Webhooks:  webhook.NewSender(true, nil),
			Store:     s.turns,
			Models:    models,
			Tools:     tools,
			Runner:    w,
			DryRunner: w,
			Audit:     s.audit,
			Projects:  policy,
			Log:       log,
		},
	)
	options := Options{
		Engine: s.engine, Streams: stream.New(s.engine, s.hub),
		LocalToken: testToken, Loopback: true, OwnUser: peer.Own, Log: log,
	}
	for _, c := range change {
		c(&options)
	}
	handler, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.api = handler
	server := NewServer(handler, log)
	server.ConnContext = peer.ConnContext
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }() // ended by Close below
	s.url = "http://" + listener.Addr().String()
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	s.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		transport.CloseIdleConnections()
		s.hub.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		if err := w.Stop(ctx); err != nil {
			t.Error(err)
		}
		s.audit.Close()
		if err := s.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// reply is an answer that was read whole.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) problem(t *testing.T) Problem {
	t.Helper()
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("content type %q of status %d: %s", got, r.status, r.body)
	}
	var p Problem
	if err := json.Unmarshal(r.body, &p); err != nil {
		t.Fatalf("%s: %v", r.body, err)
	}
	if p.Status != r.status || p.RequestID.String() != r.header.Get(requestIDHeader) {
		t.Errorf("problem %+v beside status %d and request id %s", p, r.status, r.header.Get(requestIDHeader))
	}
	return p
}

// request sends one request; headers are pairs.
func (s *testServer) request(method, path, body string, headers ...string) *http.Response {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.Cleanup(cancel)
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, reader)
	if err != nil {
		s.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.client.Do(r)
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	return response
}

func (s *testServer) do(method, path, body string, headers ...string) reply {
	s.Helper()
	response := s.request(method, path, body, headers...)
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	return reply{response.StatusCode, response.Header, read}
}

// want sends a request and decodes the answer of the status wanted.
func want[T any](s *testServer, status int, method, path, body string, headers ...string) T {
	s.Helper()
	answer := s.do(method, path, body, headers...)
	var out T
	if answer.status != status {
		s.Fatalf("%s %s: status %d, want %d: %s", method, path, answer.status, status, answer.body)
	}
	if len(answer.body) > 0 {
		if err := json.Unmarshal(answer.body, &out); err != nil {
			s.Fatalf("%s %s: %v in %s", method, path, err, answer.body)
		}
	}
	return out
}

// key makes a key in a workspace and gives the header that shows it.
func (s *testServer) key(workspace, name string, role parley.PrincipalRole) string {
	s.Helper()
	made := want[engine.NewKey](
		s,
		http.StatusCreated,
		"POST",
		"/v1/keys",
		fmt.Sprintf(
			`{"name":%q,"role":%q,"workspace":%q}`,
			name,
			role,
			workspace,
		),
		"Authorization",
		"Bearer "+testToken,
	)
	return "Bearer " + made.Secret
}

func (s *testServer) session(body string, headers ...string) parley.Session {
	s.Helper()
	return want[parley.Session](s, http.StatusCreated, "POST", "/v1/sessions", body, headers...)
}

// frame is one frame of a stream as a client sees it.
type frame struct {
	event, id, comment string
	data               struct {
		SessionID parley.ID       `json:"session_id"`
		Sequence  *int64          `json:"sequence"`
		Type      string          `json:"type"`
		CreatedAt parley.Time     `json:"created_at"`
		Data      json.RawMessage `json:"data"`
	}
}

// frames reads a stream frame by frame.
type frames struct {
	*testing.T
	header http.Header
	body   io.Closer
	lines  *bufio.Reader
}

func (s *testServer) stream(method, path, body string, headers ...string) *frames {
	s.Helper()
	response := s.request(method, path, body, append([]string{"Accept", "text/event-stream"}, headers...)...)
	if response.StatusCode != http.StatusOK {
		read, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		s.Fatalf("%s %s: status %d: %s", method, path, response.StatusCode, read)
	}
	s.Cleanup(func() { _ = response.Body.Close() })
	return &frames{s.T, response.Header, response.Body, bufio.NewReader(response.Body)}
}

// next reads a frame, which has to keep to its schema; io.EOF at the stream's end.
func (f *frames) next() (frame, error) {
	var out frame
	var whole json.RawMessage
	for {
		line, err := f.lines.ReadString('\n')
		if err != nil {
			return out, err
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			checkFrame(f.T, out.event, whole)
			return out, nil
		case name == "":
			out.comment = value
		case name == "event":
			out.event = value
		case name == "id":
			out.id = value
		case name == "data":
			whole = json.RawMessage(value)
			if err := json.Unmarshal(whole, &out.data); err != nil {
				f.Fatalf("data %q: %v", value, err)
			}
		default:
			f.Fatalf("unknown line %q", line)
		}
	}
}

// until reads frames up to the one of the type named, inclusive.
func (f *frames) until(event string) []frame {
	f.Helper()
	var all []frame
	for {
		next, err := f.next()
		if err != nil {
			f.Fatalf("the stream ended before %s, after %d frames: %v", event, len(all), err)
		}
		all = append(all, next)
		if next.event == event {
			return all
		}
	}
}

// rest reads to the end.
func (f *frames) rest() []frame {
	f.Helper()
	var all []frame
	for {
		next, err := f.next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, next)
	}
}

// short returns a message's content in its short form alone, as the stores kept it before parts.
func short(message parley.Message) string {
	return string(parley.ShortContent(message.Role, message.Content))
}

// textOf rebuilds a message's text from deltas, checking that each continues or starts over.
func textOf(t *testing.T, all []frame) string {
	t.Helper()
	var text string
	for _, f := range all {
		if f.event != "step.generating" {
			continue
		}
		var d struct {
			Kind        string
			Offset, End int
			Delta       string
		}
		if err := json.Unmarshal(f.data.Data, &d); err != nil {
			t.Fatal(err)
		}
		if f.id != "" || f.data.Sequence != nil {
			t.Errorf("a delta carries an id: %+v", f)
		}
		switch {
		case d.Kind != "text":
		case d.Offset == 0:
			text = d.Delta
		case d.Offset == len(text):
			text += d.Delta
		default:
			t.Fatalf("delta at %d after %d bytes", d.Offset, len(text))
		}
		if d.Kind == "text" && d.End != len(text) {
			t.Fatalf("end %d after %d bytes", d.End, len(text))
		}
	}
	return text
}
