package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// acpClient is a program of the protocol's own SDK, which says what it checked.
const acpClient = "clients/acp.mjs"

// The SDK of the Agent Client Protocol and the client acpx, unmodified, start `parley acp` as their agent.
func TestACPClientsOfParley(t *testing.T) { onEach(t, acpClients) }

func acpClients(t *testing.T, at place) {
	s := startAt(t, at)
	key := s.at.newKey(t, "keys", "create", "--name", "editor", "--json")
	state := filepath.Join(t.TempDir(), "state.json")
	run, said := clientProgram(
		t,
		acpClient,
		"CHECKED_URL="+s.url,
		"CHECKED_KEY="+key,
		"STATE="+state,
		"PROGRAM="+binary,
	)
	out := &lockedBuffer{}
	run.Stdout = out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }() // ends with the program
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for killed := false; ; {
		select {
		case err := <-ended:
			if err != nil || !killed {
				t.Fatalf("%s: %v, killed %t\n%s%s", acpClient, err, killed, out, said)
			}
			passes(t, "acp", map[string][]string{
				"@agentclientprotocol/sdk": checksIn(out.String()), "acpx": s.acpx(t, key),
			})
			return
		case <-tick.C:
		}
		if _, err := os.Stat(state); err == nil && !killed {
			s.kill() // in the middle of an answer
			s, killed = startAt(t, at, "--addr", strings.TrimPrefix(s.url, "http://")), true
		}
	}
}

// The program of docs/clients/acp.md is the one that runs here, and is short.
func TestACPProgram(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.documentedProgram(t, "../docs/clients/acp.md", "clients/acp-program.mjs",
		"PARLEY_ACP="+binary+" acp", "PARLEY_URL="+s.url)
}

// acpx runs the headless client of the same name, and returns the checks that it passed. Its files and terminals are
// those of this machine.
func (s *server) acpx(t *testing.T, key string) (passed []string) {
	t.Helper()
	home := t.TempDir()
	const refused = 5 // how it ends if its user has denied something
	client := func(code int, agent string, arguments ...string) string {
		t.Helper()
		program := filepath.Join(clientPackages(t), "acpx", "dist", "cli.js")
		run, said := clientProgram(t, acpClient)
		run.Args = append(
			[]string{run.Args[0], program, "--agent", binary + " acp --agent " + agent + " --url " + s.url,
				"--cwd", home},
			arguments...)
		run.Env = append(run.Env, "PARLEY_KEY="+key, "HOME="+home)
		out, err := run.Output()
		if exitCode(err) != code || err != nil && code == 0 {
			t.Fatalf("acpx %q: %v\n%s%s", arguments, err, out, said)
		}
		return string(out)
	}
	ok := func(name string, good bool, out string) {
		if !good {
			t.Errorf("%s: acpx says\n%s", name, out)
			return
		}
		passed = append(passed, name)
	}
	out := client(0, "acp-echo", "exec", "hello there")
	ok("ask", strings.Contains(out, "hello there") && strings.Contains(out, "end_turn"), out)
	const script = `[[{"tool_call":{"name":"editor_write_file","arguments":{"path":"made.txt","text":"by acpx"}}}],` +
		`[{"tool_call":{"name":"editor_run_command","arguments":{"command":"cat","args":["made.txt"]}}}],` +
		`[{"tool_call":{"name":"editor_read_file","arguments":{"path":"made.txt"}}}],[{"text":"Done."}]]`
	out = client(refused, "acp-script", "--deny-all", "exec", script)
	_, err := os.ReadFile(filepath.Join(home, "made.txt"))
	ok("files and terminals that its user denies", os.IsNotExist(err) && strings.Contains(out, "end_turn"), out)
	out = client(0, "acp-script", "--approve-all", "exec", script)
	made, err := os.ReadFile(filepath.Join(home, "made.txt"))
	ok("files and terminals", err == nil && string(made) == "by acpx" && strings.Count(out, "by acpx") >= 2, out)
	out = client(0, "acp-script", "sessions", "list", "--filter-cwd", home)
	ok("list", strings.Count(out, home) == 3, out)
	return passed
}

// TestParleyRunsParley: a runtime of one server may be `parley acp` of another. Approvals of the inner one become
// approvals of the outer one, and the next process resumes the inner session.
func TestParleyRunsParley(t *testing.T) { onEach(t, parleyRunsParley) }

func parleyRunsParley(t *testing.T, at place) {
	inner := start(t, t.TempDir())
	key := inner.at.newKey(t, "keys", "create", "--name", "outer", "--json")
	grants := []parley.Grant{{Tool: "current_time", Effect: parley.GrantAsk}}
	tools := client.ToolNames("current_time")
	if _, err := inner.client.CreateAgent(t.Context(), client.AgentInput{
		Name: "Inner", Settings: parley.Settings{Model: "sim/script", Tools: &tools, Grants: &grants},
	}); err != nil {
		t.Fatal(err)
	}
	shelf, err := os.MkdirTemp("", "parley-acp-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(shelf) })
	if err := os.Chmod(shelf, 0o755); err != nil { //nolint:gosec // for another user
		t.Fatal(err)
	}
	program := filepath.Join(shelf, "parley")
	copied(t, binary, program)
	a := actingAt(t, at, map[string]any{
		"command": program, "args": []string{"acp", "--url", inner.url, "--agent", "inner", "--data", shelf},
		"env": map[string]string{scriptedAgent: shelf, "PARLEY_KEY": "${SCRIPTED_SECRET}"}, "idle": "50ms",
	}, "SCRIPTED_SECRET="+key)
	a.home = shelf // names the processes
	a.agent(t, "Ada")
	session, err := a.client.CreateSession(t.Context(), client.SessionInput{AgentID: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	for round, text := range []string{"It is late.", "It is later."} {
		posted, err := a.client.Post(
			t.Context(),
			session.ID,
			client.UserMessage(`[[{"reasoning":"Hm. "},{"text":"Let me `+
				`see."},{"tool_call":{"name":"current_time","arguments":{}}}],[{"text":"`+text+`"}]]`),
		)
		if err != nil {
			t.Fatal(err)
		}
		asked := a.pending(t, session.ID)
		if _, err := a.client.DecideApproval(t.Context(), asked.ID, client.DecisionInput{
			Decision: parley.DecideApprove,
		}); err != nil {
			t.Fatal(err)
		}
		turn := a.over(t, posted.Message.TurnID)
		got := strings.Join(lines(t, a.client, session.ID), "\n")
		if turn.Status != parley.TurnCompleted || strings.Count(got, "completed: (Hm. ) Let me see.") != round+1 ||
			!strings.Contains(got, "completed: "+text) || strings.Count(got, "\nresult ") != round+1 {
			t.Fatalf("the turn %s: %+v, and the record is:\n%s\n%s", turn.Status, turn.Error, got, a.stderr)
		}
		a.gone(t)
	}
	page, err := inner.client.Sessions(t.Context(), client.SessionsQuery{})
	if err != nil || len(page.Data) != 1 || page.Data[0].Statistics.Messages != 10 {
		t.Errorf("the inner server has %d sessions, %v; want one of ten messages", len(page.Data), err)
	}
}
