package e2e

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/internal/confine"
)

// TestAnAgentIsGivenFiles: a message's files and links reach the agent in a form that it accepts; an image that it does
// not accept fails the turn.
func TestAnAgentIsGivenFiles(t *testing.T) {
	t.Parallel()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"takes all": {nil, []string{
			`"type":"image"`, `"mimeType":"image/png"`, `"type":"resource"`, `"text":"what the file says"`,
			"/notes.txt",
		}},
		"takes texts": {[]string{"plain"}, []string{`\u003cfile name=\"notes.txt\"\u003e\nwhat the file says\n`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := actingAt(t, place{dir: t.TempDir()}, map[string]any{"args": c.args})
			a.agent(t, "Ada")
			upload := func(name string, content []byte) string {
				file, err := a.client.UploadFile(
					t.Context(),
					bytes.NewReader(content),
					client.UploadFileQuery{Name: name},
				)
				if err != nil {
					t.Fatal(err)
				}
				return file.ID.String()
			}
			shown, seen := upload("notes.txt", []byte("what the file says")), upload("dot.png", picture.Bytes())
			session, turn := a.session(t, "ada", act{Say: "Hello."})
			a.over(t, turn.ID)
			say := func(files ...string) parley.Turn {
				posted, err := a.client.PostMessage(t.Context(), session.ID, client.MessageInput{Content: encoded(
					t,
					parley.UserContent{
						Text:  `[{"blocks":true}]`,
						Files: files,
						Links: []string{"https://example.org/docs"},
					},
				)})
				if err != nil {
					t.Fatal(err)
				}
				return a.over(t, posted.TurnID)
			}
			files := []string{shown}
			if len(c.args) == 0 {
				files = append(files, seen)
			} else if turn := say(seen); turn.Status != parley.TurnFailed ||
				!strings.Contains(turn.Error.Detail, "no images") {
				t.Errorf("an image that it does not take: the turn %s: %+v", turn.Status, turn.Error)
			}
			if turn := say(files...); turn.Status != parley.TurnCompleted {
				t.Fatalf("the turn %s: %+v\n%s", turn.Status, turn.Error, a.stderr)
			}
			got := strings.Join(lines(t, a.client, session.ID), "\n")
			for _, want := range append(c.want, `"type":"resource_link"`, `"uri":"https://example.org/docs"`) {
				if !strings.Contains(got, want) {
					t.Errorf("the agent was not told %s:\n%s", want, got)
				}
			}
		})
	}
}

// TestAnAgentsSpending: a limit on money applies to what the agent reports. The turn waits, the program ends its
// prompt, and it continues in its own session when the budget allows.
func TestAnAgentsSpending(t *testing.T) {
	t.Parallel()
	a := actingAt(t, place{dir: t.TempDir()}, nil)
	a.agent(t, "Ada")
	session, turn := a.session(t, "ada", act{Say: "Hello."}, act{Usage: &agentUse{Used: 1000, Cost: 0.25}})
	if turn = a.over(t, turn.ID); turn.Cost == nil || turn.Cost.String() != "0.25" || turn.Usage.InputTokens != 1000 {
		t.Errorf("the first turn is kept with %+v, %v", turn.Usage, turn.Cost)
	}
	limit := func(cost string) {
		t.Helper()
		var patch client.SessionPatch
		decode(t, []byte(`{"limits":{"max_cost":`+cost+`}}`), &patch)
		if _, err := a.client.UpdateSession(t.Context(), session.ID, patch); err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	before := a.processes(t)
	turn = a.say(t, session.ID, act{Usage: &agentUse{Used: 2000, Cost: 1.5}},
		act{Call: &agentCall{ID: "one", Kind: "edit", Title: "Edits", Result: "edited"}}, act{Hang: true})
	a.waits(t, turn.ID, parley.WaitBudget)
	limit("5")
	turn = a.over(t, turn.ID)
	got := strings.Join(lines(t, a.client, session.ID), "\n")
	if turn.Status != parley.TurnCompleted || turn.Cost.String() != "1.25" ||
		!strings.Contains(got, "You said: Go on.") {
		t.Errorf("the turn %s: %+v, with %v, and the record is:\n%s", turn.Status, turn.Error, turn.Cost, got)
	}
	if after := a.processes(t); len(after) != 1 || after[0] != before[0] {
		t.Errorf("the processes were %v and are %v", before, after)
	}
}

// waits waits until a turn waits for a reason.
func (a *acting) waits(t *testing.T, turnID parley.ID, reason parley.WaitReason) {
	t.Helper()
	deadline, tick := time.After(turnDeadline), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		turn, err := a.client.Turn(t.Context(), turnID)
		if err != nil {
			t.Fatal(err)
		}
		if turn.Status == parley.TurnWaiting && turn.WaitReason == reason {
			return
		}
		if turn.Status.Finished() {
			t.Fatalf("the turn %s: %+v\n%s", turn.Status, turn.Error, a.stderr)
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the turn is %s, waiting for %q", turn.Status, turn.WaitReason)
		}
	}
}

