package httpapi

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/engine"
)

// talked is a session with a few long turns, and its messages.
func talked(s *testServer, agent string) (id string, messages []parley.Message) {
	s.Helper()
	id = s.session(`{"agent_id":"` + agent + `","title":"far"}`).ID.String()
	for _, name := range []string{"One", "Two", "Three", "Four"} {
		s.told(id, `{"content":{"text":"`+name+` of `+id+`. `+strings.Repeat("It goes on and on. ", 120)+`"}}`)
	}
	return id, want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+id+"/messages", "").Data
}

// What a change is foretold to cost is what the call costs that is made after it: the same bytes, as much of them from
// the provider's cache, and the same money; and foretelling writes nothing.
func TestAChangeCostsWhatWasForetold(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"seer","model":"tariff/echo","tools":["current_time"],`+
		`"system_prompt":"You see. `+strings.Repeat("You see far. ", 400)+`"}`)
	patch := func(body string) (string, func(string, []parley.Message)) {
		return `"session":` + body, func(id string, _ []parley.Message) {
			want[parley.Session](s, 200, "PATCH", "/v1/sessions/"+id, body)
		}
	}
	marked := func(at int, marks string) func(string, []parley.Message) {
		return func(id string, messages []parley.Message) {
			want[parley.Message](s, 200, "PUT", "/v1/messages/"+messages[at].ID.String()+"/marks", marks)
		}
	}
	type change struct {
		body  func(messages []parley.Message) string
		make  func(id string, messages []parley.Message)
		loses bool
	}
	ofSettings := func(body string, loses bool) change {
		text, made := patch(body)
		return change{func([]parley.Message) string { return text }, made, loses}
	}
	ofMarks := func(at int, marks string, loses bool) change {
		return change{func(messages []parley.Message) string {
			return `"marks":[{"message_id":"` + messages[at].ID.String() + `",` + marks[1:] + `]`
		}, marked(at, marks), loses}
	}
	for name, c := range map[string]change{
		"a prompt":        ofSettings(`{"system_prompt":"You are blind."}`, true),
		"tools":           ofSettings(`{"tools":[]}`, true),
		"a policy":        ofSettings(`{"context_policy":{"kind":"recent","limit":2}}`, true),
		"a model":         ofSettings(`{"model":"tariff/script"}`, true),
		"a parameter":     ofSettings(`{"temperature":0.5}`, false),
		"a pin":           ofMarks(2, `{"pinned":true}`, false),
		"a set aside":     ofMarks(2, `{"set_aside":true}`, true),
		"the first aside": ofMarks(0, `{"set_aside":true}`, true),
	} {
		t.Run(name, func(t *testing.T) {
			of := *s
			of.T = t
			s := &of
			id, messages := talked(s, "seer")
			const message = `"content":{"text":"[[{\"text\":\"Now.\"}]]"}`
			path := "/v1/sessions/" + id
			before := want[page[parley.Call]](s, 200, "GET", path+"/calls", "").Data
			shown := want[engine.Preview](s, 200, "POST", path+"/preview",
				`{`+message+`,"change":{`+c.body(messages)+`}}`)
			if now := want[page[parley.Call]](s, 200, "GET", path+"/calls", "").Data; len(now) != len(before) {
				t.Errorf("foretelling made %d calls", len(now)-len(before))
			}
			plain := want[engine.Preview](s, 200, "POST", path+"/preview", `{`+message+`}`)
			if plain.Change != nil || shown.Change == nil || shown.Change.EstimatedTokens != plain.EstimatedTokens {
				t.Fatalf("without the change %+v, compared with %+v", plain, shown.Change)
			}
			c.make(id, messages)
			s.told(id, `{`+message+`}`)
			agrees(t, &shown, s.lastCall(id))
			if lost := shown.Change.LostTokens > 0; lost != c.loses || lost != (*shown.Change.Extra > 0) &&
				name != "a policy" && name != "a set aside" && name != "tools" {
				t.Errorf("the change: %+v", shown.Change)
			}
		})
	}
}

// agrees compares what was foretold of a call with the call.
func agrees(t *testing.T, shown *engine.Preview, sent engine.CallDetail) {
	t.Helper()
	if string(shown.Request) != string(sent.Request) || !sent.Exact {
		t.Errorf("foretold %s\nsent %s", shown.Request, sent.Request)
	}
	cached := int(*sent.Usage.CachedTokens) // counted from 1,024 tokens on, in steps of 128
	if foretold := shown.Cache.Tokens; foretold < 1024 && cached != 0 ||
		foretold >= 1280 && math.Abs(float64(foretold-cached)) > 128+0.1*float64(cached) {
		t.Errorf("%d tokens are foretold from the cache, there were %d", foretold, cached)
	}
	paid := float64(sent.Costs.Input+sent.Costs.Cached) / 1e9
	if foretold := shown.Cost.Cached; foretold == nil || !shown.Cache.Likely &&
		shown.Cache.Tokens > 0 ||
		shown.Cache.Tokens >= 1280 && math.Abs(float64(*foretold)/1e9-paid) > 0.15*paid {
		t.Errorf("an input of %v is foretold, it cost %v", foretold, paid)
	}
}

// An edit is foretold as the fork that it makes; a change that makes no sense is refused with its field's name.
func TestAnEditIsForetold(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"seer","model":"tariff/echo","system_prompt":"You see. `+
		strings.Repeat("You see far. ", 400)+`"}`)
	id, messages := talked(s, "seer")
	path := "/v1/sessions/" + id + "/preview"
	const content = `"content":{"text":"Two, in other words."}`
	shown := want[engine.Preview](s, 200, "POST", path,
		`{"change":{"edit":{"message_id":"`+messages[2].ID.String()+`",`+content+`}}}`)
	fork := want[parley.Session](s, 201, "POST", "/v1/messages/"+messages[2].ID.String()+"/edit", `{`+content+`}`)
	s.awaitEnd(fork.ID.String())
	agrees(t, &shown, s.lastCall(fork.ID.String()))
	if c := shown.Change; c == nil || c.LostTokens == 0 || *c.Extra >= 0 ||
		!strings.Contains(c.Says, "without the change") {
		t.Errorf("an edit costs %+v", c)
	}
	now := want[engine.Preview](s, 200, "POST", path,
		`{"change":{"agent":{"system_prompt":"You are blind."}}}`)
	if now.Change == nil || *now.Change.Extra <= 0 || now.Cache.Tokens >= now.Change.Cache.Tokens {
		t.Errorf("a prompt of the agent costs %+v", now.Change)
	}
	other, _ := talked(s, "seer")
	for body, field := range map[string]string{
		`{"change":{}}`: "change",
		`{"change":{"edit":{"message_id":"` + messages[1].ID.String() + `",` +
			content + `}}}`: "change.edit.message_id",
		`{` + content + `,"change":{"edit":{"message_id":"` + messages[2].ID.String() + `",` + content +
			`}}}`: "change.edit.content",
		`{"change":{"session":{"context_policy":{"kind":"recent"}}}}`: "change.session.context_policy.limit",
		`{"change":{"agent":{"model":"nobody/none"}}}`:                "change.agent.model",
	} {
		problem := s.do("POST", path, body).problem(t)
		if problem.Status != 422 || len(problem.Errors) != 1 || problem.Errors[0].Field != field {
			t.Errorf("%s: %+v", body, problem)
		}
	}
	foreign := s.do("POST", "/v1/sessions/"+other+"/preview",
		`{"change":{"marks":[{"message_id":"`+messages[0].ID.String()+`","pinned":true}]}}`).problem(t)
	if foreign.Status != 422 {
		t.Errorf("a message of another session: %+v", foreign)
	}
}

