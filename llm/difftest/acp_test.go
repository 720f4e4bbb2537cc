package difftest_test

import (
	"context"
	"errors"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"

	acp "github.com/coder/acp-go-sdk"
)

// acpEditor is an editor with a file, whose user allows everything once.
type acpEditor struct {
	acp.Client

	mu    sync.Mutex // guards the rest
	file  string
	said  strings.Builder
	calls int
	asked int
}

func (e *acpEditor) SessionUpdate(_ context.Context, told acp.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch u := told.Update; {
	case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
		e.said.WriteString(u.AgentMessageChunk.Content.Text.Text)
	case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil &&
		*u.ToolCallUpdate.Status == acp.ToolCallStatusCompleted:
		e.calls++
	}
	return nil
}

func (e *acpEditor) RequestPermission(
	_ context.Context,
	asks acp.RequestPermissionRequest,
) (answer acp.RequestPermissionResponse, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked++
	for _, option := range asks.Options {
		if option.Kind == acp.PermissionOptionKindAllowOnce {
			answer.Outcome.Selected = &acp.RequestPermissionOutcomeSelected{
				OptionId: option.OptionId,
				Outcome:  "selected",
			}
			return answer, nil
		}
	}
	return answer, errors.New("nothing can be allowed")
}

func (e *acpEditor) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return acp.ReadTextFileResponse{Content: e.file}, nil
}

func (e *acpEditor) WriteTextFile(
	_ context.Context,
	writes acp.WriteTextFileRequest,
) (acp.WriteTextFileResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.file = writes.Content
	return acp.WriteTextFileResponse{}, nil
}

// took is what the editor was told since the last time.
func (e *acpEditor) took() (said string, calls, asked int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	said, calls, asked = e.said.String(), e.calls, e.asked
	e.said.Reset()
	e.calls, e.asked = 0, 0
	return said, calls, asked
}

// TestACPClientOfParley: the Go SDK of the Agent Client Protocol, unmodified, starts `parley acp` as its agent.
func TestACPClientOfParley(t *testing.T) {
	binary, url := running(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/agents",
		strings.NewReader(`{"slug":"scripted","name":"Scripted","model":"sim/script"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	made, err := http.DefaultClient.Do(request)
	if err != nil || made.StatusCode != http.StatusCreated {
		t.Fatalf("%+v, %v", made, err)
	}
	_ = made.Body.Close() // it is not read
	editor := &acpEditor{file: "old"}
	agent := func() *acp.ClientSideConnection {
		program := exec.Command(binary, "acp", "--url", url, "--agent", "scripted", "--data", t.TempDir())
		in, err := program.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := program.StdoutPipe()
		if err == nil {
			err = program.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = in.Close() // it may be closed already
			if err := program.Wait(); err != nil {
				t.Error(err)
			}
		})
		conn := acp.NewClientSideConnection(editor, in, out)
		hello, err := conn.Initialize(t.Context(), acp.InitializeRequest{
			ProtocolVersion: acp.ProtocolVersionNumber, ClientCapabilities: acp.ClientCapabilities{
				Fs: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true},
			},
		})
		if err != nil || !hello.AgentCapabilities.LoadSession {
			t.Fatalf("%+v, %v", hello, err)
		}
		return conn
	}
	conn := agent()
	session, err := conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: t.TempDir(), McpServers: []acp.McpServer{}})
	if err != nil || session.Modes == nil || session.Modes.CurrentModeId != "scripted" {
		t.Fatalf("%+v, %v", session, err)
	}
	say := func(conn *acp.ClientSideConnection, text string) (acp.PromptResponse, error) {
		return conn.Prompt(t.Context(), acp.PromptRequest{
			SessionId: session.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock(text)},
		})
	}
	const script = `[[{"tool_call":{"name":"editor_write_file","arguments":{"path":"a.txt","text":"new"}}}],` +
		`[{"text":"It is written."}]]`
	answer, err := say(conn, script)
	said, calls, asked := editor.took()
	if err != nil || answer.StopReason != acp.StopReasonEndTurn || said != "It is written." || calls != 1 ||
		asked != 1 ||
		editor.file != "new" {
		t.Errorf("%+v, %v: it says %q after %d calls and %d questions", answer, err, said, calls, asked)
	}
	var refused *acp.RequestError
	if _, err = say(conn, `[[{"error":{"class":"model","retryable":false}}]]`); !errors.As(err, &refused) {
		t.Errorf("a turn that fails answers %v", err)
	}
	again := agent()
	if _, err := again.LoadSession(t.Context(), acp.LoadSessionRequest{
		SessionId: session.SessionId, Cwd: t.TempDir(), McpServers: []acp.McpServer{},
	}); err != nil {
		t.Fatal(err)
	}
	if said, calls, _ = editor.took(); said != "It is written." || calls != 1 {
		t.Errorf("loaded, it says %q after %d calls", said, calls)
	}
	if answer, err = say(
		again,
		`[[{"text":"Still here."}]]`,
	); err != nil ||
		answer.StopReason != acp.StopReasonEndTurn {
		t.Errorf("%+v, %v", answer, err)
	}
	if said, _, _ = editor.took(); said != "Still here." {
		t.Errorf("it goes on with %q", said)
	}
}
