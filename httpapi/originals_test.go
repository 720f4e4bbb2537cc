package httpapi

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
)

// TestASummaryIsMadeAnew: from originals a summary covers what the earlier one covered, in parts that the preview
// counts and prices, and whose requests rebuild to the byte.
func TestASummaryIsMadeAnew(t *testing.T) {
	t.Parallel()
	priced := sim.Info("echo")
	priced.ID, priced.Provider, priced.Simulator, priced.Price = "priced/echo", "priced", false,
		&model.Price{Input: 1000, Output: 2000}
	priced.ContextLength, priced.MaxOutput = 24_000, 1000
	s := startWithDumps(t, sim.New(), priced)
	id := s.session(`{"model":"priced/echo"}`).ID.String()
	at := "/v1/sessions/" + id
	for range 6 {
		s.told(id, `{"content":{"text":"`+strings.Repeat("roses and lilies ", 300)+`"}}`)
	}
	s.do("POST", at+"/compact", `{"through":4}`)
	if c := s.compacted(id); c.CoversThrough != 4 {
		t.Fatalf("the first summary is %+v, %+v", c, c.Error)
	}
	ordinary := want[parley.Compaction](s, 200, "POST", at+"/compact", `{"preview":true}`)
	if ordinary.AbsorbsID.IsZero() || ordinary.Preview.Parts != 1 {
		t.Errorf("a later summary's preview is %+v, %+v", ordinary, ordinary.Preview)
	}
	foretold := want[parley.Compaction](s, 200, "POST", at+"/compact", `{"preview":true,"from":"originals"}`)
	p := foretold.Preview
	if !foretold.AbsorbsID.IsZero() || foretold.CoversFrom != 1 || foretold.CoversThrough != 10 || p.Parts < 3 ||
		p.Messages != 10 || *p.Cost <= *ordinary.Preview.Cost || foretold.From != parley.FromOriginals {
		t.Fatalf("the preview is %+v, %+v", foretold, p)
	}
	for body, about := range map[string]string{`{"from":"originals","through":2}`: "through", `{"from":"it"}`: "from"} {
		if got := s.do("POST", at+"/compact", body); got.status != 422 || !strings.Contains(string(got.body), about) {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	want[parley.Session](s, 200, "PATCH", at, `{"compaction":{"max_cost":0.000001}}`)
	if refused := want[parley.Compaction](s, 200, "POST", at+"/compact", `{"preview":true,"from":"originals"}`).
		Preview.Refused; refused == nil || !strings.Contains(*refused, p.Cost.String()) {
		t.Errorf("with a low limit the preview says %v", refused)
	}
	want[parley.Session](s, 200, "PATCH", at, `{"compaction":{"max_cost":`+p.Cost.String()+`}}`)
	want[parley.Compaction](s, 202, "POST", at+"/compact", `{"from":"originals"}`)
	feed := s.stream("GET", at+"/events", "")
	feed.until("compaction.completed") // the first
	feed.until("compaction.completed")
	c := want[parley.Compaction](s, 200, "GET", at+"/compaction", "")
	if c.State != parley.CompactionCompleted || c.CoversThrough != 10 || c.From != parley.FromOriginals {
		t.Fatalf("the compaction is %+v, %+v", c, c.Error)
	}
	parts := 0
	for _, call := range want[page[parley.Call]](s, 200, "GET", at+"/calls?limit=50", "").Data {
		if call.Purpose != parley.PurposeCompaction {
			continue
		}
		parts++
		if detail := want[engine.CallDetail](s, 200, "GET", "/v1/calls/"+call.ID.String(), ""); !detail.Exact {
			t.Errorf("the request of part %d does not rebuild: %s", parts, detail.Reason)
		}
	}
	if parts != p.Parts+1 {
		t.Errorf("%d calls wrote the two summaries, not %d", parts, p.Parts+1)
	}
}
