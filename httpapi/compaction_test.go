package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/setting"
)

// compacted waits for the end of a session's compaction and returns it.
func (s *testServer) compacted(id string) parley.Compaction {
	s.Helper()
	s.stream("GET", "/v1/sessions/"+id+"/events", "", "Authorization", "Bearer "+testToken).
		until("compaction.completed")
	return want[parley.Compaction](
		s,
		200,
		"GET",
		"/v1/sessions/"+id+"/compaction",
		"",
		"Authorization",
		"Bearer "+testToken,
	)
}

// TestCompactionOnDemand: a summary is asked for, written, shown, opened, and undone
// by its mark.
func TestCompactionOnDemand(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.session(`{"context_policy":{"kind":"summary"}}`).ID.String()
	at := "/v1/sessions/" + id
	compact := func(status int) reply {
		t.Helper()
		got := s.do("POST", at+"/compact", `{}`)
		if got.status != status {
			t.Fatalf("POST compact: %d %s", got.status, got.body)
		}
		return got
	}
	if none := want[parley.Compaction](s, 200, "GET", at+"/compaction", ""); none.State != parley.CompactionNone {
		t.Errorf("a new session has the compaction %+v", none)
	}
	s.told(id, `{"content":{"text":"Remember the number 17, and greet me in the morning."}}`)
	if problem := compact(
		409,
	).problem(t); problem.State == nil || *problem.State != "none" ||
		!strings.Contains(problem.Detail, "nothing to summarise") {
		t.Errorf("with one turn alone the problem is %+v", problem)
	}
	s.told(id, `{"content":{"text":"And now for something else."}}`)
	compact(202)
	c := s.compacted(id)
	if c.State != parley.CompactionCompleted || c.Reason != parley.CompactAsked || c.CoversFrom != 1 ||
		c.CoversThrough != 2 {
		t.Fatalf("the compaction is %+v", c)
	}
	if problem := compact(409).problem(t); problem.State == nil || *problem.State != "none" {
		t.Errorf("right after another one the problem is %+v", problem)
	}
	covered := want[page[parley.Message]](s, 200, "GET", "/v1/messages/"+c.MessageID.String()+"/covered?limit=1", "")
	if len(covered.Data) != 1 || covered.Data[0].Sequence != 1 || covered.Next == nil {
		t.Fatalf("the first page of what is covered is %+v", covered)
	}
	covered = want[page[parley.Message]](
		s,
		200,
		"GET",
		"/v1/messages/"+c.MessageID.String()+"/covered?limit=1&cursor="+*covered.Next,
		"",
	)
	if len(covered.Data) != 1 || covered.Data[0].Sequence != 2 || covered.Next != nil {
		t.Errorf("the second page of what is covered is %+v", covered)
	}
	if got := s.do(
		"GET",
		"/v1/messages/"+covered.Data[0].ID.String()+"/covered",
		"",
	); got.status != http.StatusConflict {
		t.Errorf("what an answer covers: %d %s", got.status, got.body)
	}
	chat := want[page[engine.ChatMessage]](s, 200, "GET", at+"/messages?view=chat", "").Data
	if last := chat[len(chat)-1]; last.Role != "summary" {
		t.Errorf("view=chat ends with %+v", last)
	}
	s.told(id, `{"content":{"text":"What was the number?"}}`)
	call := s.lastCall(id)
	shown := func(call engine.CallDetail) string { return string(call.Request) }
	if request := shown(call); !strings.Contains(request, "Simulated summary") {
		t.Errorf("the model is shown %s", request)
	}
	want[parley.Message](s, 200, "PUT", "/v1/messages/"+c.MessageID.String()+"/marks", `{"set_aside":true}`)
	s.told(id, `{"content":{"text":"And now?"}}`)
	if request := shown(
		s.lastCall(id),
	); strings.Contains(request, "Simulated summary") ||
		!strings.Contains(request, "in the morning") {
		t.Errorf("with the summary set aside the model is shown %s", request)
	}
	summarising := want[engine.CallDetail](s, 200, "GET", "/v1/calls/"+c.CallID.String(), "")
	if summarising.Purpose != parley.PurposeCompaction || !summarising.Exact || summarising.Usage.InputTokens == nil {
		t.Errorf("the summarising call is %+v", summarising.Call)
	}
	first := want[engine.ReplayResult](s, 201, "POST", "/v1/calls/"+c.CallID.String()+"/replay", `{}`)
	second := want[engine.ReplayResult](s, 201, "POST", "/v1/calls/"+first.Call.ID.String()+"/replay", `{}`)
	again := want[engine.CallDetail](s, 200, "GET", "/v1/calls/"+second.Call.ID.String(), "")
	if !first.SameBytes || !second.SameBytes || !again.Exact || again.RequestHash != summarising.RequestHash {
		t.Errorf("a replay of a replay of the summarising call: %+v, %q", again.Call, again.Reason)
	}
}

// TestCompactionNeedsItsPolicy: a session that shows no summaries is not compacted,
// and says what to change.
func TestCompactionNeedsItsPolicy(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.session(`{"context_policy":{"kind":"all"}}`).ID.String()
	s.told(id, `{"content":{"text":"one"}}`)
	s.told(id, `{"content":{"text":"two"}}`)
	if problem := s.do("POST", "/v1/sessions/"+id+"/compact", `{}`).
		problem(t); problem.Status != http.StatusConflict || problem.State == nil || *problem.State != "all" ||
		!strings.Contains(problem.Detail, "context_policy") {
		t.Errorf("the problem is %+v", problem)
	}
}

// TestCompactionSettings are checked and shown.
func TestCompactionSettings(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"short","compaction":{"model":"sim/echo","instructions":"Keep the prices."}}`,
	)
	if agent.Compaction == nil || agent.Compaction.Instructions != "Keep the prices." {
		t.Errorf("the agent is %+v", agent)
	}
	session := s.session(`{"agent_id":"short","compaction":{"model":"sim/reason"}}`)
	if got := setting.Compaction.Nearest(
		&agent.Settings,
		&session.Settings,
	); got.Model != "sim/reason" ||
		got.Instructions != "Keep the prices." {
		t.Errorf("in effect is %+v", got)
	}
	for path, body := range map[string]string{"/v1/agents": `{"name":"x","compaction":{"model":"none"}}`,
		"/v1/sessions": `{"compaction":{"modell":"sim/echo"}}`} {
		if got := s.do(
			"POST",
			path,
			body,
		); got.status != http.StatusUnprocessableEntity ||
			!strings.Contains(string(got.body), "compaction.model") {
			t.Errorf("POST %s %s: %d %s", path, body, got.status, got.body)
		}
	}
	if got := s.do(
		"PATCH",
		"/v1/sessions/"+session.ID.String(),
		`{"compaction":null}`,
	); got.status != 200 ||
		!strings.Contains(string(got.body), `"compaction":null`) {
		t.Errorf("PATCH: %d %s", got.status, got.body)
	}
}
