package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/prompt"
)

// halfSaid posts to a session whose model says something and then waits, and returns when it has been heard.
func (s *testServer) halfSaid(session string) {
	s.Helper()
	stream := s.stream("POST", "/v1/sessions/"+session+"/messages?flush_ms=0",
		fmt.Sprintf(`{"content":{"text":%q}}`, `[[{"text":"Four words of it."},{"wait_ms":60000},{"text":"More."}]]`))
	stream.until("step.generating")
}

// A cancelled call costs what its request and what had streamed cost, marked as an estimate: with a limit on tokens or
// money exactly as without one.
func TestCancelledCallsAreEstimated(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	var calls []parley.Call
	for _, limits := range []string{"", `,"limits":{"session_tokens":100000}`, `,"limits":{"session_cost":5}`} {
		session := s.session(`{"model":"tariff/script"` + limits + `}`).ID.String()
		at := "/v1/sessions/" + session
		s.halfSaid(session)
		want[engine.CancelResult](s, 200, "POST", at+"/cancel", "")
		call := want[page[parley.Call]](s, 200, "GET", at+"/calls", "").Data[0]
		if call.Outcome != parley.CallCancelled || !call.Estimated || call.Estimate == nil ||
			!call.Usage.IsZero() || call.Cost == nil ||
			call.Estimate.OutputTokens < 4 ||
			call.Estimate.OutputTokens > 8 ||
			call.Estimate.InputTokens < 10 {
			t.Errorf("with limits%q the cancelled call is %+v, %v", limits, call.Estimate, call.Cost)
			continue
		}
		statistics := want[parley.Session](s, 200, "GET", at, "").Statistics
		if statistics.Cost != *call.Cost || statistics.Unpriced != 0 || statistics.Unknown != 1 {
			t.Errorf("with limits%q the session counts %+v", limits, statistics)
		}
		if budget := want[engine.SessionBudget](s, 200, "GET", at+"/budget", "").Session; limits != "" &&
			(budget.Tokens != call.Estimate.InputTokens+call.Estimate.OutputTokens || budget.Cost != *call.Cost ||
				budget.ReservedTokens != 0) {
			t.Errorf("with limits%q the budget has %+v for a call of %+v", limits, budget, call.Estimate)
		}
		calls = append(calls, call)
	}
	for i := range calls {
		if *calls[i].Estimate != *calls[0].Estimate || *calls[i].Cost != *calls[0].Cost {
			t.Errorf("limits change an estimate: %+v, %+v", calls[i].Estimate, calls[0].Estimate)
		}
	}
	total := want[engine.UsageReport](s, 200, "GET", "/v1/usage", "").Total
	if total.Estimated != 3 || total.EstimatedCost != total.Cost || total.Cost != 3**calls[0].Cost {
		t.Errorf("usage says %+v", total)
	}
}

// Dry runs and replays have headings of their own in usage, and both use up budgets; the record has no word of a dry
// run.
func TestDryRunsAreCounted(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"tried","model":"tariff/echo"}`)
	const limits = `,"limits":{"session_tokens":100000}`
	session := s.session(`{"agent_id":"tried"` + limits + `}`).ID.String()
	at := "/v1/sessions/" + session
	const dry = `{"content":{"text":"Would you?"},"dry_run":true}`
	ran := want[engine.DryRun](s, 200, "POST", at+"/messages", dry)
	used := *ran.Calls[0].Usage.InputTokens + *ran.Calls[0].Usage.OutputTokens
	budget := func() engine.Spending {
		t.Helper()
		return want[engine.SessionBudget](s, 200, "GET", at+"/budget", "").Session
	}
	if got := budget(); got.Tokens != used || got.Cost != *ran.Calls[0].Cost {
		t.Errorf("after a dry run of %d tokens the budget has %+v", used, got)
	}
	if got := want[parley.Session](s, 200, "GET", at, "").Statistics; got.Messages != 0 || got.Calls != 0 {
		t.Errorf("the record has %+v", got)
	}
	want[engine.DryRun](s, 200, "POST", "/v1/sessions",
		`{"agent_id":"tried","message":{"content":{"text":"Nobody was here."}},"dry_run":true}`)
	s.told(session, `{"content":{"text":"Really."}}`)
	want[engine.ReplayResult](s, 201, "POST", "/v1/calls/"+s.lastCall(session).ID.String()+"/replay", `{}`)
	by := map[parley.UsagePurpose]parley.UsageSum{}
	report := want[engine.UsageReport](s, 200, "GET", "/v1/usage?group=purpose&agent=tried", "")
	for _, row := range report.Data {
		by[row.Purpose] = row
	}
	if len(by) != 3 || by[parley.UsageOfSteps].Calls != 1 || by[parley.UsageOfReplays].Calls != 1 ||
		by[parley.UsageOfDryRuns].Calls != 2 || by[parley.UsageOfDryRuns].Cost < *ran.Calls[0].Cost ||
		report.Total.Calls != 4 {
		t.Errorf("usage by purpose: %+v of %+v", by, report.Total)
	}
	want[parley.Session](s, 200, "PATCH", at, fmt.Sprintf(`{"limits":{"session_tokens":%d}}`, budget().Tokens+1))
	if full := want[engine.DryRun](s, 200, "POST", at+"/messages", dry); full.Turn.WaitReason != parley.WaitBudget {
		t.Errorf("beyond its budget a dry run is %+v", full.Turn)
	}
}

// A dry run that its caller leaves in the middle is charged for what had streamed.
func TestDryRunsThatAreLeftAreCounted(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"tariff/script"}`).ID.String()
	stream := s.stream("POST", "/v1/sessions/"+session+"/messages?flush_ms=0", fmt.Sprintf(
		`{"content":{"text":%q},"dry_run":true}`, `[[{"text":"Four words of it."},{"wait_ms":60000}]]`))
	stream.until("step.generating")
	if err := stream.body.Close(); err != nil {
		t.Fatal(err)
	}
	var total parley.UsageSum
	for end := time.Now().Add(patience); total.Calls == 0 && time.Now().Before(end); {
		total = want[engine.UsageReport](s, 200, "GET", "/v1/usage", "").Total
	}
	if total.Calls != 1 || total.Estimated != 1 || total.Cost == 0 {
		t.Errorf("a dry run that was left counts as %+v", total)
	}
}

