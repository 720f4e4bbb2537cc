package difftest_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// startDeadline bounds the start of a server.
const startDeadline = 30 * time.Second

// served is the vendor's client of a server that runs until the end of the test.
func served(t *testing.T) sdk.Client {
	t.Helper()
	_, url := running(t)
	return sdk.NewClient(option.WithBaseURL(url+"/openai/v1"), option.WithAPIKey("none"), option.WithMaxRetries(0))
}

// running runs the real binary with a new database until the end of the test, and returns its path and the server's
// address.
func running(t *testing.T) (binary, url string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "parley")
	build := exec.Command("go", "build", "-o", binary, "./cmd/parley")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := exec.Command(binary, "serve", "--data", t.TempDir(), "--addr", "127.0.0.1:0")
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // it may have ended
		_ = server.Wait()
	})
	lines := make(chan string, 1)
	go func() { // ends with the process
		reader := bufio.NewReader(out)
		line, _ := reader.ReadString('\n')
		lines <- line
		_, _ = io.Copy(io.Discard, reader)
	}()
	select {
	case line := <-lines:
		_, url, ok := strings.Cut(strings.TrimSpace(line), "listens on ")
		if !ok {
			t.Fatalf("the server said %q", line)
		}
		return binary, url
	case <-time.After(startDeadline):
		t.Fatal("the server did not start")
	}
	return "", ""
}

// The vendor's Go client, unmodified, talks to a server that it knows by its address alone.
func TestOpenAIClientOfParley(t *testing.T) {
	client := served(t)
	var first, second *http.Response
	messages := []sdk.ChatCompletionMessageParamUnion{sdk.SystemMessage("Be brief."), sdk.UserMessage("one")}
	answer, err := client.Chat.Completions.New(t.Context(), sdk.ChatCompletionNewParams{
		Model: "sim/echo", Messages: messages,
	}, option.WithResponseInto(&first))
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.Choices[0].Message.Content; got != "one" {
		t.Errorf("the answer is %q", got)
	}

	messages = append(messages, answer.Choices[0].Message.ToParam(), sdk.UserMessage("two"))
	stream := client.Chat.Completions.NewStreaming(t.Context(), sdk.ChatCompletionNewParams{
		Model: "sim/echo", Messages: messages,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}, option.WithResponseInto(&second))
	defer stream.Close()
	var total sdk.ChatCompletionAccumulator
	for stream.Next() {
		if !total.AddChunk(stream.Current()) {
			t.Errorf("the accumulator refuses %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if total.Choices[0].Message.Content != "two" || total.Choices[0].FinishReason != "stop" ||
		total.Usage.TotalTokens == 0 {
		t.Errorf("the stream added up to %s", total.RawJSON())
	}
	const header = "X-Parley-Session"
	if a, b := first.Header.Get(header), second.Header.Get(header); a == "" || a != b {
		t.Errorf("the history went on in %q, want %q", b, a)
	}

	const script = `[[{"tool_call":{"name":"look","arguments":{"at":"it"}}}],[{"text":"Seen."}]]`
	tools := []sdk.ChatCompletionToolUnionParam{
		sdk.ChatCompletionFunctionTool(sdk.FunctionDefinitionParam{Name: "look"}),
	}
	messages = []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage(script)}
	asks, err := client.Chat.Completions.New(t.Context(), sdk.ChatCompletionNewParams{
		Model: "sim/script", Messages: messages, Tools: tools,
	})
	if err != nil {
		t.Fatal(err)
	}
	calls := asks.Choices[0].Message.ToolCalls
	if len(calls) != 1 || calls[0].Function.Arguments != `{"at":"it"}` || asks.Choices[0].FinishReason != "tool_calls" {
		t.Fatalf("the calls are %s", asks.RawJSON())
	}
	messages = append(messages, asks.Choices[0].Message.ToParam(), sdk.ToolMessage("a cat", calls[0].ID))
	ends, err := client.Chat.Completions.New(t.Context(), sdk.ChatCompletionNewParams{
		Model: "sim/script", Messages: messages, Tools: tools,
	})
	if err != nil || ends.Choices[0].Message.Content != "Seen." {
		t.Errorf("the result of the tool got %+v, %v", ends, err)
	}

	models, err := client.Models.List(t.Context())
	if err != nil || len(models.Data) < 2 || !strings.Contains(models.RawJSON(), `"id":"parley"`) {
		t.Errorf("the models are %+v, %v", models, err)
	}
	_, err = client.Chat.Completions.New(t.Context(), sdk.ChatCompletionNewParams{Model: "nobody", Messages: messages})
	var refusal *sdk.Error
	if !errors.As(err, &refusal) || refusal.StatusCode != http.StatusNotFound || refusal.Code != "model_not_found" {
		t.Errorf("an unknown model: %v", err)
	}
}
