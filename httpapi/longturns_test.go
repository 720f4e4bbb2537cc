package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/llm"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/tool"
	"example.org/parley/tool/builtin"
)

// dump is a tool that answers with numbered lines, as many as it is asked for.
type dump struct{}

func (dump) Definition() parley.ToolDefinition {
	return parley.ToolDefinition{Name: "dump", Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (dump) Annotations() parley.ToolAnnotations {
	return parley.ToolAnnotations{ReadOnly: true, Idempotent: true}
}
func (dump) Source() string { return "test" }
func (dump) Call(_ context.Context, call tool.Call) (tool.Result, error) {
	var asked struct{ Lines int }
	if err := json.Unmarshal(call.Arguments, &asked); err != nil {
		return tool.Result{}, err
	}
	var out strings.Builder
	for i := range asked.Lines {
		fmt.Fprintf(&out, "line %d of the long answer of a tool\n", i+1)
	}
	return tool.JSON(json.Marshal(out.String()))
}

// dumps is a source of that tool alone.
type dumps struct{}

func (dumps) Tools() []tool.Tool                 { return []tool.Tool{dump{}} }
func (dumps) Tool(name string) (tool.Tool, bool) { return dump{}, name == "dump" }
func (d dumps) For(parley.ID) tool.Source        { return d }
func (dumps) Expects(string) bool                { return false }
func (dumps) Await(context.Context)              {}
func (dumps) Faults() []tool.Fault               { return nil }

// startWithDumps starts a server with the tool dump, those of the record, and one model.
func startWithDumps(t *testing.T, of model.Model, info model.Info) *testServer {
	t.Helper()
	registry := func(t *testing.T) *llm.Registry {
		t.Helper()
		models, err := llm.NewRegistry(llm.Options{Providers: []llm.Provider{
			{Name: "sim", Model: sim.New(), DefaultModel: "echo", Models: sim.Models(), Simulator: true},
			{Name: info.Provider, Model: of, Models: []model.Info{info}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return models
	}
	late := &lateRecord{}
	tools, err := tool.Join(dumps{}, late)
	if err != nil {
		t.Fatal(err)
	}
	s := startServerOf(t, registry, tools)
	late.set(builtin.Record(s.store))
	return s
}

// lateRecord is the source of the record's tools, whose store opens after the tools are joined.
type lateRecord struct {
	mu sync.Mutex // guards of
	of builtin.Source
}

func (l *lateRecord) set(of builtin.Source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of = of
}

func (l *lateRecord) source() builtin.Source {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of
}
func (l *lateRecord) Tools() []tool.Tool                 { return l.source().Tools() }
func (l *lateRecord) Tool(name string) (tool.Tool, bool) { return l.source().Tool(name) }
func (l *lateRecord) For(parley.ID) tool.Source          { return l }
func (*lateRecord) Expects(string) bool                  { return false }
func (*lateRecord) Await(context.Context)                {}
func (*lateRecord) Faults() []tool.Fault                 { return nil }

// longTurn bounds the wait for a turn of many steps.
const longTurn = 5 * time.Minute

// says posts a text to a session.
func (s *testServer) says(session, text string) {
	s.Helper()
	got := s.do("POST", "/v1/sessions/"+session+"/messages",
		`{"content":{"text":`+string(parley.AppendJSONString(nil, text))+`}}`)
	if got.status != 201 {
		s.Fatalf("status %d: %s", got.status, got.body)
	}
}

// TestALongResultDoesNotEndTheTurn: a result of 27,000 tokens in a window of 20,000 is shown in part; the model reads
// on with read_result, which it is offered by itself, the record has all of it, and the requests rebuild.
func TestALongResultDoesNotEndTheTurn(t *testing.T) {
	t.Parallel()
	info := sim.Info("script")
	info.ID, info.Provider, info.Simulator = "small/script", "small", false
	info.ContextLength, info.MaxOutput = 20_000, 0
	s := startWithDumps(t, sim.New(), info)
	session := s.session(`{"model":"small/script","tools":["dump"]}`).ID.String()
	s.says(session, `[[{"tool_call":{"name":"dump","arguments":{"Lines":3000}}}],`+
		`[{"tool_call":{"name":"read_result","arguments":{"id":4,"from":1500,"to":1501}}}],[{"text":"Done."}]]`)
	if ended := s.awaitEnd(session); ended.Status != parley.SessionCompleted {
		t.Fatalf("the session is %s", ended.Status)
	}
	detail := s.lastCall(session)
	request := string(detail.Request)
	if !detail.Exact || len(request) > 20_000 {
		t.Errorf("exact %t: %s; the request has %d bytes", detail.Exact, detail.Reason, len(request))
	}
	for _, want := range []string{
		"line 1 of the long", "line 3000 of the long", `read_result with \"id\": 4 reads all of it`,
		"line 1500 of the long answer of a tool\\nline 1501 of the long",
	} {
		if !strings.Contains(request, want) {
			t.Errorf("the request lacks %s: %s", want, parley.Clip(request, 4000))
		}
	}
	if !strings.Contains(fmt.Sprint(reasonsOf(detail)), "shown in part") {
		t.Errorf("no part says that it is shown in part: %v", reasonsOf(detail))
	}
	results := s.do("GET", "/v1/sessions/"+session+"/messages?role=tool_result", "")
	if !strings.Contains(string(results.body), "line 2000 of the long") {
		t.Error("the record lacks a part of the result")
	}
}

func reasonsOf(detail engine.CallDetail) (reasons []string) {
	for _, part := range detail.Parts {
		reasons = append(reasons, part.Reason)
	}
	return reasons
}

// TestOldResultsBecomeStubs: under auto the results of older turns are stubs once the window has filled. A preview
// shows that before the request is sent; the call and a replay of it rebuild, the difference to the call before names
// them, and the model reads one of them again.
func TestOldResultsBecomeStubs(t *testing.T) {
	t.Parallel()
	info := sim.Info("script")
	info.ID, info.Provider, info.Simulator = "small/script", "small", false
	info.ContextLength, info.MaxOutput = 20_000, 0
	s := startWithDumps(t, sim.New(), info)
	session := s.session(`{"model":"small/script","tools":["dump"],"context_policy":{"kind":"auto","recall":false}}`).
		ID.String() // its tools stay the same
	at := "/v1/sessions/" + session
	for range 7 {
		s.told(session, `{"content":{"text":"[[{\"tool_call\":{\"name\":\"dump\",\"arguments\":{\"Lines\":150}}}],`+
			`[{\"text\":\"Done.\"}]]"}}`)
	}
	if before := s.lastCall(session); before.Manifest.Stubs != nil {
		t.Fatalf("before the window is full there are stubs: %+v", before.Manifest)
	}
	long := `{"content":{"text":"[[{\"text\":\"` + strings.Repeat("It is long. ", 750) + `\"}]]"}}`
	preview := want[engine.Preview](s, 200, "POST", at+"/preview", long)
	s.told(session, long)
	sent := s.lastCall(session)
	if sent.Manifest.Stubs == nil {
		t.Fatalf("nothing became a stub: %+v of %d tokens", sent.Manifest, sent.EstimatedTokens)
	}
	stub := `is left out; read_result with \"id\": 4 reads it`
	if string(preview.Request) != string(sent.Request) || !sent.Exact || !strings.Contains(string(sent.Request), stub) {
		t.Errorf(
			"exact %t: %s\npreviewed %.2000s\nsent %.2000s",
			sent.Exact,
			sent.Reason,
			preview.Request,
			sent.Request,
		)
	}
	if reasons := fmt.Sprint(reasonsOf(sent)); !strings.Contains(reasons, "because the conversation is long") {
		t.Errorf("the parts are there for %s", reasons)
	}
	for _, run := range sent.LeftOut {
		if run.From <= sent.Manifest.Stubs.Through {
			t.Errorf("stubs count as left out: %+v", run)
		}
	}
	diff := want[engine.CallDiff](s, 200, "GET", "/v1/calls/"+sent.ID.String()+"/diff", "")
	if diff.Cache.Reason == nil || *diff.Cache.Reason != "window" ||
		!strings.Contains(diff.Cache.Says, "shown by their size alone") {
		t.Errorf("the difference is %+v", diff.Cache)
	}
	replay := want[engine.ReplayResult](s, 201, "POST", "/v1/calls/"+sent.ID.String()+"/replay", `{}`)
	if !replay.SameBytes {
		t.Error("a replay sends other bytes")
	}
	if compaction := want[parley.Compaction](s, 200, "GET", at+"/compaction", ""); compaction.State != "none" {
		t.Errorf("beside stubs that suffice the compaction is %+v", compaction)
	}
	s.says(
		session,
		`[[{"tool_call":{"name":"read_result","arguments":{"id":4,"from":70,"to":71}}}],[{"text":"Done."}]]`,
	)
	s.awaitEnd(session)
	const again = "line 70 of the long answer of a tool\\nline 71"
	if got := string(s.lastCall(session).Request); !strings.Contains(got, again) {
		t.Errorf("the model cannot read the result again: %s", parley.Clip(got, 2000))
	}
}

// stepper is a model that calls a tool in each of many steps and then answers. Summaries are written by it too. It
// keeps the size of the longest request.
type stepper struct {
	steps int
	over  chan struct{} // closed with the last answer

	mu        sync.Mutex // guards what follows
	answers   int
	summaries int
	longest   int
}

func (m *stepper) Encode(request model.Request) (model.EncodedRequest, error) {
	tokens := prompt.EstimateTokens(request.System)
	for _, message := range request.Messages {
		for _, part := range message.Parts {
			tokens += prompt.EstimateTokens(part.Text) + prompt.EstimateTokens(string(part.Arguments)) + 4
		}
	}
	m.mu.Lock()
	if request.Purpose != parley.PurposeCompaction {
		m.longest = max(m.longest, tokens)
	}
	m.mu.Unlock()
	body, err := json.Marshal(request)
	return model.EncodedRequest{Model: request.Model, Body: body, Version: 1}, err
}

func (m *stepper) EncodeAs(_ int, request model.Request) (model.EncodedRequest, error) {
	return m.Encode(request)
}

func (*stepper) Warms(parley.ModelID) (least int, why string) { return 0, "It is a script." }

func (m *stepper) Stream(_ context.Context, request model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if bytes.Contains(request.Body, []byte(`"Purpose":"compaction"`)) {
		m.summaries++
		summary := fmt.Sprintf("They look at everything, part %d [2].", m.summaries)
		return func(yield func(model.Chunk, error) bool) {
			_ = yield(model.Chunk{Kind: model.ChunkText, Text: summary}, nil) &&
				yield(model.Chunk{Kind: model.ChunkFinish, Finish: parley.FinishStop}, nil)
		}
	}
	m.answers++
	n := m.answers
	return func(yield func(model.Chunk, error) bool) {
		if n > m.steps {
			if n == m.steps+1 {
				close(m.over)
			}
			_ = yield(model.Chunk{Kind: model.ChunkText, Text: "Done."}, nil) &&
				yield(model.Chunk{Kind: model.ChunkFinish, Finish: parley.FinishStop}, nil)
			return
		}
		_ = yield(model.Chunk{Kind: model.ChunkToolCall, CallID: fmt.Sprint("c", n), Name: "dump"}, nil) &&
			yield(model.Chunk{Kind: model.ChunkArguments, Text: `{"Lines":100}`}, nil) &&
			yield(model.Chunk{Kind: model.ChunkFinish, Finish: parley.FinishToolCalls}, nil)
	}
}

// TestALongTurnEnds: a turn of 500 steps whose results have 2 MB ends in a window of 32,000 tokens. No request is
// longer, summaries of its own steps take their place before any is dropped, and the last request rebuilds.
func TestALongTurnEnds(t *testing.T) {
	t.Parallel()
	steps := &stepper{steps: 500, over: make(chan struct{})}
	s := startWithDumps(t, steps, model.Info{
		ID: "steps/one", Provider: "steps", Name: "one", Known: true, Tools: true, ContextLength: 32_000,
	})
	session := s.session(`{"model":"steps/one","tools":["dump"],"limits":{"max_steps":1000,"max_tool_calls":1000}}`).
		ID.String()
	s.says(session, "Look at everything.")
	select {
	case <-steps.over:
	case <-time.After(longTurn):
		t.Fatal("the turn has not ended")
	}
	ended := s.awaitEnd(session)
	if ended.Status != parley.SessionCompleted {
		t.Fatalf("the session is %s: %s", ended.Status, s.do("GET", "/v1/sessions/"+session+"/turns", "").body)
	}
	if steps.answers != 501 || steps.longest > 28_000 {
		t.Errorf("%d answers, the longest request has %d tokens", steps.answers, steps.longest)
	}
	detail := s.lastCall(session)
	request := string(detail.Request)
	if !detail.Exact || !strings.Contains(request, "Look at everything.") ||
		!strings.Contains(request, `Summary of the conversation so far:\n\nThey look at everything, part `) ||
		!strings.Contains(request, `is left out; read_result with \"id\": `) {
		t.Errorf("exact %t: %s; the last request: %s", detail.Exact, detail.Reason, parley.Clip(request, 4000))
	}
	for _, out := range detail.LeftOut {
		if out.Fate == prompt.FateDropped {
			t.Errorf("left out: %+v", out)
		}
	}
	if len(detail.LeftOut) == 0 || !strings.Contains(detail.LeftOut[0].Reason, "covered by the summary") {
		t.Errorf("left out: %+v", detail.LeftOut)
	}
	state := string(s.do("GET", "/v1/sessions/"+session+"/compaction", "").body)
	if steps.summaries == 0 || !strings.Contains(state, `"reason":"steps"`) {
		t.Errorf("%d summaries; the last compaction is %s", steps.summaries, state)
	}
}