// A cancel names everything that it settled, and the same when it is repeated.
func TestCancelProvesWhatItSettled(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"below","model":"sim/script"}`)
	session := s.session(`{"model":"sim/script","tools":[{"name":"ask_below","agent":"below"}]}`)
	at := "/v1/sessions/" + session.ID.String()
	stream := s.stream("POST", at+"/messages", fmt.Sprintf(`{"content":{"text":%q}}`,
		`[[{"tool_call":{"name":"ask_below","arguments":{"task":"[[{\"wait_ms\":60000}]]"}}}],[{"text":"Done."}]]`))
	stream.until("session.waiting")
	queued := want[parley.Message](s, 201, "POST", at+"/messages", `{"content":{"text":"And then?"}}`)
	first := want[engine.CancelResult](s, 200, "POST", at+"/cancel", `{"queued":true}`)
	tree := want[parley.Tree](s, 200, "GET", at+"/tree", "").Data
	if len(tree) != 2 || !slices.Equal(first.Children, []parley.ID{tree[1].ID}) ||
		!slices.Equal(first.Removed, []parley.ID{queued.ID}) ||
		!slices.Equal(first.Turns, []parley.ID{queued.TurnID}) || len(first.Settled) != 1 {
		t.Fatalf("the cancel settled %+v", first)
	}
	result := want[parley.Message](s, 200, "GET", "/v1/messages/"+first.Settled[0].String(), "")
	if result.Role != parley.RoleToolResult {
		t.Errorf("it settled a %s", result.Role)
	}
	for range 2 {
		again := want[engine.CancelResult](s, 200, "POST", at+"/cancel", `{"queued":true}`)
		if again.Turn.ID != first.Turn.ID || !slices.Equal(again.Settled, first.Settled) ||
			!slices.Equal(again.Removed, first.Removed) || !slices.Equal(again.Turns, first.Turns) ||
			!slices.Equal(again.Children, first.Children) || again.By != first.By {
			t.Errorf("repeated, the cancel settled %+v; at first %+v", again, first)
		}
	}
}

// A held turn's cancel proves the same way: the interrupted answer, and what left the queue.
func TestCancelOfAHeldTurnProvesTheSame(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/script"}`).ID.String()
	at := "/v1/sessions/" + session
	s.halfSaid(session)
	steer := want[parley.Message](s, 201, "POST", at+"/messages", `{"content":{"text":"Also this."},"during":"steer"}`)
	first := want[engine.CancelResult](s, 200, "POST", at+"/cancel", `{"queued":true}`)
	if first.By != parley.ByHolder || len(first.Settled) != 1 || !slices.Equal(first.Removed, []parley.ID{steer.ID}) {
		t.Errorf("the cancel settled %+v", first)
	}
	again := want[engine.CancelResult](s, 200, "POST", at+"/cancel", `{"queued":true}`)
	if again.Turn.ID != first.Turn.ID || !slices.Equal(again.Settled, first.Settled) ||
		!slices.Equal(again.Removed, first.Removed) || again.By != first.By {
		t.Errorf("repeated, the cancel settled %+v; at first %+v", again, first)
	}
}

