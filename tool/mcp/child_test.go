package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// childMode is the variable that makes this test binary a stdio server.
const childMode = "PARLEY_TEST_MCP"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		if err := child(mode); err != nil && !errors.Is(err, io.EOF) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child is a stdio server of the given mode.
func child(mode string) error {
	switch mode {
	case "silent": // neither speaks nor ends when its input does
		time.Sleep(time.Hour) // select {} would end a program without cgo as a deadlock
	case "deaf": // starts, and reads nothing more
		fmt.Fprintln(os.Stderr, "the child does not read")
		time.Sleep(time.Hour)
	case "garbage":
		fmt.Println("Welcome to the server!")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return nil
	case "floods":
		return floodingChild()
	case "odd":
		return oddChild()
	case "dies":
		fmt.Fprintln(os.Stderr, "no token in "+os.Getenv("SECRET_TOKEN"))
		os.Exit(3)
	case "grandchild": // leaves a process behind that holds its pipes
		hold := exec.Command("sleep", "1000")
		hold.Stdout, hold.Stderr = os.Stdout, os.Stderr
		if err := hold.Start(); err != nil {
			return err
		}
		if err := os.WriteFile(os.Getenv("PID_FILE"), []byte(strconv.Itoa(hold.Process.Pid)), 0o600); err != nil {
			return err
		}
	}
	server := newServer()
	if mode == "grows" {
		addGrow(server)
	}
	return server.Run(context.Background(), &sdk.StdioTransport{})
}

type text struct {
	Text string `json:"text"`
}

type nothing struct{}

// said returns a result with one text.
func said(format string, args ...any) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// newServer returns a server with tools of many kinds.
func newServer() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "trial", Version: "1"}, nil)
	no, yes := false, true
	sdk.AddTool(
		server,
		&sdk.Tool{
			Name:        "echo",
			Description: "Says it again.",
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no},
		},
		func(_ context.Context, _ *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error) {
			return said("%s", in.Text), nil, nil
		},
	)
	sdk.AddTool(server, &sdk.Tool{Name: "wipe.all", Description: "Says nothing of what it does."},
		func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
			return said("wiped"), nil, nil
		})
	sdk.AddTool(
		server,
		&sdk.Tool{
			Name: "append",
			Annotations: &sdk.ToolAnnotations{
				DestructiveHint: &no,
				IdempotentHint:  true,
				OpenWorldHint:   &yes,
				Title:           "Adds",
			},
		},
		func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
			return nil, nil, errors.New("the file is full")
		},
	)
	sdk.AddTool(
		server,
		&sdk.Tool{Name: "hang"},
		func(ctx context.Context, _ *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
			<-ctx.Done()
			fmt.Fprintln(os.Stderr, "the call was cancelled")
			return said("late"), nil, nil
		},
	)
	sdk.AddTool(
		server,
		&sdk.Tool{Name: "die"},
		func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
			os.Exit(4)
			return nil, nil, nil
		},
	)
	sdk.AddTool(
		server,
		&sdk.Tool{Name: "pid"},
		func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
			return said("%d", os.Getpid()), nil, nil
		},
	)
	sdk.AddTool(
		server,
		&sdk.Tool{Name: "environment"},
		func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
			return said("%q", os.Environ()), nil, nil
		},
	)
	return server
}
