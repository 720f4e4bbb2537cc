package httpapi

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// What is warmed is cached when a session's first request comes; where nothing is
// gained nothing is sent, and the answer says why.
func TestWarmAgent(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	long := strings.Repeat("You know the timetable. ", 300)
	want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"long","model":"sim/echo","tools":["current_time"],"system_prompt":"`+long+`"}`,
	)
	for i, hit := range []bool{false, true} {
		warmed := want[parley.Warmed](s, 200, "POST", "/v1/agents/long/warm", "")
		if !warmed.Warmed || warmed.Reason != "" || warmed.Cache.Hit == nil || *warmed.Cache.Hit != hit ||
			warmed.Tokens < 1500 ||
			warmed.Cost == nil {
			t.Errorf("time %d: %+v", i+1, warmed)
		}
	}
	session := s.session(`{"agent_id":"long"}`).ID.String()
	s.told(session, `{"content":{"text":"When?"}}`)
	if cache := s.lastCall(session).Cache; cache.Hit == nil || !*cache.Hit {
		t.Errorf("the first call of a session after: %+v", cache)
	}
	if sessions := want[page[parley.Session]](s, 200, "GET", "/v1/sessions?archived=any", ""); len(sessions.Data) != 1 {
		t.Errorf("there are %d sessions", len(sessions.Data))
	}
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"short","model":"sim/echo","system_prompt":"Hello."}`)
	want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"own","model":"sim/echo","system_prompt":"{{session.title}} `+long+`"}`,
	)
	for agent, says := range map[string]string{"short": "1024", "own": "{{session.title}}"} {
		if cold := want[parley.Warmed](
			s,
			200,
			"POST",
			"/v1/agents/"+agent+"/warm",
			"",
		); cold.Warmed || !strings.Contains(cold.Reason, says) ||
			cold.Usage != (parley.Usage{}) {
			t.Errorf("%s: %+v", agent, cold)
		}
	}
	want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"broken","model":"sim/fail-auth-9","system_prompt":"`+long+`"}`,
	)
	if got := s.do(
		"POST",
		"/v1/agents/broken/warm",
		"",
	); got.status != 503 ||
		!strings.Contains(string(got.body), "simulated auth failure") {
		t.Errorf("a provider that fails: status %d %s", got.status, got.body)
	}
}

// TestRepeatedPrefixesCostLess: a conversation that goes on pays at least 40 % less than it would without the
// provider's cache, all of its input and output included.
func TestRepeatedPrefixesCostLess(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"title":"Long","model":"tariff/echo"}`).ID.String()
	s.told(session, `{"content":{"text":"`+strings.Repeat("word ", 2000)+`"}}`)
	first := want[parley.Session](s, 200, "GET", "/v1/sessions/"+session, "").Statistics
	for range 5 {
		s.told(session, `{"content":{"text":"Go on."}}`)
	}
	all := want[parley.Session](s, 200, "GET", "/v1/sessions/"+session, "").Statistics
	paid, saved := all.Cost-first.Cost, all.Saved-first.Saved
	if all.CacheHits != 5 || paid <= 0 || float64(saved) < 0.4*float64(paid+saved) {
		t.Errorf("five further turns had %d hits, cost %v and saved %v", all.CacheHits, paid, saved)
	}
}

// Two turns with a long text: the second one's request begins with the first
// one's, so the simulator's cache holds most of it; call, session and sums agree.
func TestUsageTellsWhatCachesGave(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"title":"Long"}`).ID.String()
	s.told(session, `{"content":{"text":"`+strings.Repeat("word ", 2000)+`"}}`)
	s.told(session, `{"content":{"text":"Go on."}}`)
	call := s.lastCall(session)
	if cache := call.Cache; cache.Hit == nil || !*cache.Hit || *cache.CachedTokens < 2000 || cache.Saved == nil ||
		cache.WrittenTokens != nil ||
		call.Manifest.CacheKey == "" {
		t.Errorf("the second call's cache is %+v, its key %q", cache, call.Manifest.CacheKey)
	}
	statistics := want[parley.Session](s, 200, "GET", "/v1/sessions/"+session, "").Statistics
	if statistics.Calls != 2 || statistics.CacheHits != 1 || statistics.CachedTokens != *call.Cache.CachedTokens {
		t.Errorf("the session's statistics are %+v", statistics)
	}
	for group, of := range map[parley.UsageGroup]func(parley.UsageSum) string{
		"agent":   func(u parley.UsageSum) string { return u.Name },
		"model":   func(u parley.UsageSum) string { return string(u.Model) },
		"session": func(u parley.UsageSum) string { return u.SessionID.String() },
		"day":     func(u parley.UsageSum) string { return u.Day.String()[10:] },
	} {
		report := want[engine.UsageReport](s, 200, "GET", "/v1/usage?agent=parley&group="+string(group), "")
		named := map[parley.UsageGroup]string{"agent": "parley", "model": "sim/echo", "session": session,
			"day": "T00:00:00.000Z"}[group]
		if len(report.Data) != 1 || of(report.Data[0]) != named ||
			report.Data[0].CachedTokens != statistics.CachedTokens ||
			report.Data[0].CacheHits != 1 ||
			report.Total.Calls != 2 ||
			report.Total.InputTokens != statistics.InputTokens {
			t.Errorf("by %s: %+v", group, report)
		}
	}
	if none := want[engine.UsageReport](
		s,
		200,
		"GET",
		"/v1/usage?created_to=2020-01-01T00:00:00Z",
		"",
	); none.Data == nil || len(none.Data) != 0 ||
		none.Total.Calls != 0 {
		t.Errorf("of another time: %+v", none)
	}
	for field, query := range map[string]string{"group": "group=shoe", "from": "from=2020-01-01T00:00:00Z",
		"limit": "limit=0"} {
		if got := s.do("GET", "/v1/usage?"+query, ""); got.status != 422 || got.problem(t).Errors[0].Field != field {
			t.Errorf("%s: status %d %s", query, got.status, got.body)
		}
	}
}
