package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/parley/tool"
	"example.org/parley/tool/mcp"
)

// conformanceScenario is the variable in which the protocol's conformance suite names the
// task of the client under test. If it is set, this test binary is that client.
const conformanceScenario = "MCP_CONFORMANCE_SCENARIO"

// The suite's scenarios, by the revisions of the protocol that they belong to. Those about
// features that Parley's client does not offer are left out: OAuth (keys are sent as
// configured headers), elicitation, and skills.
var scenarios = map[string][]string{
	"2025-11-25": {"initialize", "tools_call", "sse-retry", "json-schema-2020-12-preservation"},
	"2026-07-28": {
		"tools_call", "request-metadata", "http-standard-headers", "http-custom-headers", "http-invalid-tool-headers",
		"json-schema-ref-no-deref", "json-schema-2020-12-preservation",
	},
}

// TestMCPConformance runs the official client scenarios against a client built only from
// tool/mcp.
func TestMCPConformance(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	suite := npm(t, "@modelcontextprotocol/conformance/dist/index.js")
	for _, revision := range slices.Sorted(maps.Keys(scenarios)) {
		for _, scenario := range scenarios[revision] {
			t.Run(revision+"/"+scenario, func(t *testing.T) {
				t.Parallel()
				results := t.TempDir()
				ctx, stop := context.WithTimeout(t.Context(), 2*turnDeadline)
				defer stop()
				command := exec.CommandContext(ctx, node(t), suite, "client", "--command", self, "--scenario", scenario,
					"--spec-version", revision, "--output-dir", results)
				command.Env = cleanEnvironment()
				out, err := command.CombinedOutput()
				passed, failed := checks(t, results)
				if err != nil || failed > 0 || passed == 0 {
					t.Errorf("%d checks passed, %d failed, %v\n%s", passed, failed, err, out)
				}
			})
		}
	}
}

// check is what the suite says of one of its checks.
type check struct{ ID, Status string }

// checkList reads the checks of a scenario.
func checkList(t *testing.T, results string) (list []check) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var some []check
		if err := json.Unmarshal(raw, &some); err != nil {
			t.Fatal(err)
		}
		list = append(list, some...)
	}
	return list
}

// checks counts the passed and the failed checks of a scenario.
func checks(t *testing.T, results string) (passed, failed int) {
	t.Helper()
	for _, check := range checkList(t, results) {
		switch check.Status {
		case "SUCCESS":
			passed++
		case "FAILURE", "WARNING":
			t.Logf("%s: %s", check.ID, check.Status)
			failed++
		}
	}
	return passed, failed
}

// conformanceClient performs a scenario's task against a server.
func conformanceClient(scenario, url string) error {
	ctx, stop := context.WithTimeout(context.Background(), turnDeadline)
	defer stop()
	source, err := mcp.Open([]mcp.Server{{Name: "suite", URL: url, AllowPrivate: true}},
		mcp.Options{Version: "test", Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	defer source.Close()
	source.Await(ctx)
	given := map[string]string{"tools_call": `{"a":5,"b":3}`, "http-invalid-tool-headers": `{"region":"us-west1"}`}
	switch scenario {
	case "http-custom-headers":
		return callAsTold(ctx, source)
	case "json-schema-2020-12-preservation":
		return echoSchema(ctx, source)
	case "initialize", "request-metadata", "json-schema-ref-no-deref": // connecting and listing is all
		return nil
	}
	for _, tool := range source.Tools() {
		arguments := given[scenario]
		if arguments == "" {
			if arguments, err = namedFirst(ctx, source, tool.Definition().Name); err != nil {
				return err
			}
		}
		if err := conformanceCall(ctx, tool, arguments); err != nil {
			return err
		}
	}
	if len(source.Tools()) == 0 {
		return errors.New("the server has no tools")
	}
	return nil
}

// namedFirst returns arguments that name the first resource, or prompt, that the server lists; none for other tools.
func namedFirst(ctx context.Context, source *mcp.Source, name string) (string, error) {
	lists := map[string][2]string{
		"suite__read_resource": {"suite__list_resources", "uri"}, "suite__get_prompt": {"suite__list_prompts", "name"},
	}
	list, ok := source.Tool(lists[name][0])
	if !ok {
		return "{}", nil
	}
	result, err := list.Call(ctx, tool.Call{ID: "call_0", Arguments: json.RawMessage("{}")})
	if err != nil {
		return "", err
	}
	var page struct{ Data []map[string]any }
	if err := json.Unmarshal(result.JSON, &page); err != nil || len(page.Data) == 0 {
		return "", fmt.Errorf("%s lists nothing: %s, %w", lists[name][0], result.JSON, err)
	}
	raw, err := json.Marshal(map[string]any{lists[name][1]: page.Data[0][lists[name][1]]})
	return string(raw), err
}

// conformanceCall calls a tool.
func conformanceCall(ctx context.Context, one tool.Tool, arguments string) error {
	result, err := one.Call(ctx, tool.Call{ID: "call_1", Arguments: json.RawMessage(arguments)})
	fmt.Fprintf(os.Stderr, "%s(%s): %s, %v\n", one.Definition().Name, arguments, result.JSON, err)
	return err
}

// callAsTold makes the calls that the suite requests.
func callAsTold(ctx context.Context, source *mcp.Source) error {
	var told struct {
		ToolCalls []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &told); err != nil {
		return err
	}
	for _, call := range told.ToolCalls {
		tool, err := named(source, call.Name)
		if err != nil {
			return err
		}
		if err := conformanceCall(ctx, tool, string(call.Arguments)); err != nil {
			return err
		}
	}
	return nil
}

// echoSchema returns a tool's schema, as a provider would get it.
func echoSchema(ctx context.Context, source *mcp.Source) error {
	focal, err := named(source, "json_schema_2020_12_tool")
	if err != nil {
		return err
	}
	echo, err := named(source, "json_schema_echo")
	if err != nil {
		return err
	}
	return conformanceCall(ctx, echo, `{"schema":`+string(focal.Definition().Parameters)+`}`)
}

// named finds a tool by the server's own name for it.
func named(source *mcp.Source, name string) (tool.Tool, error) {
	for _, tool := range source.Tools() {
		if strings.HasPrefix(tool.Definition().Name, "suite__"+name) {
			return tool, nil
		}
	}
	return nil, fmt.Errorf("the server has no tool %s", name)
}
