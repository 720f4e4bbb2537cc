package e2e

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"example.org/parley"
	"example.org/parley/client"
)

// collected holds the spans that processes have sent to a collector on loopback.
type collected struct {
	mu    sync.Mutex // guards spans
	spans []*otlp.Span
}

// collect runs a collector to which every server of the test sends its spans.
func collect(t *testing.T) *collected {
	t.Helper()
	c := &collected{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var batch service.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(raw, &batch) != nil {
			return // a process that was killed while it sent
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, from := range batch.GetResourceSpans() {
			for _, scope := range from.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	return c
}

// of returns the spans of a trace by name, those of one name in order of arrival.
func (c *collected) of(trace string) map[string][]*otlp.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string][]*otlp.Span{}
	for _, span := range c.spans {
		if hex.EncodeToString(span.GetTraceId()) == trace {
			found[span.GetName()] = append(found[span.GetName()], span)
		}
	}
	return found
}

// TestATraceOutlivesItsProcess: the turn of a traced request belongs to the caller's trace,
// even in the process that continues it after a kill -9.
func TestATraceOutlivesItsProcess(t *testing.T) {
	spans := collect(t)
	dir := t.TempDir()
	first := start(t, dir)
	session, err := first.client.CreateSession(
		t.Context(),
		client.SessionInput{Settings: parley.Settings{Model: "sim/lorem-60-50"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	const trace = "0af7651916cd43dd8448eb211c80319c"
	request, err := http.NewRequestWithContext(
		t.Context(),
		http.MethodPost,
		first.url+"/v1/sessions/"+session.ID.String()+"/messages",
		strings.NewReader(`{"content":{"text":"a secret"}}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Traceparent", "00-"+trace+"-b7ad6b7169203331-01")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if _ = response.Body.Close(); response.StatusCode != http.StatusCreated {
		t.Fatalf("status %d", response.StatusCode)
	}
	until(t, first.client, session.ID, func(f client.Frame) bool { return f.Type == parley.EventStepGenerating })
	first.kill()
	second := start(t, dir)
	until(t, second.client, session.ID, func(f client.Frame) bool { return f.Type.EndsTurn() })
	second.terminate() // which sends the remaining spans

	found := spans.of(trace)
	turns := found["invoke_agent Parley"]
	if len(turns) != 1 {
		t.Fatalf("the trace has %d runs of the turn to their end; want the second process's: %v", len(turns), found)
	}
	attempt := int64(0)
	for _, attribute := range turns[0].GetAttributes() {
		if attribute.GetKey() == "parley.attempt" {
			attempt = attribute.GetValue().GetIntValue()
		}
	}
	if attempt != 2 {
		t.Errorf("the run is attempt %d; want 2", attempt)
	}
	under := map[string]string{"step 1": "invoke_agent Parley", "chat lorem-60-50": "step 1"}
	for name, parent := range under {
		if len(found[name]) != 1 || len(found[parent]) != 1 ||
			string(found[name][0].GetParentSpanId()) != string(found[parent][0].GetSpanId()) {
			t.Errorf("%s is not once under %s: %v", name, parent, found)
		}
	}
	spans.mu.Lock()
	defer spans.mu.Unlock()
	for _, span := range spans.spans {
		if strings.Contains(span.String(), "secret") {
			t.Errorf("a span holds what was written: %s", span)
		}
	}
}

// until watches a session from its beginning for a matching frame.
func until(t *testing.T, c *client.Client, sessionID parley.ID, fits func(client.Frame) bool) {
	t.Helper()
	for frame, err := range c.WatchSession(t.Context(), sessionID, client.WatchSessionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if fits(frame) {
			return
		}
	}
	t.Fatal("the stream ended first")
}
