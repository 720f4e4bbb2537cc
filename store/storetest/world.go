package storetest

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

const (
	longLease = time.Hour        // outlives every test
	patience  = 20 * time.Second // limit of every wait
	modelID   = parley.ModelID("sim/echo")
)

// reporter is what *testing.T and *rapid.T have in common.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// world is a store with one workspace, its owner, an agent and a process with a lease.
type world struct {
	ctx     context.Context
	store   store.Store
	scope   store.Scope // sees the whole workspace
	owner   parley.Principal
	agent   parley.Agent
	process parley.ID
}

func newWorld(t *testing.T, open Open) *world {
	t.Helper()
	w := &world{ctx: t.Context(), store: open(t)}
	w.enter(t, "default")
	w.process = w.register(t)
	return w
}

// neighbour returns another workspace of the same store.
func (w *world) neighbour(t reporter, name string) *world {
	t.Helper()
	other := &world{ctx: w.ctx, store: w.store, process: w.process}
	other.enter(t, name)
	return other
}

func (w *world) enter(t reporter, workspace string) {
	t.Helper()
	id, err := w.store.Workspace(w.ctx, workspace)
	must(t, "Workspace", err)
	w.scope = store.Scope{WorkspaceID: id}
	w.owner, err = w.store.LocalOwner(w.ctx, id)
	must(t, "LocalOwner", err)
	w.agent, err = w.store.Agent(w.ctx, id, parley.BuiltinAgentSlug)
	must(t, "Agent", err)
}

func (w *world) register(t reporter) parley.ID {
	t.Helper()
	id := parley.NewID()
	must(t, "RegisterProcess", w.store.RegisterProcess(w.ctx, store.Process{ID: id, Name: "test"}, longLease))
	return id
}

func must(t reporter, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// refused requires an error with a code.
func refused(t reporter, what string, err error, want parley.Code) {
	t.Helper()
	if got := parley.ErrorCode(err); got != want {
		t.Fatalf("%s: %v (code %q); want a refusal with code %q", what, err, got, want)
	}
}

// newSession returns a session with nothing special.
func (w *world) newSession() parley.Session {
	return parley.Session{
		ID:          parley.NewID(),
		LogID:       parley.NewID(),
		WorkspaceID: w.scope.WorkspaceID,
		AgentID:     w.agent.ID,
		OwnerID:     w.owner.ID,
		Visibility:  parley.VisibilityPrivate,
		Kind:        parley.KindAgent,
		Mode:        parley.ModeForeground,
		Tags:        []string{},
		Metadata:    json.RawMessage(`{}`),
	}
}

// session creates a session, changed as the test wants it.
func (w *world) session(t reporter, changes ...func(*parley.Session)) parley.ID {
	t.Helper()
	session := w.newSession()
	for _, change := range changes {
		change(&session)
	}
	opened, err := w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: session}, parley.ID{})
	must(t, "EnsureSession", err)
	if !opened.Created || opened.Session.ID != session.ID {
		t.Fatalf("EnsureSession found a session instead of creating one: %+v", opened)
	}
	return session.ID
}

// say returns a user message that starts a turn.
func (w *world) say(text string, changes ...func(*store.NewMessage)) store.NewMessage {
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	if err != nil {
		panic(err) // text of the tests
	}
	message := store.NewMessage{
		ID: parley.NewID(), TurnID: parley.NewID(), Role: parley.RoleUser, Author: w.owner.Author(),
		Content: content, Metadata: json.RawMessage(`{}`),
	}
	for _, change := range changes {
		change(&message)
	}
	return message
}

func during(policy parley.During) func(*store.NewMessage) {
	return func(m *store.NewMessage) { m.During = policy }
}

// alone makes a message start no turn.
func alone(m *store.NewMessage) { m.TurnID = parley.ID{} }

