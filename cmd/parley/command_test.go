package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/engine"
	"example.org/parley/model"
	"example.org/parley/store"
)

// desk is a server with a command line.
type desk struct {
	t      *testing.T
	dir    string
	client *client.Client
	store  store.Store
	stop   func() // ends the server
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	return newDeskIn(t, t.TempDir())
}

// newDeskIn takes a directory that may hold a parley.yaml.
func newDeskIn(t *testing.T, dir string) *desk {
	t.Helper()
	srv, c := opened(t, dir, nil, &lockedLog{})
	stop := sync.OnceFunc(func() {
		c.Close()
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return &desk{t, dir, c, srv.store, stop}
}

func (d *desk) typed(input string, args ...string) (out, complained string, code int) {
	var printed, told bytes.Buffer
	code = run(d.t.Context(), append([]string{"--data", d.dir}, args...),
		terminal{in: strings.NewReader(input), out: &printed, err: &told})
	return printed.String(), told.String(), code
}

func (d *desk) say(args ...string) string {
	d.t.Helper()
	out, complained, code := d.typed("", args...)
	if code != 0 {
		d.t.Fatalf("parley %s: %s", strings.Join(args, " "), complained)
	}
	return out
}

// expect checks that a command fails with a status, and what it says; it returns what the command printed.
func (d *desk) expect(status int, says string, args ...string) string {
	d.t.Helper()
	out, complained, code := d.typed("", args...)
	if code != status || !strings.Contains(complained, says) {
		d.t.Errorf("parley %s exits with %d and says %q%q; want %d and %q",
			strings.Join(args, " "), code, complained, out, status, says)
	}
	return out
}

// TestWrongWordsExitWithTheUsage: the error names the word that is unknown, missing or without effect.
func TestWrongWordsExitWithTheUsage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, test := range []struct {
		says string
		args []string
	}{
		{`unknown command "sesions" for "parley"; did you mean sessions?`, []string{"sesions"}},
		{`unknown command "frob" for "parley agents"`, []string{"agents", "frob"}},
		{`unknown command "lst" for "parley sessions"; did you mean list?`, []string{"sessions", "--json", "lst"}},
		{`unknown command "x" for "parley keys sign-ins"`, []string{"keys", "sign-ins", "x"}},
		{"AGENT is missing", []string{"agents", "show"}},
		{"NAME is missing", []string{"agents", "create"}},
		{"TITLE is missing", []string{"sessions", "rename", "last"}},
		{`"extra" is more than parley agents show takes`, []string{"agents", "show", "parley", "extra"}},
		{`"x" is more than parley doctor takes`, []string{"doctor", "x"}},
		{"--name is missing", []string{"keys", "create"}},
		{"--from and --to are missing", []string{"copy"}},
		{"--all and --limit do not go together", []string{"sessions", "list", "--all", "--limit", "2"}},
		{`"x" for "--limit" flag: it must be a number` + "\n", []string{"agents", "list", "--limit", "x"}},
		{"--limit is a number of rows, 0 or more", []string{"agents", "list", "--limit", "-1"}},
		{"unknown flag: --nope", []string{"sessions", "list", "--nope"}},
		{"--since", []string{"sessions", "list", "--since", "whenever"}},
		{"--status active has no effect", []string{"agents", "list", "--all", "--status", "active"}},
		{"--agent has no effect with --session", []string{"chat", "--session", "last", "--agent", "parley", "x"}},
		{"MESSAGE is empty", []string{"chat", ""}},
		{"TAG is missing", []string{"sessions", "tag", "0198abcdef"}},
	} {
		if test.says == "TAG is missing" {
			d.say("sessions", "create", "--title", "One")
			test.args[2] = "last"
		}
		d.expect(exitUsage, test.says, test.args...)
		if _, complained, _ := d.typed("", test.args...); !strings.Contains(complained, "Usage:") {
			t.Errorf("parley %s says no usage: %s", strings.Join(test.args, " "), complained)
		}
	}
	d.say("agents", "--help")
	if out := d.say("agents"); !strings.Contains(out, "Available Commands") {
		t.Errorf("parley agents prints %s", out)
	}
}

// TestChatLeavesNoEmptySession, whatever is wrong with its first message.
func TestChatLeavesNoEmptySession(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Scout")
	d.expect(1, `there is no provider "nope"`, "chat", "--model", "nope/x", "hello")
	d.expect(1, "; the agents are: ", "chat", "--agent", "nobody", "hello")
	d.expect(1, "scout", "agents", "show", "nobody")
	d.expect(0, "", "chat") // the input ends at once
	if _, complained, code := d.typed("hello\n", "chat", "--model", "nope/x"); code != 0 ||
		!strings.Contains(complained, `! model: there is no provider "nope"`) {
		t.Errorf("a chat with a model that is not there exits with %d: %s", code, complained)
	}
	var page client.Page[parley.Session]
	if err := json.Unmarshal([]byte(d.say("sessions", "list", "--json")), &page); err != nil || len(page.Data) != 0 {
		t.Errorf("%d sessions are left, %v", len(page.Data), err)
	}
}

// TestShortNames: the beginning of a session's id, or last, works wherever an id does.
func TestShortNames(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Scout")
	d.say("chat", "--model", "sim/echo", "--agent", "scout", "first thing")
	session, err := d.client.Sessions(t.Context(), client.SessionsQuery{})
	if err != nil || len(session.Data) != 1 {
		t.Fatal(err, len(session.Data))
	}
	id := session.Data[0].ID.String()
	for _, short := range []string{id, id[:8], strings.ToUpper(id[:13]), "last"} {
		if out := d.say("sessions", "show", short); !strings.Contains(out, "first thing") {
			t.Errorf("%s is\n%s", short, out)
		}
	}
	for _, command := range [][]string{
		{"messages", "show", "last"}, {"turns", "show", "last"}, {"calls", "show", "last"}, {"agents", "show", "last"},
		{"sessions", "list", "--parent", "last"}, {"messages", "list", "last"}, {"limits", "last"},
		{"calls", "list", id[:10]}, {"sessions", "fork", id[:10], "--at", "last"},
	} {
		d.say(command...)
	}
	d.say("sessions", "create", "--title", "Another")
	d.expect(1, "begin with", "sessions", "show", id[:6]) // both were made within hours
	d.expect(1, "no session has an id that begins", "sessions", "show", "ffffffff")
	d.expect(1, "at least its first 6 digits", "sessions", "show", id[:5])
	d.expect(1, `"nope" is not an id of an approval; `, "approvals", "show", "nope")
	d.expect(1, "there is no loop yet", "loops", "show", "last")
	d.expect(1, "write a name, an id", "sessions", "move", "last", "nope")
}

// TestVerbsOfSessionsAndMessages: each verb changes what its name says, and nothing else.
func TestVerbsOfSessionsAndMessages(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("chat", "--model", "sim/echo", "hello")
	session := func() (s parley.Session) {
		t.Helper()
		page, err := d.client.Sessions(t.Context(), client.SessionsQuery{})
		if err != nil || len(page.Data) != 1 {
			t.Fatal(err, len(page.Data))
		}
		return page.Data[0]
	}
	d.say("sessions", "rename", "last", "Renamed")
	d.say("sessions", "pin", "last")
	d.say("sessions", "tag", "last", "a", "b", "a")
	if s := session(); s.Title != "Renamed" || !s.Pinned || strings.Join(s.Tags, " ") != "a b" {
		t.Errorf("it is %q, pinned %v, tags %v", s.Title, s.Pinned, s.Tags)
	}
	d.say("sessions", "unpin", "last")
	d.say("sessions", "tag", "last", "c", "--remove", "a")
	if s := session(); s.Title != "Renamed" || s.Pinned || strings.Join(s.Tags, " ") != "b c" {
		t.Errorf("it is %q, pinned %v, tags %v", s.Title, s.Pinned, s.Tags)
	}
	marked := func(verb string, is func(*parley.Message) bool) {
		t.Helper()
		d.say("messages", verb, "last")
		messages, err := d.client.Messages(t.Context(), session().ID, client.MessagesQuery{Order: "desc"})
		if err != nil || len(messages.Data) != 2 || !is(&messages.Data[0]) {
			t.Errorf("parley messages %s: %v, %+v", verb, err, messages.Data)
		}
	}
	marked("pin", func(m *parley.Message) bool { return m.Marks.Pinned })
	marked("unpin", func(m *parley.Message) bool { return !m.Marks.Pinned })
	marked("set-aside", func(m *parley.Message) bool { return m.Marks.SetAside })
	marked("bring-back", func(m *parley.Message) bool { return !m.Marks.SetAside })
}

// TestVersionsOfAgents: each version is listed with its changes, and two can be compared.
func TestVersionsOfAgents(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Scout", "--system-prompt", "Look.")
	d.say("agents", "update", "scout", "--system-prompt", "Look twice.")
	d.say("agents", "update", "scout", "--name", "Ranger", "--temperature", "0.5")
	out := d.say("agents", "versions", "scout")
	flat := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{"name, temperature", "system_prompt", "(made)"} {
		if !strings.Contains(flat, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if got := d.say("agents", "diff", "scout", "1", "v2"); got != "system_prompt\n  - Look.\n  + Look twice.\n" {
		t.Errorf("the difference is\n%s", got)
	}
	if got := d.say("agents", "diff", "scout"); !strings.Contains(got, "+ Ranger") || strings.Contains(got, "Look") {
		t.Errorf("the last change is\n%s", got)
	}
	d.expect(1, "is not a version", "agents", "diff", "scout", "two")
}

// TestCompletion: cobra completes verbs; the server provides ids, slugs and models.
func TestCompletion(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Scout")
	d.say("sessions", "create", "--title", "Evil \x1b]52;c;AAAA\x07")
	for _, test := range []struct {
		want string
		args []string
	}{
		{"scout\tScout", []string{"agents", "show", "sc"}},
		{"last", []string{"sessions", "show", "l"}},
		{"Evil", []string{"sessions", "rename", "0"}},
		{"scout", []string{"chat", "--agent", "s"}},
		{"sim/echo", []string{"chat", "--model", "sim/e"}},
		{"rename", []string{"sessions", "re"}},
		{"--title", []string{"sessions", "create", "--ti"}},
	} {
		out := d.say(append([]string{"__complete"}, test.args...)...)
		if !strings.Contains(out, test.want) || strings.ContainsRune(out, '\x1b') {
			t.Errorf("%s completes to %q, want %q", strings.Join(test.args, " "), out, test.want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if out := d.say("completion", shell); !strings.Contains(out, "__complete") {
			t.Errorf("the completion of %s is %q", shell, out)
		}
	}
}

// TestCompletedWordsMeanThemselves: what a shell would read as more than a word is not offered.
func TestCompletedWordsMeanThemselves(t *testing.T) {
	t.Parallel()
	var listed client.ModelPage
	for _, id := range []string{
		"far/good-1.5:free", "far/$(touch${IFS}x)a", "far/`touch x`", "far/a b", "far/a;b", "far/a|b", "far/a\nb",
		"far/a'b",
		"far/\u202ea", "-far",
	} {
		listed.Data = append(listed.Data, model.Info{ID: parley.ModelID(id)})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&listed) // the client may be gone
	}))
	defer server.Close()
	d := &desk{t: t, dir: t.TempDir()}
	out := d.say("__complete", "chat", "--url", server.URL, "--key", "k", "--model", "")
	if !strings.HasPrefix(out, "far/good-1.5:free\t") || strings.Count(out, "far") != 1 {
		t.Errorf("the completions are %q", out)
	}
}

// TestCommandsOfAChat: a line that begins with a slash is a command, or an error if there is no such command; a path is
// a message.
func TestCommandsOfAChat(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Scout")
	file := t.TempDir() + "/talk.md"
	out, complained, code := d.typed(strings.Join([]string{
		"/model",
		"/Cost",
		"/nope",
		"/queue",
		"/help",
		"/model nope/x",
		"/model sim/echo",
		"one",
		"/etc/hosts is a file",
		"//help",
		"/pin",
		"/cost",
		"/export " + file,
		"/fork Branch",
		"/agent nobody",
		"/agent scout",
		"two",
		"/cost",
		"/export " + file,
		"/quit",
		"never",
	}, "\n")+"\n", "chat")
	if code != 0 {
		t.Fatalf("%d: %s", code, complained)
	}
	for _, want := range []string{
		"! nothing has been said yet", "! there is no command /nope: /help lists the commands", "/export [FILE]",
		"! /queue needs a text after it",
		"! write provider/model; configured are sim", "model: sim/echo",
		"pinned #6: /help", "3 turns, 3 calls", "wrote " + file,
		`! there is no agent "nobody"; the agents are: `, "The next message starts a session with scout",
		"model: sim/echo (simulator)\n! nothing has been said yet", "\n1 turn, 1 call, ",
		"! " + file + " exists: choose another name with /export FILE\n",
	} {
		if !strings.Contains(complained, want) {
			t.Errorf("%q is missing in:\n%s", want, complained)
		}
	}
	if out != "one\n/etc/hosts is a file\n/help\ntwo\n" {
		t.Errorf("the answers are %q", out)
	}
	page, err := d.client.Sessions(t.Context(), client.SessionsQuery{})
	if err != nil || len(page.Data) != 3 {
		t.Errorf("%d sessions, %v", len(page.Data), err)
	}
}

// TestSetReachesEveryField: --set changes fields without a flag of their own, and names what is not a field.
func TestSetReachesEveryField(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Scout", "--set", "description=Looks far.", "--set", `temperature=0.5`,
		"--set", `tags=["a","b"]`, "--set", "limits.daily_tokens=5000")
	agent, err := d.client.Agent(t.Context(), "scout")
	if err != nil || agent.Description != "Looks far." || len(agent.Tags) != 2 || agent.Limits == nil ||
		agent.Limits.DailyTokens == nil || *agent.Limits.DailyTokens != 5000 {
		t.Fatalf("made %+v, %v", agent, err)
	}
	d.say("agents", "update", "scout", "--set", "limits.daily_tokens=6000", "--set", "name=Ranger", "--description", "")
	agent, err = d.client.Agent(t.Context(), "scout")
	if err != nil || agent.Name != "Ranger" || agent.Description != "" || *agent.Limits.DailyTokens != 6000 {
		t.Errorf("changed to %+v, %v", agent, err)
	}
	d.say("sessions", "create", "--agent", "scout")
	if out := d.say("limits", "last"); strings.Contains(out, "LIMIT") {
		t.Errorf("limits of which none is set are\n%s", out)
	}
	d.say("sessions", "update", "last", "--set", "limits.max_steps=7")
	if out := d.say("limits", "last"); !strings.HasSuffix(out, "LIMIT      VALUE\nmax steps  7\n") {
		t.Errorf("the limits are\n%s", out)
	}
	d.expect(1, `unknown field "nope"`, "agents", "update", "scout", "--set", "nope=1")
	d.expect(1, "is not FIELD=VALUE", "sessions", "create", "--set", "title")
}

// TestDoctorNamesAbsentTools: doctor and the list of tools say which tool servers are away, why, what to do and which
// agents need them; it is a problem only if an agent does. Without a server, doctor looks for the programs itself.
func TestDoctorNamesAbsentTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := `mcp: [{name: lost, command: parley-has-no-such-program}, {name: spare, command: ` + dir + `/absent}]`
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDeskIn(t, dir)
	out := d.say("doctor")
	if !strings.Contains(out, "note     tools           lost__*: its program is not found") {
		t.Errorf("before an agent names it, doctor says\n%s", out)
	}
	d.say("agents", "create", "Scout", "--tool", "lost__*")
	out = d.expect(1, "", "doctor")
	for _, want := range []string{
		"problem  tools           lost__*: its program is not found on the server's machine; named by scout\n",
		"→ Install the program, or correct `command`", "note     tools           spare__*: its program is not found",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor does not say %q:\n%s", want, out)
		}
	}
	if out := d.say("tools"); !strings.Contains(out, "mcp/lost") || !strings.Contains(out, "named by scout. Install") {
		t.Errorf("the tools are\n%s", out)
	}
	d.stop()
	if out := d.expect(1, "", "doctor"); !strings.Contains(out, "lost: the program parley-has-no-such-program cannot") {
		t.Errorf("without a server, doctor says\n%s", out)
	}
}