// TestADecisionAfterAKill: an approval is decided after the process that asked was killed with its server. The agent's
// next process resumes its session and is told the decision, and the turn continues. If it cannot resume, the turn
// ends, and nothing is lost.
func TestADecisionAfterAKill(t *testing.T) { onEach(t, aDecisionAfterAKill) }

func aDecisionAfterAKill(t *testing.T, at place) {
	places := func() place { // each case has a server of its own
		if at.database != "" {
			return shared(t)
		}
		return at.beside(t)
	}
	for name, c := range map[string]struct {
		decision client.DecisionInput
		want     string
	}{
		"approved": {client.DecisionInput{Decision: parley.DecideApprove}, "Edits: Approved, but not run"},
		"denied":   {client.DecisionInput{Decision: parley.DecideDeny, Comment: "not today"}, "not today"},
	} {
		here := places()
		a := actingAt(t, here, nil)
		a.agent(t, "Ada "+name)
		session, turn := a.session(
			t,
			"ada-"+name,
			act{Say: "May I? "},
			act{
				Call: &agentCall{ID: "one", Kind: "edit", Title: "Edits", Ask: true, Result: "edited"},
			},
			act{Say: "Done."},
		)
		asked := a.pending(t, session.ID)
		a.waits(t, turn.ID, parley.WaitApproval)
		a.kill()
		a.server = a.started(t, here)
		if _, err := a.client.DecideApproval(t.Context(), asked.ID, c.decision); err != nil {
			t.Fatal(err)
		}
		turn = a.over(t, turn.ID)
		got := strings.Join(lines(t, a.client, session.ID), "\n")
		if turn.Status != parley.TurnCompleted || !strings.Contains(got, "You said: Your process ended") ||
			!strings.Contains(got, c.want) || strings.Contains(got, `"text":"edited"`) {
			t.Errorf("%s: the turn %s: %+v, and the record is:\n%s\n%s", name, turn.Status, turn.Error, got, a.stderr)
		}
		again := a.over(t, a.say(t, session.ID, act{Recall: true}).ID)
		if got := lines(t, a.client, session.ID); again.Status != parley.TurnCompleted ||
			!strings.Contains(got[len(got)-1], "Your process ended") {
			t.Errorf("%s: the next turn %s, %q", name, again.Status, got[len(got)-1])
		}
	}
	here := places()
	a := actingAt(t, here, map[string]any{"args": []string{"forgets"}})
	a.agent(t, "Eve")
	session, turn := a.session(t, "eve", act{Say: "May I? "},
		act{Call: &agentCall{ID: "one", Kind: "edit", Title: "Edits", Ask: true, Result: "edited"}})
	asked := a.pending(t, session.ID)
	a.waits(t, turn.ID, parley.WaitApproval)
	a.kill()
	a.server = a.started(t, here)
	if _, err := a.client.DecideApproval(t.Context(), asked.ID, client.DecisionInput{
		Decision: parley.DecideApprove,
	}); err != nil {
		t.Fatal(err)
	}
	turn = a.over(t, turn.ID)
	got := strings.Join(lines(t, a.client, session.ID), "\n")
	if turn.Status != parley.TurnFailed || turn.Error.Class != parley.ClassInterrupted ||
		!strings.Contains(turn.Error.Sentence, "cannot take up its session") || !strings.Contains(got, "May I?") ||
		!strings.Contains(got, "error Approved, but not run") {
		t.Errorf("one that forgets: the turn %s: %+v, and the record is:\n%s", turn.Status, turn.Error, got)
	}
	if again := a.over(t, a.say(t, session.ID, act{Say: "Well."}).ID); again.Status != parley.TurnCompleted {
		t.Errorf("the next turn %s: %+v", again.Status, again.Error)
	}
}

