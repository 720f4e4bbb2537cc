package telemetry

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/observe"
	"example.org/parley/store"
)

func TestMetricsTellOfTurns(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say("sim/echo", "hello")
	h.say("sim/tool", "what time is it")
	h.say("sim/fail-network-1", "again") // once retried, then it answers
	h.say("sim/fail-auth-9", "never")
	h.rest()
	got := h.scrape()
	expect(t, got, map[string]string{
		`parley_turn_seconds_count{outcome="completed"}`:                                    "3",
		`parley_turn_seconds_count{outcome="failed"}`:                                       "1",
		`parley_turn_errors_total{class="auth"}`:                                            "1",
		`parley_turn_wait_seconds_count{priority="foreground"}`:                             "4",
		`parley_claims_total{by="post"}`:                                                    "4",
		`parley_call_seconds_count{model="echo",outcome="completed",provider="sim"}`:        "1",
		`parley_call_seconds_count{model="tool",outcome="completed",provider="sim"}`:        "2",
		`parley_call_seconds_count{model="fail-network-1",outcome="failed",provider="sim"}`: "1",
		`parley_call_first_token_seconds_count{model="tool",provider="sim"}`:                "2",
		`parley_call_errors_total{class="network",provider="sim"}`:                          "1",
		`parley_call_errors_total{class="auth",provider="sim"}`:                             "1",
		`parley_call_retries_total{class="network",provider="sim"}`:                         "1",
		`parley_tool_seconds_count{outcome="ok",source="builtin",tool="current_time"}`:      "1",
		`parley_store_seconds_count{operation="begin_step",outcome="ok"}`:                   "5",
		`parley_store_seconds_count{operation="settle_tool",outcome="ok"}`:                  "1",
		`parley_lease_losses_total`:                                                         "0",
		`parley_queue_depth{priority="foreground"}`:                                         "0",
		`parley_queue_oldest_seconds{priority="background"}`:                                "0",
		`parley_worker_slots`:   "8",
		`parley_worker_running`: "0",
		`parley_draining`:       "0",
		`parley_ready`:          "1",
		`parley_watchers`:       "0",
		`parley_http_requests_total{method="POST",route="/v1/sessions",status="200"}`: "4",
		`parley_http_open_requests`: "1", // the scrape itself
		`parley_build_info{go_version="` + runtime.Version() + `",version="test"}`: "1",
	})
	for _, name := range []string{`parley_tokens_total{kind="input",model="echo",provider="sim"}`,
		`parley_prompt_cache_calls_total{model="echo",provider="sim",result="miss"}`,
		`parley_tokens_total{kind="output",model="echo",provider="sim"}`,
		`parley_events_sent_total`, `parley_deltas_sent_total`, `parley_writer_commits_total`, `parley_sweeps_total`} {
		if got[name] == "" || got[name] == "0" {
			t.Errorf("%s is %q; it has happened", name, got[name])
		}
	}
	for name := range got {
		if strings.HasPrefix(name, "parley_http_request_seconds") && strings.Contains(name, `route="/v1/sessions"`) {
			t.Errorf("a stream was timed as a request: %s", name)
		}
	}
}

