package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/tool"
)

func jsonHas(text, part string) bool {
	return strings.Contains(strings.ReplaceAll(text, " ", ""), part)
}

func readOnly() parley.ToolAnnotations { return parley.ToolAnnotations{ReadOnly: true} }

func TestToolResults(t *testing.T) {
	tools := fakeTools{
		{"fine", readOnly(), func(_ context.Context, call tool.Call) (json.RawMessage, error) {
			return json.RawMessage(`{"b":1,"a":` + string(call.Arguments) + `}`), nil
		}},
		{
			"sorry",
			readOnly(),
			func(context.Context, tool.Call) (json.RawMessage, error) { return nil, errors.New("no luck") },
		},
		{
			"groans",
			readOnly(),
			func(context.Context, tool.Call) (json.RawMessage, error) { return nil, errors.New("no\x00luck") },
		},
		{"panics", readOnly(), func(context.Context, tool.Call) (json.RawMessage, error) { panic("oh") }},
		{
			"mumbles",
			readOnly(),
			func(context.Context, tool.Call) (json.RawMessage, error) { return json.RawMessage(`{"a`), nil },
		},
		{"nul", readOnly(), func(context.Context, tool.Call) (json.RawMessage, error) {
			return json.RawMessage(`"\u0000"`), nil
		}},
		{"silent", readOnly(), func(context.Context, tool.Call) (json.RawMessage, error) { return nil, nil }},
		{"sleeps", readOnly(), func(ctx context.Context, _ tool.Call) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	}
	timeout := 50 * time.Millisecond
	for _, c := range []struct{ tool, arguments, call, result string }{
		{"fine", `{"y":2,"x":1}`, `fine {"x":1,"y":2}`, `{"a":{"x":1,"y":2},"b":1}`},
		{"fine", ``, `fine {}`, `{"a":{},"b":1}`},
		{"fine", `{"x":`, `fine null{"x":`, resultMalformed},
		{"fine", `[1]`, `fine null[1]`, resultMalformed},
		{"fine", `{} {}`, `fine null{} {}`, resultMalformed},
		{"sorry", `{}`, `sorry {}`, "no luck"},
		{"groans", `{}`, `groans {}`, "no\uFFFDluck"},
		{"panics", `{}`, `panics {}`, resultPanic},
		{"mumbles", `{}`, `mumbles {}`, resultNoJSON},
		{"nul", `{}`, `nul {}`, resultNoJSON},
		{"silent", `{}`, `silent {}`, `null`},
		{"sleeps", `{}`, `sleeps {}`, fmt.Sprintf(resultTimeout, timeout)},
		{"missing", `{}`, `missing {}`, fmt.Sprintf(resultUnknown, "missing")},
		{"unlisted", `{}`, `unlisted {}`, fmt.Sprintf(resultUnknown, "unlisted")},
	} {
		t.Run(c.tool+c.arguments, func(t *testing.T) {
			r := newRig(t)
			r.tools = append(tools, fakeTool{"unlisted", readOnly(), nil})
			r.options.ToolTimeout = timeout
			r.start(nil)
			r.model.play(calls(parley.FinishToolCalls, c.tool, c.arguments), says("Done."))
			sessionID := r.session(
				tooled("fine", "sorry", "groans", "panics", "mumbles", "nul", "silent", "sleeps", "missing"),
				nil,
			)
			turn := r.ended(r.post(sessionID, "Go", "").Turn.ID)
			if turn.Status != parley.TurnCompleted {
				t.Errorf("turn %s, %+v", turn.Status, turn.Error)
			}
			ok := parley.MessageCompleted
			want := []line{
				{parley.RoleUser, ok, "Go"},
				{parley.RoleAssistant, ok, ""},
				{parley.RoleToolCall, ok, c.call},
				{parley.RoleToolResult, ok, c.result},
				{parley.RoleAssistant, ok, "Done."},
			}
			if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestIntentBeforeEffect: when a tool runs, its call is already in the record.
func TestIntentBeforeEffect(t *testing.T) {
	r := newRig(t)
	var during []parley.Message
	r.tools = fakeTools{
		{"act", parley.ToolAnnotations{}, func(ctx context.Context, call tool.Call) (json.RawMessage, error) {
			var err error
			during, err = r.store.Messages(ctx, r.scope, call.SessionID, store.MessageQuery{Limit: 100})
			return json.RawMessage(`true`), err
		}},
	}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "act", `{"n":1}`), says("Done."))
	sessionID := r.session(tooled("act"), nil)
	r.ended(r.post(sessionID, "Go", "").Turn.ID)
	if len(during) != 3 || during[2].Role != parley.RoleToolCall || during[2].Status != parley.MessageCompleted {
		t.Errorf("while the tool ran the record held %+v", during)
	}
	if got := r.told(sessionID); strings.Count(got, "tool.started") != 1 || strings.Count(got, "tool.completed") != 1 {
		t.Errorf("events %s", got)
	}
}

// TestParallelTools: repeatable tools run in parallel; a tool with effects runs alone.
func TestParallelTools(t *testing.T) {
	r := newRig(t)
	meet := make(chan struct{})
	var mu sync.Mutex // guards the two
	inside, most := 0, 0
	r.tools = fakeTools{
		{"look", readOnly(), func(ctx context.Context, call tool.Call) (json.RawMessage, error) {
			select { // each call needs another one to continue
			case meet <- struct{}{}:
			case <-meet:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return json.RawMessage(`1`), nil
		}},
		{"act", parley.ToolAnnotations{}, func(context.Context, tool.Call) (json.RawMessage, error) {
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			defer func() { mu.Lock(); inside--; mu.Unlock() }()
			return json.RawMessage(`2`), nil
		}},
	}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "act", `{}`, "look", `{}`, "look", `{}`, "act", `{}`), says("Done."))
	sessionID := r.session(tooled("look", "act"), nil)
	if turn := r.ended(r.post(sessionID, "Go", "").Turn.ID); turn.Status != parley.TurnCompleted {
		t.Errorf("turn %s", turn.Status)
	}
	var results []string
	for _, l := range r.record(sessionID) {
		if l.Role == parley.RoleToolResult {
			results = append(results, l.Says)
		}
	}
	if diff := cmp.Diff([]string{"2", "1", "1", "2"}, results); diff != "" {
		t.Error(diff)
	}
	if most != 1 {
		t.Errorf("%d tools with effects ran at once", most)
	}
}

func TestTruncatedCallsNeverRun(t *testing.T) {
	r := newRig(t)
	r.tools = fakeTools{{"act", parley.ToolAnnotations{}, func(context.Context, tool.Call) (json.RawMessage, error) {
		t.Error("a truncated call ran")
		return nil, nil
	}}}
	r.start(nil)
	r.model.play(calls(parley.FinishLength, "act", `{"a":1}`, "act", `{"a"`), says("no"))
	sessionID := r.session(tooled("act"), nil)
	if turn := r.ended(r.post(sessionID, "Go", "").Turn.ID); turn.Status != parley.TurnCompleted {
		t.Errorf("turn %s", turn.Status)
	}
	ok := parley.MessageCompleted
	want := []line{{parley.RoleUser, ok, "Go"}, {parley.RoleAssistant, ok, ""},
		{parley.RoleToolCall, ok, `act {"a":1}`}, {parley.RoleToolCall, ok, `act null{"a"`},
		{parley.RoleToolResult, ok, resultTruncated}, {parley.RoleToolResult, ok, resultTruncated}}
	if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
		t.Error(diff)
	}
}

func TestEndlessToolCallsAreBounded(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	for range parley.DefaultMaxSteps + 5 {
		r.model.play(calls(parley.FinishToolCalls, "x", `{"a`))
	}
	sessionID := r.session(parley.Settings{}, nil)
	turn := r.ended(r.post(sessionID, "Go", "").Turn.ID)
	if turn.Status != parley.TurnFailed || turn.Error.Class != parley.ClassLimit ||
		r.model.sent() != parley.DefaultMaxSteps {
		t.Errorf("turn %s, %+v after %d requests", turn.Status, turn.Error, r.model.sent())
	}
}

// clientTool returns overrides with a tool that a client answers.
func clientTool(name string, others ...string) parley.Settings {
	refs := []parley.ToolRef{{Name: name, Definition: &parley.ToolDefinition{
		Name: name, Description: "Asks the client.", Parameters: json.RawMessage(`{"type":"object"}`)}}}
	for _, other := range others {
		refs = append(refs, parley.ToolRef{Name: other})
	}
	return parley.Settings{Tools: &refs}
}

func TestClientToolParksAndIsAnswered(t *testing.T) {
	r := newRig(t)
	runs := 0
	r.tools = fakeTools{{"look", parley.ToolAnnotations{}, func(context.Context, tool.Call) (json.RawMessage, error) {
		runs++
		return json.RawMessage(`"seen"`), nil
	}}}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "ask", `{"q":1}`, "look", `{}`), says("Thanks."))
	sessionID := r.session(clientTool("ask", "look"), nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.happened(sessionID, parley.EventSessionWaiting)
	r.idleSlots(r.worker)
	waiting, err := r.store.Turn(t.Context(), r.scope, turnID)
	r.must(err)
	if waiting.Status != parley.TurnWaiting || waiting.WaitReason != parley.WaitToolResult {
		t.Errorf("turn %s for %s", waiting.Status, waiting.WaitReason)
	}
	content, err := parley.ValidateContent(parley.RoleToolResult, json.RawMessage(`{"result":"yes"}`))
	r.must(err)
	_, err = r.postNew(
		sessionID,
		store.NewMessage{ID: parley.NewID(), Role: parley.RoleToolResult, Author: r.owner.Author(),
			Content: content, ToolCallID: r.messages(sessionID)[2].ToolCallID},
	)
	r.must(err)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || turn.Step != 2 {
		t.Errorf("turn %+v", turn)
	}
	ok := parley.MessageCompleted
	want := []line{
		{parley.RoleUser, ok, "Go"},
		{parley.RoleAssistant, ok, ""},
		{parley.RoleToolCall, ok, `ask {"q":1}`},
		{parley.RoleToolCall, ok, `look {}`},
		{
			parley.RoleToolResult,
			ok,
			`"seen"`,
		},
		{parley.RoleToolResult, ok, `"yes"`},
		{parley.RoleAssistant, ok, "Thanks."},
	}
	if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
		t.Error(diff)
	}
	if runs != 1 {
		t.Errorf("the server's tool ran %d times", runs)
	}
}