// TestAServerStopsInOrder: the program is told to end its prompt, and the next server's program to continue in the same
// session.
func TestAServerStopsInOrder(t *testing.T) {
	t.Parallel()
	a := actingAt(t, place{dir: t.TempDir()}, nil)
	a.agent(t, "Ada")
	session, turn := a.session(t, "ada", act{Say: "Hello."}) // its record has the name of the program's session
	a.over(t, turn.ID)
	turn = a.say(t, session.ID, act{Say: "Half a"}, act{Hang: true})
	a.said(t, session.ID, "Half a")
	a.terminate()
	a.server = a.started(t, a.at)
	turn = a.over(t, turn.ID)
	got := strings.Join(lines(t, a.client, session.ID), "\n")
	if turn.Status != parley.TurnCompleted || !strings.Contains(got, ": Half a") ||
		!strings.Contains(got, "You said: Go on.") {
		t.Errorf("the turn %s: %+v, and the record is:\n%s\n%s", turn.Status, turn.Error, got, a.stderr)
	}
}

// TestADecisionElsewhere: the server that gets the decision runs the turn, and the server whose process asked ends that
// process: only one program has the session.
func TestADecisionElsewhere(t *testing.T) {
	t.Parallel()
	a := actingAt(t, shared(t), nil)
	a.agent(t, "Ada")
	session, turn := a.session(t, "ada", act{Say: "May I? "},
		act{Call: &agentCall{ID: "one", Kind: "edit", Title: "Edits", Ask: true, Result: "edited"}})
	asked := a.pending(t, session.ID)
	a.waits(t, turn.ID, parley.WaitApproval)
	before := a.processes(t)
	beside := a.at.beside(t)
	configured(t, beside, a.settings)
	there := a.started(t, beside)
	if _, err := there.client.DecideApproval(t.Context(), asked.ID, client.DecisionInput{
		Decision: parley.DecideApprove,
	}); err != nil {
		t.Fatal(err)
	}
	turn = a.over(t, turn.ID)
	got := strings.Join(lines(t, a.client, session.ID), "\n")
	if turn.Status != parley.TurnCompleted || !strings.Contains(got, "You said: Your process ended") {
		t.Errorf("the turn %s: %+v, and the record is:\n%s\n%s", turn.Status, turn.Error, got, there.stderr)
	}
	deadline, tick := time.After(turnDeadline), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		after := a.processes(t)
		if len(after) == 1 && after[0] != before[0] {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the processes were %v and are %v\n%s", before, after, a.stderr)
		}
	}
}

// nobody is a user without rights of its own.
const nobody = 65534

// TestAnAgentsOwnReach: the agent's program cannot reach the server's data or its token by itself, under any name. A
// server that is root gives the program another user; an ordinary user's server confines it with Landlock.
func TestAnAgentsOwnReach(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root may start servers of both kinds; CI runs this")
	}
	for name, user := range map[string]uint32{"root": 0, "an ordinary user": nobody} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if user != 0 && !confine.Supported() {
				t.Skip("this kernel has no Landlock")
			}
			shelf, err := os.MkdirTemp("", "parley-data-") //nolint:usetesting // t.TempDir is closed to other users
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(shelf) })
			data := filepath.Join(shelf, "data")
			if err := os.Mkdir(data, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(shelf, 0o755); err != nil { //nolint:gosec // for another user
				t.Fatal(err)
			}
			a := actingAt(t, place{dir: data, user: user}, nil)
			a.agent(t, "Ada")
			a.reaches(t)
		})
	}
}

