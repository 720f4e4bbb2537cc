package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/internal/sqlitetest"
	"example.org/parley/live"
	"example.org/parley/model"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests; only a failing test reaches it.
const patience = time.Minute

// answerFunc plays one answer of the scripted model. yield returns false once the caller has stopped listening.
type answerFunc func(ctx context.Context, yield func(model.Chunk, error) bool)

// scripted is a model that plays its answers in order, one per request, and
// remembers the requests.
type scripted struct {
	mu       sync.Mutex // guards what follows
	answers  []answerFunc
	requests []model.Request
	streams  int
	endless  answerFunc // played when the others are over
	unpriced bool
	vision   bool
	caching  bool
	hour     bool // caches for an hour if asked, at twice the price
	reads    int  // the context's length in tokens; 0: unknown
	output   model.OutputForm

	summaries *scripted // answers for summaryID if set
}

func (m *scripted) Encode(request model.Request) (model.EncodedRequest, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.endless == nil {
		m.requests = append(m.requests, request)
	}
	body, err := json.Marshal(request)
	return model.EncodedRequest{Model: request.Model, Body: body, Version: 1}, err
}

func (m *scripted) EncodeAs(_ int, request model.Request) (model.EncodedRequest, error) {
	return m.Encode(request)
}

func (*scripted) Warms(parley.ModelID) (least int, why string) { return 0, "It is a script." }

func (m *scripted) Stream(ctx context.Context, _ model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	m.mu.Lock()
	m.streams++
	answer := m.endless
	if len(m.answers) > 0 {
		answer, m.answers = m.answers[0], m.answers[1:]
	}
	m.mu.Unlock()
	return func(yield func(model.Chunk, error) bool) {
		if answer == nil {
			yield(model.Chunk{}, model.NewError(parley.ClassModel, false, "the script is over", nil))
			return
		}
		answer(ctx, yield)
	}
}

func (m *scripted) play(answers ...answerFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers = append(m.answers, answers...)
}

func (m *scripted) asked() []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

func (m *scripted) sent() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.streams
}

const (
	scriptedID = parley.ModelID("test/script")
	summaryID  = parley.ModelID("test/summary")
)

// Resolve makes a scripted model its own source.
func (m *scripted) Resolve(id parley.ModelID) (model.Model, model.Info, error) {
	if id.Provider() != "test" {
		return nil, model.Info{}, parley.InvalidField("model", "no provider %q", id.Provider())
	}
	info := model.Info{
		ID:            id,
		Provider:      "test",
		Known:         true,
		Vision:        m.vision,
		Caching:       m.caching,
		ContextLength: m.reads,
		Output:        m.output,
		Tools:         m.output == model.OutputTool,
		Price:         &model.Price{Input: 1, Output: 2},
	}
	if m.hour {
		info.Caching, info.CacheHour = true, true
		info.Price.CacheWrite, info.Price.CacheWriteHour = new(1.25), new(2.0)
	}
	if m.unpriced {
		info.Price = nil
	}
	if id == summaryID && m.summaries != nil {
		return m.summaries, info, nil
	}
	return m, info, nil
}
func (m *scripted) Models() []model.Info    { return nil }
func (m *scripted) Default() parley.ModelID { return scriptedID }