func keyed(key, body string) func(*store.NewMessage) {
	return func(m *store.NewMessage) {
		m.Idempotency = store.Idempotency{Key: key, Fingerprint: parley.HashOf([]byte(body))}
	}
}

func (w *world) post(t reporter, session parley.ID, message store.NewMessage) store.Posted {
	t.Helper()
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, message, parley.ID{})
	must(t, "PostMessage", err)
	return posted
}

// claim claims the one ready session.
func (w *world) claim(t reporter) store.Claim {
	t.Helper()
	return w.claimAs(t, w.process)
}

func (w *world) claimAs(t reporter, process parley.ID) store.Claim {
	t.Helper()
	claims, err := w.store.Claim(w.ctx, process, 1, roomy())
	must(t, "Claim", err)
	if len(claims) != 1 {
		t.Fatalf("Claim took %d sessions; want one", len(claims))
	}
	return claims[0]
}

// roomy returns an occupancy that admits everybody.
func roomy() store.Occupancy { return store.Occupancy{Slots: 1 << 20} }

func (w *world) claimsNothing(t reporter) {
	t.Helper()
	claims, err := w.store.Claim(w.ctx, w.process, 10, roomy())
	must(t, "Claim", err)
	if len(claims) != 0 {
		t.Fatalf("Claim took %d sessions; want none: %+v", len(claims), claims)
	}
}

// started returns the claim of a session's first turn, run by this process.
func (w *world) started(t reporter, text string) store.Claim {
	t.Helper()
	posted, err := w.store.PostMessage(w.ctx, w.scope, w.session(t), w.say(text), w.process)
	must(t, "PostMessage", err)
	if posted.Claim == nil {
		t.Fatalf("a post to an idle session by a process with a free slot was not claimed")
	}
	return *posted.Claim
}

func (w *world) author() parley.Author {
	return parley.Author{Kind: parley.AuthorAgent, ID: w.agent.ID, Name: w.agent.Name}
}

// stepBegin describes a call of a step that includes the given steers.
func (w *world) stepBegin(step, attempt int, steers ...parley.Message) store.StepBegin {
	system, tools, middleware := "You are "+w.agent.Name+".", []byte(`[]`), []byte(`{"redact":[]}`)
	begin := store.StepBegin{
		Call: parley.Call{
			ID:             parley.NewID(),
			MessageID:      parley.NewID(),
			Step:           step,
			Attempt:        attempt,
			Provider:       modelID.Provider(),
			Model:          modelID,
			SystemHash:     parley.HashOf([]byte(system)),
			ToolsHash:      parley.HashOf(tools),
			MiddlewareHash: parley.HashOf(middleware),
			Manifest: parley.Manifest{
				Policy:     "all",
				Ranges:     []parley.ManifestRange{{From: 1, To: 1, Reason: "policy"}},
				Middleware: []string{"redact@1"},
				CacheKey:   "k",
			},
			RequestHash:    parley.HashOf([]byte("request")),
			EncoderVersion: 1,
		},
		System: system, Tools: tools, Middleware: middleware, Author: w.author(),
	}
	for _, steer := range steers {
		begin.Steers = append(begin.Steers, store.Steered{MessageID: steer.ID, Revision: steer.Revision})
	}
	return begin
}

func (w *world) begin(t reporter, fence store.Fence, step int, steers ...parley.Message) store.StepBegin {
	t.Helper()
	begin := w.stepBegin(step, 1, steers...)
	begun, err := w.store.BeginStep(w.ctx, fence, begin)
	must(t, "BeginStep", err)
	if begun.Message.ID != begin.Call.MessageID || begun.Message.Status != parley.MessageStreaming ||
		begun.Message.Sequence == 0 {
		t.Fatalf(
			"BeginStep opened %+v; want the streaming message %s with a sequence",
			begun.Message,
			begin.Call.MessageID,
		)
	}
	return begin
}

func tokens(n int64) *int64 { return &n }

