package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/llm/sim"
	"example.org/parley/store"
	"example.org/parley/tool"
	"example.org/parley/tool/builtin"
)

func toolNames(t *testing.T, call engine.CallDetail) (names []string) {
	t.Helper()
	var shown []parley.ToolDefinition
	if len(call.Tools) > 0 {
		if err := json.Unmarshal(call.Tools, &shown); err != nil {
			t.Fatal(err)
		}
	}
	for i := range shown {
		names = append(names, shown[i].Name)
	}
	return names
}

// lastStep is lastCall without the calls for summaries.
func (s *testServer) lastStep(session string) engine.CallDetail {
	s.Helper()
	for _, call := range want[page[parley.Call]](s, 200, "GET", "/v1/sessions/"+session+"/calls?limit=10", "").Data {
		if call.Purpose == parley.PurposeStep {
			return want[engine.CallDetail](s, 200, "GET", "/v1/calls/"+call.ID.String(), "")
		}
	}
	s.Fatal("no call of a turn was made")
	return engine.CallDetail{}
}

// TestAutoOffersRecall: under auto the model is offered the tools that read its own conversation with the first request
// that does not show all of it, and the call says so; unless the policy says otherwise, or the model has no tools.
func TestAutoOffersRecall(t *testing.T) {
	t.Parallel()
	able := sim.Info("echo")
	able.ID, able.Provider, able.Simulator, able.Tools = "able/echo", "able", false, true
	s := startWithDumps(t, sim.New(), able)
	all := []string{parley.ReadConversationTool, parley.ReadResultTool, parley.SearchConversationTool}
	for name, c := range map[string]struct {
		session string // of its settings
		before  []string
		after   []string
		offered int
	}{
		"by itself": {`"context_policy":{"kind":"auto","tokens":2000}`, nil, all, 3},
		"beside its own": {`"context_policy":{"kind":"auto","tokens":2000},"tools":["search_conversation"]`,
			all[1:], all, 2},
		"not wanted":       {`"context_policy":{"kind":"auto","tokens":2000,"recall":false}`, nil, nil, 0},
		"another policy":   {`"context_policy":{"kind":"summary","tokens":2000}`, nil, nil, 0},
		"without any tool": {`"context_policy":{"kind":"auto","tokens":2000},"model":"sim/echo"`, nil, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			settings := `{` + c.session
			if !strings.Contains(settings, "model") {
				settings += `,"model":"able/echo"`
			}
			id := s.session(settings + `}`).ID.String()
			s.told(id, `{"content":{"text":"The gate's code is 4711."}}`)
			if before := s.lastStep(id); !slices.Equal(toolNames(t, before), c.before) {
				t.Errorf("before anything is covered the tools are %v", toolNames(t, before))
			}
			for range 3 {
				s.told(id, `{"content":{"text":"`+strings.Repeat("word ", 400)+`"}}`)
			}
			s.compacted(id)
			s.told(id, `{"content":{"text":"And now?"}}`)
			after := s.lastStep(id)
			offered := after.Manifest.Offered
			if !slices.Equal(toolNames(t, after), c.after) || !after.Exact || (offered != nil) != (c.offered > 0) ||
				offered != nil && (len(offered.Names) != c.offered ||
					offered.Reason != "not all of the conversation is shown") {
				t.Errorf("with a summary the tools are %v, offered %+v; it rebuilds: %t; it shows %+v",
					toolNames(t, after), offered, after.Exact, after.Manifest)
			}
			s.told(id, `{"content":{"text":"And then?"}}`)
			if next := s.lastStep(id); next.ToolsHash != after.ToolsHash {
				t.Errorf("the next call's tools are others: %v", toolNames(t, next))
			}
		})
	}
	for _, kind := range []string{"all", "summary"} {
		got := s.do("POST", "/v1/sessions", `{"context_policy":{"kind":"`+kind+`","recall":true}}`)
		if got.status != 422 || !strings.Contains(string(got.body), "context_policy.recall") {
			t.Errorf("recall under %s: %d %s", kind, got.status, got.body)
		}
	}
}