// TestDoctorAsksTheServer: doctor reports what the server knows, not the command's own environment.
func TestDoctorAsksTheServer(t *testing.T) {
	d := newDesk(t)
	t.Setenv("PARLEY_MODEL", "nowhere/none") // of the command alone
	out := d.say("doctor")
	if !strings.Contains(out, "the server has") || !strings.Contains(out, "sim/echo (simulator)") ||
		strings.Contains(out, "nowhere") {
		t.Errorf("doctor says\n%s", out)
	}
}

// TestVersionsHaveAPlaceInTheirList: the oldest one of a page says what it changed, too.
func TestVersionsHaveAPlaceInTheirList(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Scout")
	for _, temperature := range []string{"0.1", "0.2", "0.3"} {
		d.say("agents", "update", "scout", "--temperature", temperature)
	}
	out, complained, code := d.typed("", "agents", "versions", "scout", "--limit", "2")
	if code != 0 || strings.Count(out, "temperature") != 2 || !strings.Contains(complained, "--cursor") {
		t.Fatalf("%d: %s%s", code, out, complained)
	}
	var page client.Page[parley.Agent]
	listed := d.say("agents", "versions", "scout", "--limit", "2", "--json")
	if err := json.Unmarshal(
		[]byte(listed),
		&page,
	); err != nil || len(page.Data) != 2 || page.Data[0].Version != 4 ||
		page.Next == "" {
		t.Fatalf("%v: %+v", err, page)
	}
	rest := d.say("agents", "versions", "scout", "--cursor", page.Next)
	if !strings.Contains(rest, "v2") || !strings.Contains(rest, "(made)") || strings.Contains(rest, "v3") {
		t.Errorf("the rest is\n%s", rest)
	}
}

