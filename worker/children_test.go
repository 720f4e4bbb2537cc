package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
)

// troupe is a model that plays several parts: the text of the last user message chooses the part.
type troupe struct {
	scripted
	part func(ctx context.Context, request model.Request, yield func(model.Chunk, error) bool)
}

func (m *troupe) Stream(ctx context.Context, encoded model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		var request model.Request
		if err := json.Unmarshal(encoded.Body, &request); err != nil {
			yield(model.Chunk{}, err)
			return
		}
		m.part(ctx, request, yield)
	}
}

func (m *troupe) Resolve(id parley.ModelID) (model.Model, model.Info, error) {
	_, info, err := m.scripted.Resolve(id)
	return m, info, err
}

// asked returns the text of a request's last user message and the number of tool results after it.
func asked(request model.Request) (text string, results int) {
	for _, message := range request.Messages {
		switch message.Role {
		case model.RoleUser:
			text, results = message.Parts[0].Text, 0
		case model.RoleTool:
			results += len(message.Parts)
		}
	}
	return text, results
}

// startTroupe is start with a model of several parts.
func (r *rig) startTroupe(
	store Store,
	part func(ctx context.Context, request model.Request, yield func(model.Chunk, error) bool),
) *Worker {
	r.Helper()
	if store == nil {
		store = r.store
	}
	w := New(store, &troupe{part: part}, r.tools, r.hub, r.options)
	r.running.Store(w)
	r.must(w.Start(r.Context()))
	r.worker = w
	r.Cleanup(func() { r.stop(w) })
	return w
}

// colleague creates an agent, and returns overrides with a tool that calls it.
func (r *rig) colleague(name string, tools ...parley.ToolRef) parley.ToolRef {
	r.Helper()
	agent := parley.Agent{
		ID:          parley.NewID(),
		WorkspaceID: r.scope.WorkspaceID,
		Slug:        parley.Slugify(name),
		Name:        name,
		Runtime:     parley.StandardRuntime,
		Tags:        []string{},
		Status:      parley.AgentActive,
		Version:     1,
		Settings:    parley.Settings{Tools: &tools},
	}
	if tools == nil {
		agent.Tools = &[]parley.ToolRef{}
	}
	made, _, err := r.store.CreateAgent(r.Context(), agent, store.Idempotency{})
	r.must(err)
	return asTool(made.Slug)
}

func asTool(slug string) parley.ToolRef {
	return parley.ToolRef{
		Name:  slug,
		Agent: &parley.AgentTool{Name: slug, Description: "Asks a colleague.", Agent: slug, Instructions: "Be brief."},
	}
}

func withTools(refs ...parley.ToolRef) parley.Settings { return parley.Settings{Tools: &refs} }

// callOf finds a tool_call by its tool's name.
func (r *rig) callOf(sessionID parley.ID, name string) parley.Message {
	r.Helper()
	for _, m := range r.messages(sessionID) {
		if m.Role == parley.RoleToolCall && m.ToolName == name {
			return m
		}
	}
	r.Fatalf("no call of %s", name)
	return parley.Message{}
}

// letGo waits until no worker holds the turn.
func (r *rig) letGo(turnID parley.ID) {
	r.Helper()
	r.worker.mu.Lock()
	running := r.worker.runs[turnID]
	r.worker.mu.Unlock()
	if running != nil {
		r.wait("the run to end", running.done)
	}
}