// TestASteerWaitsForTheClient: whenever it arrives, it is shown together with the result that the next step needs.
func TestASteerWaitsForTheClient(t *testing.T) {
	r := newRig(t)
	reached, goOn := make(chan struct{}), make(chan struct{})
	r.tools = fakeTools{{"look", parley.ToolAnnotations{}, func(context.Context, tool.Call) (json.RawMessage, error) {
		close(reached)
		<-goOn
		return json.RawMessage(`"seen"`), nil
	}}}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "ask", `{}`, "look", `{}`), says("As you say."))
	sessionID := r.session(clientTool("ask", "look"), nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the tool", reached)
	r.post(sessionID, "Never mind", parley.DuringSteer)
	close(goOn)
	r.waits(sessionID, parley.WaitToolResult, 1)
	r.replies(sessionID, "ask", `"asked"`)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
		t.Errorf("turn %s, %+v", turn.Status, turn.Error)
	}
	ok := parley.MessageCompleted
	want := []line{{parley.RoleUser, ok, "Go"}, {parley.RoleAssistant, ok, ""},
		{parley.RoleToolCall, ok, `ask {}`}, {parley.RoleToolCall, ok, `look {}`},
		{parley.RoleToolResult, ok, `"seen"`}, {parley.RoleToolResult, ok, `"asked"`},
		{parley.RoleUser, ok, "Never mind"}, {parley.RoleAssistant, ok, "As you say."}}
	if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
		t.Error(diff)
	}
}

