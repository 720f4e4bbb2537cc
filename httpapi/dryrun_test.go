package httpapi

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/prompt"
	"example.org/parley/runner"
)

// The window of a session that has nearly spent its limit is shown like any other,
// and whoever looks takes away no warning of the turn to come.
func TestContextNearALimit(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/echo"}`).ID.String()
	s.told(session, `{"content":{"text":"Hello."}}`)
	for _, limits := range []string{`{"session_tokens":1}`, `{"max_tokens":1}`, `{"session_cost":0.000000001}`} {
		want[parley.Session](s, 200, "PATCH", "/v1/sessions/"+session, `{"limits":`+limits+`}`)
		if now := want[engine.Preview](
			s,
			200,
			"GET",
			"/v1/sessions/"+session+"/context",
			"",
		); now.Window.Used == 0 ||
			len(now.Parts) == 0 {
			t.Errorf("under %s the window is %+v", limits, now)
		}
	}
}

// What a preview shows is what is sent: the same bytes, with tools, files of
// context and a window; and it asks no model.
func TestPreviewIsWhatIsSent(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"seer","model":"tariff/echo","system_prompt":"You see {{session.title}}.","tools":["current_time"],`+
			`"context_policy":{"kind":"recent","limit":4}}`,
	)
	session := s.session(`{"agent_id":"seer","title":"far"}`).ID.String()
	long := strings.Repeat("It goes on and on. ", 300)
	for range 4 {
		s.told(session, `{"content":{"text":"`+long+`"}}`)
	}
	calls := len(want[page[parley.Call]](s, 200, "GET", "/v1/sessions/"+session+"/calls", "").Data)
	const message = `{"content":{"text":"What now?","links":["https://example.com"]},"temperature":0.5}`
	shown := want[engine.Preview](s, 200, "POST", "/v1/sessions/"+session+"/preview", message)
	now := want[engine.Preview](s, 200, "GET", "/v1/sessions/"+session+"/context", "")
	if again := len(want[page[parley.Call]](s, 200, "GET", "/v1/sessions/"+session+"/calls", "").Data); again != calls {
		t.Errorf("%d calls, before %d", again, calls)
	}
	s.told(session, message)
	sent := s.lastCall(session)
	if string(shown.Request) != string(sent.Request) || !sent.Exact {
		t.Errorf("previewed %s\nsent %s", shown.Request, sent.Request)
	}
	if shown.Cache.Tokens == 0 || shown.Cost.Input == nil || *shown.Cost.Cached > *shown.Cost.Input ||
		shown.Cost.Output == nil ||
		shown.Refused != nil {
		t.Errorf("cache %+v, cost %+v", shown.Cache, shown.Cost)
	}
	if est, counted := float64(
		shown.EstimatedTokens,
	), float64(
		*sent.Usage.InputTokens,
	); est < 0.9*counted || est > 1.1*counted ||
		shown.Window.Used != shown.EstimatedTokens {
		t.Errorf("%d tokens are foretold after four calls, the provider counted %v", shown.EstimatedTokens, counted)
	}
	for _, one := range []struct {
		parts       []prompt.Part
		all, window int
	}{{shown.Parts, shown.EstimatedTokens, shown.Window.Used}, {sent.Parts, sent.EstimatedTokens, sent.Window.Used}} {
		if sum := prompt.Tokens(one.parts); sum == 0 || sum != one.all || one.all != one.window {
			t.Errorf("the parts have %d tokens, the request %d, the window %d", sum, one.all, one.window)
		}
	}
	if sent.EstimatedTokens != int(*sent.Usage.InputTokens) {
		t.Errorf("the provider counted %d tokens, the parts have %d", *sent.Usage.InputTokens, sent.EstimatedTokens)
	}
	if len(shown.LeftOut) == 0 || shown.LeftOut[0].From != 2 || shown.Policy != sent.Manifest.Policy {
		t.Errorf("left out: %+v under %s", shown.LeftOut, shown.Policy)
	}
	kinds := map[prompt.Kind]int{}
	for _, p := range now.Parts {
		kinds[p.Kind]++
		if (p.Kind == prompt.KindMessage) == p.MessageID.IsZero() || p.Pinned {
			t.Errorf("part %+v has message %s", p, p.MessageID)
		}
	}
	if kinds[prompt.KindTool] != 1 || kinds[prompt.KindSystem] != 1 || kinds[prompt.KindMessage] < 4 ||
		*now.Window.ContextLength != 32768 {
		t.Errorf("the context has %v", kinds)
	}
	empty := want[engine.Preview](
		s,
		200,
		"GET",
		"/v1/sessions/"+s.session(`{"agent_id":"seer"}`).ID.String()+"/context",
		"",
	)
	if len(empty.LeftOut) != 0 || empty.Totals[0].Kind != prompt.KindTool {
		t.Errorf("an empty session's context: %+v", empty)
	}
}

// deleting is a sink that deletes the session whose dry run it watches.
type deleting func()

func (d deleting) Event(parley.Event) error    { d(); return nil }
func (d deleting) Delta(runner.DryDelta) error { return nil }

// Who deletes a session ends its dry runs, and whoever asked for them is told so.
func TestDryRunOfADeletedSession(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	principal := want[parley.Principal](s, 200, "GET", "/v1/principal", "")
	session := s.session(`{"model":"sim/script"}`).ID
	input := engine.MessageInput{Content: []byte(`{"text":"[[{\"wait_ms\":60000}]]"}`)}
	_, err := s.engine.DryRunMessage(t.Context(), principal, session, input, engine.DryWatch{
		Sink: deleting(sync.OnceFunc(func() { s.do("DELETE", "/v1/sessions/"+session.String(), "") })),
	})
	if parley.ErrorCode(err) != parley.CodeNotFound || problemOf(err, parley.ID{}).Status != http.StatusNotFound {
		t.Errorf("the dry run of a deleted session: %v", err)
	}
}

// Limits hold in a dry run, and nobody is asked for an approval.
func TestDryRunsKeepLimits(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"bound","model":"sim/tool","tools":["current_time"],"grants":[{"tool":"current_time",`+
			`"effect":"ask"}]}`,
	)
	run := func(session, more string) engine.DryRun {
		t.Helper()
		return want[engine.DryRun](
			s,
			200,
			"POST",
			"/v1/sessions/"+session+"/messages",
			`{"content":{"text":"When?"},"dry_run":true`+more+`}`,
		)
	}
	free := s.session(`{"agent_id":"bound"}`).ID.String()
	ran := run(free, `,"tool_results":[{"name":"current_time","error":"the clock stands"}]`)
	if ran.Turn.Status != parley.TurnCompleted ||
		!strings.Contains(string(ran.Messages[3].Content), "the clock stands") {
		t.Errorf("an approval was asked: %+v", ran.Turn)
	}
	if steps := run(
		s.session(`{"agent_id":"bound","limits":{"max_steps":1}}`).ID.String(),
		"",
	); steps.Turn.Status != parley.TurnFailed ||
		steps.Turn.Error.Class != parley.ClassLimit {
		t.Errorf("one step: %+v", steps.Turn)
	}
	if tokens := run(
		s.session(`{"agent_id":"bound","limits":{"session_tokens":10}}`).ID.String(),
		"",
	); tokens.Turn.Status != parley.TurnWaiting ||
		tokens.Turn.WaitReason != parley.WaitBudget {
		t.Errorf("ten tokens: %+v", tokens.Turn)
	}
	paced := s.session(`{"agent_id":"bound","model":"sim/echo","limits":{"requests_per_minute":1}}`).ID.String()
	run(paced, "")
	run(paced, "") // it is not counted
	s.told(paced, `{"content":{"text":"counted"}}`)
	if got := s.do(
		"POST",
		"/v1/sessions/"+paced+"/messages",
		`{"content":{"text":"x"},"dry_run":true}`,
	); got.status != http.StatusTooManyRequests {
		t.Errorf("beyond its pace: %d", got.status)
	}
	for body, field := range map[string]string{
		`{"content":{"text":"x"},"tool_results":[{"name":"a","result":1}]}`:                            "tool_results",
		`{"content":{"text":"x"},"dry_run":true,"tool_results":[{"result":1}]}`:                        "tool_results",
		`{"content":{"text":"x"},"dry_run":true,"tool_results":[{"name":"a","result":1,"error":"b"}]}`: "tool_results",
		`{"content":{"text":"x"},"dry_run":true,"respond":false}`:                                      "respond",
	} {
		if got := s.do(
			"POST",
			"/v1/sessions/"+free+"/messages",
			body,
		); got.status != 422 ||
			!strings.Contains(string(got.body), field) {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
}

// Readers may look, and ask for previews; dry runs and replays cost something.
func TestReadersExplainAndDoNotReplay(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"visibility":"workspace"}`).ID.String()
	s.told(session, `{"content":{"text":"Hello."}}`)
	call := "/v1/calls/" + s.lastCall(session).ID.String()
	key := s.key("", "eyes", parley.RoleReader)
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", call, "", 200}, {"GET", call + "/diff", "", 200},
		{"GET", "/v1/sessions/" + session + "/context", "", 200},
		{"POST", "/v1/sessions/" + session + "/preview", `{"content":{"text":"x"}}`, 200},
		{"POST", "/v1/sessions/" + session + "/messages", `{"content":{"text":"x"},"dry_run":true}`, 403},
		{"POST", call + "/replay", `{}`, 403},
	} {
		if got := s.do(c.method, c.path, c.body, "Authorization", key); got.status != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.body)
		}
	}
	admin := s.key("", "root", parley.RoleAdmin)
	got := s.do(
		"POST",
		"/v1/sessions/"+session+"/messages",
		`{"content":{"text":"x"},"dry_run":true}`,
		"Authorization",
		admin,
	)
	if got.status != 200 || !strings.Contains(s.log.String(), `msg="dry run"`) {
		t.Errorf("a dry run is not in the log: %d", got.status)
	}
}
