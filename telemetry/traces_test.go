package telemetry

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"example.org/parley"
	"example.org/parley/observe"
	"example.org/parley/store"
)

// receiver is an OTLP collector on loopback that stores what it receives.
type receiver struct {
	url string

	mu       sync.Mutex // guards what follows
	spans    []*otlp.Span
	resource map[string]string
	refuses  bool
	asked    int
}

func receive(t *testing.T) *receiver {
	r := &receiver{}
	r.url = serve(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		raw, err := io.ReadAll(request.Body)
		var batch service.ExportTraceServiceRequest
		if err != nil || request.URL.Path != "/v1/traces" || proto.Unmarshal(raw, &batch) != nil {
			t.Errorf("%s %s: no batch of spans: %v", request.Method, request.URL, err)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.asked++; r.refuses {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for _, from := range batch.GetResourceSpans() {
			r.resource = attributes(from.GetResource().GetAttributes())
			for _, scope := range from.GetScopeSpans() {
				r.spans = append(r.spans, scope.GetSpans()...)
			}
		}
	}))
	return r
}

// withTraces opens a house whose spans go to a receiver. Settings go into the process's own environment, which the SDK
// reads.
func withTraces(t *testing.T, settings ...string) (*house, *receiver) {
	t.Helper()
	r := receive(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.url)
	for i := 0; i+1 < len(settings); i += 2 {
		t.Setenv(settings[i], settings[i+1])
	}
	return openWith(t, os.Getenv), r
}

func attributes(list []*common.KeyValue) map[string]string {
	found := map[string]string{}
	for _, a := range list {
		switch value := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			found[a.GetKey()] = value.StringValue
		case *common.AnyValue_IntValue:
			found[a.GetKey()] = fmt.Sprint(value.IntValue)
		case *common.AnyValue_DoubleValue:
			found[a.GetKey()] = fmt.Sprint(value.DoubleValue)
		case *common.AnyValue_ArrayValue:
			for _, one := range value.ArrayValue.GetValues() {
				found[a.GetKey()] += one.GetStringValue()
			}
		}
	}
	return found
}

// received returns all spans sent so far: Shutdown has flushed them.
func (h *house) received(r *receiver) []*otlp.Span {
	h.Helper()
	h.rest()
	h.telemetry.Shutdown(h.Context())
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spans
}

// tree draws spans as lines, each under its parent, in order of their start.
func tree(spans []*otlp.Span, parent string, depth int) []string {
	var under []*otlp.Span
	for _, span := range spans {
		if string(span.GetParentSpanId()) == parent {
			under = append(under, span)
		}
	}
	slices.SortFunc(
		under,
		func(a, b *otlp.Span) int { return int(a.GetStartTimeUnixNano()) - int(b.GetStartTimeUnixNano()) },
	)
	var lines []string
	for _, span := range under {
		line := strings.Repeat(
			"  ",
			depth,
		) + span.GetName() + " " + strings.ToLower(
			strings.TrimPrefix(span.GetKind().String(), "SPAN_KIND_"),
		)
		if status := span.GetStatus(); status.GetCode() == otlp.Status_STATUS_CODE_ERROR {
			line += " error " + status.GetMessage()
		}
		for _, event := range span.GetEvents() {
			line += " [" + event.GetName() + " " + attributes(event.GetAttributes())["error.type"] + "]"
		}
		lines = append(append(lines, line), tree(spans, string(span.GetSpanId()), depth+1)...)
	}
	return lines
}

const (
	callerTrace  = "0af7651916cd43dd8448eb211c80319c"
	callerSpan   = "b7ad6b7169203331"
	callerParent = "00-" + callerTrace + "-" + callerSpan + "-01"
)