// TestWatchPrintsWhatHappens, as it happens, from now on or after an event, until it is told to end.
func TestWatchPrintsWhatHappens(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("chat", "--model", "sim/echo", "before")
	for _, test := range []struct {
		args    []string
		want    string // of what is said meanwhile
		earlier bool   // also prints what was before
	}{
		{nil, "user  by Local owner: during\nduring\n(completed)\n", false},
		{[]string{"--after", "0"}, "during\n(completed)\n", true},
		{[]string{"--json"}, `"type":"session.completed"`, false},
		{[]string{"--raw"}, "during\n(completed)\n", false},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), turnTime)
		var shown lockedLog
		ended := make(chan int, 1)
		args := append([]string{"--data", d.dir, "sessions", "watch", "last"}, test.args...)
		go func() { ended <- run(ctx, args, terminal{in: strings.NewReader(""), out: &shown, err: &shown}) }()
		for !strings.Contains(shown.String(), test.want) && ctx.Err() == nil { // the first may come before the watch
			d.say("chat", "--session", "last", "--model", "sim/echo", "during")
		}
		if ctx.Err() != nil {
			t.Errorf("watch %v printed\n%s", test.args, shown.String())
		}
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("watch %v exits with %d", test.args, code)
		}
		if got := strings.Contains(shown.String(), "by Local owner: before"); got != test.earlier {
			t.Errorf("watch %v prints what was before: %v\n%s", test.args, got, shown.String())
		}
	}
}

