package e2e

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// acting is a server with the scripted agent as its runtime.
type acting struct {
	*server
	binary   string // of the server
	settings map[string]any
	home     string // what the agent remembers
	project  string
}

// actingAt starts one. As root the agent runs as nobody, otherwise it is confined; either
// way it cannot reach the server's data.
func actingAt(t *testing.T, at place, more map[string]any, environment ...string) *acting {
	t.Helper()
	shelf, err := os.MkdirTemp("", "parley-acp-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(shelf) })
	a := &acting{home: filepath.Join(shelf, "home"), project: filepath.Join(shelf, "project")}
	for _, directory := range []string{shelf, a.home, a.project} {
		if err := os.MkdirAll(directory, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(directory, 0o777); err != nil { //nolint:gosec // for another user
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { // processes that an agent started outlive a killed server
		for _, pid := range a.processes(t) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone meanwhile
		}
	})
	program := filepath.Join(shelf, "agent")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied(t, self, program)
	runtime := map[string]any{
		"name": "scripted", "command": program,
		"env": map[string]string{scriptedAgent: a.home, "SCRIPTED_SECRET": "${SCRIPTED_SECRET}"},
	}
	maps.Copy(runtime, more)
	if os.Getuid() == 0 && at.user == 0 && runtime["unguarded"] == nil {
		runtime["user"] = "nobody"
	}
	a.settings = map[string]any{
		"runtimes": []any{runtime}, "project_roots": []string{shelf}, "log_level": "debug",
	}
	configured(t, at, a.settings)
	a.binary = binary
	if at.user != 0 {
		a.binary = filepath.Join(shelf, "parley")
		copied(t, binary, a.binary)
		for _, path := range []string{at.dir, filepath.Join(at.dir, "parley.yaml")} {
			if err := os.Chown(path, int(at.user), int(at.user)); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.server = a.started(t, at, environment...)
	return a
}

// started starts a server with the scripted agent.
func (a *acting) started(t *testing.T, at place, environment ...string) *server {
	t.Helper()
	environment = append([]string{"SCRIPTED_SECRET=hush-hush", "OPENAI_API_KEY=sk-of-the-server"}, environment...)
	return startProgram(t, a.binary, at, environment, "--lease", shortLease.String(), "--drain", "100ms")
}

// copied copies a program to where every user may run it.
func copied(t *testing.T, of, to string) {
	t.Helper()
	from, err := os.Open(of)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	into, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(into, from); err != nil {
		t.Fatal(err)
	}
	if err := into.Close(); err != nil {
		t.Fatal(err)
	}
}

// agent creates an agent with the scripted runtime.
func (a *acting) agent(t *testing.T, name string, grants ...parley.Grant) {
	t.Helper()
	grants = append(grants, parley.Grant{Tool: "acp/scripted", Effect: parley.GrantAllow})
	if _, err := a.client.CreateAgent(t.Context(), client.AgentInput{
		Name: name, Runtime: "acp/scripted", Settings: parley.Settings{Grants: &grants},
	}); err != nil {
		t.Fatal(err)
	}
}

// session opens a session in the project, with a first message.
func (a *acting) session(t *testing.T, agent string, acts ...act) (parley.Session, parley.Turn) {
	t.Helper()
	project, err := a.client.ChooseProject(t.Context(), client.ProjectInput{Path: a.project})
	if err != nil {
		t.Fatal(err)
	}
	session, err := a.client.CreateSession(t.Context(), client.SessionInput{AgentID: agent, ProjectID: project.ID})
	if err != nil {
		t.Fatal(err)
	}
	return session, a.say(t, session.ID, acts...)
}

// say posts a script.
func (a *acting) say(t *testing.T, session parley.ID, acts ...act) parley.Turn {
	t.Helper()
	script, err := json.Marshal(acts)
	if err != nil {
		t.Fatal(err)
	}
	posted, err := a.client.Post(t.Context(), session, client.UserMessage(string(script)))
	if err != nil {
		t.Fatal(err)
	}
	turn, err := a.client.Turn(t.Context(), posted.Message.TurnID)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// over waits for the end of a turn.
func (a *acting) over(t *testing.T, turnID parley.ID) parley.Turn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	for {
		turn, err := a.client.Turn(t.Context(), turnID)
		if err != nil {
			t.Fatalf("%v\n%s", err, a.stderr)
		}
		if turn.Status.Finished() {
			return turn
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the turn is %s, its record:\n%s\n%s", turn.Status,
				strings.Join(lines(t, a.client, turn.SessionID), "\n"), a.stderr)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// line is the part of a message that tests check.
func lines(t *testing.T, c *client.Client, session parley.ID) (found []string) {
	t.Helper()
	for _, m := range record(t, c, session) {
		switch m.Role {
		case parley.RoleAssistant:
			var content parley.AssistantContent
			decode(t, m.Content, &content)
			text := content.Text
			if content.Reasoning != "" {
				text = "(" + content.Reasoning + ") " + text
			}
			if text != "" {
				found = append(found, string(m.Status)+": "+text)
			}
		case parley.RoleToolCall:
			found = append(found, "call "+m.ToolName)
		case parley.RoleToolResult:
			var content parley.ToolResultContent
			decode(t, m.Content, &content)
			if content.Error != nil {
				found = append(found, "error "+*content.Error)
			} else {
				found = append(found, "result "+string(content.Result))
			}
		}
	}
	return found
}

func decode(t *testing.T, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// TestAnAgentOfItsOwn: the words and actions of an agent of the protocol enter the record,
// and the next process resumes its own session.
func TestAnAgentOfItsOwn(t *testing.T) { onEach(t, anAgentOfItsOwn) }

func anAgentOfItsOwn(t *testing.T, at place) {
	a := actingAt(t, at, map[string]any{"idle": "50ms"})
	a.agent(t, "Ada")
	session, turn := a.session(t, "ada",
		act{Think: "Hm. "}, act{Say: "Let me "}, act{Say: "look."}, act{Plan: []string{"Look", "Write"}},
		act{Call: &agentCall{ID: "one", Kind: "read", Title: "Reads", Result: "what it read"}},
		act{Call: &agentCall{ID: "two", Kind: "edit", Title: "Edits", Result: "new", Path: "/a"}},
		act{Call: &agentCall{ID: "three", Kind: "execute", Title: "Fails", Result: "no", Fail: true}},
		act{Say: "Done."})
	if turn = a.over(t, turn.ID); turn.Status != parley.TurnCompleted {
		t.Fatalf("the turn %s: %+v\n%s", turn.Status, turn.Error, a.stderr)
	}
	got := strings.Join(lines(t, a.client, session.ID), "\n")
	for _, want := range []string{
		"completed: (Hm. ) Let me look.", "call scripted__plan", "call scripted__read", "call scripted__edit",
		`"text":"what it read"`, `"diffs":[{"new_text":"new","old_text":null,"path":"/a"}]`, "error no",
		"completed: Done.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the record lacks %q:\n%s", want, got)
		}
	}
	a.gone(t)
	again := a.over(t, a.say(t, session.ID, act{Recall: true}).ID)
	got = strings.Join(lines(t, a.client, session.ID), "\n")
	if again.Status != parley.TurnCompleted || !strings.Contains(got, "told: [") || strings.Contains(got, "replayed") {
		t.Errorf("the next turn %s, and the record is:\n%s", again.Status, got)
	}
	if strings.Contains(a.stderr.String(), "hush-hush") || !strings.Contains(a.stderr.String(), "[secret]") {
		t.Errorf("the log says:\n%s", a.stderr)
	}
}

// gone waits until no process of the agent runs. They are the server's children, not the
// test's, so nothing reports their end and it has to poll.
func (a *acting) gone(t *testing.T) {
	t.Helper()
	deadline, tick := time.After(turnDeadline), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for len(a.processes(t)) > 0 {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the agent's process is still running")
		}
	}
}

// processes finds the agent's processes by their environment.
func (a *acting) processes(t *testing.T) (found []int) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		environment, err := os.ReadFile(name) // gone meanwhile: none
		if err == nil && strings.Contains(string(environment), scriptedAgent+"="+a.home+"\x00") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, pid)
		}
	}
	return found
}