// TestWhatASummaryCoversIsRecalled: the model finds by a search what the summary has left out, and no approval is asked
// for.
func TestWhatASummaryCoversIsRecalled(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	owner := []string{"Authorization", "Bearer " + testToken}
	id := s.session(`{"context_policy":{"kind":"auto","tokens":2000}}`, owner...).ID.String()
	for _, text := range []string{
		"Good morning.", "The code of the garden gate is 4711.", strings.Repeat("word ", 400),
		strings.Repeat("and ", 400), strings.Repeat("or ", 400),
	} {
		s.told(id, `{"content":{"text":"`+text+`"}}`)
	}
	s.compacted(id)
	s.searching("q=garden", 2, owner...) // it was echoed
	s.told(id, `{"model":"sim/script","content":{"text":`+string(parley.AppendJSONString(nil,
		`[[{"tool_call":{"name":"search_conversation","arguments":{"query":"garden gate"}}}],`+
			`[{"tool_call":{"name":"read_conversation","arguments":{"from":3,"to":3}}}],`+
			`[{"text":"It is 4711."}]]`))+`}}`)
	results := want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+id+"/messages?role=tool_result", "").Data
	if len(results) != 2 {
		t.Fatalf("there are %d results", len(results))
	}
	for i := range results {
		if got := string(results[i].Content); !strings.Contains(got, "4711") {
			t.Errorf("result %d is %s", i, got)
		}
	}
	if call := s.lastCall(id); !call.Exact {
		t.Errorf("the last call does not rebuild: %s", call.Reason)
	}
}

// TestRecallOfAFork: a fork reads what it shares with its root and what is its own, and nothing that its root said
// later.
func TestRecallOfAFork(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	owner := []string{"Authorization", "Bearer " + testToken}
	at, record := s.talked(`{"model":"sim/echo"}`, "the harbour is shared")
	fork := want[parley.Session](s, 201, "POST", at+"/fork", fmt.Sprintf(`{"at":%q}`, record[1].ID))
	there := "/v1/sessions/" + fork.ID.String()
	for _, text := range []string{"the lighthouse is the root's", "the ferry is the root's too"} {
		s.stream("POST", at+"/messages", `{"content":{"text":"`+text+`"}}`).rest()
	}
	s.stream("POST", there+"/messages", `{"content":{"text":"the windmill is its own"}}`).rest()
	s.searching("q=ferry", 2, owner...)
	s.searching("q=windmill", 2, owner...)
	tools := builtin.Record(s.store)
	recall := func(name, arguments string) (string, error) {
		t.Helper()
		found, ok := tools.Tool(name)
		if !ok {
			t.Fatalf("there is no tool %s", name)
		}
		result, err := found.Call(t.Context(), tool.Call{
			WorkspaceID: fork.WorkspaceID, SessionID: fork.ID, TurnID: parley.NewID(),
			Arguments: json.RawMessage(arguments),
		})
		said := string(result.JSON)
		for i := range result.Pieces {
			said += result.Pieces[i].Text
		}
		return said, err
	}
	for _, c := range []struct{ tool, arguments, want string }{
		{parley.ReadResultTool, `{"id":1}`, "harbour"},
		{parley.ReadResultTool, `{"id":3}`, "windmill"},
		{parley.ReadResultTool, `{"id":5}`, ""},
		{parley.ReadConversationTool, `{"from":1}`, "harbour windmill"},
		{parley.ReadConversationTool, `{"from":5}`, ""},
		{parley.SearchConversationTool, `{"query":"harbour"}`, "harbour"},
		{parley.SearchConversationTool, `{"query":"windmill"}`, "windmill"},
		{parley.SearchConversationTool, `{"query":"lighthouse"}`, ""},
		{parley.SearchConversationTool, `{"query":"ferry"}`, ""},
	} {
		said, err := recall(c.tool, c.arguments)
		if refused := c.tool == parley.ReadResultTool && c.want == ""; refused !=
			(parley.ErrorCode(err) == parley.CodeNotFound) || err != nil && !refused {
			t.Errorf("%s %s: %v", c.tool, c.arguments, err)
		}
		var found []string
		for _, word := range []string{"harbour", "windmill", "lighthouse", "ferry"} {
			if strings.Contains(said, "the "+word) {
				found = append(found, word)
			}
		}
		if got := strings.Join(found, " "); got != c.want {
			t.Errorf("%s %s reads %q of %s; want %q", c.tool, c.arguments, got, said, c.want)
		}
	}
	rows, err := s.store.Messages(t.Context(), store.Scope{WorkspaceID: fork.WorkspaceID}, fork.ID,
		store.MessageQuery{Limit: 10})
	if err != nil || len(rows) != 4 {
		t.Fatalf("the fork has %d messages, %v", len(rows), err)
	}
}