// reaches has the agent try.
func (a *acting) reaches(t *testing.T) {
	t.Helper()
	data, in := a.at.dir, func(name string) string { return filepath.Join(a.project, name) }
	process := filepath.Join("/proc", strconv.Itoa(a.command.Process.Pid))
	token, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		act  act
		want string
	}{
		{act{Put: in("mine.txt")}, "put: true"}, // it may do what is its own
		{act{Open: in("mine.txt")}, "16 bytes, true"},
		{act{Open: filepath.Join(data, "parley.db")}, "0 bytes, false"},
		{act{Open: filepath.Join(data, "token")}, "0 bytes, false"},
		{act{Open: filepath.Join(data, "parley.yaml")}, "0 bytes, false"},
		{act{List: data}, "0 entries, false"},
		{act{Link: []string{data, in("link")}}, "linked: true"},
		{act{Open: in("link/token")}, "0 bytes, false"},
		{act{List: in("link")}, "0 entries, false"},
		{act{Link: []string{filepath.Join(data, "token"), in("file")}}, "linked: true"},
		{act{Open: in("file")}, "0 bytes, false"},
		{act{Put: in("file")}, "put: false"},
		{act{Read: in("link/token")}, `"code":-32603`},
		{act{Open: filepath.Join(process, "root", data, "token")}, "0 bytes, false"},
		{act{Open: filepath.Join(process, "environ")}, "0 bytes, false"},
		{act{Put: filepath.Join(data, "new")}, "put: false"},
		{act{Put: filepath.Join(data, "token")}, "put: false"},
		{act{Put: filepath.Join(filepath.Dir(data), "beside")}, "put: false"},
		{act{Write: filepath.Join(filepath.Dir(data), "beside")}, "leads out of the project"},
		{act{Put: "/etc/parley-was-here"}, "put: false"},
	} {
		session, turn := a.session(t, "ada", c.act)
		turn = a.over(t, turn.ID)
		got := strings.Join(lines(t, a.client, session.ID), "\n")
		if turn.Status != parley.TurnCompleted || !strings.Contains(got, c.want) {
			t.Errorf("%+v: the turn %s (%+v), %s; want %s", c.act, turn.Status, turn.Error, got, c.want)
		}
		for _, pid := range a.processes(t) {
			var is syscall.Stat_t
			if err := syscall.Stat(filepath.Join("/proc", strconv.Itoa(pid)), &is); err == nil && is.Uid != nobody {
				t.Errorf("the agent runs as the user %d", is.Uid)
			}
		}
		if err := a.client.DeleteSession(t.Context(), session.ID); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := os.ReadFile(filepath.Join(data, "token")); err != nil || !bytes.Equal(now, token) {
		t.Errorf("the token was changed: %v", err)
	}
}

