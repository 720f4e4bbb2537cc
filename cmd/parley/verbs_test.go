package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

// Whatever a cell says, it stays on its line and in its column, and nothing in it steers the terminal.
func TestTablesKeepCellsInTheirPlace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := terminal{out: &out}.printTable([]string{"ID", "TITLE"}, [][]string{
		{"1", "plain"},
		{"2", "\x1b]0;owned\x07\x1b[2Jred\r\nnext\tcell\x9b31m\u202eback"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "ID  TITLE\n1   plain\n2    ]0;owned  [2Jred  next cell 31m back\n"
	if got := strings.ReplaceAll(out.String(), "\ufffd", " "); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

// The plain verbs of agents, sessions and projects do to the server what they say, and lists go on where they ended.
func TestPlainVerbs(t *testing.T) {
	t.Parallel()
	dir, projects, log := t.TempDir(), t.TempDir(), &lockedLog{}
	srv, c := opened(t, dir, map[string]string{"PARLEY_PROJECT_ROOTS": projects}, log)
	defer func() {
		c.Close()
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	}()
	call := func(args ...string) (out, complained string, code int) {
		t.Helper()
		var printed, told bytes.Buffer
		code = run(
			t.Context(),
			append([]string{"--data", dir}, args...),
			terminal{in: strings.NewReader(""), out: &printed, err: &told},
		)
		return printed.String(), told.String(), code
	}
	say := func(args ...string) string {
		t.Helper()
		out, complained, code := call(args...)
		if code != 0 {
			t.Fatalf("parley %s: %s", strings.Join(args, " "), complained)
		}
		return out
	}
	shows := func(out string, wanted ...string) {
		t.Helper()
		flat := strings.Join(strings.Fields(out), " ")
		for _, want := range wanted {
			if !strings.Contains(flat, want) {
				t.Errorf("%q is missing in:\n%s", want, out)
			}
		}
	}

	shows(say("agents", "create", "Scout", "--description", "Looks.", "--tag", "a,b", "--temperature", "0.5"),
		"slug scout", "description Looks.", "tags a, b", "temperature 0.5")
	shows(say("agents", "update", "scout", "--name", "Ranger", "--unset", "temperature"), "name Ranger", "tags a, b")
	if out := say("agents", "show", "scout"); strings.Contains(out, "temperature") {
		t.Errorf("what is unset is shown:\n%s", out)
	}
	say("agents", "archive", "scout")
	if out := say("agents", "list"); strings.Contains(out, "scout") {
		t.Errorf("archived agents are listed:\n%s", out)
	}
	shows(say("agents", "list", "--all"), "scout Ranger (default) v3 archived")
	shows(say("agents", "reopen", "scout"), "status active")

	session := func(args ...string) (made parley.Session) {
		t.Helper()
		if err := json.Unmarshal([]byte(say(append(args, "--json")...)), &made); err != nil {
			t.Fatal(err)
		}
		return made
	}
	first := session("sessions", "create", "--agent", "scout", "--title", "One", "--pinned")
	second := session("sessions", "create", "--agent", "scout", "--title", "Two", "--metadata", `{"a":1}`)
	if !first.Pinned || !strings.Contains(string(second.Metadata), `"a": 1`) || first.AgentID.IsZero() {
		t.Errorf("made %+v and %+v", first, second)
	}
	changed := session("sessions", "update", first.ID.String(), "--title", "Renamed", "--pinned", "false",
		"--visibility", "workspace", "--model", "sim/echo")
	if changed.Title != "Renamed" || changed.Pinned || changed.Visibility != parley.VisibilityWorkspace ||
		changed.Model != "sim/echo" {
		t.Errorf("changed to %+v", changed)
	}
	out, more, _ := call("sessions", "list", "--limit", "1")
	_, cursor, found := strings.Cut(strings.TrimSpace(more), "--cursor ")
	if shows(out, "Two"); strings.Contains(out, "Renamed") || !found {
		t.Fatalf("a list of one prints %q and says %q", out, more)
	}
	shows(say("sessions", "list", "--cursor", cursor), "Renamed")
	if out, more, _ := call("sessions", "list", "--limit", "0"); more != "" || strings.Count(out, "\n") != 3 {
		t.Errorf("the whole list is %q and says %q", out, more)
	}
	if out := say("sessions", "list", "--pinned"); strings.Contains(out, "Renamed") {
		t.Errorf("pinned sessions:\n%s", out)
	}
	say("sessions", "archive", first.ID.String())
	if out := say("sessions", "list"); strings.Contains(out, "Renamed") {
		t.Errorf("archived sessions are listed:\n%s", out)
	}
	shows(say("sessions", "reopen", first.ID.String()), "title Renamed")
	say("sessions", "delete", second.ID.String())
	if _, complained, code := call("sessions", "show", second.ID.String()); code == 0 {
		t.Errorf("a deleted session is shown: %s", complained)
	}

	shows(say("projects", "create", projects, "--name", "Site"), "name Site")
	shows(say("projects", "show", "Site"), "name Site") // by its name
	shows(say("projects", "rename", "Site", "Shop"), "name Shop", "path "+projects)
	shows(say("projects", "update", "Shop", "--icon", "cart", "--name", "Site"), "name Site", "icon cart")
	shows(say("sessions", "move", "last", "Site"), "title Renamed", "project id")
	say("sessions", "update", "last", "--project", "")
	say("projects", "delete", "last")
	shows(say("workspace", "show"), "name default visibility private")
	shows(say("workspace", "update", "--visibility", "workspace"), "visibility workspace")
	if shared := session("sessions", "create"); shared.Visibility != parley.VisibilityWorkspace {
		t.Errorf("a new session is %s", shared.Visibility)
	}
	if out := say("projects", "list", "--json"); out != "{\n  \"data\": [],\n  \"next\": null\n}\n" {
		t.Errorf("the projects that are left: %s", out)
	}

	for _, wrong := range [][]string{
		{"sessions", "list", "--project", "nothing"}, {"sessions", "create", "--metadata", "{"},
		{"sessions", "list", "--since", "whenever"}, {"sessions", "update", first.ID.String(), "--pinned", "perhaps"},
		{"turns", "list", first.ID.String(), "--number", "1.5"}, {"sessions", "list", "--all", "--limit", "3"},
		{"agents", "list", "--all", "--status", "active"},
	} {
		if _, complained, code := call(wrong...); code == 0 || complained == "" {
			t.Errorf("parley %s is accepted", strings.Join(wrong, " "))
		}
	}
}

// Every list prints the same rows in pages, whatever their size, and names the cursor of the next page.
func TestListsContinueAtTheirCursors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv, c := opened(t, dir, nil, &lockedLog{})
	defer func() {
		c.Close()
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	}()
	rows := func(args ...string) (listed []json.RawMessage, cursor string) {
		t.Helper()
		var printed, told bytes.Buffer
		args = append([]string{"--data", dir, "--json"}, args...)
		if code := run(t.Context(), args, terminal{out: &printed, err: &told}); code != 0 {
			t.Fatalf("parley %s: %s", strings.Join(args, " "), told.String())
		}
		var page struct {
			Data []json.RawMessage `json:"data"`
			Next string            `json:"next"`
		}
		if err := json.Unmarshal(printed.Bytes(), &page); err != nil || told.Len() > 0 {
			t.Fatalf("parley %s: %v in %s %s", strings.Join(args, " "), err, printed.String(), told.String())
		}
		return page.Data, page.Next
	}
	ctx := t.Context()
	session, err := c.CreateSession(ctx, client.SessionInput{Settings: parley.Settings{Model: "sim/echo"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, err := range c.PostMessageStream(ctx, session.ID, client.UserMessage("hello")) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	messages, err := c.Messages(ctx, session.ID, client.MessagesQuery{})
	if err != nil {
		t.Fatal(err)
	}
	last := messages.Data[len(messages.Data)-1].ID
	for range 3 {
		branch, err := c.ForkSession(ctx, session.ID, client.ForkInput{At: last})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ShareSession(ctx, session.ID, branch.ID); err != nil {
			t.Fatal(err)
		}
	}
	for _, list := range [][]string{
		{"tools"}, {"models"}, {"agents", "list"}, {"sessions", "list"}, {"sessions", "shares", session.ID.String()},
		{"messages", "list", session.ID.String()}, {"messages", "branches", last.String()},
		{"turns", "list", session.ID.String()}, {"calls", "list", session.ID.String()},
	} {
		whole, cursor := rows(append(list, "--all")...)
		if len(whole) == 0 || cursor != "" {
			t.Fatalf("parley %s prints %d rows and the cursor %q", strings.Join(list, " "), len(whole), cursor)
		}
		var read []json.RawMessage
		for len(read) <= len(whole) {
			part, next := rows(append(list, "--limit", "2", "--cursor", cursor)...)
			if len(part) > 2 {
				t.Errorf("parley %s prints %d rows of 2", strings.Join(list, " "), len(part))
			}
			if read, cursor = append(read, part...), next; cursor == "" {
				break
			}
		}
		if fmt.Sprintf("%s", read) != fmt.Sprintf("%s", whole) {
			t.Errorf("parley %s in pages:\n%s\nwhole:\n%s", strings.Join(list, " "), read, whole)
		}
	}
	shown, _ := rows("audit", "--limit", "1", "--changes")
	if len(shown) > 1 {
		t.Errorf("audit prints %d rows of 1", len(shown))
	}
}
