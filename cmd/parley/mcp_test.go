package main

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/tool/mcp"
)

// TestMCPSettings: what the file says of tool servers, with the secrets from the
// environment.
func TestMCPSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "parley.yaml"), `
mcp:
  - name: files
    command: npx
    args: ["-y", "server", "/srv"]
    env: {MODE: "fast$", HOME: /elsewhere, TOKEN: "${FILES_TOKEN}"}
    timeout: 5s
    tools: {write: {destructive: false}, "*": {open_world: false}}
  - name: search
    url: https://mcp.example.com/mcp
    headers: {x-team: red}
    secret_headers: {Authorization: "Bearer ${SEARCH_TOKEN}"}
    connect_timeout: 2s
    protocol: "2025-11-25"
`)
	env := environment(
		map[string]string{
			"FILES_TOKEN":    "t0ken",
			"SEARCH_TOKEN":   "x",
			"PATH":           "/bin",
			"HOME":           "/home/ada",
			"OPENAI_API_KEY": "no",
		},
	)
	s, err := loadSettings(&flags{data: dir}, env)
	if err != nil {
		t.Fatal(err)
	}
	no := false
	want := []mcp.Server{
		{Name: "files", Command: "npx", Args: []string{"-y", "server", "/srv"}, CallTime: 5 * time.Second,
			Environment: []string{"PATH=/bin", "HOME=/home/ada", "HOME=/elsewhere", "MODE=fast$", "TOKEN=t0ken"},
			Tools:       map[string]parley.AnnotationsOverride{"write": {Destructive: &no}, "*": {OpenWorld: &no}}},
		{Name: "search", URL: "https://mcp.example.com/mcp", ConnectTime: 2 * time.Second, Protocol: "2025-11-25",
			Headers: http.Header{"X-Team": {"red"}, "Authorization": {"Bearer x"}}},
	}
	for i, given := range s.MCP {
		got, err := given.server(env)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("server %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestMCPSettingsThatCannotWork keep the server from starting, say why, and
// repeat no secret.
func TestMCPSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	env := environment(map[string]string{"TOKEN": "s3cret"})
	for says, given := range map[string][]mcpSetting{
		"needs a name":              {{Command: "npx"}},
		"single _":                  {{Name: "a__b", Command: "npx"}},
		"either command":            {{Name: "fs"}},
		"either command (and args)": {{Name: "fs", Command: "npx", URL: "https://host/mcp"}},
		"MISSING":                   {{Name: "fs", Command: "npx", Env: map[string]string{"KEY": "${MISSING}"}}},
		"are for a command":         {{Name: "fs", URL: "https://host/mcp", Env: map[string]string{"KEY": "${TOKEN}"}}},
		"are for a url": {{Name: "fs", Command: "npx",
			SecretHeaders: map[string]string{"Authorization": "Bearer ${TOKEN}"}}},
		"http:// or https://":     {{Name: "fs", URL: "file:///etc/passwd"}},
		"no user and password":    {{Name: "fs", URL: "https://ada:s3cret@host/mcp"}},
		"protocol must be one of": {{Name: "fs", Command: "npx", Protocol: "2023-01-01"}},
		"times lie between":       {{Name: "fs", Command: "npx", CallTime: duration(48 * time.Hour)}},
		"listed twice":            {{Name: "fs", Command: "npx"}, {Name: "fs", Command: "npx"}},
		"at most 64 servers":      slices.Repeat([]mcpSetting{{Name: "fs", Command: "npx"}}, 65),
	} {
		source, err := openMCP(settings{MCP: given}, env, mcp.Options{})
		if parley.ErrorCode(err) != parley.CodeInvalid || !strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("want an error with %q, got %v", says, err)
		}
		if source != nil {
			source.Close()
		}
	}
}