// callEnd returns a settled call with usage 10 in, 4 out, 3 cached, 2 written to the cache, at 7 nanodollars, of which
// the cache cost 5.
func callEnd(id parley.ID, outcome parley.CallOutcome) store.CallSettled {
	cost, saved := parley.Money(7), parley.Money(-5)
	return store.CallSettled{
		CallID:       id,
		Outcome:      outcome,
		Cost:         &cost,
		Saved:        &saved,
		Finish:       parley.FinishStop,
		FirstTokenMS: tokens(1),
		TotalMS:      tokens(2),
		Usage: parley.Usage{
			InputTokens:      tokens(10),
			OutputTokens:     tokens(4),
			CachedTokens:     tokens(3),
			CacheWriteTokens: tokens(2),
		},
	}
}

func said(message parley.ID, text string) store.BlockSettled {
	content, err := parley.EncodeContent(parley.AssistantContent{Text: text})
	if err != nil {
		panic(err) // text of the tests
	}
	return store.BlockSettled{
		MessageID:     message,
		Status:        parley.MessageCompleted,
		Content:       content,
		TokenEstimate: len(text) / 4,
		Chunks:        2,
	}
}

// settlement ends a step with some text; change it for other endings.
func settlement(begin store.StepBegin, text string) store.StepSettle {
	settle := store.StepSettle{
		Step:   begin.Call.Step,
		Call:   callEnd(begin.Call.ID, parley.CallCompleted),
		Blocks: []store.BlockSettled{said(begin.Call.MessageID, text)},
	}
	settle.Blocks[0].Usage = &settle.Call.Usage
	return settle
}

func (w *world) settle(t reporter, fence store.Fence, settle store.StepSettle) store.StepSettled {
	t.Helper()
	settled, err := w.store.SettleStep(w.ctx, fence, settle)
	must(t, "SettleStep", err)
	return settled
}

func completed() *store.TurnEnd { return &store.TurnEnd{Status: parley.TurnCompleted} }

func failed(class parley.ErrorClass) *store.TurnEnd {
	return &store.TurnEnd{
		Status:  parley.TurnFailed,
		Failure: &parley.Failure{Class: class, Sentence: class.Sentence(), Attempts: 1},
	}
}

// answer runs the rest of a claimed turn: one step and its end.
func (w *world) answer(t reporter, claim store.Claim, text string) {
	t.Helper()
	begin := w.begin(t, claim.Fence, claim.Turn.Step+1)
	settle := settlement(begin, text)
	settle.End = completed()
	if settled := w.settle(t, claim.Fence, settle); settled.More || settled.Turn.Status != parley.TurnCompleted {
		t.Fatalf("the turn did not end: %+v", settled)
	}
}

// exchange runs a whole turn in a session.
func (w *world) exchange(t reporter, session parley.ID, question, reply string) store.Posted {
	t.Helper()
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, w.say(question), w.process)
	must(t, "PostMessage", err)
	if posted.Claim == nil {
		t.Fatalf("a post to an idle session was not claimed")
	}
	w.answer(t, *posted.Claim, reply)
	return posted
}

// callTools runs a step that calls tools named tool1, tool2 …, and returns the calls' ids.
func (w *world) callTools(t reporter, fence store.Fence, step, n int) []string {
	t.Helper()
	return w.callAsking(t, fence, step, n, nil)
}

