package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
)

// played is an answer with its chunks joined.
type played struct {
	Text, Reasoning, Refusal string
	Calls                    []string // id name arguments
	Data                     string
	Usage                    parley.Usage
	Finish                   parley.FinishReason
	chunks                   int
	blocks                   []model.ChunkKind
}

func ask(modelID, text string) model.Request {
	return model.Request{Model: parley.ModelID("sim/" + modelID), Messages: []model.Message{user(text)}}
}

func user(text string) model.Message {
	return model.Message{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: text}}}
}

// play streams an answer to its end and checks the rules of every answer.
func play(ctx context.Context, t *testing.T, request model.Request) (played, error) {
	t.Helper()
	encoded, err := sim.New().Encode(request)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(encoded.Body) {
		t.Fatalf("the body is not JSON: %s", encoded.Body)
	}
	var p played
	calls := map[int]int{}
	for chunk, err := range sim.New().Stream(ctx, encoded) {
		if err != nil {
			return p, err
		}
		if p.Finish != "" {
			t.Fatal("there is a chunk after the last one")
		}
		if !utf8.ValidString(chunk.Text) {
			t.Fatalf("chunk %q is not valid UTF-8", chunk.Text)
		}
		p.chunks++
		if chunk.Kind <= model.ChunkToolCall && chunk.Block == len(p.blocks) {
			p.blocks = append(p.blocks, chunk.Kind)
		} else if chunk.Kind <= model.ChunkToolCall && p.blocks[chunk.Block] != chunk.Kind {
			t.Fatalf("block %d changes its kind", chunk.Block)
		}
		switch chunk.Kind {
		case model.ChunkText:
			p.Text += chunk.Text
		case model.ChunkReasoning:
			p.Reasoning += chunk.Text
		case model.ChunkRefusal:
			p.Refusal += chunk.Text
		case model.ChunkToolCall:
			calls[chunk.Block] = len(p.Calls)
			p.Calls = append(p.Calls, chunk.CallID+" "+chunk.Name+" ")
		case model.ChunkArguments:
			p.Calls[calls[chunk.Block]] += chunk.Text
		case model.ChunkProviderData:
			p.Data = string(chunk.Data)
		case model.ChunkUsage:
			p.Usage = chunk.Usage
		case model.ChunkFinish:
			p.Finish = chunk.Finish
		}
	}
	if p.Finish == "" {
		t.Fatal("the answer ended without a finish")
	}
	return p, nil
}

func mustPlay(t *testing.T, request model.Request) played {
	t.Helper()
	p, err := play(t.Context(), t, request)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEcho(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "Hello", "  two  spaces\n\nand lines\n", "日本語のとても長い文には空白がない", "🙂🙃🙂🙃 mixed 🙂",
		strings.Repeat("long text ", 20_000), "\t",
	} {
		p := mustPlay(t, ask("echo", text))
		if p.Text != text || p.Finish != parley.FinishStop {
			t.Errorf("echo of %.40q is %.40q, finish %s", text, p.Text, p.Finish)
		}
		if len(text) > 100 && p.chunks < len(text)/16 {
			t.Errorf("%d bytes come in %d chunks", len(text), p.chunks)
		}
	}
	request := ask("echo", "first")
	request.Messages = append(request.Messages, user("second"))
	if p := mustPlay(t, request); p.Text != "second" {
		t.Errorf("echo answers %q, want the last user text", p.Text)
	}
}

func TestMaxTokensCuts(t *testing.T) {
	t.Parallel()
	request := ask("echo", "one two three four")
	request.Parameters.MaxTokens = new(2)
	if p := mustPlay(t, request); p.Text != "one two" || p.Finish != parley.FinishLength {
		t.Errorf("cut answer %q, finish %s", p.Text, p.Finish)
	}
}