// TestLongWorkShowsHowFarItIs on a terminal, and leaves nothing of that behind.
func TestLongWorkShowsHowFarItIs(t *testing.T) {
	t.Parallel()
	for _, seen := range []bool{true, false} {
		var shown bytes.Buffer
		term := terminal{err: &screen{to: &shown, watched: seen}}
		text := strings.Repeat("x", 5<<10)
		read, err := io.ReadAll(term.counted(strings.NewReader(text), "exporting"))
		if err != nil || string(read) != text {
			t.Fatalf("%d bytes come through, %v", len(read), err)
		}
		count, done := term.counting("sessions are indexed")
		count(12)
		done()
		out := shown.String()
		if seen && !(strings.Contains(out, "exporting") && strings.Contains(out, "12 sessions are indexed") &&
			strings.HasSuffix(out, string(clearLine))) || !seen && out != "" {
			t.Errorf("on a terminal %v: %q", seen, out)
		}
	}
}

// TestProgressIsShownAndTakenAway: uploads, imports and waiting for a summary say on a terminal what they do, leave
// nothing of that behind, and say nothing elsewhere.
func TestProgressIsShownAndTakenAway(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("chat", "--model", "sim/echo", "hello")
	session, err := d.client.Sessions(t.Context(), client.SessionsQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.dir, "notes.txt")
	if err := os.WriteFile(path, []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	chat := filepath.Join(d.dir, "chat.json")
	entry := `{"entries":[{"role":"user","content":"Plan it.","timestamp":"2026-01-02T10:00:00Z"}]}`
	if err := os.WriteFile(chat, []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, work := range map[string]func(terminal) error{
		"uploading notes.txt": func(term terminal) error {
			_, err := uploadFiles(t.Context(), d.client, term, []string{path})
			return err
		},
		"uploading absent.txt": func(term terminal) error {
			_, err := uploadFile(t.Context(), d.client, term, path+"/../absent.txt")
			if err == nil {
				t.Error("a file that does not exist is uploaded")
			}
			return nil
		},
		"chat.json (2 of 3)": func(term terminal) error {
			_, err := importFile(t.Context(), d.client, term, client.ImportInput{}, chat, "2 of 3")
			return err
		},
		"large.json (1 of 1)": func(term terminal) error {
			large := filepath.Join(d.dir, "large.json")
			text := entry + strings.Repeat(" ", engine.MaxImportText)
			if err := os.WriteFile(large, []byte(text), 0o600); err != nil {
				return err
			}
			_, err := importFile(t.Context(), d.client, term, client.ImportInput{}, large, "1 of 1")
			if out := d.say("files", "list"); strings.Contains(out, "import ") {
				t.Errorf("the upload is left behind:\n%s", out)
			}
			return err
		},
		"summarising, 0 s": func(term terminal) error {
			_, err := awaitCompaction(t.Context(), d.client, term, session.Data[0].ID)
			return err
		},
	} {
		for _, seen := range []bool{true, false} {
			var shown bytes.Buffer
			if err := work(terminal{err: &screen{to: &shown, watched: seen}}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			out := shown.String()
			if seen = seen && !strings.Contains(name, "absent"); seen &&
				(!strings.Contains(out, name) || !strings.HasSuffix(out, string(clearLine))) || !seen && out != "" {
				t.Errorf("%s, on a terminal %v: %q", name, seen, out)
			}
		}
	}
}

// TestSlashCommandsComplete: to those that begin so, and nothing else is touched.
func TestSlashCommandsComplete(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"/co": "/compact /continue /cost", "/st": "/steer", "/x": "", "/model ": "none", "/etc/": "none", "": "none",
		"hello": "none",
	} {
		got := "none"
		if found := completedCommand(typed); found != nil {
			got = strings.Join(found, " ")
		}
		if got != want {
			t.Errorf("%q becomes %q, want %q", typed, got, want)
		}
	}
}

// TestReindexRebuilds what a search finds, without a server.
func TestReindexRebuilds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv, c := opened(t, dir, nil, &lockedLog{})
	d := &desk{t: t, dir: dir, client: c, stop: func() {}}
	d.say("chat", "--model", "sim/echo", "a zebrafink sings")
	c.Close()
	if err := srv.close(); err != nil {
		t.Fatal(err)
	}
	_, complained, code := d.typed("", "reindex")
	if code != 0 || !strings.Contains(complained, "The index was rebuilt: 1 sessions.") {
		t.Fatalf("%d: %s", code, complained)
	}
	s, err := loadSettings(&flags{data: dir}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	opened, err := openStore(t.Context(), s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }() // only read
	step, taken, err := opened.TakeSearchStep(t.Context(), true)
	if err != nil || !taken || len(step.Sessions) > 0 {
		t.Errorf("%d sessions are left, %v, %v", len(step.Sessions), taken, err)
	}
}
