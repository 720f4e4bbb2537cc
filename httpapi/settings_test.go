package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// lastCall is the newest model call of a session, as its record rebuilds it.
func (s *testServer) lastCall(session string) engine.CallDetail {
	s.Helper()
	calls := want[page[parley.Call]](s, 200, "GET", "/v1/sessions/"+session+"/calls?limit=1", "")
	if len(calls.Data) == 0 {
		s.Fatal("no call was made")
	}
	return want[engine.CallDetail](s, 200, "GET", "/v1/calls/"+calls.Data[0].ID.String(), "")
}

func toolCount(t *testing.T, call engine.CallDetail) int {
	t.Helper()
	var tools []parley.ToolDefinition
	if err := json.Unmarshal(call.Tools, &tools); err != nil {
		t.Fatal(err)
	}
	return len(tools)
}

// told posts to a session and waits for the turn's end.
func (s *testServer) told(session, body string) []frame {
	s.Helper()
	return s.stream("POST", "/v1/sessions/"+session+"/messages?flush_ms=0", body).rest()
}

// The nearest of message, session, agent and server says model, prompt,
// parameters and tools; what was used stands on message and call.
func TestNearestSettingWins(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"bare"}`)
	want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"set","model":"sim/reason","system_prompt":"You are {{agent.name}} in {{session.feature}}.",`+
			`"temperature":0.1,"top_p":0.2,"max_tokens":300,"seed":4,"reasoning_effort":"low",`+
			`"tools":["current_time"]}`,
	)
	const message = `"model":"sim/lorem-3-0","system_prompt":"Of the message.","temperature":0.9,"seed":6,"tools":[]`
	for _, c := range []struct {
		name, session, message string
		model                  parley.ModelID
		system                 string
		temperature            float64
		seed                   int64
		tools                  int
	}{
		{"server", `{"agent_id":"bare"}`, ``, "sim/echo", "", 0, 0, 0},
		{"agent", `{"agent_id":"set","feature":"pay"}`, ``, "sim/reason", "You are set in pay.", 0.1, 4, 1},
		{"session", `{"agent_id":"set","model":"sim/echo","system_prompt":"Of the session.","instructions":"Be ` +
			`brief.","temperature":0.5}`, ``, "sim/echo", "Of the session.\n\nBe brief.", 0.5, 4, 1},
		{"message", `{"agent_id":"set","model":"sim/echo","system_prompt":"Of the session.","temperature":0.5}`,
			message, "sim/lorem-3-0", "Of the message.", 0.9, 6, 0},
	} {
		session := s.session(c.session).ID.String()
		body := `{"content":{"text":"Hello"}}`
		if c.message != "" {
			body = `{"content":{"text":"Hello"},` + c.message + `}`
		}
		s.told(session, body)
		call := s.lastCall(session)
		if call.Model != c.model || call.Provider != "sim" || call.System != c.system ||
			toolCount(t, call) != c.tools ||
			!call.Exact {
			t.Errorf(
				"%s: call of %s, prompt %q, %d tools, exact %t",
				c.name,
				call.Model,
				call.System,
				toolCount(t, call),
				call.Exact,
			)
		}
		if c.seed != 0 &&
			(*call.Temperature != c.temperature || *call.Seed != c.seed || *call.TopP != 0.2 ||
				*call.MaxTokens != 300 || call.ReasoningEffort == nil) {
			t.Errorf("%s: parameters %+v", c.name, call.Parameters)
		}
		answers := want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+session+"/messages?role=assistant", "")
		if len(answers.Data) == 0 || answers.Data[0].Model != c.model {
			t.Errorf("%s: answers %+v", c.name, answers.Data)
		}
		// What one message says holds for its turn alone.
		if c.name == "message" {
			s.told(session, `{"content":{"text":"And now?"}}`)
			if next := s.lastCall(
				session,
			); next.Model != "sim/echo" || next.System != "Of the session." ||
				*next.Temperature != 0.5 {
				t.Errorf("the turn after: %s %q", next.Model, next.System)
			}
		}
	}
	for field, body := range map[string]string{
		"model":         `{"content":{"text":"x"},"model":"nowhere/x"}`,
		"temperature":   `{"content":{"text":"x"},"temperature":9}`,
		"system_prompt": `{"content":{"text":"x"},"system_prompt":"{{nothing}}"}`,
		"tools":         `{"content":{"text":"x"},"tools":["nothing"]}`,
	} {
		got := s.do("POST", "/v1/sessions/"+s.session(`{}`).ID.String()+"/messages", body)
		if got.status != 422 || got.problem(t).Errors[0].Field != field {
			t.Errorf("%s: status %d %s", body, got.status, got.body)
		}
	}
}

