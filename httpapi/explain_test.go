package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/prompt"
)

// Of a session with 500 turns the API alone says why turn 412 cost what it cost and
// what the model did not see.
func TestExplainsOneTurnOfFiveHundred(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"long","model":"tariff/echo","system_prompt":"You remember.","context_policy":{"kind":"recent",`+
			`"limit":200},"limits":{"max_steps":3}}`,
	)
	session := s.session(`{"agent_id":"long"}`).ID.String()
	for n := 1; n <= 500; n++ {
		body := fmt.Sprintf(
			`{"content":{"text":"Message %d. <b>&</b> %s"}}`,
			n,
			strings.Repeat("All work and no play. ", 4),
		)
		s.told(session, body)
		if n == 400 {
			want[parley.Message](
				s,
				201,
				"POST",
				"/v1/sessions/"+session+"/messages",
				`{"content":{"text":"For the audit alone."},"internal":true,"respond":false}`,
			)
		}
	}
	turns := want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+session+"/turns?number=412", "").Data
	if len(turns) != 1 {
		t.Fatalf("%d turns are number 412", len(turns))
	}
	turn := turns[0]
	trigger := want[parley.Message](s, 200, "GET", "/v1/messages/"+turn.TriggerMessageID.String(), "")
	if !strings.Contains(string(trigger.Content), "Message 412.") {
		t.Errorf("turn 412 answers %s", trigger.Content)
	}
	calls := want[page[parley.Call]](s, 200, "GET", "/v1/sessions/"+session+"/calls?turn="+turn.ID.String(), "")
	if len(calls.Data) != 1 {
		t.Fatalf("%d calls of turn 412", len(calls.Data))
	}
	call := want[engine.CallDetail](s, 200, "GET", "/v1/calls/"+calls.Data[0].ID.String(), "")
	if !call.Exact || call.Cost == nil || turn.Cost == nil || *call.Cost != *turn.Cost {
		t.Fatalf("exact %v, cost %v of %v", call.Exact, call.Cost, turn.Cost)
	}
	// What it cost: the parts of the price add up, and the cache's share is told.
	c := call.Costs
	if c == nil || !c.Current || c.Cached == 0 || c.Saved != 9*c.Cached {
		t.Fatalf("the costs are %+v", c)
	}
	if sum := c.Input + c.Cached + c.CacheWrite + c.Output; sum-*call.Cost > 2 || *call.Cost-sum > 2 {
		t.Errorf("%s and not %s", sum, *call.Cost)
	}
	if used := call.Window; used.ContextLength == nil || *used.ContextLength != 32768 || *used.Share < 0.1 ||
		int64(used.Used) != *call.Usage.InputTokens {
		t.Errorf("the window is %+v", used)
	}
	if call.Limits.MaxSteps == nil || *call.Limits.MaxSteps != 3 {
		t.Errorf("the limits are %+v", call.Limits)
	}
	// What it saw: the parts are the request's bytes.
	shown := 0
	for _, p := range call.Parts {
		if p.Kind == prompt.KindMessage {
			shown++
			if p.Span == nil ||
				!strings.HasPrefix(string(call.Request[p.Span.Offset:]), "Message ") && *p.Role == "user" {
				t.Fatalf("part %+v points nowhere", p)
			}
		}
	}
	if shown < 200 || shown > 300 || call.Parts[0].Kind != prompt.KindSystem ||
		*call.Parts[0].Cached != call.Parts[0].Tokens ||
		*call.Parts[shown].Cached != 0 {
		t.Errorf("%d messages shown, first %+v", shown, call.Parts[0])
	}
	// What it did not see.
	first := *call.Parts[2].Sequence // behind the first task
	if len(call.LeftOut) != 2 {
		t.Fatalf("left out: %+v", call.LeftOut)
	}
	if o := call.LeftOut[0]; o.From != 2 || o.To != first-1 || o.Reason != "outside the window (recent(200))" {
		t.Errorf("left out: %+v, and the first shown is %d", o, first)
	}
	if o := call.LeftOut[1]; o.From != 801 || o.To != 801 || o.Reason != "internal" || o.Tokens == nil {
		t.Errorf("left out: %+v", o)
	}
}

// A system prompt that changes between two turns is named as the reason that the
// provider's cache holds nothing; an ordinary turn breaks nothing.
func TestDiffNamesTheVolatilePrompt(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"clock","system_prompt":"You are patient.\nThe time is {{session.title}}.\nBe brief.",`+
			`"tools":["current_time"]}`,
	)
	session := s.session(`{"agent_id":"clock","title":"12:00"}`).ID.String()
	long := `{"content":{"text":"` + strings.Repeat("Word by word. ", 500) + `"}}`
	diff := func() engine.CallDiff {
		t.Helper()
		return want[engine.CallDiff](s, 200, "GET", "/v1/calls/"+s.lastCall(session).ID.String()+"/diff", "")
	}
	s.told(session, long)
	if first := diff(); !first.WithID.IsZero() || *first.Cache.Reason != "first_call" {
		t.Errorf("the first call: %+v", first)
	}
	s.told(session, long)
	if d := diff(); d.Cache.Reason != nil || !d.Exact || d.Changes[0].Cause != prompt.CauseAppended ||
		d.Shared.Messages != 1 ||
		d.Shared.Tokens < d.Shared.OfTokens/3 {
		t.Errorf("an ordinary turn: %+v", d)
	}
	for _, change := range []string{`{"title":"12:01"}`,
		`{"system_prompt":"You are patient.\nThe time is 12:02.\nBe brief."}`} {
		want[parley.Session](s, 200, "PATCH", "/v1/sessions/"+session, change)
		s.told(session, long)
		d := diff()
		if d.Cache.Reason == nil || *d.Cache.Reason != "system_prompt" || !strings.Contains(d.Cache.Says, "line 2") {
			t.Fatalf("after %s: %+v", change, d.Cache)
		}
		lines := d.Changes[0].Lines
		if len(lines) != 2 || lines[0].Sign != "-" || lines[1].Line != 2 ||
			!strings.HasPrefix(lines[1].Text, "The time is 12:0") {
			t.Errorf("the lines: %+v", lines)
		}
		if d.First.Kind != prompt.KindSystem || d.Shared.Messages != 0 ||
			d.Cache.PossibleTokens > d.Shared.OfTokens/10 {
			t.Errorf("shared: %+v, first: %+v", d.Shared, d.First)
		}
	}
	// Compared with a call of one's choice: the one before the last change.
	calls := want[page[parley.Call]](s, 200, "GET", "/v1/sessions/"+session+"/calls", "").Data
	d := want[engine.CallDiff](s, 200, "GET", "/v1/calls/"+calls[0].ID.String()+"/diff?with="+calls[3].ID.String(), "")
	if d.WithID != calls[3].ID ||
		!slices.ContainsFunc(d.Changes, func(c prompt.Change) bool { return c.Cause == prompt.CauseSystem }) {
		t.Errorf("with the first: %+v", d)
	}
	if got := s.do(
		"GET",
		"/v1/calls/"+calls[0].ID.String()+"/diff?with="+parley.NewID().String(),
		"",
	); got.status != http.StatusNotFound {
		t.Errorf("with a call that is not there: %d", got.status)
	}
}

// A second attempt at a session's first step is not called the session's first call.
func TestDifferenceOfASecondAttempt(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/fail-rate_limit-1-1"}`).ID.String()
	s.told(session, `{"content":{"text":"Try twice."}}`)
	diff := want[engine.CallDiff](s, 200, "GET", "/v1/calls/"+s.lastCall(session).ID.String()+"/diff", "")
	if *diff.Cache.Reason != "first_call" || !strings.HasPrefix(diff.Cache.Says, "Nothing changed: the attempts") {
		t.Errorf("of a second attempt it is said: %s", diff.Cache.Says)
	}
}
