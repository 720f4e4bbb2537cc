package main

import (
	"iter"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

// TestTheInboxOnTheCommandLine: a question is listed, shown with its text and the way to its work, answered once and
// gone from the unread ones; a briefing shows what it cites and can be marked as read.
func TestTheInboxOnTheCommandLine(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Lead", "--model", "sim/script")
	lead, err := d.client.Agent(t.Context(), "lead")
	if err != nil {
		t.Fatal(err)
	}
	if out := d.say("agents", "update", "lead", "--brief-to", lead.OwnerID.String()); !strings.Contains(out, "lead") {
		t.Errorf("the update prints %s", out)
	}
	background, err := d.client.BackgroundSession(t.Context(), lead.Slug)
	if err != nil {
		t.Fatal(err)
	}
	session := background.ID.String()
	next, stop := iter.Pull2(d.client.WatchWorkspace(t.Context(), client.WatchWorkspaceQuery{}))
	defer stop()
	arrives := func(kind parley.EventType) {
		t.Helper()
		for {
			frame, err, more := next()
			if err != nil || !more {
				t.Fatalf("the feed ends before %s: %v", kind, err)
			}
			if frame.Type == kind {
				return
			}
		}
	}
	arrives(parley.EventResync)
	d.say(
		"agents",
		"task",
		"lead",
		`[[{"tool_call":{"name":"request_input","arguments":{"question":"Which field?"}}}],`+
			`[{"tool_call":{"name":"create_inbox_item","arguments":{"title":"The harvest","summary":"All is in.",`+
			`"text":"Twelve carts [`+session+`:1]."}}}],[{"text":"Done."}]]`,
	)
	arrives(parley.FeedInboxCreated)
	arrives(parley.FeedInboxCreated)
	listed := map[parley.InboxType]string{}
	for line := range strings.Lines(d.say("inbox", "list", "--unread")) {
		for _, kind := range parley.InboxTypes() {
			if words := strings.Fields(line); len(words) > 1 && words[1] == string(kind) {
				listed[kind] = words[0]
			}
		}
	}
	if out := d.say("inbox", "list"); !strings.Contains(strings.Join(strings.Fields(out), " "), "briefing lead The") {
		t.Errorf("the inbox does not name the agent:\n%s", out)
	}
	question, briefing := listed[parley.InboxQuestion], listed[parley.InboxBriefing]
	if question == "" || briefing == "" {
		t.Fatalf("the inbox lists %v", listed)
	}
	shows := func(item string, want ...string) {
		t.Helper()
		shown := d.say("inbox", "show", item)
		for _, text := range want {
			if !strings.Contains(shown, text) {
				t.Errorf("%q is missing in\n%s", text, shown)
			}
		}
	}
	shows(question, "question, waits", "Which field?", "who works in session "+session)
	shows(briefing, "briefing, unread", "All is in.", "Twelve carts", "["+session+":1] is message ")
	if out := d.say("inbox", "answer", question, "The northern one."); !strings.Contains(out, "answered") {
		t.Errorf("answering prints %s", out)
	}
	d.expect(1, "already ended", "inbox", "answer", question, "The southern one.")
	d.expect(1, "only a question can be answered", "inbox", "answer", briefing, "Fine.")
	d.say("inbox", "read", briefing)
	if left := d.say(
		"inbox",
		"list",
		"--unread",
	); strings.Contains(left, briefing) ||
		strings.Contains(left, question) {
		t.Errorf("still unread:\n%s", left)
	}
	if whole := d.say("inbox", "list", "--type", "briefing"); !strings.Contains(whole, briefing) {
		t.Errorf("the briefings are\n%s", whole)
	}
}