// TestPatternsStandForTheServersTools: "look*" offers every tool with that prefix, each once, and a call that no entry
// matches is refused.
func TestPatternsStandForTheServersTools(t *testing.T) {
	r := newRig(t)
	answer := func(says string) func(context.Context, tool.Call) (json.RawMessage, error) {
		return func(context.Context, tool.Call) (json.RawMessage, error) {
			return json.RawMessage(`"` + says + `"`), nil
		}
	}
	r.tools = fakeTools{
		{"look_up", readOnly(), answer("up")},
		{"look_down", readOnly(), answer("down")},
		{"jump", readOnly(), answer("jumped")},
	}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "look_up", `{}`, "look_down", `{}`, "jump", `{}`), says("Done."))
	sessionID := r.session(tooled("look_up", "look_*"), nil)
	r.ended(r.post(sessionID, "Go", "").Turn.ID)
	var results []string
	for _, l := range r.record(sessionID) {
		if l.Role == parley.RoleToolResult {
			results = append(results, l.Says)
		}
	}
	slices.Sort(results) // tools that run together answer in any order
	if diff := cmp.Diff([]string{`"down"`, `"up"`, fmt.Sprintf(resultUnknown, "jump")}, results); diff != "" {
		t.Error(diff)
	}
	log, err := r.store.Calls(t.Context(), r.scope, sessionID, store.CallQuery{Limit: 10})
	r.must(err)
	if len(log) != 2 || log[0].ToolsHash != log[1].ToolsHash || log[0].ToolsHash.IsZero() {
		t.Errorf("%d calls, tools %s and %s", len(log), log[0].ToolsHash, log[1].ToolsHash)
	}
}

