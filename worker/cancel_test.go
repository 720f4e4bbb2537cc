package worker

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// cancel cancels a session's turn as the engine does, and expects its holder to settle it.
func (r *rig) cancel(sessionID, turnID parley.ID) parley.Turn {
	r.Helper()
	asked, err := r.store.RequestCancel(r.Context(), r.scope, sessionID, turnID, false)
	r.must(err)
	if !asked.Held {
		return asked.Turn
	}
	if letGo := r.worker.Cancel(turnID); letGo != nil {
		r.wait("the run to end", letGo)
	}
	turn, err := r.store.Turn(r.Context(), r.scope, turnID)
	r.must(err)
	if !turn.Status.Finished() {
		r.Errorf("the holder released a %s turn", turn.Status)
	}
	return turn
}

func TestCancel(t *testing.T) {
	ok, cancelled := parley.MessageCompleted, parley.MessageCancelled
	user := line{parley.RoleUser, ok, "Go"}
	for _, c := range []struct {
		name string
		play func(reached chan struct{}) []answerFunc
		want []line
	}{
		{"before the first chunk", func(reached chan struct{}) []answerFunc {
			return []answerFunc{hangs(reached)}
		}, []line{user, {parley.RoleAssistant, cancelled, ""}}},
		{"in the middle of the text", func(reached chan struct{}) []answerFunc {
			return []answerFunc{hangs(reached, text(0, "Half "), text(0, "an an"))}
		}, []line{user, {parley.RoleAssistant, cancelled, "Half an an"}}},
		{"in the middle of a call", func(reached chan struct{}) []answerFunc {
			return []answerFunc{hangs(reached, text(0, "I act."),
				model.Chunk{Kind: model.ChunkToolCall, Block: 1, Name: "act"},
				model.Chunk{Kind: model.ChunkArguments, Block: 1, Text: `{"a":`})}
		}, []line{user, {parley.RoleAssistant, cancelled, "I act."},
			{parley.RoleToolCall, cancelled, `act null{"a":`}}},
		{"while a tool runs", func(chan struct{}) []answerFunc {
			return []answerFunc{calls(parley.FinishToolCalls, "quick", `{}`, "act", `{}`, "act", `{}`)}
		}, []line{user, {parley.RoleAssistant, ok, ""}, {parley.RoleToolCall, ok, "quick {}"},
			{parley.RoleToolCall, ok, "act {}"},
			{parley.RoleToolCall, ok, "act {}"}, {parley.RoleToolResult, ok, "1"},
			{parley.RoleToolResult, ok, resultCancelled}, {parley.RoleToolResult, ok, resultNeverRun}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			reached := make(chan struct{})
			stubborn := make(chan struct{})
			r.tools = fakeTools{
				{
					"quick",
					readOnly(),
					func(context.Context, tool.Call) (json.RawMessage, error) { return json.RawMessage(`1`), nil },
				},
				{"act", parley.ToolAnnotations{}, func(context.Context, tool.Call) (json.RawMessage, error) {
					close(reached)
					<-stubborn // ignores its context
					return json.RawMessage(`2`), nil
				}},
			}
			r.start(nil)
			t.Cleanup(func() { close(stubborn) })
			r.model.play(c.play(reached)...)
			sessionID := r.session(tooled("quick", "act"), nil)
			turnID := r.post(sessionID, "Go", "").Turn.ID
			r.wait("the phase", reached)
			if turn := r.cancel(sessionID, turnID); turn.Status != parley.TurnCancelled {
				t.Errorf("the turn is %s", turn.Status)
			}
			if diff := cmp.Diff(c.want, r.record(sessionID)); diff != "" {
				t.Error(diff)
			}
			for _, call := range r.callLog(sessionID) {
				if call.Outcome == parley.CallOpen {
					t.Error("a call stays open")
				}
			}
			r.model.play(says("Fine."))
			if turn := r.ended(r.post(sessionID, "More", "").Turn.ID); turn.Status != parley.TurnCompleted {
				t.Errorf("the next turn is %s", turn.Status)
			}
		})
	}
}

