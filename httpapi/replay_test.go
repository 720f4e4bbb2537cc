package httpapi

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// A replay repeats a call's bytes, or asks another model, and leaves the
// conversation alone.
func TestReplayComparesAndEntersNothing(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"again","system_prompt":"You repeat."}`)
	session := s.session(`{"agent_id":"again"}`).ID.String()
	s.told(session, `{"content":{"text":"Say it again."}}`)
	before := want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+session+"/messages", "")
	original := s.lastCall(session)
	at := "/v1/calls/" + original.ID.String()

	same := want[engine.ReplayResult](s, 201, "POST", at+"/replay", `{}`)
	if !same.SameBytes || !same.SameAnswer || same.Answer.Text != "Say it again." ||
		same.Call.Purpose != parley.PurposeReplay ||
		same.Call.RequestHash != original.RequestHash ||
		!same.Call.TurnID.IsZero() {
		t.Errorf("the same again: %+v", same)
	}
	other := want[engine.ReplayResult](s, 201, "POST", at+"/replay", `{"model":"tariff/echo","max_tokens":50}`)
	if other.SameBytes || !other.SameAnswer || other.Call.Model != "tariff/echo" || other.Call.Cost == nil ||
		*other.Call.Cost == 0 ||
		*other.Call.MaxTokens != 50 {
		t.Errorf("another model: %+v", other)
	}
	failed := want[engine.ReplayResult](s, 201, "POST", at+"/replay", `{"model":"sim/fail-rate_limit-1"}`)
	if failed.Call.Outcome != parley.CallFailed || failed.Call.Error == nil ||
		failed.Call.Error.Class != parley.ClassRateLimit {
		t.Errorf("a failure: %+v", failed.Call)
	}
	var text strings.Builder
	frames := s.stream("POST", at+"/replay", `{"model":"sim/lorem-20-0"}`)
	for {
		f, err := frames.next()
		if err != nil {
			break
		}
		text.WriteString(f.event + " ")
	}
	if got := text.String(); !strings.HasPrefix(got, "replay.delta ") || !strings.HasSuffix(got, "replay.completed ") {
		t.Errorf("the frames are %s", got)
	}
	after := want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+session+"/messages", "")
	if len(after.Data) != len(before.Data) {
		t.Errorf("%d messages, before %d", len(after.Data), len(before.Data))
	}
	if replays := want[engine.CallDetail](
		s,
		200,
		"GET",
		at,
		"",
	).Replays; len(replays) != 4 ||
		replays[3].Answer.Text != "Say it again." {
		t.Errorf("the call's replays: %+v", replays)
	}
	if got := s.do("POST", at+"/replay", `{"model":"nowhere/x"}`); got.status != 422 {
		t.Errorf("an unknown model: %d", got.status)
	}
	s.told(session, `{"content":{"text":"Go on."}}`)
	if d := want[engine.CallDiff](
		s,
		200,
		"GET",
		"/v1/calls/"+s.lastCall(session).ID.String()+"/diff",
		"",
	); d.WithID != original.ID {
		t.Errorf("the call before is %s and not %s: a replay is none", d.WithID, original.ID)
	}
}

// A session's limit holds for replays too.
func TestReplayKeepsLimits(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/echo","limits":{"session_tokens":9000}}`).ID.String()
	s.told(session, `{"content":{"text":"Hello."}}`)
	at := "/v1/calls/" + s.lastCall(session).ID.String() + "/replay"
	got := s.do("POST", at, `{"max_tokens":9000}`)
	if got.status != 409 || !strings.Contains(string(got.body), `"budget"`) {
		t.Errorf("beyond the budget: %d %s", got.status, got.body)
	}
	before := want[engine.SessionBudget](s, 200, "GET", "/v1/sessions/"+session+"/budget", "").Session.Tokens
	result := want[engine.ReplayResult](s, 201, "POST", at, `{"max_tokens":100}`)
	after := want[engine.SessionBudget](s, 200, "GET", "/v1/sessions/"+session+"/budget", "").Session.Tokens
	if used := *result.Call.Usage.InputTokens + *result.Call.Usage.OutputTokens; after != before+used {
		t.Errorf("the budget counts %d, before %d, and the replay used %d", after, before, used)
	}
}