// callAsking settles a step with n calls, some of which need approval.
func (w *world) callAsking(t reporter, fence store.Fence, step, n int, asks map[int]store.Ask) []string {
	t.Helper()
	begin := w.begin(t, fence, step)
	settle := settlement(begin, "")
	settle.Call.Finish = parley.FinishToolCalls
	var ids []string
	for i := range n {
		id, name, message := "call_"+parley.NewID().String(), "tool"+strconv.Itoa(i+1), parley.NewID()
		opened, err := w.store.OpenBlock(w.ctx, fence, store.BlockOpen{
			MessageID:  message,
			Step:       step,
			Role:       parley.RoleToolCall,
			Author:     w.author(),
			Model:      modelID,
			ToolCallID: id,
			ToolName:   name,
		})
		must(t, "OpenBlock", err)
		if opened.Status != parley.MessageStreaming || opened.Sequence == 0 {
			t.Fatalf("OpenBlock opened %+v; want a streaming message with a sequence", opened)
		}
		content, err := parley.EncodeContent(
			parley.ToolCallContent{ID: id, Name: name, Arguments: json.RawMessage(`{"n":` + strconv.Itoa(i) + `}`)},
		)
		must(t, "EncodeContent", err)
		settle.Blocks = append(
			settle.Blocks,
			store.BlockSettled{MessageID: message, Status: parley.MessageCompleted, Content: content, ToolName: name},
		)
		ids = append(ids, id)
		if ask, asked := asks[i]; asked {
			ask.ToolCallID = id
			settle.Asked = append(settle.Asked, ask)
		} else {
			settle.ToolsStarted = append(settle.ToolsStarted, id)
		}
	}
	w.settle(t, fence, settle)
	return ids
}

func toolResult(text string) json.RawMessage {
	content, err := parley.EncodeContent(
		parley.ToolResultContent{Result: parley.AppendJSONString(nil, text), Success: true},
	)
	if err != nil {
		panic(err) // text of the tests
	}
	return content
}

func (w *world) toolSettle(step int, call string) store.ToolSettle {
	return store.ToolSettle{
		MessageID:  parley.NewID(),
		Step:       step,
		ToolCallID: call,
		ToolName:   "tool1",
		Content:    toolResult("done"),
		Author:     w.author(),
	}
}

// result returns a client's answer to a call.
func (w *world) result(call string) store.NewMessage {
	return w.say("", func(m *store.NewMessage) {
		m.Role, m.TurnID, m.ToolCallID, m.Content = parley.RoleToolResult, parley.ID{}, call, toolResult("from outside")
	})
}

// flush appends one version to a streaming message.
func (w *world) flush(t reporter, fence store.Fence, message parley.ID, n, offset int, text string) {
	t.Helper()
	appended, err := w.store.AppendVersions(w.ctx, []store.FencedVersion{{Fence: fence, Version: parley.Version{
		MessageID: message,
		N:         n,
		Kind:      parley.KindText,
		Offset:    offset,
		End:       offset + len(text),
		Chunks:    n,
		Text:      text,
		CreatedAt: parley.Now(),
	}}})
	must(t, "AppendVersions", err)
	if skipped(appended) != 0 {
		t.Fatalf("AppendVersions under a valid claim: %+v", appended)
	}
}

// skipped counts the claims of a flush whose versions were not written.
func skipped(appended store.Appended) int { return len(appended.Fenced) + len(appended.Locked) }

// expire ends a process's lease and lets a sweep take over its claims.
func (w *world) expire(t reporter, process parley.ID) {
	t.Helper()
	_, err := w.store.RenewLease(w.ctx, process, time.Millisecond)
	must(t, "RenewLease", err)
	for deadline := time.Now().Add(patience); ; {
		touched, err := w.store.Sweep(w.ctx)
		must(t, "Sweep", err)
		if touched > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("Sweep took nothing over from a process whose lease has expired")
		}
	}
}

func (w *world) turn(t reporter, id parley.ID) parley.Turn {
	t.Helper()
	turn, err := w.store.Turn(w.ctx, w.scope, id)
	must(t, "Turn", err)
	return turn
}

func (w *world) message(t reporter, id parley.ID) parley.Message {
	t.Helper()
	message, err := w.store.Message(w.ctx, w.scope, id)
	must(t, "Message", err)
	return message
}

func (w *world) sessionState(t reporter, id parley.ID) parley.Session {
	t.Helper()
	session, err := w.store.Session(w.ctx, w.scope, id)
	must(t, "Session", err)
	return session
}
