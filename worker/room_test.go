package worker

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/inflight"
	"example.org/parley/model"
	"example.org/parley/runner"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// TestLongPromptsWaitForRoom: a turn with a long conversation asks its model once there is room for the prompt; a
// preview of it is refused meanwhile, a short turn needs no room, and a prompt gives its room back.
func TestLongPromptsWaitForRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.start(nil)
	w.prompts = inflight.NewBytes(promptsBytes, 0)
	workspace := r.scope.WorkspaceID
	owner := inflight.Owner{WorkspaceID: workspace}
	if !w.prompts.Take(owner, promptsPerWorkspace) {
		t.Fatal("there is no room from the start")
	}
	r.model.play(says("Short."), says("Long."))
	long := r.session(parley.Settings{}, nil)
	waits := r.post(long, strings.Repeat("word ", 2*freePromptBytes), "").Turn.ID
	short := r.ended(r.post(r.session(parley.Settings{}, nil), "Hello", "").Turn.ID)
	if short.Status != parley.TurnCompleted {
		t.Errorf("the short turn is %s, %+v", short.Status, short.Error)
	}
	if asked := r.model.asked(); len(asked) != 1 {
		t.Errorf("the model was asked %d times; want once, for the short turn", len(asked))
	}
	session, err := r.store.Session(t.Context(), r.scope, long)
	r.must(err)
	agent, err := r.store.Agent(t.Context(), workspace, session.AgentID.String())
	r.must(err)
	_, err = w.Preview(t.Context(), runner.DryTurn{Session: session, Agent: agent})
	if parley.ErrorCode(err) != parley.CodeRateLimited {
		t.Errorf("a preview without room: %v; want %s", err, parley.CodeRateLimited)
	}
	w.prompts.Give(owner, promptsPerWorkspace)
	if turn := r.ended(waits); turn.Status != parley.TurnCompleted {
		t.Errorf("the long turn is %s, %+v", turn.Status, turn.Error)
	}
	r.idleSlots(w)
	if !w.prompts.Take(owner, promptsPerWorkspace) {
		t.Error("something is still held")
	}
}

// TestAPromptForWhichThereIsNoRoomEver: it fails its turn, and says what to do.
func TestAPromptForWhichThereIsNoRoomEver(t *testing.T) {
	t.Parallel()
	reading := claimed{w: &Worker{prompts: newPrompts()}}
	err := reading.reserve(promptsPerWorkspace*int(inflight.Scale()) + freePromptBytes + 1)
	if _, failure, err := noQuestion(err); err != nil || failure == nil ||
		failure.Class != parley.ClassContextLength {
		t.Errorf("%+v, %v; want a failure of class %s", failure, err, parley.ClassContextLength)
	}
}

// TestRowsAndProviderDataCount: an answer counts with more than its text.
func TestRowsAndProviderDataCount(t *testing.T) {
	t.Parallel()
	data := make([]byte, freeAnswerBytes+1)
	for name, fill := range map[string]func(a *answer) error{
		"provider data": func(a *answer) error {
			return a.take(&model.Chunk{Kind: model.ChunkProviderData, Data: data})
		},
		"rows": func(a *answer) error {
			for range 1 + freeAnswerBytes/rowBytes {
				a.rows = append(a.rows, &row{})
			}
			a.blocks = a.rows[:1]
			return a.take(&model.Chunk{Kind: model.ChunkReasoning})
		},
	} {
		w := &Worker{answers: inflight.NewBytes(0, 0)}
		if err := fill(newAnswer(&claimed{w: w}, 1)); err == nil || err.Error() != errCrowded.Error() {
			t.Errorf("%s beyond the free part: %v; want %v", name, err, errCrowded)
		}
	}
}

// tails records the longest page of a record that a worker has read.
type tails struct {
	Store
	longest atomic.Int64
}

func (s *tails) ContextTail(
	ctx context.Context,
	workspaceID, sessionID parley.ID,
	before int64,
	limit, most int,
) (rows []parley.Message, more bool, err error) {
	rows, more, err = s.Store.ContextTail(ctx, workspaceID, sessionID, before, limit, most)
	size := 0
	for i := range rows {
		size += rows[i].Size()
	}
	if s.longest.Load() < int64(size) {
		s.longest.Store(int64(size))
	}
	return rows, more, err
}

