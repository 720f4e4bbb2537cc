package httpapi

import (
	"testing"

	"example.org/parley"
)

// A fork has its parent's settings, but for those parts that the request names: one
// part of a setting never erases the others.
func TestAForkKeepsWhatItDoesNotSet(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	at, _ := s.talked(`{"model":"sim/echo","compaction":{"model":"sim/reason","instructions":"Keep the prices."},`+
		`"middleware":{"redact":[{"name":"email","pattern":"[a-z]+@[a-z.]+"}],"user_context":["time"]},`+
		`"limits":{"max_steps":7,"daily_tokens":900000000}}`, "one")
	fork := func(body string) parley.Session {
		t.Helper()
		return want[parley.Session](s, 201, "POST", at+"/fork", body)
	}
	parts := func(name string, f parley.Session) {
		t.Helper()
		if f.Compaction == nil || f.Compaction.Model != "sim/reason" ||
			f.Compaction.Instructions != "Keep the prices." {
			t.Errorf("%s: compaction %+v", name, f.Compaction)
		}
		if f.Middleware == nil || f.Middleware.Redact == nil || len(*f.Middleware.Redact) != 1 ||
			f.Middleware.UserContext == nil {
			t.Errorf("%s: middleware %+v", name, f.Middleware)
		}
		if f.Limits == nil || f.Limits.MaxSteps == nil || *f.Limits.MaxSteps != 7 || f.Limits.DailyTokens == nil {
			t.Errorf("%s: limits %+v", name, f.Limits)
		}
	}
	parts("as it is", fork(`{}`))
	parts("another model", fork(`{"model":"sim/reason"}`))
	tagged := fork(`{"middleware":{"think_tags":true},"compaction":{},"limits":{"max_tokens":1000}}`)
	parts("a part of each", tagged)
	if m := tagged.Middleware; m == nil || m.ThinkTags == nil || !*m.ThinkTags {
		t.Errorf("the part that was set is %+v", m)
	}
	if l := tagged.Limits; l == nil || l.MaxTokens == nil || *l.MaxTokens != 1000 {
		t.Errorf("the limit that was set is %+v", l)
	}
	shorter := fork(`{"compaction":{"instructions":"Keep the dates."},"middleware":{"redact":[]}}`)
	if c := shorter.Compaction; c == nil || c.Model != "sim/reason" || c.Instructions != "Keep the dates." {
		t.Errorf("a part of compaction: %+v", c)
	}
	if m := shorter.Middleware; m == nil || m.Redact == nil || len(*m.Redact) != 0 || m.UserContext == nil {
		t.Errorf("an empty list: middleware %+v", m)
	}
}
