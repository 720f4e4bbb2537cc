package httpapi

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
)

// TestASummaryHasAPriceLimit: one that could cost more is not begun; the compaction and its preview say what it could
// cost and what happens without it. A higher limit lets it be written.
func TestASummaryHasAPriceLimit(t *testing.T) {
	t.Parallel()
	priced := sim.Info("echo")
	priced.ID, priced.Provider, priced.Simulator, priced.Price = "priced/echo", "priced", false,
		&model.Price{Input: 1000, Output: 2000}
	s := startWithDumps(t, sim.New(), priced)
	id := s.session(`{"model":"priced/echo","context_policy":{"kind":"summary"},"compaction":{"max_cost":0.000001}}`).
		ID.String()
	at := "/v1/sessions/" + id
	for range 2 {
		s.told(id, `{"content":{"text":"`+strings.Repeat("roses and lilies ", 200)+`"}}`)
	}
	p := want[parley.Compaction](s, 200, "POST", at+"/compact", `{"preview":true}`).Preview
	if p.Refused == nil || !strings.Contains(*p.Refused, "limit of 0.000001") || p.MaxCost == nil ||
		*p.Cost <= *p.MaxCost {
		t.Fatalf("the preview is %+v", p)
	}
	s.do("POST", at+"/compact", `{}`)
	s.stream("GET", at+"/events", "").until("compaction.failed")
	c := want[parley.Compaction](s, 200, "GET", at+"/compaction", "")
	if c.State != parley.CompactionFailed || c.Error == nil || c.Error.Sentence != *p.Refused ||
		c.Error.Class != parley.ClassLimit || !c.CallID.IsZero() {
		t.Errorf("the compaction is %+v, %+v", c, c.Error)
	}
	want[parley.Session](s, 200, "PATCH", at, `{"compaction":{"max_cost":`+p.Cost.String()+`}}`)
	if p := want[parley.Compaction](s, 200, "POST", at+"/compact", `{"preview":true}`).Preview; p.Refused != nil {
		t.Errorf("with its price as the limit the preview is %+v", p)
	}
	s.do("POST", at+"/compact", `{}`)
	if c := s.compacted(id); c.State != parley.CompactionCompleted {
		t.Errorf("with its price as the limit the compaction is %+v", c)
	}
	if got := s.do("PATCH", at, `{"compaction":{"max_cost":-1}}`); got.status != 422 ||
		!strings.Contains(string(got.body), "compaction.max_cost") {
		t.Errorf("a negative limit: %d %s", got.status, got.body)
	}
}
