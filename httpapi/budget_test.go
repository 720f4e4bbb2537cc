package httpapi

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/event"
	"example.org/parley/observe"
)

// A turn that could spend more than its session may waits, says so on the session
// and in its events, and goes on when the limit is raised.
func TestBudget(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"limits":{"session_tokens":50}}`).ID.String()
	at := "/v1/sessions/" + session
	stream := s.stream("POST", at+"/messages?flush_ms=0", `{"content":{"text":"Hello"}}`)
	stream.until("session.waiting")
	if waiting := want[parley.Session](
		s,
		200,
		"GET",
		at,
		"",
	); waiting.Status != parley.SessionWaiting ||
		waiting.WaitReason != parley.WaitBudget {
		t.Errorf("the session is %s %s", waiting.Status, waiting.WaitReason)
	}
	want[parley.Session](s, 200, "PATCH", at, `{"limits":{"session_tokens":50000,"max_steps":3}}`)
	stream.rest()
	budget := want[engine.SessionBudget](s, 200, "GET", at+"/budget", "")
	if budget.Session.Tokens == 0 || budget.Session.ReservedTokens != 0 || *budget.Limits.SessionTokens != 50000 ||
		*budget.Limits.MaxSteps != 3 ||
		budget.Agent != nil {
		t.Errorf("the budget is %+v", budget)
	}
	for body, field := range map[string]string{
		`{"limits":{"max_steps":0}}`: "limits.max_steps", `{"limits":{"session_cost":-1}}`: "limits.session_cost",
		`{"limits":{"session_tokens":"many"}}`: "limits.session_tokens",
		`{"limits":{"weekly_cost":1}}`:         "limits.weekly_cost",
	} {
		if got := s.do(
			"PATCH",
			at,
			body,
		); got.status != 422 || len(got.problem(t).Errors) == 0 ||
			got.problem(t).Errors[0].Field != field {
			t.Errorf("%s: status %d: %s", body, got.status, got.body)
		}
	}
	if got := s.do("POST", at+"/messages", `{"content":{"text":"x"},"limits":{"max_steps":5}}`); got.status != 422 {
		t.Errorf("limits on a message: status %d", got.status)
	}
}

// TestLimitsWarnBeforeTheyStop: from 80 % of a limit on the next turn warns, in its frames and in the session's events,
// once, and runs.
func TestLimitsWarnBeforeTheyStop(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(
		`{"model":"sim/echo","max_tokens":50,"context_policy":{"kind":"single"},"limits":{"session_tokens":1000000}}`,
	).ID.String()
	at := "/v1/sessions/" + session
	s.told(session, `{"content":{"text":"`+strings.Repeat("It goes on and on. ", 300)+`"}}`)
	spent := want[engine.SessionBudget](s, 200, "GET", at+"/budget", "").Session.Tokens
	warned := func(limit int64) (warnings []event.LimitWarning) {
		t.Helper()
		want[parley.Session](s, 200, "PATCH", at, fmt.Sprintf(`{"limits":{"session_tokens":%d}}`, limit))
		for _, frame := range s.stream("POST", at+"/messages?flush_ms=0", `{"content":{"text":"Hi"}}`).
			until("session.completed") {
			if frame.event == "limit.warning" && frame.id != "" { // an event of the session
				var warning event.LimitWarning
				if err := json.Unmarshal(frame.data.Data, &warning); err != nil {
					t.Fatal(err)
				}
				warnings = append(warnings, warning)
			}
		}
		return warnings
	}
	if early := warned(2 * spent); len(early) != 0 {
		t.Errorf("half of the limit is used, and %+v warns", early)
	}
	spent = want[engine.SessionBudget](s, 200, "GET", at+"/budget", "").Session.Tokens
	limit := spent * 100 / 85
	if told := warned(limit); len(told) != 1 || told[0].Limit != parley.LimitSessionTokens ||
		told[0].Scope != parley.BudgetOfSession || string(told[0].Spent) != strconv.FormatInt(spent, 10) ||
		string(told[0].Of) != strconv.FormatInt(limit, 10) {
		t.Errorf("%d of %d tokens are used, and %+v warns", spent, limit, told)
	}
	if again := warned(limit); len(again) != 0 {
		t.Errorf("it warns again: %+v", again)
	}
}

// A session and a key that are limited in their requests answer 429 with how long
// to wait; nothing of the refused post is kept.
func TestRequestsPerMinute(t *testing.T) {
	t.Parallel()
	limited := make(chan observe.RateScope, 10) // more than there are refusals
	s := startServer(t, func(o *Options) { o.Limited = func(scope observe.RateScope) { limited <- scope } })
	session := s.session(`{"limits":{"requests_per_minute":2}}`).ID.String()
	at := "/v1/sessions/" + session
	for range 2 {
		s.told(session, `{"content":{"text":"Hello"}}`)
	}
	got := s.do("POST", at+"/messages", `{"content":{"text":"Hello"}}`)
	wait, err := strconv.Atoi(got.header.Get("Retry-After"))
	if got.status != 429 || err != nil || wait < 2 || wait > 30 || got.problem(t).Code != parley.CodeRateLimited {
		t.Errorf("status %d, Retry-After %q: %s", got.status, got.header.Get("Retry-After"), got.body)
	}
	if messages := want[page[parley.Message]](s, 200, "GET", at+"/messages?role=user", ""); len(messages.Data) != 2 {
		t.Errorf("%d messages are in the record", len(messages.Data))
	}

	key := want[engine.NewKey](s, 201, "POST", "/v1/keys", `{"name":"slow","requests_per_minute":3}`)
	for i := range 4 {
		got = s.do("GET", "/v1/models", "", "Authorization", "Bearer "+key.Secret)
		if i < 3 && got.status != 200 {
			t.Fatalf("request %d: status %d: %s", i+1, got.status, got.body)
		}
	}
	if got.status != 429 || got.header.Get("Retry-After") == "" || got.header.Get("Retry-After") == "1" {
		t.Errorf("beyond the key's limit: status %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
	}
	if len(limited) != 2 || <-limited != observe.RateOfSession || <-limited != observe.RateOfKey {
		t.Errorf("%d more refusals were told of", len(limited))
	}
	if got := s.do("GET", "/healthz", "", "Authorization", "Bearer "+key.Secret); got.status != 200 {
		t.Errorf("the probe: status %d", got.status)
	}
}

// An image that a model is shown counts in the estimate of its call.
func TestImagesCountInBudgets(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	file := s.upload("photo.png", picture(t, 1500, 1000, false))
	session := s.session(`{"model":"sim/echo","max_tokens":50,"limits":{"session_tokens":1000}}`).ID.String()
	at := "/v1/sessions/" + session
	s.told(session, `{"content":{"text":"Hello"}}`) // without it there is room
	stream := s.stream(
		"POST",
		at+"/messages?flush_ms=0",
		`{"content":{"text":"What is this?","files":["`+file.ID.String()+`"]}}`,
	)
	stream.until("session.waiting")
	if waiting := want[parley.Session](s, 200, "GET", at, ""); waiting.WaitReason != parley.WaitBudget {
		t.Errorf("the session waits for %q", waiting.WaitReason)
	}
	want[parley.Session](s, 200, "PATCH", at, `{"limits":{"session_tokens":5000}}`)
	stream.rest()
	calls := want[page[parley.Call]](s, 200, "GET", at+"/calls", "").Data
	if reserved := calls[0].Reserved; reserved == nil || reserved.Tokens < 1500 || reserved.Tokens > 2500 {
		t.Errorf("the call reserved %+v", reserved)
	}
}
