package conversation_test

import (
	"errors"
	"testing"

	"example.org/parley"
	"example.org/parley/conversation"
	"example.org/parley/engine"
	"example.org/parley/live"
)

// TestControl: the library can control running and waiting work as the server's API can.
func TestControl(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	chat := open(t, home, with("sim/lorem-100000-20"))
	running, err := chat.Say(t.Context(), "Go")
	if err != nil {
		t.Fatal(err)
	}
	for frame, err := range running.Frames(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if frame.Kind == live.DeltaFrame {
			break
		}
	}
	var ids []parley.ID
	for _, text := range []string{"a", "b", "c"} {
		queued, err := chat.Say(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, queued.Message.ID)
	}
	_, edited := chat.Edit(t.Context(), ids[0], "A")
	_, moved := chat.Move(t.Context(), ids[2], ids[0])
	sent, err := chat.Send(t.Context(), ids[2], parley.DuringSteer)
	if err := errors.Join(err, edited, moved, chat.Remove(t.Context(), ids[1])); err != nil {
		t.Fatal(err)
	}
	queue, err := chat.Queue(t.Context())
	if err != nil || len(queue) != 2 || queue[0].ID != ids[2] || !queue[0].Steer ||
		string(queue[1].Content) != `{"parts":[{"text":"A","type":"text"}]}` ||
		!sent.Steer {
		t.Fatalf("the queue is %+v, %v", queue, err)
	}
	if _, err := chat.Retry(t.Context(), running.ID); parley.ErrorCode(err) != parley.CodeConflict {
		t.Errorf("retrying a running turn: %v", err)
	}
	if _, err := home.Engine.Cancel(t.Context(), home.Owner, chat.ID, engine.CancelInput{Queued: true}); err != nil {
		t.Fatal(err)
	}
	again, err := chat.Retry(t.Context(), running.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chat.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ended *conversation.TurnError
	if _, err := again.All(
		t.Context(),
	); !errors.As(err, &ended) || ended.Turn.ID != again.ID ||
		ended.Turn.ContinuesID != running.ID {
		t.Errorf("the retry that was cancelled ends with %v", err)
	}
	if _, err := chat.Continue(t.Context(), again.ID); parley.ErrorCode(err) != parley.CodeConflict {
		t.Errorf("continuing a turn that did not stop at a limit: %v", err)
	}
	loop, err := open(
		t,
		home,
		with("sim/echo"),
	).Loop(t.Context(), engine.LoopInput{Prompt: "Once.", Until: &engine.LoopUntilInput{TextMatches: "Once"}})
	if err != nil || loop.State != parley.LoopRunning || loop.Iteration != 1 {
		t.Errorf("the loop starts as %+v, %v", loop, err)
	}
}