// TestSomebodyElsesRuntime is failure 69 for runtimes: if somebody gives an agent a program as its runtime, or lets its
// calls run unasked, that applies to other people's new sessions but not to their existing ones, unless their own rules
// name the program.
func TestSomebodyElsesRuntime(t *testing.T) {
	t.Parallel()
	a := actingAt(t, place{dir: t.TempDir()}, nil)
	agent, err := a.client.CreateAgent(t.Context(), client.AgentInput{Name: "Ada"})
	if err != nil {
		t.Fatal(err)
	}
	key, err := a.client.CreateKey(t.Context(), client.KeyInput{Name: "alice", Role: parley.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	alice, err := client.New(client.Options{URL: a.url, Key: key.Secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(alice.Close)
	allow := func(tools ...string) *[]parley.Grant {
		grants := []parley.Grant{}
		for _, tool := range tools {
			grants = append(grants, parley.Grant{Tool: tool, Effect: parley.GrantAllow})
		}
		return &grants
	}
	open := func(tools ...string) parley.Session {
		t.Helper()
		session, err := alice.CreateSession(t.Context(), client.SessionInput{
			AgentID: "ada", Settings: parley.Settings{Grants: allow(tools...)},
		})
		if err != nil {
			t.Fatal(err)
		}
		return session
	}
	plain, lenient, named := open(), open("*"), open("acp/scripted")
	change := func(grants *[]parley.Grant) {
		t.Helper()
		var patch client.AgentPatch
		raw, err := json.Marshal(map[string]any{"runtime": "acp/scripted", "grants": grants})
		if err != nil {
			t.Fatal(err)
		}
		decode(t, raw, &patch)
		if _, err := a.client.UpdateAgent(t.Context(), agent.ID.String(), patch); err != nil {
			t.Fatal(err)
		}
	}
	change(allow("acp/scripted"))
	said := func(session parley.Session, acts ...act) parley.Turn {
		t.Helper()
		script, err := json.Marshal(acts)
		if err != nil {
			t.Fatal(err)
		}
		posted, err := alice.Post(t.Context(), session.ID, client.UserMessage(string(script)))
		if err != nil {
			t.Fatal(err)
		}
		return parley.Turn{ID: posted.Message.TurnID}
	}
	for name, session := range map[string]parley.Session{"without rules": plain, "with a rule for all": lenient} {
		turn := a.over(t, said(session, act{Say: "Hello."}).ID)
		if turn.Status != parley.TurnFailed || turn.Error.Class != parley.ClassAuth || len(a.processes(t)) > 0 {
			t.Errorf("an earlier session %s: the turn %s: %+v, %v run", name, turn.Status, turn.Error, a.processes(t))
		}
	}
	fresh := open()
	for name, session := range map[string]parley.Session{"names it": named, "is new": fresh} {
		if turn := a.over(t, said(session, act{Say: "Hello."}).ID); turn.Status != parley.TurnCompleted {
			t.Errorf("a session that %s: the turn %s: %+v", name, turn.Status, turn.Error)
		}
	}
	change(allow("acp/scripted", "scripted__edit"))
	ask := act{Call: &agentCall{ID: "one", Kind: "edit", Title: "Edits", Ask: true, Result: "edited"}}
	turn := said(fresh, ask)
	asked := a.pending(t, fresh.ID)
	if asked.Reason != parley.AskedAgentChange {
		t.Errorf("it is asked for %q", asked.Reason)
	}
	if _, err := alice.DecideApproval(
		t.Context(),
		asked.ID,
		client.DecisionInput{Decision: parley.DecideDeny},
	); err != nil {
		t.Fatal(err)
	}
	a.over(t, turn.ID)
	if turn := a.over(t, said(open(), ask).ID); turn.Status != parley.TurnCompleted {
		t.Errorf("a session that accepts the rule: the turn %s: %+v", turn.Status, turn.Error)
	}
}

func encoded(t *testing.T, content parley.UserContent) json.RawMessage {
	t.Helper()
	raw, err := parley.EncodeContent(content)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestAnImportNamesNoSessionOfAnAgent: a file cannot say which session the agent's program takes up, which could be
// somebody else's.
func TestAnImportNamesNoSessionOfAnAgent(t *testing.T) {
	t.Parallel()
	a := actingAt(t, place{dir: t.TempDir()}, map[string]any{"idle": "50ms"})
	a.agent(t, "Ada")
	victim, turn := a.session(t, "ada", act{Say: "The word is heron."})
	a.over(t, turn.ID)
	a.gone(t)
	text, err := a.client.ExportSession(t.Context(), victim.ID, client.ExportSessionQuery{})
	if err != nil {
		t.Fatal(err)
	}
	exported, err := io.ReadAll(text)
	if closing := text.Close(); err != nil || closing != nil {
		t.Fatal(err, closing)
	}
	// The file's last answer tells the session that the program has for the first conversation.
	made, err := a.client.ImportSessions(t.Context(), client.ImportInput{Name: "e.json", Text: string(exported)})
	if err != nil {
		t.Fatal(err)
	}
	turn = a.over(t, a.say(t, made.Sessions[0].SessionID, act{Recall: true}).ID)
	got := strings.Join(lines(t, a.client, made.Sessions[0].SessionID), "\n")
	if turn.Status != parley.TurnCompleted || strings.Contains(got, "replayed") || !strings.Contains(got, "told: ") ||
		!a.remembers(t, "Earlier in this conversation:") {
		t.Errorf("the turn %s, and the record is:\n%s", turn.Status, got)
	}
}