// A summary in other words is foretold as the request that its new version is sent with; one that the model does not see
// is refused.
func TestAnEditedSummaryIsForetold(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"seer","model":"tariff/echo","system_prompt":"You see. `+
		strings.Repeat("You see far. ", 400)+`"}`)
	id, messages := talked(s, "seer")
	path := "/v1/sessions/" + id
	s.do("POST", path+"/compact", `{}`)
	summary := s.compacted(id).MessageID.String()
	s.told(id, `{"content":{"text":"Five."}}`)
	const message = `"content":{"text":"Six."}`
	version := func(of, text string) string { return `{"message_id":"` + of + `","text":"` + text + `"}` }
	preview := func(of, text string) reply {
		return s.do("POST", path+"/preview", `{`+message+`,"change":{"summary":`+version(of, text)+`}}`)
	}
	for _, bad := range []struct{ of, text, field string }{
		{summary, " ", "change.summary.text"},
		{messages[1].ID.String(), "They counted.", "change.summary.message_id"},
	} {
		problem := preview(bad.of, bad.text).problem(t)
		if problem.Status != 422 || len(problem.Errors) != 1 || problem.Errors[0].Field != bad.field {
			t.Errorf("%s: %+v", bad.field, problem)
		}
	}
	shown := want[engine.Preview](s, 200, "POST", path+"/preview",
		`{`+message+`,"change":{"summary":`+version(summary, "They counted to four [1].")+`}}`)
	if c := shown.Change; c == nil || c.LostTokens == 0 || c.Extra == nil {
		t.Errorf("another summary costs %+v", c)
	}
	if got := want[parley.Message](s, 200, "GET", "/v1/messages/"+summary, ""); strings.Contains(
		string(got.Content), "They counted") {
		t.Error("foretelling changed the summary")
	}
	want[parley.Message](s, 201, "POST", path+"/summary", version(summary, "They counted to four [1]."))
	s.told(id, `{`+message+`}`)
	if sent := s.lastCall(id); string(sent.Request) != string(shown.Request) || !sent.Exact ||
		!strings.Contains(string(sent.Request), "They counted to four") {
		t.Errorf("foretold %s\nsent %s", shown.Request, sent.Request)
	}
}