// Turns waiting for something outside, refusals by limits and answers of tool sessions are counted.
func TestMetricsCountWaitingTurns(t *testing.T) {
	t.Parallel()
	h := open(t)
	created := func(path, body string) string {
		t.Helper()
		status, answer := h.do("POST", path, body)
		var made struct{ ID string }
		if err := json.Unmarshal([]byte(answer), &made); status != http.StatusCreated || err != nil {
			t.Fatalf("%s: status %d: %s", path, status, answer)
		}
		return made.ID
	}
	say := func(session, text, until string) {
		t.Helper()
		body, err := json.Marshal(map[string]any{"content": map[string]string{"text": text}})
		if err != nil {
			t.Fatal(err)
		}
		if status, answer := h.do(
			"POST",
			"/v1/sessions/"+session+"/messages",
			string(body),
			"Accept",
			"text/event-stream",
		); status != http.StatusOK ||
			!strings.Contains(answer, until) {
			t.Fatalf("status %d: %s", status, answer)
		}
	}
	created("/v1/agents", `{"name":"Scout","model":"sim/echo"}`)
	captain := created("/v1/sessions", `{"model":"sim/script","tools":[{"name":"ask_scout","agent":"scout"}]}`)
	say(
		captain,
		`[[{"tool_call":{"name":"ask_scout","arguments":{"task":"Look."}}}],[{"text":"Thanks."}]]`,
		"event: session.completed",
	)
	asks := created(
		"/v1/sessions",
		`{"model":"sim/script","tools":["current_time"],"grants":[{"tool":"*","effect":"ask"}]}`,
	)
	created(
		"/v1/sessions/"+asks+"/messages",
		`{"content":{"text":"[[{\"tool_call\":{\"name\":\"current_time\",\"arguments\":{}}}]]"}}`,
	)
	capped := created("/v1/sessions", `{"model":"sim/echo","limits":{"session_tokens":50,"requests_per_minute":1}}`)
	created("/v1/sessions/"+capped+"/messages", `{"content":{"text":"Hello"}}`)
	if status, _ := h.do(
		"POST",
		"/v1/sessions/"+capped+"/messages",
		`{"content":{"text":"Hello"}}`,
	); status != http.StatusTooManyRequests {
		t.Errorf("the second message within a minute: status %d", status)
	}
	bounded := created("/v1/sessions", `{"model":"sim/lorem-1000-60","limits":{"session_tokens":100000}}`)
	created("/v1/sessions/"+bounded+"/messages", `{"content":{"text":"Hello"}}`)
	want := map[string]string{
		`parley_turns_waiting{reason="approval"}`:                             "1",
		`parley_turns_waiting{reason="budget"}`:                               "1",
		`parley_turns_waiting{reason="child"}`:                                "0",
		`parley_approvals_pending`:                                            "1",
		`parley_turn_parks_total{reason="child"}`:                             "1",
		`parley_turn_parks_total{reason="budget"}`:                            "1",
		`parley_turn_seconds_count{outcome="parked"}`:                         "3",
		`parley_turn_seconds_count{outcome="left"}`:                           "0",
		`parley_budget_refusals_total{limit="session_tokens"}`:                "1",
		`parley_budget_refusals_total{limit="daily_cost"}`:                    "0",
		`parley_rate_refusals_total{scope="session"}`:                         "1",
		`parley_rate_refusals_total{scope="key"}`:                             "0",
		`parley_tool_seconds_count{outcome="ok",source="agent",tool="scout"}`: "1",
		`parley_store_seconds_count{operation="open_child",outcome="ok"}`:     "1",
		`parley_store_seconds_count{operation="park_refused",outcome="ok"}`:   "1",
		`parley_budget_refusals_total{limit="unknown_price"}`:                 "0",
		`parley_fenced_writes_total{operation="use_approvals"}`:               "0",
	}
	began := time.Now()
	for got := h.scrape(); ; got = h.scrape() { // the turns park at their own pace
		missing := 0
		for name, value := range want {
			if got[name] != value {
				missing++
			}
		}
		if reserved, err := strconv.ParseFloat(
			got["parley_reserved_tokens"],
			64,
		); missing == 0 && err == nil &&
			reserved > 0 {
			break
		}
		if time.Since(began) > patience {
			expect(t, got, want)
			t.Fatalf("reserved are %s tokens", got["parley_reserved_tokens"])
		}
	}
	h.do("POST", "/v1/sessions/"+bounded+"/cancel", "")
	h.rest()
	if got := h.scrape()["parley_reserved_tokens"]; got != "0" {
		t.Errorf("with no call under way %s tokens are reserved", got)
	}
}

// A queued turn shows in the metrics, with its age.
func TestMetricsTellOfTheQueue(t *testing.T) {
	t.Parallel()
	h := open(t)
	for range 8 { // fills every slot
		if status, answer := h.do(
			"POST",
			"/v1/sessions",
			`{"message":{"content":{"text":"x"},"model":"sim/lorem-1000-60"}}`,
		); status != http.StatusCreated {
			t.Fatalf("status %d: %s", status, answer)
		}
	}
	h.do("POST", "/v1/sessions", `{"message":{"content":{"text":"x"},"model":"sim/echo"}}`)
	began := time.Now()
	for h.scrape()[`parley_queue_depth{priority="foreground"}`] != "1" {
		if time.Since(began) > patience {
			t.Fatalf("the queue is not seen: %v", h.scrape())
		}
	}
}