// One post with a caller's traceparent is one trace: the request, the turn, its steps, their calls and tools, including
// a retry and a failure.
func TestSpansFormATree(t *testing.T) {
	h, r := withTraces(
		t,
		"OTEL_SERVICE_NAME",
		"my-parley",
		"OTEL_RESOURCE_ATTRIBUTES",
		"deployment.environment.name=test",
	)
	session, _ := h.say("sim/tool", "what time is it", "Traceparent", callerParent)
	h.say("sim/fail-network-1", "again")
	h.say("sim/fail-auth-9", "never")
	h.do("GET", "/healthz", "")
	spans := h.received(r)
	caller := spanID(t, callerSpan)
	want := []string{
		"POST /v1/sessions server",
		"  invoke_agent Parley internal",
		"    step 1 internal",
		"      chat tool client",
		"      execute_tool current_time internal",
		"    step 2 internal",
		"      chat tool client",
	}
	if diff := cmp.Diff(want, tree(spans, caller, 0)); diff != "" {
		t.Errorf("under the caller (-want +got):\n%s", diff)
	}
	want = []string{
		"POST /v1/sessions server",
		"  invoke_agent Parley internal",
		"    step 1 internal [parley.retry network]",
		"      chat fail-network-1 client error network",
		"      chat fail-network-1 client",
		"POST /v1/sessions server",
		"  invoke_agent Parley internal error auth",
		"    step 1 internal",
		"      chat fail-auth-9 client error auth",
	}
	if diff := cmp.Diff(want, tree(spans, "", 0)); diff != "" {
		t.Errorf("without a caller (-want +got):\n%s", diff)
	}
	for _, span := range spans {
		if ours := fmt.Sprintf(
			"%x",
			span.GetTraceId(),
		) == callerTrace; ours != (attributes(span.GetAttributes())["gen_ai.conversation.id"] == session.String() ||
			span.GetName() == "POST /v1/sessions" && string(span.GetParentSpanId()) == caller) {
			t.Errorf("%s is in the wrong trace", span.GetName())
		}
	}
	if r.resource["service.name"] != "my-parley" || r.resource["deployment.environment.name"] != "test" ||
		r.resource["service.version"] != "test" {
		t.Errorf("the resource is %v", r.resource)
	}
}

func spanID(t *testing.T, text string) string {
	t.Helper()
	var raw [8]byte
	if _, err := fmt.Sscanf(text, "%016x", new(uint64)); err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		if _, err := fmt.Sscanf(text[2*i:2*i+2], "%02x", &raw[i]); err != nil {
			t.Fatal(err)
		}
	}
	return string(raw[:])
}

// Each span has the attributes of the conventions, and none contains what people or models wrote.
func TestSpansFollowTheConventions(t *testing.T) {
	h, r := withTraces(t)
	session, _ := h.say("sim/tool", "a secret question")
	spans := map[string]*otlp.Span{}
	for _, span := range h.received(r) {
		if _, twice := spans[span.GetName()]; !twice ||
			attributes(span.GetAttributes())["gen_ai.response.finish_reasons"] == "tool_call" {
			spans[span.GetName()] = span
		}
		if strings.Contains(span.String(), "secret") {
			t.Errorf("%s holds what was written: %s", span.GetName(), span)
		}
	}
	conversation := session.String()
	for name, want := range map[string]map[string]string{
		"POST /v1/sessions": {"http.request.method": "POST", "http.route": "/v1/sessions",
			"http.response.status_code": "200", "parley.request.id": "…"},
		"invoke_agent Parley": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.id": "…",
			"gen_ai.agent.name": "Parley", "gen_ai.agent.version": "1",
			"gen_ai.conversation.id": conversation, "parley.workspace.id": "…", "parley.turn.id": "…",
			"parley.attempt": "1", "parley.outcome": "completed"},
		"step 1": {"parley.step": "1", "gen_ai.conversation.id": conversation},
		"chat tool": {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "sim", "gen_ai.request.model": "tool",
			"gen_ai.conversation.id":         conversation,
			"gen_ai.response.finish_reasons": "tool_call", "gen_ai.usage.input_tokens": "…",
			"gen_ai.usage.output_tokens": "…", "parley.call.id": "…",
			"parley.attempt": "1", "parley.outcome": "completed", "parley.first_token_seconds": "…"},
		"execute_tool current_time": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "current_time",
			"gen_ai.tool.call.id": "…",
			"gen_ai.tool.type":    "function", "gen_ai.conversation.id": conversation, "parley.outcome": "ok"},
	} {
		got := attributes(spans[name].GetAttributes())
		for key, value := range want {
			if value == "…" && got[key] != "" {
				got[key] = value
			}
		}
		for _, key := range slices.Collect(maps.Keys(got)) {
			if _, wanted := want[key]; !wanted &&
				(strings.HasPrefix(key, "gen_ai.usage.") || key == "parley.cost_dollars" ||
					key == "parley.usage.reasoning_tokens") {
				delete(got, key)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestContentsAreInSpansOnlyWhenAskedFor(t *testing.T) {
	h, r := withTraces(t, ContentEnv, "true")
	h.say("sim/tool", "a secret question")
	var all strings.Builder
	for _, span := range h.received(r) {
		for key, value := range attributes(span.GetAttributes()) {
			fmt.Fprintf(&all, "%s = %s\n", key, value)
		}
	}
	for _, want := range []string{
		`gen_ai.input.messages = [{"role":"user","parts":[{"type":"text","content":"a secret question"}]}]`,
		`gen_ai.output.messages = [{"role":"assistant","parts":[{"type":"tool_call","id":"call_`,
		`gen_ai.tool.call.arguments = {}`,
		`gen_ai.tool.call.result = {`,
		`"finish_reason":"stop"}]`,
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no span has %s; they have:\n%s", want, all.String())
		}
	}
}

// A client may put a traceparent of its own into a message's metadata.
func TestMetadataOfAMessageNamesItsTrace(t *testing.T) {
	h, r := withTraces(t)
	status, answer := h.do(
		"POST",
		"/v1/sessions",
		`{"message":{"content":{"text":"x"},"model":"sim/echo","metadata":{"traceparent":"`+callerParent+`"}}}`,
		"Accept",
		"text/event-stream",
	)
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, answer)
	}
	for _, junk := range []string{`7`, `"junk"`, `{"a":1}`} {
		h.do(
			"POST",
			"/v1/sessions",
			`{"message":{"content":{"text":"x"},"model":"sim/echo","metadata":{"traceparent":`+junk+`}}}`,
			"Accept",
			"text/event-stream",
		)
	}
	spans := h.received(r)
	if got := tree(spans, spanID(t, callerSpan), 0); len(got) == 0 || got[0] != "invoke_agent Parley internal" {
		t.Errorf("under the span named by the metadata: %v", got)
	}
	turns := 0
	for _, line := range tree(spans, "", 0) {
		if line == "invoke_agent Parley internal" {
			turns++
		}
	}
	if turns != 3 {
		t.Errorf("%d turns began a trace of their own; want those 3 whose traceparent is none", turns)
	}
}