// TestAnAgentThatForgets: an agent that cannot resume its session is sent its instructions
// and the conversation so far; and it gets a steer after it has ended its prompt.
func TestAnAgentThatForgets(t *testing.T) {
	t.Parallel()
	a := actingAt(t, place{dir: t.TempDir()}, map[string]any{"idle": "50ms", "args": []string{"forgets"}})
	a.agent(t, "Ada")
	session, turn := a.session(t, "ada", act{Say: "A word to keep."})
	a.over(t, turn.ID)
	a.gone(t)
	turn = a.say(
		t,
		session.ID,
		act{Call: &agentCall{ID: "one", Kind: "edit", Title: "Edits", Ask: true}},
		act{Recall: true},
	)
	asked := a.pending(t, session.ID)
	steer := client.UserMessage("Be quick.")
	steer.During = parley.DuringSteer
	if _, err := a.client.PostMessage(t.Context(), session.ID, steer); err != nil {
		t.Fatal(err)
	}
	if _, err := a.client.DecideApproval(t.Context(), asked.ID, client.DecisionInput{
		Decision: parley.DecideApprove,
	}); err != nil {
		t.Fatal(err)
	}
	turn = a.over(t, turn.ID)
	got := strings.Join(lines(t, a.client, session.ID), "\n")
	if turn.Status != parley.TurnCompleted || !strings.Contains(got, "You said: Be quick.") {
		t.Errorf("the turn %s: %+v, and the record is:\n%s", turn.Status, turn.Error, got)
	}
	for _, want := range []string{"Earlier in this conversation:", "You: A word to keep."} {
		if !a.remembers(t, want) {
			t.Errorf("the agent did not receive %q", want)
		}
	}
}

