package httpapi

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

// TestBranchesOfALongTurn: forks, a regenerated answer and an import of a turn whose steps are stubs and summed up go
// on from what they share, with a summary of it, and of the turn's later steps where there was none yet: nothing is
// dropped. Their requests rebuild.
func TestBranchesOfALongTurn(t *testing.T) {
	t.Parallel()
	steps := &stepper{steps: 60, over: make(chan struct{})}
	s := startWithDumps(t, steps, model.Info{
		ID: "steps/one", Provider: "steps", Name: "one", Known: true, Tools: true, ContextLength: 8_000,
	})
	session := s.session(`{"model":"steps/one","tools":["dump"],"limits":{"max_steps":1000,"max_tool_calls":1000}}`).
		ID.String()
	at := "/v1/sessions/" + session
	s.says(session, "Look at everything.")
	select {
	case <-steps.over:
	case <-time.After(longTurn):
		t.Fatal("the turn has not ended")
	}
	s.awaitEnd(session)
	rows := s.whole(at)
	var summary *parley.Message
	for i := range rows {
		if through := rows[i].CoversThrough; through != nil && summary == nil {
			summary = &rows[i]
		}
	}
	if summary == nil || rows[*summary.CoversThrough].TurnID != rows[0].TurnID {
		t.Fatalf("no summary ends inside the turn: %+v", summary)
	}
	answer := rows[len(rows)-1]
	s.says(session, "Go on.")
	s.awaitEnd(session)
	later := s.whole(at)
	regenerated := want[parley.Session](s, 201, "POST",
		"/v1/messages/"+later[len(later)-1].ID.String()+"/regenerate", `{}`)
	export := s.request("GET", at+"/export", "")
	defer export.Body.Close()
	text, err := io.ReadAll(export.Body)
	if err != nil {
		t.Fatal(err)
	}
	fork := func(sequence int64) string {
		return want[parley.Session](s, 201, "POST", at+"/fork", fmt.Sprintf(`{"sequence":%d}`, sequence)).ID.String()
	}
	imported := want[engine.Imported](s, 200, "POST", "/v1/imports", importBody(t, "e.json", string(text), false))
	for name, c := range map[string]struct {
		session string
		posts   bool
	}{
		"a regenerated answer":    {regenerated.ID.String(), false},
		"a fork at the end":       {fork(answer.Sequence), true},
		"a fork before a summary": {fork(summary.Sequence - 1), true},
		"a fork behind it":        {fork(summary.Sequence), true},
		"an import":               {imported.Sessions[0].SessionID.String(), true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.posts {
				if got := s.do("PATCH", "/v1/sessions/"+c.session, `{"model":"steps/one"}`); got.status != 200 {
					t.Fatalf("%d %s", got.status, got.body)
				}
				s.says(c.session, "Go on.")
			}
			if ended := s.awaitEnd(c.session); ended.Status != parley.SessionCompleted {
				t.Fatalf("it is %s: %s", ended.Status, s.do("GET", "/v1/sessions/"+c.session+"/turns", "").body)
			}
			detail := s.lastCall(c.session)
			request := string(detail.Request)
			if !detail.Exact || !strings.Contains(request, "Look at everything.") ||
				!strings.Contains(request, "Go on.") ||
				!strings.Contains(request, "They look at everything, part ") {
				t.Errorf("exact %t: %s; the request: %s", detail.Exact, detail.Reason, parley.Clip(request, 3000))
			}
			for _, out := range detail.LeftOut {
				if out.Fate == prompt.FateDropped {
					t.Errorf("left out: %+v", out)
				}
			}
		})
	}
}

