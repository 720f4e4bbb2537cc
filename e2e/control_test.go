package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

// TestControlByCommands: with the command line alone one can read, edit, move, send and
// remove queued messages, and stop, retry and continue turns.
func TestControlByCommands(t *testing.T) { onEach(t, controlByCommands) }

func controlByCommands(t *testing.T, at place) {
	s := startAt(t, at)
	defer s.terminate()
	must := func(args ...string) string {
		t.Helper()
		out, errOut, err := at.parley(t, args...)
		if err != nil {
			t.Fatalf("parley %s: %v\n%s", strings.Join(args, " "), err, errOut)
		}
		return out
	}
	server := s.connect()
	ctx := t.Context()
	session, err := server.CreateSession(ctx, client.SessionInput{Settings: parley.Settings{Model: "sim/echo"}})
	if err != nil {
		t.Fatal(err)
	}
	slow := client.UserMessage("Go")
	slow.Model = "sim/lorem-100000-20"
	posted, err := server.Post(ctx, session.ID, slow)
	if err != nil {
		t.Fatal(err)
	}
	for frame, err := range server.WatchSession(ctx, session.ID,
		client.WatchSessionQuery{After: posted.EventSequence}) {
		if err != nil {
			t.Fatal(err)
		}
		if frame.Type == parley.EventStepGenerating {
			break
		}
	}
	id := session.ID.String()
	var ids []string
	for _, text := range []string{"first", "second", "third", "fourth"} {
		queued, err := server.Post(ctx, session.ID, client.UserMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, queued.Message.ID.String())
	}
	must("queue", "edit", ids[0], "edited")
	must("queue", "move", ids[3], "--before", ids[0])
	must("queue", "remove", ids[1])
	must("queue", "send", ids[2])
	var page client.Page[parley.Message]
	if err := json.Unmarshal([]byte(must("queue", "list", id, "--json")), &page); err != nil {
		t.Fatal(err)
	}
	queue := page.Data
	if len(queue) != 3 || queue[0].ID.String() != ids[3] || !strings.Contains(string(queue[1].Content), "edited") ||
		!queue[2].Steer {
		t.Errorf("%d are queued, the first is %s and the second says %s", len(queue), queue[0].ID, queue[1].Content)
	}
	if out := must("queue", "list", id); !strings.Contains(out, "edited") || !strings.Contains(out, "steer") {
		t.Errorf("the queue is shown as\n%s", out)
	}
	if _, errOut, err := at.parley(
		t,
		"chat",
		"--session",
		id,
		"--during",
		"reject",
		"now",
	); exitCode(err) != 1 ||
		!strings.Contains(errOut, "unfinished") {
		t.Errorf("a message with during reject: %v %q", err, errOut)
	}
	must("turns", "cancel", id, "--queued")
	turn := posted.Message.TurnID.String()
	if out := must("turns", "list", id); !strings.Contains(out, turn) || !strings.Contains(out, "cancelled") {
		t.Errorf("the turns are shown as\n%s", out)
	}
	broken := client.UserMessage("Hello")
	broken.Model = "sim/fail-auth-9"
	posted, err = server.Post(ctx, session.ID, broken)
	if err != nil {
		t.Fatal(err)
	}
	for frame, err := range server.WatchSession(ctx, session.ID,
		client.WatchSessionQuery{After: posted.EventSequence}) {
		if err != nil {
			t.Fatal(err)
		}
		if frame.Type == parley.EventSessionFailed {
			break
		}
	}
	turn = posted.Message.TurnID.String()
	if _, errOut, err := at.parley(
		t,
		"turns",
		"continue",
		turn,
	); exitCode(err) != 1 ||
		!strings.Contains(errOut, "did not stop at a limit") {
		t.Errorf("continuing a turn that did not stop at a limit: %v %q", err, errOut)
	}
	out, errOut, err := at.parley(t, "turns", "retry", turn, "--json")
	if exitCode(err) != 1 || !strings.Contains(out, `"session.started"`) || !strings.Contains(out, `"session.failed"`) {
		t.Errorf("the retry: %v %q\n%s", err, errOut, out)
	}
}