// remembers reports whether one of the agent's sessions has heard a text.
func (a *acting) remembers(t *testing.T, text string) bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(a.home, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		told, err := os.ReadFile(name)
		return err == nil && strings.Contains(string(told), text)
	})
}

// TestAnAgentAsks: its requests for permission become approvals; meanwhile the turn waits
// and the process stays.
func TestAnAgentAsks(t *testing.T) { onEach(t, anAgentAsks) }

func anAgentAsks(t *testing.T, at place) {
	a := actingAt(t, at, nil)
	a.agent(t, "Ada", parley.Grant{Tool: "scripted__search", Effect: parley.GrantAllow},
		parley.Grant{Tool: "scripted__delete", Effect: parley.GrantDeny})
	session, turn := a.session(t, "ada",
		act{Say: "May I? "},
		act{Call: &agentCall{ID: "one", Kind: "edit", Title: "Edits", Ask: true, Result: "edited"}},
		act{Call: &agentCall{ID: "two", Kind: "execute", Title: "Runs", Ask: true, Result: "ran"}},
		act{Call: &agentCall{ID: "three", Kind: "search", Title: "Seeks", Ask: true, Result: "found"}},
		act{Call: &agentCall{ID: "four", Kind: "delete", Title: "Deletes", Ask: true, Result: "deleted"}},
		act{Call: &agentCall{ID: "five", Kind: "other", Title: "Late", Late: true, Result: "late"}},
		act{Say: "Done."})
	for _, decision := range []parley.ApprovalDecision{parley.DecideApprove, parley.DecideDeny, parley.DecideApprove} {
		asked := a.pending(t, session.ID)
		if _, err := a.client.DecideApproval(
			t.Context(),
			asked.ID,
			client.DecisionInput{Decision: decision},
		); err != nil {
			t.Fatal(err)
		}
	}
	if turn = a.over(t, turn.ID); turn.Status != parley.TurnCompleted {
		t.Fatalf("the turn %s: %+v\n%s", turn.Status, turn.Error, a.stderr)
	}
	found := lines(t, a.client, session.ID)
	got := strings.Join(found, "\n")
	for _, want := range []string{
		`"text":"edited"`, "two was refused", `"text":"found"`, "four was refused", `"text":"late"`, "Done.",
		"error Denied by", "error Denied: a rule",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the record lacks %q:\n%s", want, got)
		}
	}
	for _, never := range []string{`"text":"ran"`, `"text":"deleted"`} {
		if strings.Contains(got, never) {
			t.Errorf("the record has %q:\n%s", never, got)
		}
	}
}

// pending waits for a session's next approval.
func (a *acting) pending(t *testing.T, session parley.ID) parley.Approval {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	for frame, err := range a.client.WatchSession(ctx, session, client.WatchSessionQuery{}) {
		if err != nil {
			break
		}
		if frame.Type != parley.EventApprovalCreated {
			continue
		}
		page, err := a.client.Approvals(
			ctx,
			client.ApprovalsQuery{Session: []parley.ID{session}, Status: []parley.ApprovalState{"pending"}},
		)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Data) > 0 {
			return page.Data[0]
		}
	}
	t.Fatalf(
		"no approval was asked for; the record is:\n%s\n%s",
		strings.Join(lines(t, a.client, session), "\n"),
		a.stderr,
	)
	return parley.Approval{}
}