// lateTools appear only once somebody has waited for them.
type lateTools struct {
	fakeTools
	awaited *atomic.Bool
}

func (l lateTools) Tool(name string) (tool.Tool, bool) {
	if !l.awaited.Load() {
		return nil, false
	}
	return l.fakeTools.Tool(name)
}

func (l lateTools) Tools() []tool.Tool {
	if !l.awaited.Load() {
		return nil
	}
	return l.fakeTools.Tools()
}

func (l lateTools) For(parley.ID) tool.Source { return l }

func (l lateTools) Expects(name string) bool {
	return strings.HasPrefix(name, "gone_") || !l.awaited.Load()
}
func (l lateTools) Await(ctx context.Context) { l.awaited.Store(ctx.Err() == nil) }

// TestTurnsWaitForToolsThatAreExpected: a turn that begins with the process has the tools of servers that answer a
// moment later; a tool of a silent server is distinguished from an unknown one.
func TestTurnsWaitForToolsThatAreExpected(t *testing.T) {
	for _, named := range []string{"look_up", "look_*"} {
		r := newRig(t)
		r.tools = lateTools{
			fakeTools{{"look_up", readOnly(), func(context.Context, tool.Call) (json.RawMessage, error) {
				return json.RawMessage(`"up"`), nil
			}}},
			new(atomic.Bool),
		}
		r.start(nil)
		r.model.play(calls(parley.FinishToolCalls, "look_up", `{}`, "gone_away", `{}`), says("Done."))
		sessionID := r.session(tooled(named, "gone_away"), nil)
		r.ended(r.post(sessionID, "Go", "").Turn.ID)
		var results []string
		for _, l := range r.record(sessionID) {
			if l.Role == parley.RoleToolResult {
				results = append(results, l.Says)
			}
		}
		if diff := cmp.Diff([]string{fmt.Sprintf(resultAway, "gone_away"), `"up"`}, results); diff != "" {
			t.Errorf("an agent with %s: %s", named, diff)
		}
	}
}

// TestProgressIsToldButMerged: a tool's progress reaches watchers as an event, and a tool that reports endlessly floods
// nobody.
func TestProgressIsToldButMerged(t *testing.T) {
	r := newRig(t)
	r.tools = fakeTools{{"dig", readOnly(), func(_ context.Context, call tool.Call) (json.RawMessage, error) {
		for i := range 1000 {
			call.Progress(
				parley.ToolProgress{Progress: float64(i) + 0.5, Total: 1000, Message: strings.Repeat("deep ", 200)},
			)
		}
		r.happened(call.SessionID, parley.EventToolProgress)
		return json.RawMessage(`"done"`), nil
	}}}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "dig", `{}`), says("Done."))
	sessionID := r.session(tooled("dig"), nil)
	r.ended(r.post(sessionID, "Go", "").Turn.ID)
	events, err := r.store.Events(t.Context(), r.scope, sessionID, 0, 100)
	r.must(err)
	var told []string
	for _, e := range events {
		if e.Type == parley.EventToolProgress {
			told = append(told, string(e.Data))
		}
	}
	if len(told) == 0 || len(told) > 3 ||
		!jsonHas(told[0], `"name":"dig","progress":0.5,"total":1000,"message":"deep`) ||
		len(told[0]) > 2*maxProgressText {
		t.Errorf("%d events, the first %.300s", len(told), strings.Join(told, "\n"))
	}
}

// A client is not sent arguments that its schema forbids: the model is told what is wrong, and the turn continues
// without waiting.
func TestClientsGetArgumentsThatFit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(nil)
	refs := []parley.ToolRef{{Name: "look_up", Definition: &parley.ToolDefinition{
		Name:        "look_up",
		Description: "Looks up.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`),
	}}}
	r.model.play(calls(parley.FinishToolCalls, "look_up", `{"q":7}`), says("I see."))
	turn := r.ended(r.post(r.session(parley.Settings{Model: scriptedID, Tools: &refs}, nil), "Go", "").Turn.ID)
	if turn.Status != parley.TurnCompleted {
		t.Fatalf("the turn is %s: %+v", turn.Status, turn.Error)
	}
	messages, err := r.store.Messages(
		t.Context(),
		r.scope,
		turn.SessionID,
		store.MessageQuery{Roles: []parley.Role{parley.RoleToolResult}, Limit: 5},
	)
	r.must(err)
	if len(messages) != 1 || !strings.Contains(string(messages[0].Content), "do not fit the tool's schema") {
		t.Errorf("the call's result is %v", messages)
	}
}
