package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
)

// mcpClient is a program of the protocol's own packages, which says what it checked.
const mcpClient = "clients/mcp.mjs"

// The protocol's packages of both generations, unmodified, know the server by address and key alone, or as a program.
func TestMCPClientsOfParley(t *testing.T) { onEach(t, mcpClients) }

func mcpClients(t *testing.T, at place) {
	s := startAt(t, at)
	key := s.at.newKey(t, "keys", "create", "--name", "sdk", "--json")
	packages := map[string]string{"1": "@modelcontextprotocol/sdk", "2": "@modelcontextprotocol/client"}
	for protocol, program := range map[string]string{"mcp": "", "mcp-stdio": binary} {
		all := map[string][]string{}
		for version, name := range packages {
			passed := s.clientChecks(t, mcpClient, key, "ask", "SDK="+version, "STDIO="+program)
			s.kill() // in the middle of an answer that nobody waits for any more
			s = startAt(t, at)
			passed = append(passed, s.clientChecks(t, mcpClient, key, "reload", "SDK="+version, "STDIO="+program)...)
			all[name] = passed
		}
		passes(t, protocol, all)
	}
}

// The program of docs/clients/mcp.md is the one that runs here, and is short.
func TestMCPProgram(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.documentedProgram(t, "../docs/clients/mcp.md", "clients/mcp-program.mjs",
		"PARLEY_MCP="+s.url+"/mcp", "MODEL=sim/echo")
}

// mcpServerScenarios are the scenarios of the protocol's conformance suite for servers, by revision, with the number of
// checks that pass. Scenarios that need prompts, completion, log levels, subscriptions, or the suite's own tools and
// resources are left out.
var mcpServerScenarios = map[string]map[string]int{
	"2025-06-18": {
		"server-initialize": 3, "server-session-lifecycle": 1, "ping": 2, "tools-list": 2, "resources-list": 2,
	},
	"2025-11-25": {
		"server-initialize": 3, "server-session-lifecycle": 1, "ping": 2, "tools-list": 3, "resources-list": 2,
		"dns-rebinding-protection": 2, "server-sse-multiple-streams": 1,
	},
	"2026-07-28": {
		"server-stateless": 21, "tools-list": 4, "resources-list": 2, "dns-rebinding-protection": 2, "caching": 6,
		"http-header-validation": 14, "sep-2164-resource-not-found": 4, "server-sse-multiple-streams": 1,
		"input-required-result-unsupported-methods": 2,
	},
}

// mcpNotTestable are checks that need tools or prompts which only the suite's own server has.
var mcpNotTestable = map[string]bool{
	"sep-2549-prompts-list-caching-hints":                    true,
	"sep-2575-http-server-no-independent-requests-on-stream": true,
	"sep-2575-missing-capability-http-400":                   true,
	"sep-2575-server-no-log-without-loglevel":                true,
	"sep-2575-server-rejects-undeclared-capability":          true,
}

// TestMCPServerConformance runs the official server scenarios against the server.
func TestMCPServerConformance(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir()) // without keys: the suite sends none
	suite := npm(t, "@modelcontextprotocol/conformance/dist/index.js")
	for _, revision := range slices.Sorted(maps.Keys(mcpServerScenarios)) {
		for scenario, want := range mcpServerScenarios[revision] {
			t.Run(revision+"/"+scenario, func(t *testing.T) {
				results := t.TempDir()
				ctx, stop := context.WithTimeout(t.Context(), 2*turnDeadline)
				defer stop()
				command := exec.CommandContext(
					ctx,
					node(t),
					suite,
					"server",
					"--url",
					s.url+"/mcp",
					"--scenario",
					scenario,
					"--spec-version",
					revision,
					"--output-dir",
					results,
				)
				command.Env = cleanEnvironment()
				out, err := command.CombinedOutput()
				var failed *exec.ExitError // the suite fails for what it cannot test, too
				if err != nil && !errors.As(err, &failed) {
					t.Fatal(err)
				}
				passed := 0
				for _, check := range checkList(t, results) {
					switch check.Status {
					case "SUCCESS":
						passed++
					case "FAILURE", "WARNING":
						if !mcpNotTestable[check.ID] {
							t.Errorf("%s: %s", check.ID, check.Status)
						}
					}
				}
				if passed != want {
					t.Errorf("%d checks passed, want %d\n%s", passed, want, out)
				}
			})
		}
	}
}