// TestAnAgentIsCancelled: while it writes, during a call, and while it waits for a person;
// then it takes the next message.
func TestAnAgentIsCancelled(t *testing.T) {
	t.Parallel()
	a := actingAt(t, place{dir: t.TempDir()}, nil)
	a.agent(t, "Ada")
	for name, script := range map[string]act{
		"words": {Hang: true},
		"call":  {Call: &agentCall{ID: "one", Kind: "edit", Title: "Edits", Hang: true}},
		"asked": {Call: &agentCall{ID: "one", Kind: "edit", Title: "Edits", Ask: true}},
	} {
		session, turn := a.session(t, "ada", act{Say: "Half a"}, script)
		a.said(t, session.ID, "Half a")
		if name == "asked" {
			a.pending(t, session.ID)
		}
		before := a.processes(t)
		if _, err := a.client.CancelTurn(t.Context(), session.ID, client.CancelInput{}); err != nil {
			t.Fatal(err)
		}
		if turn = a.over(t, turn.ID); turn.Status != parley.TurnCancelled {
			t.Errorf("%s: the turn %s: %+v", name, turn.Status, turn.Error)
		}
		if got := strings.Join(lines(t, a.client, session.ID), "\n"); !strings.Contains(got, ": Half a") {
			t.Errorf("%s: the record is:\n%s", name, got)
		}
		next := a.over(t, a.say(t, session.ID, act{Recall: true}).ID)
		if got := strings.Join(lines(t, a.client, session.ID), "\n"); next.Status != parley.TurnCompleted ||
			!strings.Contains(got, "told: [") || !slices.Equal(before, a.processes(t)) {
			t.Errorf("%s: the next turn %s, the processes were %v and are %v:\n%s", name, next.Status, before,
				a.processes(t), got)
		}
		if err := a.client.DeleteSession(t.Context(), session.ID); err != nil {
			t.Fatal(err)
		}
		a.gone(t)
	}
}

// said waits until a session contains a text.
func (a *acting) said(t *testing.T, session parley.ID, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	for frame, err := range a.client.WatchSession(ctx, session, client.WatchSessionQuery{}) {
		if err != nil {
			t.Fatalf("%v\n%s", err, a.stderr)
		}
		if strings.Contains(string(frame.Data), text) && frame.Type != parley.EventMessageCreated {
			return
		}
	}
}

// TestAnAgentDies: killing either side settles the turn and keeps its text.
func TestAnAgentDies(t *testing.T) { onEach(t, anAgentDies) }

func anAgentDies(t *testing.T, at place) {
	a := actingAt(t, at, nil)
	a.agent(t, "Ada")
	session, turn := a.session(t, "ada", act{Say: "Half a"}, act{Hang: true})
	a.said(t, session.ID, "Half a")
	for _, pid := range a.processes(t) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	a.interrupted(t, session.ID, turn.ID)
	next := a.over(t, a.say(t, session.ID, act{Recall: true}).ID)
	if got := strings.Join(lines(t, a.client, session.ID), "\n"); next.Status != parley.TurnCompleted ||
		!strings.Contains(got, "told: [") {
		t.Errorf("the next turn %s:\n%s", next.Status, got)
	}

	kept := "Half a" + strings.Repeat(
		".",
		2*parley.MaxUnkept,
	) + "tail" // once the tail is shown, the beginning is stored
	session, turn = a.session(t, "ada", act{Say: kept}, act{Child: true}, act{Hang: true})
	a.said(t, session.ID, "tail")
	a.kill()
	a.gone(t)
	a.server = a.started(t, a.at)
	a.interrupted(t, session.ID, turn.ID)
	if at.database == "" {
		session, turn = a.session(t, "ada", act{Say: "Half a"},
			act{Call: &agentCall{ID: "one", Kind: "edit", Title: "Edits", Hang: true}})
		a.call(t, session.ID)
		a.kill()
		a.server = a.started(t, a.at)
		a.interrupted(t, session.ID, turn.ID)
		if got := results(t, a.client, session.ID); len(got) != 1 || got[0] != parley.EffectUnknown {
			t.Errorf("the results are %q", got)
		}
	}
}