func TestStoreCallsAreCountedByOutcome(t *testing.T) {
	t.Parallel()
	told, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	told.Stored(observe.OperationSettleStep, time.Millisecond, nil)
	told.Stored(observe.OperationSettleStep, time.Millisecond, parley.Errorf(parley.CodeFenced, "lost"))
	told.Stored(observe.OperationBeginStep, time.Millisecond, parley.Errorf(parley.CodeMore, "more"))
	told.Stored(observe.OperationSweep, time.Millisecond, io.ErrUnexpectedEOF)
	told.LeaseLost()
	told.CachedResponses(observe.ResponseHits, 2)
	told.Swept(3)
	expect(t, scraped(t, told), map[string]string{
		`parley_store_seconds_count{operation="settle_step",outcome="ok"}`:      "1",
		`parley_store_seconds_count{operation="settle_step",outcome="refused"}`: "1",
		`parley_store_seconds_count{operation="begin_step",outcome="refused"}`:  "1",
		`parley_store_seconds_count{operation="sweep",outcome="failed"}`:        "1",
		`parley_fenced_writes_total{operation="settle_step"}`:                   "1",
		`parley_fenced_writes_total{operation="begin_step"}`:                    "0",
		`parley_lease_losses_total`:                                             "1",
		`parley_sweeps_total`:                                                   "1",
		`parley_response_cache_total{outcome="hit"}`:                            "2",
		`parley_response_cache_total{outcome="evicted"}`:                        "0",
		`parley_takeovers_total`:                                                "3",
	})
}

// Whatever names come from outside, a label has a bounded number of values, and none is an id.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	told, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * MaxModels {
		call := &parley.Call{
			SessionID: parley.NewID(),
			Provider:  fmt.Sprint("p", i),
			Model:     parley.ModelID(fmt.Sprintf("p%d/m%d", i, i)),
		}
		told.CallEnded(
			t.Context(),
			observe.CallEnded{
				Call:    call,
				Settled: &store.CallSettled{Outcome: parley.CallCompleted},
				Took:    time.Second,
			},
		)
		told.CallEnded(t.Context(), observe.CallEnded{
			Call: call, Settled: &store.CallSettled{Outcome: parley.CallCompleted},
			Context: observe.Context{Agent: fmt.Sprint("a", i), Bytes: 100, Repeated: 90, Dropped: 7},
		})
		told.ToolEnded(t.Context(), observe.ToolEnded{Name: fmt.Sprint("t", i), Outcome: observe.ToolSucceeded})
	}
	values := map[string]map[string]bool{}
	for name := range scraped(t, told) {
		_, labels, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
		for label := range strings.SplitSeq(labels, ",") {
			key, value, _ := strings.Cut(label, "=")
			if values[key] == nil {
				values[key] = map[string]bool{}
			}
			values[key][value] = true
		}
	}
	for label, most := range map[string]int{"model": MaxModels + 1, "provider": MaxProviders + 1,
		"tool": MaxTools + 1, "agent": MaxAgents + 1} {
		if n := len(values[label]); n != most || !values[label][`"other"`] {
			t.Errorf("the label %s has %d values; want %d, other among them", label, n, most)
		}
	}
}

// What an agent's calls show of their sessions is counted by its slug; what a provider did not tell is not.
func TestAgentsContextsAreCounted(t *testing.T) {
	t.Parallel()
	told, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	input, cached := int64(1000), int64(900)
	for _, ended := range []struct {
		shown observe.Context
		usage parley.Usage
	}{
		{
			observe.Context{Agent: "ada", Bytes: 4000, Repeated: 3800, Dropped: 70},
			parley.Usage{InputTokens: &input, CachedTokens: &cached},
		},
		{observe.Context{Agent: "ada"}, parley.Usage{InputTokens: &input}}, // the first of a session
		{observe.Context{}, parley.Usage{InputTokens: &input, CachedTokens: &cached}},
	} {
		told.CallEnded(t.Context(), observe.CallEnded{
			Call:    &parley.Call{Provider: "p", Model: "p/m"},
			Settled: &store.CallSettled{Outcome: parley.CallCompleted, Usage: ended.usage},
			Context: ended.shown,
		})
	}
	expect(t, scraped(t, told), map[string]string{
		`parley_agent_request_bytes_total{agent="ada",kind="sent"}`:     "4000",
		`parley_agent_request_bytes_total{agent="ada",kind="repeated"}`: "3800",
		`parley_agent_tokens_total{agent="ada",kind="input"}`:           "1000",
		`parley_agent_tokens_total{agent="ada",kind="cached"}`:          "900",
		`parley_agent_tokens_total{agent="ada",kind="dropped"}`:         "70",
	})
}

func scraped(t *testing.T, told *Telemetry) map[string]string {
	t.Helper()
	recorder := httptest.NewRecorder()
	told.Metrics().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if recorder.Code != http.StatusOK {
		t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
	}
	return samples(recorder.Body.String())
}