// The kind of a session says what its model reads, unless a policy is set.
func TestDefaultPolicies(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"narrow","context_policy":{"kind":"recent","limit":4}}`)
	for _, c := range []struct{ session, policy string }{
		{`{}`, "auto"},
		{`{"context_policy":{"kind":"auto","tokens":8000}}`, "auto(8000 tokens)"},
		{`{"mode":"background"}`, "summary(50)"},
		{`{"type":"pm-feature","feature":"pay"}`, "recent(10)"},
		{`{"type":"dev-task","feature":"pay","task":"T-1"}`, "recent(3)"},
		{`{"kind":"tool"}`, "single"},
		{`{"agent_id":"narrow","kind":"tool"}`, "recent(4)"},
		{`{"agent_id":"narrow","context_policy":{"kind":"single"}}`, "single"},
	} {
		session := s.session(c.session).ID.String()
		s.told(session, `{"content":{"text":"one"}}`)
		s.told(session, `{"content":{"text":"two"}}`)
		call := s.lastCall(session)
		if got := call.Manifest.Policy; got != c.policy {
			t.Errorf("%s reads %s, want %s", c.session, got, c.policy)
		}
		if sees := strings.Contains(string(call.Request), `"one"`); sees == (c.policy == "single") {
			t.Errorf("%s under %s: the turn before is in the request: %t", c.session, c.policy, sees)
		}
	}
}

// Every call of a session with tools, a steer, failures, a cancelled answer and
// a changed model is rebuilt to the byte.
func TestCallsAreRebuiltExactly(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(
		`{"model":"sim/echo","instructions":"Be brief.","retry_policy":{"max_wait_ms":1},"tools":["current_time",` +
			`{"name":"ask","description":"Asks.","parameters":{"type":"object"}}]}`,
	).ID.String()
	messages := "/v1/sessions/" + session + "/messages"
	script := func(steps string) string {
		return fmt.Sprintf(`{"model":"sim/script","content":{"text":%q}}`, steps)
	}
	s.told(session, `{"content":{"text":"Hello"},"context_note":"It rains."}`)
	s.told(session, `{"content":{"text":"Time?"},"model":"sim/tool"}`)
	s.told(session, `{"content":{"text":"Again"},"model":"sim/fail-network-2"}`)
	s.told(session, script(`[[{"text":"partial"},{"error":{"class":"stream"}}]]`))
	s.told(
		session,
		script(
			`[[{"reasoning":"Hm."},{"text":"One."},{"tool_call":{"name":"current_time"}},{"text":"Two."}],`+
				`[{"text":"Done."}]]`,
		),
	)

	// A steer that arrives while the first step waits enters before the second.
	steered := s.stream(
		"POST",
		messages+"?flush_ms=0",
		script(`[[{"text":"Wait."},{"wait_ms":800},{"tool_call":{"name":"current_time"}}],[{"text":"Steered."}]]`),
	)
	steered.until("step.generating")
	want[parley.Message](s, 201, "POST", messages, `{"content":{"text":"And hurry"},"during":"steer"}`)
	steered.rest()

	cancelled := s.stream("POST", messages+"?flush_ms=0", `{"model":"sim/lorem-2000-20","content":{"text":"Long"}}`)
	cancelled.until("step.generating")
	want[engine.CancelResult](s, 200, "POST", "/v1/sessions/"+session+"/cancel", `{}`)
	cancelled.rest()
	want[parley.Message](s, 201, "POST", messages, `{"role":"assistant","content":{"text":"From outside"}}`)
	s.told(session, `{"content":{"text":"Bye"},"temperature":0.3,"model":"sim/reason"}`)

	calls := want[page[parley.Call]](s, 200, "GET", "/v1/sessions/"+session+"/calls", "")
	outcomes := map[parley.CallOutcome]int{}
	for _, call := range calls.Data {
		outcomes[call.Outcome]++
		detail := want[engine.CallDetail](s, 200, "GET", "/v1/calls/"+call.ID.String(), "")
		if !detail.Exact || len(detail.Request) == 0 || !strings.HasSuffix(detail.System, "Be brief.") ||
			toolCount(t, detail) != 2 {
			t.Errorf(
				"step %d attempt %d of %s with %s: exact %t (%s), prompt %q, %d tools",
				call.Step,
				call.Attempt,
				call.TurnID,
				call.Model,
				detail.Exact,
				detail.Reason,
				detail.System,
				toolCount(t, detail),
			)
		}
	}
	if len(calls.Data) != 13 || outcomes[parley.CallFailed] != 3 || outcomes[parley.CallCancelled] != 1 {
		t.Errorf("%d calls: %v", len(calls.Data), outcomes)
	}
	last := string(s.lastCall(session).Request)
	for text, sent := range map[string]bool{"It rains.": true, "partial\"": false, "And hurry": true,
		"From outside": true, "interrupted": true} {
		if strings.Contains(last, text) != sent {
			t.Errorf("%q in the last request: %t, want %t in %s", text, !sent, sent, last)
		}
	}
}
