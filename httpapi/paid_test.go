package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/parley"
	"example.org/parley/llm"
	"example.org/parley/llm/anthropic"
	"example.org/parley/llm/openai"
	"example.org/parley/model"
)

// wireAnswers are a provider's answers in one format: each reports 10 tokens in and 5 out.
type wireAnswers struct {
	model                        parley.ModelID
	document, text, empty, calls string
}

func bothWires() []wireAnswers {
	const usage = `"usage":{"prompt_tokens":10,"completion_tokens":5}`
	chunk := func(delta, finish string) string {
		return `data: {"choices":[{"index":0,"delta":` + delta + `,"finish_reason":"` + finish + `"}],` +
			usage + "}\n\n" +
			"data: [DONE]\n\n"
	}
	const begins = "event: message_start\n" +
		"data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10}}}\n\n"
	block := func(start, delta, stop string) string {
		text := begins
		if start != "" {
			text += `data: {"type":"content_block_start","index":0,"content_block":` + start + "}\n\n" +
				`data: {"type":"content_block_delta","index":0,"delta":` + delta + "}\n\n" +
				`data: {"type":"content_block_stop","index":0}` + "\n\n"
		}
		return text + `data: {"type":"message_delta","delta":{"stop_reason":"` + stop +
			`"},"usage":{"output_tokens":5}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
	}
	return []wireAnswers{
		{
			model:    "chat/m",
			document: `{"object":"chat.completion","choices":[{"message":{"content":"Hi"}}],` + usage + `}`,
			text:     chunk(`{"content":"Here."}`, "stop"),
			empty:    chunk(`{"content":""}`, "stop"),
			calls: chunk(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":`+
				`{"name":"current_time","arguments":"{}"}}]}`, "tool_calls"),
		},
		{
			model: "claude/m",
			document: `{"type":"message","content":[{"type":"text","text":"Hi"}],` +
				`"usage":{"input_tokens":10,"output_tokens":5}}`,
			text:  block(`{"type":"text","text":""}`, `{"type":"text_delta","text":"Here."}`, "end_turn"),
			empty: block("", "", "end_turn"),
			calls: block(`{"type":"tool_use","id":"c1","name":"current_time","input":{}}`,
				`{"type":"input_json_delta","partial_json":"{}"}`, "tool_use"),
		},
	}
}