// call waits until a call of a session is in the record.
func (a *acting) call(t *testing.T, session parley.ID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	for frame, err := range a.client.WatchSession(ctx, session, client.WatchSessionQuery{}) {
		if err != nil {
			t.Fatalf("%v\n%s", err, a.stderr)
		}
		if frame.Type == parley.EventToolStarted {
			return
		}
	}
}

// interrupted waits for the end of a turn whose process was killed.
func (a *acting) interrupted(t *testing.T, session, turnID parley.ID) {
	t.Helper()
	turn := a.over(t, turnID)
	if turn.Status != parley.TurnFailed || turn.Error.Class != parley.ClassInterrupted {
		t.Errorf("the turn %s: %+v\n%s", turn.Status, turn.Error, a.stderr)
	}
	if got := strings.Join(lines(t, a.client, session), "\n"); !strings.Contains(got, ": Half a") {
		t.Errorf("the record is:\n%s", got)
	}
}

// TestAnAgentsReach: an agent cannot reach the server's data and keys, and reads and writes
// files by the rules of the file tools.
func TestAnAgentsReach(t *testing.T) {
	t.Parallel()
	a := actingAt(t, place{dir: t.TempDir()}, nil)
	a.agent(t, "Ada", parley.Grant{
		Tool: "write_file", Arguments: map[string]string{"path": "closed/*"}, Effect: parley.GrantDeny,
	})
	for name, text := range map[string]string{"notes.txt": "noted", ".env": "KEY=secret"} {
		if err := os.WriteFile(filepath.Join(a.project, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(a.project, name) }
	for _, c := range []struct {
		act  act
		want string
	}{
		{act{Read: in("notes.txt")}, "noted"},
		{act{Read: in(".env")}, `"code":-32603`},
		{act{Read: "/etc/passwd"}, "leads out of the project"},
		{act{Read: in("../../etc/passwd")}, "leads out of the project"},
		{act{Write: in("sub/new.txt")}, "{}"},
		{act{Write: in("closed/new.txt")}, "a rule of this agent or session denies it"},
		{act{Write: in(".git/config")}, `"code":-32603`},
		{act{Write: filepath.Join(a.at.dir, "parley.yaml")}, "leads out of the project"},
		{act{Open: filepath.Join(a.at.dir, "parley.db")}, "0 bytes, false"},
		{act{Open: filepath.Join(a.at.dir, "token")}, "0 bytes, false"},
		{act{Open: in("notes.txt")}, "5 bytes, true"},
		{act{Env: "OPENAI_API_KEY"}, "OPENAI_API_KEY=;"},
		{act{Env: "SCRIPTED_SECRET"}, "SCRIPTED_SECRET=hush-hush;"},
	} {
		session, turn := a.session(t, "ada", c.act)
		turn = a.over(t, turn.ID)
		got := strings.Join(lines(t, a.client, session.ID), "\n")
		if turn.Status != parley.TurnCompleted || !strings.Contains(got, c.want) {
			t.Errorf("%+v: the turn %s (%+v), %s; want %s", c.act, turn.Status, turn.Error, got, c.want)
		}
		if err := a.client.DeleteSession(t.Context(), session.ID); err != nil {
			t.Fatal(err)
		}
	}
	if written, err := os.ReadFile(in("sub/new.txt")); err != nil || string(written) != "written" {
		t.Errorf("the file has %q, %v", written, err)
	}
}

// anyClass stands for a failure of any class.
const anyClass parley.ErrorClass = "any"

// TestAHostileAgent: whatever it sends can only end its own turn.
func TestAHostileAgent(t *testing.T) {
	t.Parallel()
	a := actingAt(t, place{dir: t.TempDir()}, nil)
	a.agent(t, "Ada")
	for name, c := range map[string]struct {
		acts  []act
		class parley.ErrorClass
	}{
		"no JSON":        {[]act{{Raw: "hello"}, {Hang: true}}, parley.ClassInterrupted},
		"a NUL in it":    {[]act{{Raw: "{\"jsonrpc\"\x00"}, {Hang: true}}, parley.ClassInterrupted},
		"a NUL in text":  {[]act{{Say: "cut\x00by"}}, ""},
		"a list":         {[]act{{Raw: "[]"}, {Hang: true}}, parley.ClassInterrupted},
		"a long line":    {[]act{{Long: 17 << 20}, {Hang: true}}, parley.ClassInterrupted},
		"a death":        {[]act{{Die: true}}, parley.ClassInterrupted},
		"an error":       {[]act{{Error: "out of luck"}}, parley.ClassModel},
		"a flood":        {[]act{{Grow: 40}}, anyClass}, // its speed decides which bound it meets first
		"its own cancel": {[]act{{Stop: "cancelled"}}, parley.ClassInterrupted},
		"a refusal":      {[]act{{Stop: "refusal"}}, parley.ClassContentFilter},
		"another answer": {[]act{{Raw: `{"jsonrpc":"2.0","id":4711,"result":{}}`}}, ""},
		"another method": {[]act{{Raw: `{"jsonrpc":"2.0","id":4711,"method":"terminal/create"}`}}, ""},
	} {
		session, turn := a.session(t, "ada", c.acts...)
		turn = a.over(t, turn.ID)
		if c.class == "" && turn.Status != parley.TurnCompleted ||
			c.class != "" && (turn.Status != parley.TurnFailed || c.class != anyClass && turn.Error.Class != c.class) {
			t.Errorf("%s: the turn %s: %+v", name, turn.Status, turn.Error)
		}
		if err := a.client.DeleteSession(t.Context(), session.ID); err != nil {
			t.Fatal(err)
		}
	}
	a.gone(t)
}

// TestRuntimesAreNamedAndGranted: an agent may only name a runtime that the admin has
// configured, and needs a grant to run it.
func TestRuntimesAreNamedAndGranted(t *testing.T) {
	t.Parallel()
	a := actingAt(t, place{dir: t.TempDir()}, nil)
	_, err := a.client.CreateAgent(t.Context(), client.AgentInput{Name: "Eve", Runtime: "acp/other"})
	if parley.ErrorCode(err) != parley.CodeInvalid || !strings.Contains(err.Error(), "acp/scripted") {
		t.Errorf("another runtime: %v", err)
	}
	if _, err := a.client.CreateAgent(
		t.Context(),
		client.AgentInput{Name: "Eve", Runtime: "acp/scripted"},
	); err != nil {
		t.Fatal(err)
	}
	session, turn := a.session(t, "eve", act{Say: "Hello."})
	turn = a.over(t, turn.ID)
	if turn.Status != parley.TurnFailed || !strings.Contains(turn.Error.Sentence, `allows "acp/scripted"`) {
		t.Errorf("without a grant the turn %s: %+v", turn.Status, turn.Error)
	}
	if len(a.processes(t)) > 0 || len(lines(t, a.client, session.ID)) > 0 {
		t.Error("without a grant the program ran")
	}
}

// TestAnExampleAgent runs the example agent of the protocol's own TypeScript library, which
// checks everything that Parley sends.
func TestAnExampleAgent(t *testing.T) {
	t.Parallel()
	library := npm(t, "@zed-industries/agent-client-protocol")
	source, err := os.ReadFile(filepath.Join(library, "typescript/examples/agent.ts"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "agent.mts") // Node.js strips no types below node_modules
	text := strings.ReplaceAll(string(source), `"../acp.js"`, `"`+filepath.Join(library, "dist/acp.js")+`"`)
	if err := os.WriteFile(program, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := actingAt(t, place{dir: t.TempDir()}, map[string]any{
		"command": node(t), "args": []string{"--experimental-transform-types", program},
		"unguarded": "I accept that this program can read and change this server's data",
	})
	a.agent(t, "Zed")
	for decision, want := range map[parley.ApprovalDecision]string{
		parley.DecideApprove: "successfully updated the configuration",
		parley.DecideDeny:    "prefer not to make that change",
	} {
		session, turn := a.session(t, "zed", act{Say: "Hello."})
		asked := a.pending(t, session.ID)
		if _, err := a.client.DecideApproval(
			t.Context(),
			asked.ID,
			client.DecisionInput{Decision: decision},
		); err != nil {
			t.Fatal(err)
		}
		turn = a.over(t, turn.ID)
		got := strings.Join(lines(t, a.client, session.ID), "\n")
		if turn.Status != parley.TurnCompleted || !strings.Contains(got, want) ||
			!strings.Contains(got, "call scripted__read") || !strings.Contains(got, "call scripted__edit") {
			t.Errorf("after %s the turn %s: %+v, and the record is:\n%s", decision, turn.Status, turn.Error, got)
		}
	}
}
