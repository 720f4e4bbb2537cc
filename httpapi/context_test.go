package httpapi

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// A cleared context is empty: the next message begins the window, what was pinned
// before is gone from it, and record and statistics stay.
func TestClearContext(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`).ID.String()
	s.told(session, `{"content":{"text":"one"}}`)
	first := want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+session+"/messages", "").Data[0]
	want[parley.Message](s, 200, "PUT", "/v1/messages/"+first.ID.String()+"/marks", `{"pinned":true}`)
	before := want[parley.Session](s, 200, "GET", "/v1/sessions/"+session, "")
	if before.Context.Messages != 2 || before.Context.Tokens < 2 {
		t.Errorf("after a turn the context is %+v, want 2 messages", before.Context)
	}
	cleared := want[parley.Session](s, 200, "POST", "/v1/sessions/"+session+"/clear", "")
	if c := cleared.Context; c.Messages != 0 || c.Tokens != 0 || c.ClearedAt == 0 ||
		cleared.Statistics != before.Statistics {
		t.Errorf("cleared it is %+v, with %+v", c, cleared.Statistics)
	}
	s.told(session, `{"content":{"text":"two"}}`)
	call := s.lastCall(session)
	if request := string(call.Request); strings.Contains(request, `"one"`) || !strings.Contains(request, `"two"`) {
		t.Errorf("the request behind the clear is %s", request)
	}
	if all := want[page[parley.Message]](
		s,
		200,
		"GET",
		"/v1/sessions/"+session+"/messages",
		"",
	).Data; len(all) != 4 ||
		!all[2].Marks.ContextEdge {
		t.Errorf("the record behind the clear has %d messages", len(all))
	}
	if got := s.do("POST", "/v1/sessions/"+parley.NewID().String()+"/clear", ""); got.status != 404 {
		t.Errorf("clearing a foreign session: %d", got.status)
	}
}

// TestAutoSumsUpWhatNoLongerFits: under auto nothing is summed up, however many messages there are, until they take 80
// % of what the model can read, or the ceiling that was set.
func TestAutoSumsUpWhatNoLongerFits(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"context_policy":{"kind":"auto","tokens":2000}}`)
	id := session.ID.String()
	at := "/v1/sessions/" + id
	for range 30 {
		s.told(id, `{"content":{"text":"Yes."}}`)
	}
	if c := want[parley.Compaction](s, 200, "GET", at+"/compaction", ""); c.State != parley.CompactionNone {
		t.Fatalf("sixty short messages have the compaction %+v", c)
	}
	for range 2 {
		s.told(id, `{"content":{"text":"`+strings.Repeat("word ", 400)+`"}}`)
	}
	if c := s.compacted(id); c.Reason != parley.CompactTokens || c.CoversFrom != 1 || c.CoversThrough < 60 {
		t.Errorf("the compaction of a full window is %+v", c)
	}
}

// The context tells how near a window is to being shortened, and which messages leave first; pinned ones do not.
func TestTheContextForeseesTheNextSummary(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	at := "/v1/sessions/" + s.session(`{"context_policy":{"kind":"auto","tokens":2000}}`).ID.String()
	said := "one " + strings.Repeat("word ", 99)
	for range 3 {
		s.told(at[len("/v1/sessions/"):], `{"content":{"text":"`+said+`"}}`)
	}
	foreseen := func() parley.Outlook {
		t.Helper()
		shown := want[engine.Preview](s, 200, "GET", at+"/context", "")
		if shown.Outlook == nil {
			t.Fatalf("nothing is foreseen under %s", shown.Policy)
		}
		return *shown.Outlook
	}
	o := foreseen()
	if o.Fate != "covered" || o.Tokens < 600 || o.Tokens > 1000 || *o.TokensMost != 2000 || o.MessagesMost != nil ||
		o.Share != float64(o.Tokens)/2000 || o.Messages != 6 || o.Assumed {
		t.Errorf("under auto: %+v", o)
	}
	if l := o.Leaving; l.Count != 3 || len(l.First) != 3 || l.First[0].Sequence != 2 || l.First[2].Sequence != 4 ||
		l.Tokens < 300 {
		t.Fatalf("the first task and the newest turn stay, what leaves is %+v", l)
	}
	s.do("PUT", "/v1/messages/"+o.Leaving.First[0].MessageID.String()+"/marks", `{"pinned":true}`)
	if l := foreseen().Leaving; l.Count != 2 || l.First[0].Sequence != 3 {
		t.Errorf("a pinned message stays, what leaves is %+v", l)
	}
	for _, one := range []struct {
		policy, fate   string
		share          float64
		messages, most int64
	}{
		{`{"kind":"summary","limit":8}`, "covered", 0.75, 6, 8},
		{`{"kind":"recent","limit":4}`, "rule", 0.75, 6, 8},
		{`{"kind":"all"}`, "dropped", 0, 6, 0},
	} {
		s.do("PATCH", at, `{"context_policy":`+one.policy+`}`)
		o := foreseen()
		if o.Fate != one.fate || o.Messages != one.messages || parley.ValueOf(o.MessagesMost) != one.most ||
			one.share > 0 && o.Share != one.share || one.share == 0 && (o.Share <= 0 || o.Share > 0.1) {
			t.Errorf("under %s: %+v", one.policy, o)
		}
	}
	s.do("PATCH", at, `{"context_policy":{"kind":"single"}}`)
	if shown := want[engine.Preview](s, 200, "GET", at+"/context", ""); shown.Outlook != nil {
		t.Errorf("single never grows, and foresees %+v", shown.Outlook)
	}
}

// What of a policy can be set is kept and answered; what cannot is named.
func TestSummaryPolicyIsASetting(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"context_policy":{"kind":"summary","tokens":8000}}`)
	if session.Policy == nil || *session.Policy != (parley.Policy{Kind: parley.PolicySummary, Tokens: 8000}) {
		t.Errorf("the policy is %+v", session.Policy)
	}
	for _, body := range []string{`{"context_policy":{"kind":"summary","tokens":8000,"limit":50}}`,
		`{"context_policy":{"kind":"recent","limit":3,"tokens":8000}}`,
		`{"context_policy":{"kind":"summary","limit":1}}`} {
		if got := s.do(
			"PATCH",
			"/v1/sessions/"+session.ID.String(),
			body,
		); got.status != 422 ||
			!strings.Contains(string(got.body), "context_policy") {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
}

// A window begins anywhere but between a call and its result.
func TestEdgesKeepPairsWhole(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/tool"}`).ID.String()
	s.told(session, `{"content":{"text":"What time is it?"}}`)
	for _, m := range want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+session+"/messages", "").Data {
		status := 200
		if m.Role == parley.RoleToolResult {
			status = 422
		}
		if got := s.do("PUT", "/v1/messages/"+m.ID.String()+"/marks", `{"context_edge":true}`); got.status != status {
			t.Errorf("an edge at a %s: %d %s, want %d", m.Role, got.status, got.body, status)
		}
	}
}