func TestLogLinesNameTheirTrace(t *testing.T) {
	h, r := withTraces(t)
	log := h.telemetry.Logger(h.telemetry.log).With("workspace", "w")
	claim := &store.Claim{Trigger: parley.Message{Metadata: []byte(`{"traceparent":"` + callerParent + `"}`)}}
	ctx := h.telemetry.TurnBegan(t.Context(), claim)
	log.WarnContext(ctx, "inside")
	log.WarnContext(t.Context(), "outside")
	h.telemetry.TurnEnded(ctx, observe.TurnRun{Claim: claim, Outcome: observe.RunCompleted})
	span := h.received(r)[0]
	want := fmt.Sprintf("msg=inside workspace=w trace_id=%s span_id=%x\n", callerTrace, span.GetSpanId())
	if text := h.log.String(); !strings.Contains(text, want) || !strings.Contains(text, "msg=outside workspace=w\n") {
		t.Errorf("the log has no %q and no plain line:\n%s", want, text)
	}
}

// A collector that is gone costs spans, never turns; the failure is counted, and logged once.
func TestExportsThatFailAreCounted(t *testing.T) {
	h, r := withTraces(t, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	r.mu.Lock()
	r.refuses = true
	r.mu.Unlock()
	h.say("sim/echo", "x")
	h.received(r)
	r.mu.Lock()
	asked := r.asked
	r.mu.Unlock()
	expect(
		t,
		h.scrape(),
		map[string]string{
			"parley_trace_export_failures_total":             fmt.Sprint(asked),
			`parley_turn_seconds_count{outcome="completed"}`: "1",
		},
	)
	if n := strings.Count(h.log.String(), "spans could not be sent"); n != 1 || asked < 2 {
		t.Errorf("%d refused batches were told %d times", asked, n)
	}
}

func TestTracesAreOffUnlessTheEnvironmentAsks(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for name, c := range map[string]struct {
		env  map[string]string
		on   bool
		code parley.Code
	}{
		"nothing set": {nil, false, ""},
		"an endpoint": {map[string]string{endpoint: "http://127.0.0.1:1"}, true, ""},
		"for traces alone": {map[string]string{
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces"}, true, ""},
		"disabled": {map[string]string{endpoint: "http://127.0.0.1:1",
			"OTEL_SDK_DISABLED": "true"}, false, ""},
		"another exporter": {map[string]string{endpoint: "http://127.0.0.1:1",
			"OTEL_TRACES_EXPORTER": "none"}, false, ""},
		"no address": {map[string]string{endpoint: "collector:4318"}, false, parley.CodeInvalid},
		"another protocol": {map[string]string{endpoint: "http://127.0.0.1:1",
			"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, parley.CodeInvalid},
		"contents, misspelt": {map[string]string{endpoint: "http://127.0.0.1:1", ContentEnv: "perhaps"}, false,
			parley.CodeInvalid},
		"contents, no traces": {map[string]string{ContentEnv: "true"}, false, ""},
	} {
		told, err := New(t.Context(), Options{Env: environment(c.env)})
		if parley.ErrorCode(err) != c.code {
			t.Errorf("%s: %v; want code %q", name, err, c.code)
		}
		if err != nil {
			continue
		}
		if on := told.traces != nil; on != c.on || told.Contents() {
			t.Errorf("%s: traces on: %t, contents: %t", name, on, told.Contents())
		}
		told.Shutdown(t.Context())
	}
}
