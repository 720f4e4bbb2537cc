package mcp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/tool"
	"example.org/parley/tool/mcp"
)

// patience bounds the waits of the tests; only a failing test reaches it.
const patience = 30 * time.Second

// childServer returns this binary as a stdio server.
func childServer(t *testing.T, name, mode string) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{
		Name:        name,
		Command:     self,
		Environment: []string{childMode + "=" + mode, "PATH=" + os.Getenv("PATH")},
	}
}

// open opens a source and waits until each server was tried once.
func open(t *testing.T, servers ...mcp.Server) *mcp.Source {
	t.Helper()
	source, err := mcp.Open(servers, mcp.Options{Version: "test", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	source.Await(ctx)
	if ctx.Err() != nil {
		t.Fatal("the servers were not tried in time")
	}
	return source
}

// names returns the names of a source's tools.
func names(source *mcp.Source) (all []string) {
	for _, tool := range source.Tools() {
		all = append(all, tool.Definition().Name)
	}
	return all
}

// call calls a tool and returns its result, or its error's text.
func call(ctx context.Context, t *testing.T, source *mcp.Source, name, arguments string) (result string, err error) {
	t.Helper()
	one, ok := source.Tool(name)
	if !ok {
		t.Fatalf("there is no tool %s, only %v", name, names(source))
	}
	answered, err := one.Call(ctx, tool.Call{ID: "call_1", Arguments: json.RawMessage(arguments)})
	if err != nil || answered.Pieces == nil {
		return string(answered.JSON), err
	}
	raw, err := json.Marshal(answered.Pieces)
	return string(raw), err
}

func TestToolsOfAStdioServer(t *testing.T) {
	t.Parallel()
	source := open(t, childServer(t, "zoo", "tools"), childServer(t, "ark", "tools"))
	var want []string
	for _, server := range []string{"ark", "zoo"} {
		for _, name := range []string{"append", "die", "echo", "environment", "hang", "pid"} {
			want = append(want, server+"__"+name)
		}
		want = append(want, mcp.ToolName(server, "wipe.all"))
	}
	if diff := cmp.Diff(want, names(source)); diff != "" {
		t.Fatal(diff)
	}
	echo, _ := source.Tool("zoo__echo")
	if got := echo.Definition(); got.Description != "Says it again." ||
		!strings.Contains(string(got.Parameters), `"text"`) ||
		echo.Source() != "mcp/zoo" {
		t.Errorf("zoo__echo is %+v of %s", got, echo.Source())
	}
	for name, c := range map[string]struct{ arguments, result, err string }{
		"zoo__echo":   {arguments: `{"text":"hello"}`, result: `"hello"`},
		"ark__echo":   {arguments: `{"txt":"hello"}`, err: "do not fit the schema of ark__echo"},
		"zoo__append": {arguments: `{}`, err: "the file is full"},
	} {
		got, err := call(t.Context(), t, source, name, c.arguments)
		if got != c.result || (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// TestAnnotations: the protocol's defaults replace what a server leaves out, and the configuration has the last word.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	server := childServer(t, "zoo", "tools")
	no, yes := false, true
	server.Tools = map[string]parley.AnnotationsOverride{"pid": {ReadOnly: &yes}, "*": {OpenWorld: &no}}
	source := open(t, childServer(t, "ark", "tools"), server)
	for name, want := range map[string]parley.ToolAnnotations{
		"ark__echo":   {ReadOnly: true},
		"ark__append": {Idempotent: true, OpenWorld: true},
		"ark__pid":    {Destructive: true, OpenWorld: true},
		"zoo__pid":    {ReadOnly: true, OpenWorld: true},
		"zoo__append": {Idempotent: true},
		"zoo__die":    {Destructive: true},
	} {
		tool, ok := source.Tool(name)
		if !ok || tool.Annotations() != want {
			t.Errorf("%s: %+v; want %+v", name, tool.Annotations(), want)
		}
	}
}

// TestEnvironmentIsNotInherited: credentials of this process are not passed on.
func TestEnvironmentIsNotInherited(t *testing.T) {
	t.Parallel()
	source := open(t, childServer(t, "zoo", "tools"))
	got, err := call(t.Context(), t, source, "zoo__environment", `{}`)
	if err != nil || !strings.Contains(got, childMode) || strings.Contains(got, "HOME=") {
		t.Errorf("the process sees %s, %v", got, err)
	}
}

// TestBrokenServersCostOnlyThemselves is failures 33 and 59 for tools: servers that cannot be started, stay silent,
// send nonsense or die do not affect the others, and end with the source.
func TestBrokenServersCostOnlyThemselves(t *testing.T) {
	t.Parallel()
	var broken []mcp.Server
	for _, mode := range []string{"silent", "deaf", "garbage", "dies"} {
		server := childServer(t, mode, mode)
		server.ConnectTime = time.Second
		server.Environment = append(server.Environment, "SECRET_TOKEN=s3cret-value")
		broken = append(broken, server)
	}
	broken = append(broken, mcp.Server{Name: "absent", Command: "/nowhere/to-be-found"})
	log := &lockedLog{}
	source, err := mcp.Open(
		append(broken, childServer(t, "zoo", "tools")),
		mcp.Options{Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	source.Await(ctx)
	if got, err := call(ctx, t, source, "zoo__echo", `{"text":"here"}`); err != nil || got != `"here"` {
		t.Errorf("the good server: %s, %v", got, err)
	}
	for _, server := range broken {
		if !source.Expects(server.Name+"__anything") || source.Expects("zoo__anything") ||
			source.Expects("other__tool") {
			t.Errorf("%s: Expects is wrong", server.Name)
		}
	}
	text := log.String()
	for _, want := range []string{"mcp=absent", "no such file", "exit status 3", "no token in [redacted]",
		"it does not answer"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log does not say %q", want)
		}
	}
	if strings.Contains(text, "s3cret-value") {
		t.Error("the log holds a secret")
	}
}

// lockedLog collects a log.
type lockedLog struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
