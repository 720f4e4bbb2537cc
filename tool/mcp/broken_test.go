package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
	"example.org/parley/internal/bounded"
	"example.org/parley/tool"
	"example.org/parley/tool/mcp"
)

// logged opens a source with a captured log, and waits for its servers.
func logged(t *testing.T, servers ...mcp.Server) (*mcp.Source, *lockedLog) {
	t.Helper()
	log := &lockedLog{}
	source, err := mcp.Open(
		servers,
		mcp.Options{Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	source.Await(t.Context())
	return source, log
}

// TestCancelIsTold: a call whose turn is cancelled ends immediately, its server is told, and other calls of the same
// server continue.
func TestCancelIsTold(t *testing.T) {
	t.Parallel()
	source, log := logged(t, childServer(t, "zoo", "tools"))
	before, err := call(t.Context(), t, source, "zoo__pid", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := call(ctx, t, source, "zoo__hang", `{}`)
		ended <- err
	}()
	for range 8 { // beside it
		if got, err := call(t.Context(), t, source, "zoo__echo", `{"text":"x"}`); err != nil || got != `"x"` {
			t.Errorf("%s, %v", got, err)
		}
	}
	cancel()
	if err := bounded.Receive(t, ended, "the call to end"); !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call ended with %v", err)
	}
	until(t, "a server that knows", func() bool { return strings.Contains(log.String(), "the call was cancelled") })
	if after, err := call(t.Context(), t, source, "zoo__pid", `{}`); err != nil || after != before {
		t.Errorf("the server is %s after %s, %v", after, before, err)
	}
}

// TestSlowCallCostsItself: the server's own limit of time ends a call; a server that still answers is left alone.
func TestSlowCallCostsItself(t *testing.T) {
	t.Parallel()
	server := childServer(t, "zoo", "tools")
	server.CallTime = 200 * time.Millisecond
	source, _ := logged(t, server)
	before, err := call(t.Context(), t, source, "zoo__pid", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(
		t.Context(),
		t,
		source,
		"zoo__hang",
		`{}`,
	); err == nil ||
		!strings.Contains(err.Error(), "within 200ms. Whether it took effect is unknown") {
		t.Errorf("the slow call ended with %v", err)
	}
	if after, err := call(t.Context(), t, source, "zoo__pid", `{}`); err != nil || after != before {
		t.Errorf("the server is %s after %s, %v", after, before, err)
	}
}

// TestHungServerIsRestarted: a server without a sign of life after an unanswered call is ended, and its tools work
// again.
func TestHungServerIsRestarted(t *testing.T) {
	t.Parallel()
	server := childServer(t, "zoo", "tools")
	server.CallTime = 3 * time.Second // of which only the hung process takes all, on a slow machine too
	source, log := logged(t, server)
	text, err := call(t.Context(), t, source, "zoo__pid", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.Trim(text, `"`))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := call(
		t.Context(),
		t,
		source,
		"zoo__echo",
		`{"text":"x"}`,
	); parley.ErrorCode(
		err,
	) != parley.CodeUnavailable {
		t.Errorf("a call of a hung server ended with %v", err)
	}
	until(t, "another process", func() bool {
		got, err := call(t.Context(), t, source, "zoo__pid", `{}`)
		return err == nil && got != text
	})
	if syscall.Kill(pid, 0) == nil {
		t.Error("the hung process is still there")
	}
	if !strings.Contains(log.String(), "it does not answer") {
		t.Errorf("the log says %s", log)
	}
}

// TestServerThatDiesCostsItsCalls: the tools stay known, calls in progress report an unknown effect, and later calls
// reach the restarted server.
func TestServerThatDiesCostsItsCalls(t *testing.T) {
	t.Parallel()
	source, log := logged(t, childServer(t, "zoo", "tools"), childServer(t, "ark", "tools"))
	before := names(source)
	_, err := call(t.Context(), t, source, "zoo__die", `{}`)
	if parley.ErrorCode(err) != parley.CodeUnavailable || !strings.Contains(err.Error(), "took effect is unknown") {
		t.Errorf("the call that killed it ended with %v", err)
	}
	if got, err := call(t.Context(), t, source, "ark__echo", `{"text":"x"}`); err != nil || got != `"x"` {
		t.Errorf("the other server: %s, %v", got, err)
	}
	if got, err := call(t.Context(), t, source, "zoo__echo", `{"text":"back"}`); err != nil || got != `"back"` {
		t.Errorf("%s, %v", got, err)
	}
	if after := names(source); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the tools were %v and are %v", before, after)
	}
	if !strings.Contains(log.String(), "exit status 4") {
		t.Errorf("the log says %s", log)
	}
}

// TestManyConcurrentCalls share one connection.
func TestManyConcurrentCalls(t *testing.T) {
	t.Parallel()
	source := open(t, childServer(t, "zoo", "tools"))
	var calls sync.WaitGroup
	for i := range 64 {
		calls.Go(func() {
			text := strconv.Itoa(i)
			if got, err := call(
				t.Context(),
				t,
				source,
				"zoo__echo",
				`{"text":"`+text+`"}`,
			); err != nil ||
				got != `"`+text+`"` {
				t.Errorf("call %d: %s, %v", i, got, err)
			}
		})
	}
	calls.Wait()
}

// TestProcessesEndWithTheSource: grandchildren end too, even those that hold the pipes of their parents.
func TestProcessesEndWithTheSource(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	server := childServer(t, "zoo", "grandchild")
	server.Environment = append(server.Environment, "PID_FILE="+file)
	source, err := mcp.Open([]mcp.Server{server}, mcp.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	source.Await(t.Context())
	text, err := call(t.Context(), t, source, "zoo__pid", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	source.Close()
	for _, text := range []string{strings.Trim(text, `"`), string(written)} {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the end of process "+text, func() bool { return gone(pid) })
	}
	if _, err := call(
		t.Context(),
		t,
		source,
		"zoo__echo",
		`{"text":"x"}`,
	); parley.ErrorCode(
		err,
	) != parley.CodeUnavailable {
		t.Errorf("a call after the end: %v", err)
	}
}

// gone reports whether a process has ended; an orphan may remain as a zombie.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// TestProgressIsPassedOn: progress reaches the call that it belongs to.
func TestProgressIsPassedOn(t *testing.T) {
	t.Parallel()
	server, heard := newServer(), make(chan struct{})
	sdk.AddTool(
		server,
		&sdk.Tool{Name: "dig"},
		func(ctx context.Context, r *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error) {
			err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: in.Text,
			})
			select { // progress must arrive before the result
			case <-heard:
			case <-ctx.Done():
			}
			return said("dug"), nil, err
		},
	)
	source := open(
		t,
		mcp.Server{Name: "web", URL: serve(t, server, nil, nil), AllowPrivate: true, Protocol: "2025-11-25"},
	)
	one, ok := source.Tool("web__dig")
	if !ok {
		t.Fatal("there is no tool")
	}
	for _, word := range []string{"sand", "clay"} {
		var got parley.ToolProgress
		call := tool.Call{
			Arguments: []byte(`{"text":"` + word + `"}`),
			Progress:  func(p parley.ToolProgress) { got = p; heard <- struct{}{} },
		}
		ctx, stop := context.WithTimeout(t.Context(), patience)
		_, err := one.Call(ctx, call)
		stop()
		if want := (parley.ToolProgress{Progress: 1, Total: 2, Message: word}); err != nil || got != want {
			t.Errorf("told %+v, %v; want %+v", got, err, want)
		}
	}
}