// An answer from the response cache was sent nowhere: its window is the sum of its parts.
func TestWindowOfAKeptAnswer(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"keeper","model":"sim/echo","response_cache":{}}`)
	s.answerOf(`{"agent_id":"keeper"}`, "the same words")
	s.cacheWith(1)
	_, at := s.answerOf(`{"agent_id":"keeper"}`, "the same words")
	call := s.lastCall(at)
	if sum := prompt.Tokens(call.Parts); !call.Manifest.CachedResponse || sum == 0 || call.Window.Used != sum ||
		call.EstimatedTokens != sum {
		t.Errorf("the parts have %d tokens, the window %d, the request %d", sum, call.Window.Used, call.EstimatedTokens)
	}
}

// The cache is predicted from the call that shares most: after a step whose model saw less, and for a fork from the
// conversation that it comes from.
func TestCacheIsPredictedFromTheNearestCall(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"long","model":"sim/echo","system_prompt":"`+
		strings.Repeat("You know the timetable. ", 100)+`"}`)
	session := s.session(`{"agent_id":"long"}`).ID.String()
	at := "/v1/sessions/" + session
	s.told(session, `{"content":{"text":"One."}}`)
	long := s.lastCall(session)
	s.told(session, `{"content":{"text":"Two."},"tools":["current_time"]}`)
	s.told(session, `{"content":{"text":"Three."}}`)
	diff := want[engine.CallDiff](s, 200, "GET", "/v1/calls/"+s.lastCall(session).ID.String()+"/diff", "")
	if diff.Cache.PossibleWithID != long.ID || diff.Cache.PossibleTokens < 200 || diff.WithID == long.ID {
		t.Errorf("compared with %s: %+v, want most of %s", diff.WithID, diff.Cache, long.ID)
	}
	fork := want[parley.Session](s, 201, "POST", at+"/fork", `{}`)
	next := want[engine.Preview](s, 200, "POST", "/v1/sessions/"+fork.ID.String()+"/preview",
		`{"content":{"text":"Four."}}`)
	if next.Cache.Tokens < 200 || next.Cache.Share < 0.5 {
		t.Errorf("of a fork's first call the cache may hold %+v", next.Cache)
	}
}

// An approval for the tree is asked for once, and counts in every session of the tree, until the tool is another one.
func TestApprovalsOfATree(t *testing.T) {
	t.Parallel()
	server := &changing{of: harmful}
	s := startServerWithTools(t, server)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"hand","model":"sim/script","tools":["mcp__act"]}`)
	want[parley.Agent](s, 201, "POST", "/v1/agents",
		`{"name":"head","model":"sim/script","tools":["mcp__act",{"name":"ask_hand","agent":"hand"}]}`)
	session := s.session(`{"agent_id":"head"}`).ID.String()
	at := "/v1/sessions/" + session
	act := `[[{"tool_call":{"name":"mcp__act","arguments":{}}}],[{"text":"Acted."}]]`
	task, err := json.Marshal(map[string]string{"task": act})
	if err != nil {
		t.Fatal(err)
	}
	delegate := fmt.Sprintf(`{"content":{"text":%q}}`, `[[{"tool_call":{"name":"ask_hand","arguments":`+string(task)+
		`}}],[{"text":"Done."}]]`)
	asked := func() []parley.Approval {
		t.Helper()
		return want[page[parley.Approval]](s, 200, "GET", at+"/approvals?status=pending", "").Data
	}
	decide := func(scope string) {
		t.Helper()
		stream := s.stream("POST", at+"/messages", delegate)
		waiting := asked()
		for end := time.Now().Add(patience); len(waiting) == 0 && time.Now().Before(end); {
			waiting = asked()
		}
		if len(waiting) != 1 || waiting[0].SessionID == waiting[0].RootID {
			t.Fatalf("%d approvals wait: %+v", len(waiting), waiting)
		}
		path := "/v1/approvals/" + waiting[0].ID.String()
		if got := s.do("POST", path, `{"decision":"approve","scope":"tree","covers":"call"}`); got.status != 422 {
			t.Errorf("a tree of one call: %d %s", got.status, got.body)
		}
		approved := want[parley.Approval](s, 200, "POST", path, `{"decision":"approve","scope":"`+scope+`"}`)
		if string(approved.Scope) != scope {
			t.Errorf("approved %+v", approved)
		}
		stream.rest()
	}
	decide("once")
	decide("tree") // asked again, in the next session
	before := server.ran()
	s.told(session, delegate)                                    // a third session
	s.told(session, fmt.Sprintf(`{"content":{"text":%q}}`, act)) // the root itself
	if waiting := asked(); len(waiting) != 0 || server.ran() != before+2 {
		t.Errorf("in the approved tree %d approvals wait, and the tool ran %d times", len(waiting), server.ran()-before)
	}
	server.becomes("does something else", harmful)
	decide("once")
	other := s.session(`{"agent_id":"head"}`).ID.String()
	stream := s.stream("POST", "/v1/sessions/"+other+"/messages", fmt.Sprintf(`{"content":{"text":%q}}`, act))
	stream.until("session.waiting") // another tree
	want[parley.Session](s, 200, "PATCH", at, `{"grants":[{"tool":"mcp__act","effect":"deny"}]}`)
	before = server.ran()
	s.told(session, delegate)
	if server.ran() != before {
		t.Error("a denial above does not end the approval of the tree")
	}
}