func TestLorem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		p := mustPlay(t, ask("lorem-40-5", "go"))
		if took := time.Since(started); took != 200*time.Millisecond {
			t.Errorf("40 tokens at 5 ms took %s", took)
		}
		if !strings.HasPrefix(p.Text, "Simulated: lorem ipsum") {
			t.Errorf("the text %q does not say that it is simulated", p.Text)
		}
		if n := len(strings.Fields(p.Text)); n != 40 || *p.Usage.OutputTokens != 40 {
			t.Errorf("%d words, %d output tokens, want 40", n, *p.Usage.OutputTokens)
		}
	})
}

func TestCancelEndsImmediately(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"lorem-1000-1000", "script"} {
		synctest.Test(t, func(t *testing.T) {
			stop := errors.New("the person pressed stop")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(2500*time.Millisecond, func() { cancel(stop) })
			started := time.Now()
			_, err := play(ctx, t, ask(model, `[[{"text":"a"},{"wait_ms":600000}]]`))
			if !errors.Is(err, stop) {
				t.Errorf("%s ended with %v, want the cause of the cancel", model, err)
			}
			if took := time.Since(started); took != 2500*time.Millisecond {
				t.Errorf("%s took %s to end", model, took)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := play(ctx, t, ask("echo", "a")); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled echo gave %v", err)
	}
}

func TestBreakStopsTheStream(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"echo", "lorem-10-0", "reason", "tool", "script"} {
		encoded, err := sim.New().Encode(ask(model, `[[{"text":"a b c"},{"tool_call":{"name":"x"}}]]`))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range sim.New().Stream(t.Context(), encoded) {
			if err != nil {
				t.Error(err)
			}
			break // a further yield would panic
		}
	}
}

func TestTool(t *testing.T) {
	t.Parallel()
	request := ask("tool", "What time is it?")
	first := mustPlay(t, request)
	if diff := cmp.Diff(
		[]string{"call_1 current_time {}"},
		first.Calls,
	); diff != "" ||
		first.Finish != parley.FinishToolCalls {
		t.Fatalf("first answer: finish %s, calls (-want +got):\n%s", first.Finish, diff)
	}
	answer := func(isError bool) model.Request {
		r := request
		r.Messages = append(
			r.Messages[:1:1],
			model.Message{
				Role: model.RoleAssistant,
				Parts: []model.Part{
					{Kind: model.PartToolCall, CallID: "own", Name: "current_time", Arguments: []byte("{}")},
				},
			},
			model.Message{
				Role: model.RoleTool,
				Parts: []model.Part{
					{Kind: model.PartToolResult, CallID: "own", Name: "current_time", Text: "noon", IsError: isError},
				},
			},
		)
		return r
	}
	if p := mustPlay(
		t,
		answer(false),
	); p.Text != "Simulated: the tool current_time answered noon" ||
		p.Finish != parley.FinishStop {
		t.Errorf("second answer %q, finish %s", p.Text, p.Finish)
	}
	if p := mustPlay(t, answer(true)); p.Text != "Simulated: the tool current_time failed: noon" {
		t.Errorf("answer to a failed tool: %q", p.Text)
	}
	again := answer(false)
	again.Messages = append(again.Messages, user("And now?"))
	if p := mustPlay(t, again); len(p.Calls) != 1 {
		t.Errorf("in the next turn it answers %q without a call", p.Text)
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	p := mustPlay(t, ask("reason", "why"))
	if p.Reasoning == "" || p.Text != "Simulated answer: why" || p.Data == "" || *p.Usage.ReasoningTokens == 0 {
		t.Errorf("got %+v", p)
	}
	if diff := cmp.Diff([]model.ChunkKind{model.ChunkReasoning, model.ChunkText}, p.blocks); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	for class, retryable := range map[parley.ErrorClass]bool{
		parley.ClassRateLimit: true, parley.ClassNetwork: true, parley.ClassStream: true,
		parley.ClassAuth: false, parley.ClassModel: false, parley.ClassContentFilter: false,
		parley.ClassContextLength: false,
	} {
		request := ask("fail-"+string(class)+"-2", "hello")
		for attempt := 1; attempt <= 3; attempt++ {
			p, err := play(model.WithAttempt(t.Context(), attempt), t, request)
			var failed *model.Error
			switch {
			case attempt == 3 && (err != nil || p.Text != "hello"):
				t.Errorf("%s: attempt 3 gave %q, %v", class, p.Text, err)
			case attempt < 3 && (!errors.As(err, &failed) || failed.Class != class || failed.Retryable != retryable):
				t.Errorf("%s: attempt %d gave %v", class, attempt, err)
			}
		}
	}
}

func TestFailThatAsksToWait(t *testing.T) {
	t.Parallel()
	_, err := play(t.Context(), t, ask("fail-network-2-1500", "hello"))
	var failed *model.Error
	if !errors.As(err, &failed) || failed.RetryAfter != 1500*time.Millisecond || failed.Class != parley.ClassNetwork {
		t.Errorf("it gave %#v", err)
	}
}

// The simulator caches equal beginnings: what an earlier request began with is cached, and nothing after the first
// difference.
func TestUsageCountsTheRepeatedPrefix(t *testing.T) {
	t.Parallel()
	adapter := sim.New()
	counted := func(request model.Request) (input, cached int64) {
		encoded, err := adapter.Encode(request)
		if err != nil {
			t.Fatal(err)
		}
		for chunk, err := range adapter.Stream(t.Context(), encoded) {
			if err != nil {
				t.Fatal(err)
			}
			if chunk.Kind == model.ChunkUsage {
				input, cached = *chunk.Usage.InputTokens, *chunk.Usage.CachedTokens
			}
		}
		return input, cached
	}
	said := func(role model.Role, text string) model.Message {
		return model.Message{Role: role, Parts: []model.Part{{Kind: model.PartText, Text: text}}}
	}
	first := ask("echo", strings.Repeat("word ", 1100)) // 5,500 bytes: 1,375 tokens and 4 of frame
	longer := first
	longer.Messages = append(
		slices.Clone(first.Messages),
		said(model.RoleAssistant, "fine"),
		said(model.RoleUser, "next"),
	)
	other := longer
	other.System = "It is 12:01."
	edited := longer
	edited.Messages = slices.Clone(longer.Messages)
	edited.Messages[0] = said(model.RoleUser, "ward "+strings.Repeat("word ", 1099))
	for _, c := range []struct {
		name          string
		request       model.Request
		input, cached int64
	}{
		{"the first", first, 1379, 0},
		{"a longer one", longer, 1389, 1280},
		{"the same again", longer, 1389, 1280},
		{"another system prompt", other, 1392, 0},
		{"the other one again", other, 1392, 1280},
		{"an edited message", edited, 1389, 0},
	} {
		if input, cached := counted(c.request); input != c.input || cached != c.cached {
			t.Errorf("%s: %d tokens, %d of them cached; want %d and %d", c.name, input, cached, c.input, c.cached)
		}
	}
}

func TestEncodeGolden(t *testing.T) {
	t.Parallel()
	request := model.Request{
		Model:  "sim/echo",
		System: "Be \"brief\".",
		Tools: []parley.ToolDefinition{
			{Name: "clock", Description: "Tells.", Parameters: json.RawMessage(`{"type":"object"}`)},
		},
		Messages: []model.Message{user("häh?"), {Role: model.RoleAssistant, Parts: []model.Part{
			{Kind: model.PartReasoning, Text: "hm", ProviderData: []byte{0, 255}},
			{Kind: model.PartToolCall, CallID: "c", Name: "clock", Arguments: []byte(`{"a":1}`)},
		}}, {Role: model.RoleTool, Parts: []model.Part{{Kind: model.PartToolResult, CallID: "c", Name: "clock",
			Text: "no", IsError: true}}}},
		Parameters: parley.Parameters{
			Temperature:     new(0.5),
			TopP:            new(1.0),
			MaxTokens:       new(9),
			Seed:            new(int64(3)),
			ReasoningEffort: new("low"),
		},
		Think:  true,
		Search: true,
	}
	const want = `{"messages":[{"parts":[{"kind":"text","text":"häh?"}],"role":"user"},` +
		`{"parts":[{"kind":"reasoning","provider_data":"AP8=","text":"hm"},{"arguments":"{\"a\":1}","call_id":"c",` +
		`"kind":"tool_call","name":"clock"}],"role":"assistant"},` +
		`{"parts":[{"call_id":"c","error":true,"kind":"tool_result","name":"clock","text":"no"}],"role":"tool"}],` +
		`"model":"echo",` +
		`"parameters":{"max_tokens":9,"reasoning_effort":"low","seed":3,"temperature":0.5,"top_p":1},"search":true,` +
		`"system":"Be \"brief\".","think":true,` +
		`"tools":[{"description":"Tells.","name":"clock","parameters":{"type":"object"}}],"version":1}`
	const second = `{"model":"echo","tools":[{"description":"Tells.","name":"clock","parameters":{"type":"object"}}],` +
		`"system":"Be \"brief\".",` +
		`"messages":[{"parts":[{"kind":"text","text":"häh?"}],"role":"user"},` +
		`{"parts":[{"kind":"reasoning","provider_data":"AP8=","text":"hm"},{"arguments":"{\"a\":1}","call_id":"c",` +
		`"kind":"tool_call","name":"clock"}],"role":"assistant"},` +
		`{"parts":[{"call_id":"c","error":true,"kind":"tool_result","name":"clock","text":"no"}],"role":"tool"}],` +
		`"parameters":{"max_tokens":9,"reasoning_effort":"low","seed":3,"temperature":0.5,"top_p":1},"search":true,` +
		`"think":true,"version":2}`
	latest, err := sim.New().Encode(request)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(second, string(latest.Body)); diff != "" {
		t.Errorf("version 2 must never change (-want +got):\n%s", diff)
	}
	encoded, err := sim.New().EncodeAs(1, request)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(encoded.Body)); diff != "" {
		t.Errorf("version 1 must never change (-want +got):\n%s", diff)
	}
	canonical, err := parley.CanonicalJSON(encoded.Body)
	if err != nil || string(canonical) != string(encoded.Body) {
		t.Errorf("the body is not canonical: %s (%v)", canonical, err)
	}
}

func TestUnknownModels(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gpt", "lorem", "lorem-", "lorem-5", "lorem-0-5", "lorem-5-", "lorem-05-5",
		"lorem-5-5-5", "lorem-9999999-1", "lorem-1--1",
		"fail-1", "fail-bored-1", "fail-rate_limit-0", "fail-rate_limit-x", "fail-internal-1", "fail-network-1-x",
		"fail-network-0-1", "fail-1-1", "echo-1"} {
		_, err := sim.New().Encode(ask(name, "x"))
		if parley.ErrorCode(err) != parley.CodeInvalid ||
			!strings.Contains(err.Error(), "lorem-<tokens>-<ms per token>") {
			t.Errorf("sim/%s: got %v, want %s with a list of models", name, err, parley.CodeInvalid)
		}
	}
	var failed *model.Error
	for _, body := range []string{`{`, `{"model":"gpt"}`} {
		for _, err := range sim.New().Stream(t.Context(), model.EncodedRequest{Body: []byte(body)}) {
			if !errors.As(err, &failed) || failed.Retryable {
				t.Errorf("body %s gave %v", body, err)
			}
		}
	}
	for _, info := range sim.Models() {
		if _, err := sim.New().
			Encode(ask(info.Name, "x")); err != nil || !info.Simulator || !info.Known ||
			info.Price == nil {
			t.Errorf("listed model %+v: %v", info, err)
		}
	}
}