// TestBranchesOfStubs: forks, a regenerated answer and an import of a conversation whose older results are stubs. Those
// that begin behind the stubs send the same beginning, byte for byte; in all of them the requests rebuild, nothing is
// dropped, and a stub's number reads the result that it stands for.
func TestBranchesOfStubs(t *testing.T) {
	t.Parallel()
	info := sim.Info("script")
	info.ID, info.Provider, info.Simulator = "small/script", "small", false
	info.ContextLength, info.MaxOutput = 20_000, 0
	s := startWithDumps(t, sim.New(), info)
	const settings = `"model":"small/script","tools":["dump"],"context_policy":{"kind":"auto","recall":false}`
	session := s.session(`{` + settings + `}`).ID.String() // its tools stay the same
	at := "/v1/sessions/" + session
	const turns, lines = 7, 150
	for turn := range turns {
		s.told(session, fmt.Sprintf(`{"content":{"text":"[[{\"tool_call\":{\"name\":\"dump\",`+
			`\"arguments\":{\"Lines\":%d}}}],[{\"text\":\"Done.\"}]]"}}`, lines+turn))
	}
	s.told(session, `{"content":{"text":"[[{\"text\":\"`+strings.Repeat("It is long. ", 750)+`\"}]]"}}`)
	parent := s.lastCall(session)
	if parent.Manifest.Stubs == nil {
		t.Fatalf("nothing became a stub: %+v of %d tokens", parent.Manifest, parent.EstimatedTokens)
	}
	through := parent.Manifest.Stubs.Through
	rows := s.whole(at)
	export := s.request("GET", at+"/export", "")
	defer export.Body.Close()
	text, err := io.ReadAll(export.Body)
	if err != nil {
		t.Fatal(err)
	}
	fork := func(sequence int64) string {
		return want[parley.Session](s, 201, "POST", at+"/fork", fmt.Sprintf(`{"sequence":%d}`, sequence)).ID.String()
	}
	regenerated := want[parley.Session](s, 201, "POST",
		"/v1/messages/"+rows[len(rows)-1].ID.String()+"/regenerate", `{}`)
	s.awaitEnd(regenerated.ID.String())
	imported := want[engine.Imported](s, 200, "POST", "/v1/imports", importBody(t, "e.json", string(text), false))
	before := through // the end of a turn whose result is a stub
	for rows[before-1].TurnID == rows[through-1].TurnID {
		before--
	}
	for name, c := range map[string]struct {
		session string
		behind  bool // it begins behind the stubs
		stubs   bool
	}{
		"a regenerated answer":  {regenerated.ID.String(), true, true},
		"a fork at the end":     {fork(rows[len(rows)-1].Sequence), true, true},
		"a fork amid the stubs": {fork(before), false, false},
		"an import":             {imported.Sessions[0].SessionID.String(), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.do("PATCH", "/v1/sessions/"+c.session, `{`+settings+`}`); got.status != 200 {
				t.Fatalf("%d %s", got.status, got.body)
			}
			s.says(c.session, fmt.Sprintf(`[[{"tool_call":{"name":"read_result",`+
				`"arguments":{"id":4,"from":%d}}}],[{"text":"Done."}]]`, lines-1))
			s.awaitEnd(c.session)
			detail := s.lastCall(c.session)
			request := string(detail.Request)
			if !detail.Exact {
				t.Errorf("it does not rebuild: %s", detail.Reason)
			}
			if stubs := strings.Contains(request, `read_result with \"id\": 4 reads it`); stubs != c.stubs ||
				(detail.Manifest.Stubs != nil) != c.stubs {
				t.Errorf("stubs %t: %+v", stubs, detail.Manifest.Stubs)
			}
			if c.behind && detail.Manifest.Stubs.Through != through {
				t.Errorf("the stubs go through %d; the parent's through %d", detail.Manifest.Stubs.Through, through)
			}
			if own := parent.Request[:strings.Index(string(parent.Request), "It is long.")]; c.behind &&
				!strings.HasPrefix(request, string(own)) {
				t.Errorf("it does not begin as its parent's request:\n%.3000s\n%.3000s", own, request)
			}
			if again := fmt.Sprintf("line %d of the long answer of a tool\\nline %d", lines-1, lines); c.stubs &&
				!strings.Contains(request, again) || strings.Contains(request, fmt.Sprintf("%d of the long", lines+turns)) {
				t.Errorf("the number of a stub reads another result: %s", parley.Clip(request, 3000))
			}
			for _, out := range detail.LeftOut {
				if out.Fate == prompt.FateDropped {
					t.Errorf("left out: %+v", out)
				}
			}
		})
	}
}

// whole reads all of a session's record.
func (s *testServer) whole(at string) (rows []parley.Message) {
	s.Helper()
	for cursor := ""; ; {
		next := want[page[parley.Message]](s, 200, "GET", at+"/messages?limit=100"+cursor, "")
		if rows = append(rows, next.Data...); next.Next == nil {
			return rows
		}
		cursor = "&cursor=" + *next.Next
	}
}
