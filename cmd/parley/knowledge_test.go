package main

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

// row returns the fields of the one line that holds a word; nil for none.
func row(t *testing.T, printed, word string) (fields []string) {
	t.Helper()
	for line := range strings.Lines(printed) {
		if strings.Contains(line, word) {
			if fields != nil {
				t.Errorf("%q is in several lines:\n%s", word, printed)
			}
			fields = strings.Fields(line)
		}
	}
	return fields
}

// TestKnowledgeOnTheCommandLine: a person tells an agent something, finds it by filters, changes, pins and forgets it.
func TestKnowledgeOnTheCommandLine(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Editor", "--model", "sim/script")
	d.say("agents", "create", "Scout", "--model", "sim/script", "--lead", "editor")
	made := row(t, d.say("knowledge", "create", "Cut releases on Tuesdays.", "--agent", "scout", "--kind",
		"preference"), "Tuesdays")
	if len(made) < 6 || made[1] != "preference" || made[2] != "active" {
		t.Fatalf("creating prints %q", made)
	}
	id := made[0]
	d.say("knowledge", "create", "Everybody writes British English.", "--agent", "editor", "--scope", "team")
	for _, list := range []struct {
		args  []string
		shows map[string]bool
	}{
		{nil, map[string]bool{"Tuesdays": true, "British": true}},
		{[]string{"--agent", "scout"}, map[string]bool{"Tuesdays": true, "British": false}},
		{[]string{"--team", "editor"}, map[string]bool{"Tuesdays": false, "British": true}},
		{[]string{"--kind", "fact"}, map[string]bool{"Tuesdays": false, "British": true}},
		{[]string{"--status", "forgotten"}, map[string]bool{"Tuesdays": false, "British": false}},
	} {
		out := d.say(append([]string{"knowledge", "list"}, list.args...)...)
		for text, shown := range list.shows {
			if strings.Contains(out, text) != shown {
				t.Errorf("list %v shows %q %t, want %t:\n%s", list.args, text, !shown, shown, out)
			}
		}
	}
	if out := d.say("knowledge", "update", id, "--text", "Cut releases on Mondays."); row(t, out, "Mondays") == nil {
		t.Errorf("the update prints\n%s", out)
	}
	d.say("knowledge", "pin", id)
	if got := row(t, d.say("knowledge", "show", id), "Mondays"); len(got) < 3 || got[2] != "pinned" {
		t.Errorf("the changed item is %q", got)
	}
	d.say("knowledge", "forget", id)
	if got := row(t, d.say("knowledge", "list", "--status", "forgotten"), "Mondays"); len(got) < 3 ||
		got[0] != id || got[2] != "forgotten" {
		t.Errorf("the forgotten items have %q", got)
	}
	d.expect(1, "is for procedures", "knowledge", "approve", id)
	d.expect(1, "kind", "knowledge", "create", "x", "--agent", "scout", "--kind", "rumour")
	d.expect(2, "--agent is missing", "knowledge", "create", "x")
	d.expect(1, "knowledge", "knowledge", "show", parley.NewID().String())
}

// TestAProcedureIsApprovedOnTheCommandLine: what an agent noted is listed as to be approved, with the message that it
// comes from, until a person approves it.
func TestAProcedureIsApprovedOnTheCommandLine(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Digger", "--model", "sim/script", "--draw-knowledge", "false")
	background, err := d.client.BackgroundSession(t.Context(), "digger")
	if err != nil {
		t.Fatal(err)
	}
	d.say("chat", "--session", background.ID.String(), `[[{"tool_call":{"name":"remember","arguments":`+
		`{"text":"Knock twice.","kind":"procedure"}}}],[{"text":"Noted."}]]`)
	noted := d.say("knowledge", "list", "--agent", "digger")
	item := row(t, noted, "Knock")
	if len(item) == 0 || !strings.Contains(noted, "to approve") {
		t.Fatalf("noted:\n%s", noted)
	}
	found, err := d.client.KnowledgeItems(t.Context(), client.KnowledgeItemsQuery{Agent: "digger"})
	if err != nil || len(found.Data) != 1 || len(found.Data[0].Sources) != 1 ||
		!strings.Contains(noted, found.Data[0].Sources[0].MessageID.String()) {
		t.Errorf("the list does not name the source of %+v (%v):\n%s", found.Data, err, noted)
	}
	d.say("knowledge", "approve", item[0])
	if approved := row(t, d.say("knowledge", "list"), "Knock"); approved[2] != "active" {
		t.Errorf("the approved item is %q", approved)
	}
}