// TestALongRowCountsBeforeItIsRead: without room for a long answer, neither a turn nor a preview reads it; with room
// they do.
func TestALongRowCountsBeforeItIsRead(t *testing.T) {
	t.Parallel()
	const long = 3 << 20
	r := newRig(t)
	read := &tails{Store: r.store}
	w := r.start(read)
	w.prompts = inflight.NewBytes(promptsBytes, 0)
	owner := inflight.Owner{WorkspaceID: r.scope.WorkspaceID}
	r.model.play(says(strings.Repeat("word ", long/5)), says("Fine."))
	session := r.session(
		parley.Settings{},
		func(s *parley.Session) { s.Policy = &parley.Policy{Kind: parley.PolicyAll} },
	)
	r.ended(r.post(session, "Tell all", "").Turn.ID)
	r.idleSlots(w)
	if !w.prompts.Take(owner, promptsPerWorkspace-long/2) {
		t.Fatal("there is no room from the start")
	}
	waits := r.post(session, "And now", "").Turn.ID
	state, err := r.store.Session(t.Context(), r.scope, session)
	r.must(err)
	agent, err := r.store.Agent(t.Context(), r.scope.WorkspaceID, state.AgentID.String())
	r.must(err)
	_, err = w.Preview(t.Context(), runner.DryTurn{Session: state, Agent: agent})
	if parley.ErrorCode(err) != parley.CodeRateLimited {
		t.Errorf("a look without room: %v; want %s", err, parley.CodeRateLimited)
	}
	if size := read.longest.Load(); size >= long {
		t.Errorf("a page of %d bytes was read without room for it", size)
	}
	w.prompts.Give(owner, promptsPerWorkspace-long/2)
	if turn := r.ended(waits); turn.Status != parley.TurnCompleted {
		t.Errorf("the turn is %s, %+v", turn.Status, turn.Error)
	}
	if size := read.longest.Load(); size < long {
		t.Errorf("the longest page has %d bytes; the answer has more", size)
	}
	r.idleSlots(w)
	if !w.prompts.Take(owner, promptsPerWorkspace) {
		t.Error("something is still held")
	}
}

// TestAnswersOfToolsShareTheProcess: a tool's answer counts until its result is in the record; if there is no room for
// it, the model reads an error instead.
func TestAnswersOfToolsShareTheProcess(t *testing.T) {
	t.Parallel()
	const room = 1 << 20 // of the workspace
	r := newRig(t)
	answers := func(bytes int64) func(context.Context, tool.Call) (json.RawMessage, error) {
		return func(_ context.Context, call tool.Call) (json.RawMessage, error) {
			return json.RawMessage(`"all of it"`), call.Holds(bytes)
		}
	}
	r.tools = fakeTools{
		{"much", readOnly(), answers(freeResultBytes + room + 1)},
		{"some", readOnly(), answers(freeResultBytes + room)},
	}
	w := r.start(nil)
	w.results = inflight.NewBytes(2*room, 0)
	session := r.session(tooled("much", "some"), nil)
	r.model.play(
		calls(parley.FinishToolCalls, "much", `{}`),
		calls(parley.FinishToolCalls, "some", `{}`),
		says("Fine."),
	)
	if turn := r.ended(r.post(session, "Look", "").Turn.ID); turn.Status != parley.TurnCompleted {
		t.Fatalf("the turn is %s, %+v", turn.Status, turn.Error)
	}
	messages, err := r.store.Messages(t.Context(), r.scope, session, store.MessageQuery{
		Roles: []parley.Role{parley.RoleToolResult}, Limit: parley.MaxPage,
	})
	r.must(err)
	var errs []string
	for i := range messages {
		var content parley.ToolResultContent
		r.must(json.Unmarshal(messages[i].Content, &content))
		errs = append(errs, parley.ValueOf(content.Error))
	}
	if want := []string{errResultHolds.Message, ""}; !slices.Equal(errs, want) {
		t.Errorf("the results say %q; want %q", errs, want)
	}
	r.idleSlots(w)
	if !w.results.Take(inflight.Owner{WorkspaceID: r.scope.WorkspaceID}, room) {
		t.Error("something is still held")
	}
}
