package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"example.org/parley/engine"
	"example.org/parley/internal/peer"
	"example.org/parley/internal/projectdir"
	"example.org/parley/live"
	"example.org/parley/llm"
	"example.org/parley/llm/sim"
	"example.org/parley/sqlite"
	"example.org/parley/stream"
	"example.org/parley/tool/builtin"
	"example.org/parley/worker"
)

// heard is an answer. A stream ends with its head: nobody listens to the rest.
type heard struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

// WriteHeader implements http.ResponseWriter.
func (h *heard) WriteHeader(status int) {
	h.ResponseRecorder.WriteHeader(status)
	if strings.HasPrefix(h.Header().Get("Content-Type"), "text/event-stream") {
		h.leave()
	}
}

// fuzzed is the API over a store of its own, in which turns only wait: no worker runs.
func fuzzed(f *testing.F) (handler http.Handler, log *logBuffer) {
	f.Helper()
	data, root := f.TempDir(), f.TempDir()
	log = &logBuffer{}
	to := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelError}))
	must := func(err error) {
		if err != nil {
			f.Fatal(err)
		}
	}
	policy, err := projectdir.New(projectdir.Options{Roots: []string{root}, Data: data})
	must(err)
	store, err := sqlite.Open(f.Context(), data, sqlite.Options{Log: to})
	must(err)
	f.Cleanup(func() { must(store.Close()) })
	hub := live.New(store, live.Options{Log: to, Relay: store.Streams()})
	f.Cleanup(hub.Close)
	store.Listen(hub)
	models, err := llm.NewRegistry(
		llm.Options{
			Providers: []llm.Provider{
				{Name: "sim", Model: sim.New(), DefaultModel: "echo", Models: sim.Models(), Simulator: true},
			},
		},
	)
	must(err)
	tools := builtin.ToolsWithin(policy)
	idle := worker.New(store, models, tools, hub, worker.Options{Log: to})
	audit := engine.NewAuditLog(store, to)
	f.Cleanup(audit.Close)
	over := engine.New(
		engine.Options{
			Store:     store,
			Models:    models,
			Tools:     tools,
			Runner:    idle,
			DryRunner: idle,
			Audit:     audit,
			Projects:  policy,
			Log:       to,
		},
	)
	handler, err = New(Options{
		Engine: over, Streams: stream.New(over, hub),
		LocalToken: testToken, Loopback: true, OwnUser: peer.Own, Log: to,
	})
	must(err)
	return handler, log
}

// heardOf sends one request as the local owner; nil for one that HTTP does not have.
func heardOf(ctx context.Context, handler http.Handler, method, target, media string, body []byte) *heard {
	to, err := url.ParseRequestURI(target)
	if err != nil || to.Host != "" || !strings.HasPrefix(target, "/") {
		return nil
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	request, err := http.NewRequestWithContext(ctx, method, "http://localhost", bytes.NewReader(body))
	if err != nil {
		return nil
	}
	request.URL, request.RequestURI, request.Host, request.RemoteAddr = to, target, "localhost", "127.0.0.1:1"
	request.Header.Set("Authorization", "Bearer "+testToken)
	request.Header.Set("Content-Type", media)
	if strings.HasSuffix(to.Path, waitPath) {
		request.Header.Set("Prefer", "wait=0") // no worker runs here, so no turn ends
	}
	answer := &heard{httptest.NewRecorder(), leave}
	handler.ServeHTTP(answer, request)
	return answer
}

// check demands an answer that is no failure inside, and JSON where it says so.
func (h *heard) check(t *testing.T, log *logBuffer) {
	t.Helper()
	if h.Code >= http.StatusInternalServerError && h.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d: %s\n%s", h.Code, h.Body, log)
	}
	switch media, _, _ := mime.ParseMediaType(h.Header().Get("Content-Type")); media {
	case "application/json", "application/problem+json":
		if !json.Valid(h.Body.Bytes()) {
			t.Errorf("status %d with %q", h.Code, h.Body)
		}
	}
}

// FuzzRequest: whatever method, path, type and body a request has, the API answers
// it, and neither panics nor fails inside.
func FuzzRequest(f *testing.F) {
	handler, log := fuzzed(f)
	made := func(target, body string) string {
		got := heardOf(f.Context(), handler, http.MethodPost, target, "application/json", []byte(body))
		var row struct{ ID string }
		if err := json.Unmarshal(got.Body.Bytes(), &row); err != nil || row.ID == "" {
			f.Fatalf("POST %s: status %d: %s", target, got.Code, got.Body)
		}
		return row.ID
	}
	session := made("/v1/sessions", `{"model":"sim/echo"}`)
	names := strings.NewReplacer(
		"{session}",
		session,
		"{agent}",
		made("/v1/agents", `{"name":"fuzzed"}`),
		"{reader}",
		session,
		"{message}",
		made("/v1/sessions/"+session+"/messages", `{"content":{"text":"x"}}`),
		"{version}",
		"1",
		"{client}",
		"tab",
		"{file}",
		made("/v1/files?name=a.txt", "a"),
	)
	list := routes()
	for i := range list {
		for _, path := range list[i].paths {
			f.Add(list[i].method, path, "application/json", []byte(list[i].validBody()))
		}
	}
	f.Add("GET", "/v1/sessions?cursor=%00&limit=-1&order=x&tag[]=%ff", "", []byte(nil))
	f.Add("GET", "/v1/search?q=%22a%22+-b*+NEAR(", "", []byte(nil))
	f.Add(
		"PATCH",
		"/v1/sessions/{session}",
		"application/json",
		[]byte(`{"limits":{"max_cost":1e400},"tools":[{"name":"a","definition":{"parameters":{"$ref":"#"}}}]}`),
	)
	f.Fuzz(func(t *testing.T, method, path, media string, body []byte) {
		got := heardOf(t.Context(), handler, method, names.Replace(path), media, body)
		if got == nil {
			return
		}
		got.check(t, log)
	})
}

// FuzzUpload: the head of an upload and its form are read or refused.
func FuzzUpload(f *testing.F) {
	handler, log := fuzzed(f)
	f.Add("?name=a", "text/plain; charset=x", []byte("a"))
	f.Add(
		"",
		"multipart/form-data; boundary=b",
		[]byte("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\\\\b\"\r\n\r\nx\r\n--b--\r\n"),
	)
	f.Add("?name=%00", "multipart/form-data; boundary", []byte("--\r\n"))
	f.Add(
		"",
		"multipart/form-data; boundary=b",
		[]byte(
			"--b\r\nContent-Disposition: form-data; name=file; "+
				"filename*=utf-8''%ff%00..%2fa\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=\r\n--b",
		),
	)
	f.Fuzz(func(t *testing.T, query, media string, body []byte) {
		if got := heardOf(t.Context(), handler, http.MethodPost, "/v1/files"+query, media, body); got != nil {
			got.check(t, log)
		}
	})
}
