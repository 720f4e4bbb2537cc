package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
)

// TestChatSaysWhyAToolFailed, in the words that the model reads. A record shows results once, as text.
func TestChatSaysWhyAToolFailed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Reader", "--model", "sim/script", "--tool", "read_file")
	_, told, code := d.typed("", "chat", "--agent", "reader",
		`[[{"tool_call":{"name":"read_file","arguments":{"path":"plan.txt"}}}],[{"text":"Sorry."}]]`)
	if code != 0 || !strings.Contains(told, "[tool.completed read_file failed, ") ||
		!strings.Contains(told, "project") {
		t.Errorf("it exits with %d and says %s", code, told)
	}
	d.say("agents", "update", "reader", "--tool", "current_time")
	d.say("chat", "--session", "last", `[[{"tool_call":{"name":"current_time"}}],[{"text":"Late."}]]`)
	shown := d.say("sessions", "show", "last")
	if !strings.Contains(shown, "\n! ") || !strings.Contains(shown, `"timezone":`) ||
		strings.Contains(shown, "success") {
		t.Errorf("results are shown as %s", shown)
	}
}

// TestTheNullDeviceIsNotATerminal: nobody is asked there.
func TestTheNullDeviceIsNotATerminal(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }() // only read
	var out, told bytes.Buffer
	if code := run(
		t.Context(),
		[]string{"--data", d.dir, "chat"},
		terminal{in: null, out: &out, err: &told},
	); code != 0 ||
		told.Len() > 0 {
		t.Errorf("a chat on %s exits with %d and says %q", os.DevNull, code, told.String())
	}
}

// TestAPersonStaysInTheChat that refuses a line; a pipe does not go on.
func TestAPersonStaysInTheChat(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	session, err := d.client.CreateSession(t.Context(), client.SessionInput{})
	if err != nil {
		t.Fatal(err)
	}
	d.say("sessions", "archive", session.ID.String())
	for _, person := range []bool{true, false} {
		var told bytes.Buffer
		c := &chat{server: d.client, term: terminal{out: &told, err: &told}, session: session}
		if person {
			c.typed = make(chan string)
		}
		switch err := c.hear(t.Context(), "hello"); {
		case !person && parley.ErrorCode(err) != parley.CodeArchived:
			t.Errorf("a pipe goes on after %v", err)
		case person && (err != nil || !strings.Contains(told.String(), "! ")):
			t.Errorf("a person leaves with %v after %q", err, told.String())
		}
	}
}

// TestCommandsDuringATurn: help is shown, and a command without its text says so.
func TestCommandsDuringATurn(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"/help": "/export [FILE]", "/steer": "! /steer needs a text after it", "/cost": "! a turn is still running",
	} {
		var told bytes.Buffer
		c := &chat{term: terminal{out: &told, err: &told}}
		if c.interject(t.Context(), newTurnView(c), line); !strings.Contains(told.String(), want) {
			t.Errorf("%s says %q, want %q", line, told.String(), want)
		}
	}
}

// TestChatNamesTheModel that would answer: the agent's, before the session begins and after.
func TestChatNamesTheModel(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Thinker", "--model", "sim/reason")
	_, told, code := d.typed("/model\nhello\n/model\n", "chat", "--agent", "thinker")
	if code != 0 || strings.Count(told, "model: sim/reason (simulator)\n") != 2 {
		t.Errorf("it exits with %d and says %s", code, told)
	}
}

// TestChatShowsAToolsProgress on one line, with a total only if the tool says one.
func TestChatShowsAToolsProgress(t *testing.T) {
	t.Parallel()
	total := 4.0
	for want, told := range map[string]*event.ToolProgress{
		"[tool.progress draw, 1.5]\n":         {Name: "draw", Progress: 1.5},
		"[tool.progress draw, 1 of 4: a b]\n": {Name: "draw", Progress: 1, Total: &total, Message: "a\nb"},
	} {
		var shown bytes.Buffer
		view := newTurnView(&chat{term: terminal{out: &shown, err: &shown}})
		if view.print(t.Context(), client.Frame{Event: told}); shown.String() != want {
			t.Errorf("%q, want %q", shown.String(), want)
		}
	}
}