// mcpState is what a call that waits for its client's user is answered with.
type mcpState struct {
	Type  string `json:"resultType"`
	State string `json:"requestState"`
	Input map[string]struct {
		Params struct{ Message string }
	} `json:"inputRequests"`
	Structured struct {
		Status parley.TurnStatus `json:"status"`
	} `json:"structuredContent"`
}

// The state of a call that waits for its client's user is of use to the key that it was given to, for the tool that was
// called, and unaltered; and after the server was killed.
func TestMCPStatesAreNotAltered(t *testing.T) { onEach(t, mcpStates) }

func mcpStates(t *testing.T, at place) {
	s := startAt(t, at)
	own := s.at.newKey(t, "keys", "create", "--name", "own", "--json")
	other := s.at.newKey(t, "keys", "create", "--name", "other", "--json")
	grants := `"tools":["current_time"],"grants":[{"tool":"current_time","effect":"ask"}]`
	for _, slug := range []string{"asks", "too"} {
		made := `{"slug":"` + slug + `","name":"Asks",` + grants + `}`
		if status, body := s.ask(t, http.MethodPost, "/v1/agents", made); status != 201 {
			t.Fatalf("%d %s", status, body)
		}
	}
	const arguments = `"arguments":{"message":"What time is it?","model":"sim/tool"}`
	waiting := s.mcpCall(t, own, "ask_asks", arguments)
	if waiting.Type != "input_required" || len(waiting.State) < 20 || len(waiting.Input) != 1 {
		t.Fatalf("the call is answered with %+v", waiting)
	}
	answers := `,"inputResponses":{`
	for name := range waiting.Input {
		answers += `"` + name + `":{"action":"accept","content":{"decision":"approve"}}}`
	}
	altered := "A"
	if waiting.State[0] == 'A' {
		altered = "B"
	}
	for _, c := range []struct{ name, key, tool, state string }{
		{"altered", own, "ask_asks", altered + waiting.State[1:]},
		{"cut", own, "ask_asks", waiting.State[:len(waiting.State)-1]},
		{"somebody else's", other, "ask_asks", waiting.State},
		{"another tool's", own, "ask_too", waiting.State},
	} {
		if status, body := s.mcpPost(
			t,
			c.key,
			c.tool,
			arguments+answers+`,"requestState":"`+c.state+`"`,
		); status != 400 ||
			!strings.Contains(body, "-32602") {
			t.Errorf("a state that is %s: %d %s", c.name, status, body)
		}
	}
	s.kill()
	s = startAt(t, at)
	again := s.mcpCall(t, own, "ask_asks", arguments+`,"requestState":"`+waiting.State+`"`)
	if again.Type != "input_required" || len(again.Input) != 1 || again.State == waiting.State {
		t.Errorf("without an answer, the call is answered with %+v", again)
	}
	done := s.mcpCall(t, own, "ask_asks", arguments+answers+`,"requestState":"`+again.State+`"`)
	if done.Type != "complete" || done.Structured.Status != parley.TurnCompleted {
		t.Errorf("the answered call is answered with %+v", done)
	}
}

// mcpCall calls a tool in the newest version, and returns its result.
func (s *server) mcpCall(t *testing.T, key, tool, params string) (result mcpState) {
	t.Helper()
	status, body := s.mcpPost(t, key, tool, params)
	if _, data, ok := strings.Cut(body, "data: "); ok {
		body = data
	}
	answer := struct{ Result *mcpState }{&result}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 {
		t.Fatalf("%s: %d %s, %v", tool, status, body, err)
	}
	return result
}

// mcpPost calls a tool in the newest version, for a client that shows forms.
func (s *server) mcpPost(t *testing.T, key, tool, params string) (status int, body string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), turnDeadline)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`",`+params+`,"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + key, "Content-Type": "application/json", "Accept": "text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read)
}