// A brief preview and a brief window lack what is as long as the window, and nothing else.
func TestPreviewsAreBriefIfAsked(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.session(`{"model":"tariff/echo","context_policy":{"kind":"recent","limit":2}}`).ID.String()
	for range 4 {
		s.told(id, `{"content":{"text":"`+strings.Repeat("It goes on and on. ", 120)+`"}}`)
	}
	path := "/v1/sessions/" + id
	const change = `{"content":{"text":"Now."},"change":{"session":{"context_policy":{"kind":"all"}}}}`
	for _, of := range []struct{ method, path, body string }{
		{"GET", path + "/context", ""}, {"POST", path + "/preview", change},
	} {
		whole := want[engine.Preview](s, 200, of.method, of.path, of.body)
		answer := s.do(of.method, of.path+"?brief=true", of.body)
		if len(whole.Request) < 4000 || len(whole.Parts) < 4 || len(answer.body) > 4000 ||
			!strings.Contains(string(answer.body), `"request":null`) {
			t.Errorf("%s: brief it has %d bytes; a request of %d", of.path, len(answer.body), len(whole.Request))
		}
		brief := want[engine.Preview](s, 200, of.method, of.path+"?brief=true", of.body)
		brief.Request = nil // it was null
		if diff := cmp.Diff(whole.Brief(), brief); diff != "" || len(brief.Parts) > 0 || brief.EstimatedTokens == 0 {
			t.Errorf("%s (-whole +brief): %s", of.path, diff)
		}
		if problem := s.do(of.method, of.path+"?brief=maybe", of.body).problem(t); problem.Status != 422 {
			t.Errorf("%s: %+v", of.path, problem)
		}
	}
}

// What is foretold of a background session is what it sends: under the policy of its kind, with the cache key that it
// shares.
func TestPreviewOfABackgroundSession(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.session(`{"model":"tariff/echo","mode":"background"}`).ID.String()
	shown := want[engine.Preview](s, 200, "POST", "/v1/sessions/"+id+"/preview", `{"content":{"text":"Hello."}}`)
	s.told(id, `{"content":{"text":"Hello."}}`)
	if sent := s.lastCall(id); shown.Policy != sent.Manifest.Policy || string(shown.Request) != string(sent.Request) {
		t.Errorf("foretold under %s, sent under %s", shown.Policy, sent.Manifest.Policy)
	}
}