// startScripted starts a server with a provider of each format. Both answer with a script and repeat its last answer.
func startScripted(t *testing.T, script ...string) *testServer {
	t.Helper()
	var asked atomic.Int64
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer := script[min(int(asked.Add(1)), len(script))-1]
		mediaType := "text/event-stream"
		if answer[0] == '{' {
			mediaType = "application/json"
		}
		w.Header().Set("Content-Type", mediaType)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(provider.Close)
	return startServerWith(t, func(t *testing.T) *llm.Registry {
		t.Helper()
		chat, err := openai.New(openai.Options{Name: "chat", BaseURL: provider.URL + "/v1"})
		if err != nil {
			t.Fatal(err)
		}
		claude, err := anthropic.New(anthropic.Options{Name: "claude", BaseURL: provider.URL})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(chat.Close)
		t.Cleanup(claude.Close)
		priced := func(id parley.ModelID) []model.Info {
			return []model.Info{{
				ID: id, Provider: id.Provider(), Name: id.Name(), Tools: true, ContextLength: 100_000,
				Price: &model.Price{Input: 1, Output: 2},
			}}
		}
		models, err := llm.NewRegistry(llm.Options{Providers: []llm.Provider{
			{Name: "chat", Model: chat, DefaultModel: "m", Models: priced("chat/m")},
			{Name: "claude", Model: claude, DefaultModel: "m", Models: priced("claude/m")},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return models
	})
}

// TestWhatWasPaidForCounts: if a provider answers with a document instead of a stream, or with nothing after a tool's
// result, it is asked again as often as the policy allows; then the turn fails. Every answer that reported usage
// counts, with its cost.
func TestWhatWasPaidForCounts(t *testing.T) {
	t.Parallel()
	for _, wire := range bothWires() {
		for _, c := range []struct {
			name    string
			script  []string
			status  parley.TurnStatus
			calls   int64
			results int
		}{
			{"documents", []string{wire.document}, parley.TurnFailed, 3, 0},
			{"a document once", []string{wire.document, wire.text}, parley.TurnCompleted, 2, 0},
			{"empty after a result", []string{wire.calls, wire.empty}, parley.TurnFailed, 4, 1},
			{"empty once after a result", []string{wire.calls, wire.empty, wire.text}, parley.TurnCompleted, 3, 1},
		} {
			t.Run(string(wire.model)+" "+c.name, func(t *testing.T) {
				t.Parallel()
				s := startScripted(t, c.script...)
				session := s.session(fmt.Sprintf(`{"model":%q,"tools":["current_time"],
					"retry_policy":{"retries":2,"max_wait_ms":1}}`, wire.model)).ID.String()
				s.told(session, `{"content":{"text":"Hello"}}`)
				turn := want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+session+"/turns", "").Data[0]
				if turn.Status != c.status || c.status == parley.TurnFailed &&
					(turn.Error == nil || turn.Error.Class != parley.ClassModel || turn.Error.Attempts != 3) {
					t.Errorf("the turn is %s: %+v", turn.Status, turn.Error)
				}
				calls := want[page[parley.Call]](s, 200, "GET", "/v1/sessions/"+session+"/calls", "").Data
				if int64(len(calls)) != c.calls {
					t.Errorf("%d calls, want %d", len(calls), c.calls)
				}
				for i := range calls {
					u := calls[i].Usage
					if u.InputTokens == nil || *u.InputTokens != 10 || u.OutputTokens == nil || *u.OutputTokens != 5 ||
						calls[i].Cost == nil || *calls[i].Cost == 0 {
						t.Errorf("call %d used %+v for %v", i, u, calls[i].Cost)
					}
				}
				got := want[parley.Session](s, 200, "GET", "/v1/sessions/"+session, "").Statistics
				if got.InputTokens != 10*c.calls || got.OutputTokens != 5*c.calls || got.Cost == 0 {
					t.Errorf("the session counts %+v", got)
				}
				results := want[page[parley.Message]](s, 200, "GET",
					"/v1/sessions/"+session+"/messages?role=tool_result", "").Data
				if len(results) != c.results {
					t.Errorf("%d results are kept", len(results))
				}
			})
		}
	}
}

// TestLimitsReserveWhatIsSent: a call reserves the longest answer that its request allows, wherever that bound comes
// from. A turn that ends at a limit names the limit.
func TestLimitsReserveWhatIsSent(t *testing.T) {
	t.Parallel()
	for i, wire := range bothWires() {
		for _, c := range []struct {
			settings string
			waits    bool
		}{
			{``, i == 1}, // Anthropic's wire bounds every answer, by 8,192 tokens unless something else is set
			{`,"max_tokens":1000`, false},
			{`,"max_tokens":5000`, true},
		} {
			s := startScripted(t, wire.text)
			session := s.session(fmt.Sprintf(`{"model":%q,"limits":{"session_tokens":5000}%s}`,
				wire.model, c.settings)).ID.String()
			want[parley.Message](s, 201, "POST", "/v1/sessions/"+session+"/messages", `{"content":{"text":"Hello"}}`)
			watch := s.stream("GET", "/v1/sessions/"+session+"/events", "")
			ended := "session.completed"
			if c.waits {
				ended = "session.waiting"
			}
			last := watch.until(ended)
			if data := string(last[len(last)-1].data.Data); c.waits && !strings.Contains(data, "session_tokens") {
				t.Errorf("%s%s: waits for %s", wire.model, c.settings, data)
			}
		}
		paid := strings.NewReplacer(`_tokens":10`, `_tokens":10000000`).Replace(wire.document)
		s := startScripted(t, paid)
		session := s.session(fmt.Sprintf(`{"model":%q,"limits":{"session_tokens":100000},
			"retry_policy":{"retries":2,"max_wait_ms":1}}`, wire.model)).ID.String()
		all := s.told(session, `{"content":{"text":"Hello"}}`)
		turn := want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+session+"/turns", "").Data[0]
		if turn.Error == nil || turn.Error.Class != parley.ClassLimit ||
			!strings.Contains(turn.Error.Detail, "limits.session_tokens") {
			t.Errorf("%s: the turn is %s after %d events: %+v", wire.model, turn.Status, len(all), turn.Error)
		}
	}
}