func TestCancelDuringThePauseBetweenAttempts(t *testing.T) {
	r := newRig(t)
	paused := make(chan struct{})
	r.options.sleep = func(ctx context.Context, _ time.Duration) bool {
		close(paused)
		<-ctx.Done()
		return false
	}
	r.start(nil)
	r.model.play(fails(model.NewError(parley.ClassNetwork, true, "down", nil)), says("no"))
	sessionID := r.session(parley.Settings{}, nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the pause", paused)
	if turn := r.cancel(sessionID, turnID); turn.Status != parley.TurnCancelled {
		t.Errorf("the turn is %s", turn.Status)
	}
	if log := r.callLog(sessionID); len(log) != 1 || log[0].Outcome != parley.CallFailed {
		t.Errorf("calls %+v", log)
	}
	want := line{parley.RoleAssistant, parley.MessageCancelled, ""}
	if got := r.record(sessionID)[1]; got != want {
		t.Errorf("the answer is %+v", got)
	}
}

// TestCancelWhileTheStepBegins: the request is on its way and its step's transaction has not committed yet.
func TestCancelWhileTheStepBegins(t *testing.T) {
	r := newRig(t)
	store := &faults{Store: r.store}
	begins, goOn := make(chan struct{}), make(chan struct{})
	store.set(func(method string) error {
		if method == "BeginStep" {
			close(begins)
			<-goOn
		}
		return nil
	})
	r.start(store)
	reached := make(chan struct{})
	r.model.play(hangs(reached))
	sessionID := r.session(parley.Settings{}, nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("BeginStep", begins)
	r.wait("the request", reached) // in parallel
	letGo := r.worker.Cancel(turnID)
	close(goOn)
	r.wait("the run to end", letGo)
	if turn := r.ended(turnID); turn.Status != parley.TurnCancelled {
		t.Errorf("the turn is %s", turn.Status)
	}
}

// TestNothingIsShownBeforeTheStepHasBegun: chunks wait for the transaction.
func TestNothingIsShownBeforeTheStepHasBegun(t *testing.T) {
	r := newRig(t)
	store := &faults{Store: r.store}
	begins, goOn := make(chan struct{}), make(chan struct{})
	store.set(func(method string) error {
		if method == "BeginStep" {
			close(begins)
			<-goOn
		}
		return nil
	})
	r.start(store)
	taken := make(chan struct{})
	r.model.play(func(_ context.Context, yield func(model.Chunk, error) bool) {
		<-begins
		if yield(text(0, "Early"), nil) {
			close(taken)
			yield(done(parley.FinishStop), nil)
		}
	})
	turnID := r.post(r.session(parley.Settings{}, nil), "Go", "").Turn.ID
	r.wait("BeginStep", begins)
	select {
	case <-taken:
		t.Error("a chunk was taken before the step had begun")
	default:
	}
	close(goOn)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
		t.Errorf("the turn is %s", turn.Status)
	}
}

func TestMessagesDuringATurn(t *testing.T) {
	ok := parley.MessageCompleted
	for _, c := range []struct {
		during parley.During
		code   parley.Code
		answer string // of the running turn's model, once it is released
		want   []line
	}{
		{parley.DuringQueue, "", "One.", []line{{parley.RoleUser, ok, "First"}, {parley.RoleAssistant, ok, "One."},
			{parley.RoleUser, ok, "Second"}, {parley.RoleAssistant, ok, "Two."}}},
		{parley.DuringSteer, "", "One.", []line{{parley.RoleUser, ok, "First"}, {parley.RoleAssistant, ok, "One."},
			{parley.RoleUser, ok, "Second"}, {parley.RoleAssistant, ok, "Two."}}},
		{parley.DuringInterrupt, "", "",
			[]line{{parley.RoleUser, ok, "First"}, {parley.RoleAssistant, parley.MessageCancelled, "Beginning "},
				{parley.RoleUser, ok, "Second"}, {parley.RoleAssistant, ok, "Two."}}},
		{parley.DuringReject, parley.CodeBusy, "One.",
			[]line{{parley.RoleUser, ok, "First"}, {parley.RoleAssistant, ok, "One."}}},
	} {
		t.Run(string(c.during), func(t *testing.T) {
			r := newRig(t)
			r.start(nil)
			reached, goOn := make(chan struct{}), make(chan struct{})
			r.model.play(func(ctx context.Context, yield func(model.Chunk, error) bool) {
				first := text(0, "Beginning ")
				if c.answer != "" {
					first = text(0, "")
				}
				yield(first, nil)
				close(reached)
				select {
				case <-goOn:
					if yield(text(0, c.answer), nil) {
						yield(done(parley.FinishStop), nil)
					}
				case <-ctx.Done():
					yield(model.Chunk{}, context.Cause(ctx))
				}
			}, says("Two."))
			sessionID := r.session(parley.Settings{}, nil)
			first := r.post(sessionID, "First", "").Turn.ID
			r.wait("the first turn's stream", reached)
			content, err := parley.EncodeContent(parley.UserContent{Text: "Second"})
			r.must(err)
			posted, err := r.postNew(
				sessionID,
				store.NewMessage{ID: parley.NewID(), TurnID: parley.NewID(), Role: parley.RoleUser,
					Author: r.owner.Author(), Content: content, During: c.during},
			)
			if parley.ErrorCode(err) != c.code {
				t.Fatalf("the post gave %v", err)
			}
			if c.during != parley.DuringInterrupt {
				close(goOn)
			}
			r.ended(first)
			if err == nil && posted.Turn.ID != first {
				r.ended(posted.Turn.ID)
			}
			if diff := cmp.Diff(c.want, r.record(sessionID)); diff != "" {
				t.Error(diff)
			}
			turns, err := r.store.Turns(t.Context(), r.scope, sessionID, store.TurnQuery{Limit: 10, Ascending: true})
			r.must(err)
			wantTurns := 2
			if c.during == parley.DuringSteer || c.during == parley.DuringReject {
				wantTurns = 1
			}
			if len(turns) != wantTurns {
				t.Errorf("%d turns, want %d", len(turns), wantTurns)
			}
			if c.during == parley.DuringSteer {
				checkSteered(r, sessionID)
			}
		})
	}
}

// checkSteered expects the steer in the second call's request and manifest.
func checkSteered(r *rig, sessionID parley.ID) {
	r.Helper()
	asked := r.model.asked()
	last := asked[len(asked)-1].Messages
	if len(last) != 3 || last[2].Parts[0].Text != "Second" {
		r.Errorf("the second request is %+v", last)
	}
	log := r.callLog(sessionID)
	named := false
	for _, part := range log[len(log)-1].Manifest.Ranges {
		named = named || part.From <= 3 && part.To >= 3
	}
	if !named {
		r.Errorf("the manifest does not name the steer at 3: %+v", log[len(log)-1].Manifest)
	}
}

// TestSteerThatChangesWhileTheStepBegins: the request is built again.
func TestSteerThatChangesWhileTheStepBegins(t *testing.T) {
	r := newRig(t)
	store := &faults{Store: r.store}
	r.start(store)
	reached, goOn := make(chan struct{}), make(chan struct{})
	r.model.play(func(_ context.Context, yield func(model.Chunk, error) bool) {
		close(reached)
		<-goOn
		_ = yield(text(0, "One."), nil) && yield(done(parley.FinishStop), nil)
	}, func(ctx context.Context, yield func(model.Chunk, error) bool) { // sent with the old text and cancelled
		<-ctx.Done()
		yield(model.Chunk{}, context.Cause(ctx))
	}, says("Two."))
	sessionID := r.session(parley.Settings{}, nil)
	turnID := r.post(sessionID, "First", "").Turn.ID
	r.wait("the stream", reached)
	r.happened(sessionID, parley.EventStepStarted) // the first BeginStep has committed
	steer := r.post(sessionID, "Old", parley.DuringSteer)
	var once sync.Once
	store.set(func(method string) error {
		if method == "BeginStep" {
			once.Do(func() {
				content, err := parley.EncodeContent(parley.UserContent{Text: "New"})
				if err == nil {
					_, err = r.store.EditQueued(t.Context(), r.scope, r.owner.ID, steer.Message.ID, content)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		return nil
	})
	close(goOn)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
		t.Errorf("the turn is %s", turn.Status)
	}
	ok := parley.MessageCompleted
	want := []line{
		{parley.RoleUser, ok, "First"},
		{parley.RoleAssistant, ok, "One."},
		{parley.RoleUser, ok, "New"},
		{parley.RoleAssistant, ok, "Two."},
	}
	if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
		t.Error(diff)
	}
}

// TestCancelThatOvertakesTheStart: the hint comes between claim and run.
func TestCancelThatOvertakesTheStart(t *testing.T) {
	r := newRig(t)
	r.options.Slots = 4 * store.MaxClaims // the claimer, while it looks for others, leaves some free
	w := r.start(nil)
	sessionID := r.session(parley.Settings{}, nil)
	content, err := parley.EncodeContent(parley.UserContent{Text: "Go"})
	r.must(err)
	slot, ok := w.Offer(r.scope.WorkspaceID)
	if !ok {
		t.Fatal("no slot")
	}
	posted, err := r.store.PostMessage(t.Context(), r.scope, sessionID, store.NewMessage{
		ID: parley.NewID(), TurnID: parley.NewID(), Role: parley.RoleUser, Author: r.owner.Author(), Content: content,
	}, slot.ProcessID())
	r.must(err)
	asked, err := r.store.RequestCancel(t.Context(), r.scope, sessionID, posted.Turn.ID, false)
	if err != nil || !asked.Held {
		t.Fatalf("%+v, %v", asked, err)
	}
	w.Committed(store.Commit{Cancel: posted.Turn.ID}) // hints arrive in order, so the cancel has arrived too
	slot.Run(*posted.Claim)
	if turn := r.ended(posted.Turn.ID); turn.Status != parley.TurnCancelled || r.model.sent() != 0 {
		t.Errorf("the turn is %s after %d requests", turn.Status, r.model.sent())
	}
}

// TestSteerTakenBack: a steer keeps the turn from ending and is removed before the next step reads it.
func TestSteerTakenBack(t *testing.T) {
	r := newRig(t)
	store := &faults{Store: r.store}
	r.start(store)
	reached, goOn := make(chan struct{}), make(chan struct{})
	r.model.play(func(_ context.Context, yield func(model.Chunk, error) bool) {
		close(reached)
		<-goOn
		_ = yield(text(0, "One."), nil) && yield(done(parley.FinishStop), nil)
	})
	sessionID := r.session(parley.Settings{}, nil)
	turnID := r.post(sessionID, "First", "").Turn.ID
	r.wait("the stream", reached)
	steer := r.post(sessionID, "Never mind", parley.DuringSteer)
	store.set(func(method string) error {
		if method == "PendingSteers" {
			if _, err := r.store.RemoveQueued(t.Context(), r.scope, steer.Message.ID); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	close(goOn)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || turn.Step != 1 || r.model.sent() != 1 {
		t.Errorf("turn %+v after %d requests", turn, r.model.sent())
	}
}

// TestCancelOfAParkedTurn: no worker holds it, and its open call is settled too.
func TestCancelOfAParkedTurn(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "ask", `{}`), says("Fine."))
	sessionID := r.session(clientTool("ask"), nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.happened(sessionID, parley.EventSessionWaiting)
	r.idleSlots(r.worker)
	if turn := r.cancel(sessionID, turnID); turn.Status != parley.TurnCancelled {
		t.Errorf("the turn is %s", turn.Status)
	}
	record := r.record(sessionID)
	if last := record[len(record)-1]; last.Role != parley.RoleToolResult {
		t.Errorf("the open call has no result: %+v", record)
	}
	if turn := r.ended(r.post(sessionID, "More", "").Turn.ID); turn.Status != parley.TurnCompleted {
		t.Errorf("the next turn is %s", turn.Status)
	}
}