// A call of an agent tool is answered by a session of its own. The turn holds no worker while it waits.
func TestAgentTool(t *testing.T) {
	r := newRig(t)
	reached, goOn := make(chan struct{}), make(chan struct{})
	r.startTroupe(nil, func(ctx context.Context, request model.Request, yield func(model.Chunk, error) bool) {
		text, results := asked(request)
		switch {
		case text == "Go" && results == 0:
			calls(parley.FinishToolCalls, "scout", `{"task":"Look around.\nEverywhere."}`)(ctx, yield)
		case text == "Go":
			says("Thanks.")(ctx, yield)
		default:
			close(reached)
			<-goOn
			says("All quiet.")(ctx, yield)
		}
	})
	sessionID := r.session(
		withTools(r.colleague("Scout")),
		func(s *parley.Session) { s.Visibility = parley.VisibilityWorkspace },
	)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the child's request", reached)
	r.happened(sessionID, parley.EventSessionWaiting)
	waiting, err := r.store.Turn(t.Context(), r.scope, turnID)
	r.must(err)
	if waiting.Status != parley.TurnWaiting || waiting.WaitReason != parley.WaitChild {
		t.Errorf("turn %s for %s", waiting.Status, waiting.WaitReason)
	}
	r.letGo(turnID)
	close(goOn)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || turn.Step != 2 {
		t.Errorf("turn %+v", turn)
	}
	ok := parley.MessageCompleted
	want := []line{
		{parley.RoleUser, ok, "Go"},
		{parley.RoleAssistant, ok, ""},
		{
			parley.RoleToolCall,
			ok,
			`scout {"task":"Look around.\nEverywhere."}`,
		},
		{parley.RoleToolResult, ok, `{"text":"All quiet."}`},
		{parley.RoleAssistant, ok, "Thanks."},
	}
	if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
		t.Error(diff)
	}
	call := r.callOf(sessionID, "scout")
	child, err := r.store.Session(t.Context(), r.scope, parley.ChildID(call.ID))
	r.must(err)
	if child.Kind != parley.KindTool || child.ParentSessionID != sessionID || child.ParentMessageID != call.ID ||
		child.OwnerID != r.owner.ID ||
		child.Visibility != parley.VisibilityWorkspace || child.Instructions != "Be brief." ||
		child.Title != "Look around." ||
		child.RootID != sessionID ||
		child.Depth != 1 {
		t.Errorf("the child is %+v", child)
	}
	wantChild := []line{{parley.RoleUser, ok, "Look around.\nEverywhere."}, {parley.RoleAssistant, ok, "All quiet."}}
	if diff := cmp.Diff(wantChild, r.record(child.ID)); diff != "" {
		t.Error(diff)
	}
	result := r.messages(sessionID)[3]
	if link := string(parley.LinkChild(call.ID)); string(call.Metadata) != link || string(result.Metadata) != link {
		t.Errorf("the call links %s, its result %s; want %s", call.Metadata, result.Metadata, link)
	}
	if result.Author.ID != child.AgentID {
		t.Errorf("the result is by %+v", result.Author)
	}
}

// Children of one step run at once, and each brings its own result.
func TestAgentToolsInParallel(t *testing.T) {
	const n = 5
	r := newRig(t)
	var all sync.WaitGroup
	all.Add(n)
	r.startTroupe(nil, func(ctx context.Context, request model.Request, yield func(model.Chunk, error) bool) {
		text, results := asked(request)
		switch {
		case text == "Go" && results == 0:
			var pairs []string
			for i := range n {
				pairs = append(pairs, "scout", fmt.Sprintf(`{"task":"Look %d"}`, i))
			}
			calls(parley.FinishToolCalls, pairs...)(ctx, yield)
		case text == "Go":
			says(fmt.Sprintf("%d results", results))(ctx, yield)
		default:
			all.Done()
			all.Wait() // never ends unless they run at once
			says("Saw "+strings.TrimPrefix(text, "Look "))(ctx, yield)
		}
	})
	sessionID := r.session(withTools(r.colleague("Scout")), nil)
	if turn := r.ended(r.post(sessionID, "Go", "").Turn.ID); turn.Status != parley.TurnCompleted || turn.Step != 2 {
		t.Errorf("turn %+v", turn)
	}
	results := map[string]string{}
	for _, m := range r.messages(sessionID) {
		if m.Role == parley.RoleToolResult {
			results[m.ToolCallID] += string(m.Content)
		}
	}
	i := 0
	for _, m := range r.messages(sessionID) {
		if m.Role != parley.RoleToolCall {
			continue
		}
		if got, want := results[m.ToolCallID], fmt.Sprintf(
			`{"text":"Saw %d"}`,
			i,
		); strings.Count(got, "Saw") != 1 ||
			!strings.Contains(got, want) {
			t.Errorf("call %d has the result %s", i, got)
		}
		i++
	}
	if i != n {
		t.Errorf("%d calls", i)
	}
}