// chunks plays fixed chunks.
func chunks(all ...model.Chunk) answerFunc {
	return func(_ context.Context, yield func(model.Chunk, error) bool) {
		for _, chunk := range all {
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

func text(block int, s string) model.Chunk {
	return model.Chunk{Kind: model.ChunkText, Block: block, Text: s}
}

func done(reason parley.FinishReason) model.Chunk {
	return model.Chunk{Kind: model.ChunkFinish, Finish: reason}
}

// says returns a plain answer with usage.
func says(s string) answerFunc {
	in, out := int64(1000), int64(500)
	return chunks(
		text(0, s),
		model.Chunk{Kind: model.ChunkUsage, Usage: parley.Usage{InputTokens: &in, OutputTokens: &out}},
		done(parley.FinishStop),
	)
}

// calls returns an answer that calls tools: name, arguments, name, arguments, …
func calls(reason parley.FinishReason, pairs ...string) answerFunc {
	var all []model.Chunk
	for i := 0; i < len(pairs); i += 2 {
		all = append(all,
			model.Chunk{Kind: model.ChunkToolCall, Block: i / 2, CallID: fmt.Sprint("p", i), Name: pairs[i]},
			model.Chunk{Kind: model.ChunkArguments, Block: i / 2, Text: pairs[i+1]})
	}
	return chunks(append(all, done(reason))...)
}

// fails returns an answer that breaks after some chunks.
func fails(err error, before ...model.Chunk) answerFunc {
	return func(_ context.Context, yield func(model.Chunk, error) bool) {
		for _, chunk := range before {
			if !yield(chunk, nil) {
				return
			}
		}
		yield(model.Chunk{}, err)
	}
}

// hangs yields some chunks and then waits for the end of its context, like a stalled provider.
func hangs(reached chan<- struct{}, before ...model.Chunk) answerFunc {
	return func(ctx context.Context, yield func(model.Chunk, error) bool) {
		for _, chunk := range before {
			if !yield(chunk, nil) {
				return
			}
		}
		close(reached)
		<-ctx.Done()
		yield(model.Chunk{}, context.Cause(ctx))
	}
}

// fakeTool is a scripted tool.
type fakeTool struct {
	name        string
	annotations parley.ToolAnnotations
	call        func(ctx context.Context, call tool.Call) (json.RawMessage, error)
}

func (f fakeTool) Definition() parley.ToolDefinition {
	return parley.ToolDefinition{
		Name:        f.name,
		Description: "A tool of the tests.",
		Parameters:  json.RawMessage(`{"type":"object"}`),
	}
}
func (f fakeTool) Annotations() parley.ToolAnnotations { return f.annotations }
func (f fakeTool) Source() string                      { return "test" }
func (f fakeTool) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(f.call(ctx, call))
}

type fakeTools []fakeTool

func (f fakeTools) Tool(name string) (tool.Tool, bool) {
	for _, tool := range f {
		if tool.name == name {
			return tool, true
		}
	}
	return nil, false
}
func (f fakeTools) Tools() (tools []tool.Tool) {
	for _, tool := range f {
		tools = append(tools, tool)
	}
	return tools
}
func (f fakeTools) For(parley.ID) tool.Source { return f }
func (f fakeTools) Expects(string) bool       { return false }
func (f fakeTools) Await(context.Context)     {}
func (f fakeTools) Faults() []tool.Fault      { return nil }

// recorder stores the events of all commits and wakes those who wait for one.
type recorder struct {
	mu      sync.Mutex // guards what follows
	events  []parley.Event
	changed chan struct{}
}

func (r *recorder) Committed(commit store.Commit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, commit.Events...)
	close(r.changed)
	r.changed = make(chan struct{})
}

// rig is a store, a hub and everything else around a worker.
type rig struct {
	testing.TB
	store   *sqlite.Store
	hub     *live.Hub
	model   *scripted
	models  model.Source // nil: the script alone
	tools   tool.Source
	options Options
	seen    *recorder
	worker  *Worker
	dying   *faults                // the store of the worker that crashing started
	running atomic.Pointer[Worker] // receives commits
	owner   parley.Principal
	agent   parley.Agent
	scope   store.Scope
}

// newRig opens an empty store. Pauses between attempts return immediately.
func newRig(t testing.TB) *rig {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlitetest.Dir(t), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{TB: t, store: db, model: &scripted{}, tools: fakeTools{}, seen: &recorder{changed: make(chan struct{})}}
	r.hub = live.New(db, live.Options{})
	db.Listen(r.hub)
	db.Listen(r)
	if _, measured := t.(*testing.B); !measured {
		db.Listen(r.seen)
	}
	t.Cleanup(func() {
		r.hub.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	workspaceID, err := db.Workspace(t.Context(), parley.DefaultWorkspace)
	r.must(err)
	r.owner, err = db.LocalOwner(t.Context(), workspaceID)
	r.must(err)
	r.scope = store.Scope{WorkspaceID: workspaceID}
	r.agent, err = db.Agent(t.Context(), workspaceID, parley.BuiltinAgentSlug)
	r.must(err)
	r.options = Options{Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	r.options.sleep = func(ctx context.Context, _ time.Duration) bool { return ctx.Err() == nil }
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// Committed passes commits on to the worker that runs now.
func (r *rig) Committed(commit store.Commit) {
	if w := r.running.Load(); w != nil {
		w.Committed(commit)
	}
}

// start makes a worker over a store (nil: the rig's own) and stops it at the end of the test.
func (r *rig) start(store Store) *Worker {
	r.Helper()
	if store == nil {
		store = r.store
	}
	models := r.models
	if models == nil {
		models = r.model
	}
	w := New(store, models, r.tools, r.hub, r.options)
	r.running.Store(w)
	r.must(w.Start(r.Context()))
	r.worker = w
	r.Cleanup(func() { r.stop(w) })
	return w
}

func (r *rig) stop(w *Worker) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.Stop(ctx); err != nil {
		r.Errorf("Stop: %v", err)
	}
}

// session creates a session with overrides.
func (r *rig) session(overrides parley.Settings, change func(*parley.Session)) parley.ID {
	r.Helper()
	session := parley.Session{
		ID: parley.NewID(), WorkspaceID: r.scope.WorkspaceID, AgentID: r.agent.ID, OwnerID: r.owner.ID,
		Visibility: parley.VisibilityPrivate, Kind: parley.KindAgent, Mode: parley.ModeForeground, Settings: overrides,
	}
	if change != nil {
		change(&session)
	}
	opened, err := r.store.EnsureSession(r.Context(), r.scope, store.NewSession{Session: session}, parley.ID{})
	r.must(err)
	return opened.Session.ID
}

// tooled returns overrides that name tools of the server.
func tooled(names ...string) parley.Settings {
	refs := []parley.ToolRef{}
	for _, name := range names {
		refs = append(refs, parley.ToolRef{Name: name})
	}
	return parley.Settings{Tools: &refs}
}

// neighbour returns the same rig in another workspace.
func (r *rig) neighbour(name string) *rig {
	r.Helper()
	other := &rig{
		TB:      r.TB,
		store:   r.store,
		hub:     r.hub,
		model:   r.model,
		tools:   r.tools,
		options: r.options,
		seen:    r.seen,
		worker:  r.worker,
	}
	workspaceID, err := r.store.Workspace(r.Context(), name)
	r.must(err)
	other.owner, err = r.store.LocalOwner(r.Context(), workspaceID)
	r.must(err)
	other.scope = store.Scope{WorkspaceID: workspaceID}
	other.agent, err = r.store.Agent(r.Context(), workspaceID, parley.BuiltinAgentSlug)
	r.must(err)
	return other
}

func (r *rig) said(text string, during parley.During) store.NewMessage {
	r.Helper()
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	r.must(err)
	return store.NewMessage{
		ID:      parley.NewID(),
		TurnID:  parley.NewID(),
		Role:    parley.RoleUser,
		Author:  r.owner.Author(),
		Content: content,
		During:  during,
	}
}

// post posts a user message the way the engine does.
func (r *rig) post(sessionID parley.ID, text string, during parley.During) store.Posted {
	r.Helper()
	posted, err := r.postNew(sessionID, r.said(text, during))
	r.must(err)
	return posted
}

// postElsewhere posts like a process without a free slot.
func (r *rig) postElsewhere(sessionID parley.ID, text string) store.Posted {
	r.Helper()
	posted, err := r.store.PostMessage(r.Context(), r.scope, sessionID, r.said(text, ""), parley.ID{})
	r.must(err)
	return posted
}

func (r *rig) postNew(sessionID parley.ID, message store.NewMessage) (store.Posted, error) {
	r.Helper()
	var process parley.ID
	slot, ok := r.worker.Offer(r.scope.WorkspaceID)
	if ok {
		process = slot.ProcessID()
	}
	posted, err := r.store.PostMessage(r.Context(), r.scope, sessionID, message, process)
	switch {
	case ok && err == nil && posted.Claim != nil:
		slot.Run(*posted.Claim)
	case ok:
		slot.Release()
	}
	return posted, err
}

// await returns the first matching event of a session.
func (r *rig) await(sessionID parley.ID, what string, fits func(parley.Event) bool) parley.Event {
	r.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	from := 0
	for {
		r.seen.mu.Lock()
		events, changed := r.seen.events[from:], r.seen.changed
		from = len(r.seen.events)
		r.seen.mu.Unlock()
		for _, event := range events {
			if event.SessionID == sessionID && fits(event) {
				return event
			}
		}
		select {
		case <-changed:
		case <-limit.C:
			r.Fatalf("waited in vain for %s; events so far: %s", what, r.told(sessionID))
		}
	}
}

// told lists the types of a session's events.
func (r *rig) told(sessionID parley.ID) string {
	r.seen.mu.Lock()
	defer r.seen.mu.Unlock()
	var types []string
	for _, event := range r.seen.events {
		if event.SessionID == sessionID {
			types = append(types, string(event.Type))
		}
	}
	return strings.Join(types, " ")
}

// ended waits for a turn's terminal event and returns the turn.
func (r *rig) ended(turnID parley.ID) parley.Turn {
	r.Helper()
	turn, err := r.store.Turn(r.Context(), r.scope, turnID)
	r.must(err)
	r.await(
		turn.SessionID,
		"the end of the turn",
		func(e parley.Event) bool { return e.TurnID == turnID && e.Type.EndsTurn() },
	)
	turn, err = r.store.Turn(r.Context(), r.scope, turnID)
	r.must(err)
	return turn
}

// happened waits for an event type.
func (r *rig) happened(sessionID parley.ID, kind parley.EventType) parley.Event {
	r.Helper()
	return r.await(sessionID, string(kind), func(e parley.Event) bool { return e.Type == kind })
}

// wait waits for a signal.
func (r *rig) wait(what string, signal <-chan struct{}) {
	r.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-signal:
	case <-limit.C:
		r.Fatalf("waited in vain for %s", what)
	}
}

// idleSlots waits until a worker's slots are all free.
func (r *rig) idleSlots(w *Worker) {
	r.Helper()
	for {
		w.mu.Lock()
		var running *run
		for _, one := range w.runs {
			running = one
		}
		w.mu.Unlock()
		if running == nil {
			return
		}
		r.wait("a run to end", running.done)
	}
}
