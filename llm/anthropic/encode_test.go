package anthropic_test

import (
	"strings"
	"testing"

	"parley"
	"parley/llm/llmtest"
)

func TestEncode(t *testing.T) {
	model := newModel(t, llmtest.Options{BaseURL: "http://127.0.0.1:1"})
	hello := func(id parley.ModelID, p parley.Parameters) parley.ModelRequest {
		return parley.ModelRequest{Model: id, Messages: []parley.RequestMessage{llmtest.Say("Hello")}, Parameters: p}
	}
	with := func(r parley.ModelRequest, change func(*parley.ModelRequest)) parley.ModelRequest {
		change(&r)
		return r
	}
	think := func(r *parley.ModelRequest) { r.Think = true }
	const older, newer = parley.ModelID("anthropic/claude-sonnet-4-5-20250929"), parley.ModelID("anthropic/claude-opus-4-8")
	signed := []byte(`{"type":"thinking","thinking":"Two calls.","signature":"EqQB/+="}`)
	effort := func(e string, maxTokens int) parley.Parameters {
		p := parley.Parameters{ReasoningEffort: &e}
		if maxTokens > 0 {
			p.MaxTokens = &maxTokens
		}
		return p
	}
	caching := func(r *parley.ModelRequest) { r.CacheKey = "0f0f" }
	cases := []llmtest.EncodeCase{
		{Name: "image", Request: parley.ModelRequest{Model: "anthropic/claude-sonnet-4-5", Messages: []parley.RequestMessage{llmtest.Show(), llmtest.Answer(llmtest.Text("A dot.")), llmtest.Say("And now?")}}},
		{Name: "hello", Request: hello(older, parley.Parameters{})},
		{Name: "conversation", Request: llmtest.Conversation(older, signed)},
		{Name: "conversation thinking", Request: with(llmtest.Conversation(older, signed), think)},
		{Name: "conversation from elsewhere", Request: llmtest.Conversation(older, []byte(`{"field":"reasoning"}`))},
		{Name: "thinking in the middle of a step", Request: with(llmtest.Conversation(older, signed), func(r *parley.ModelRequest) {
			r.Think, r.Messages = true, r.Messages[:3]
		})},
		{Name: "parameters", Request: hello(older, parley.Parameters{Temperature: llmtest.Of(0.5), TopP: llmtest.Of(0.9), MaxTokens: llmtest.Of(100), Seed: llmtest.Of(int64(7))})},
		{Name: "parameters thinking", Request: hello(older, parley.Parameters{Temperature: llmtest.Of(0.5), TopP: llmtest.Of(0.97), ReasoningEffort: llmtest.Of("high")})},
		{Name: "think", Request: with(hello(older, parley.Parameters{}), think)},
		{Name: "think adaptive", Request: with(hello(newer, parley.Parameters{}), think)},
		{Name: "effort none", Request: hello(newer, effort("none", 0))},
		{Name: "effort minimal adaptive", Request: hello(newer, effort("minimal", 500))},
		{Name: "effort high in a small bound", Request: hello(older, effort("high", 4000))},
		{Name: "effort high in too small a bound", Request: hello(older, effort("high", 1024))},
		{Name: "think before thinking", Request: with(hello("anthropic/claude-3-5-haiku-latest", parley.Parameters{}), think)},
		{Name: "search", Request: with(hello(older, parley.Parameters{}), func(r *parley.ModelRequest) { r.Search = true })},
		{Name: "window from an answer", Request: parley.ModelRequest{Model: older, Messages: []parley.RequestMessage{
			llmtest.Answer(llmtest.Text("Earlier.")), llmtest.Say("One"), llmtest.Say("  "), llmtest.Say("Two"),
		}}},
		{Name: "redacted", Request: parley.ModelRequest{Model: older, Messages: []parley.RequestMessage{
			llmtest.Say("Hello"), llmtest.Answer(parley.RequestPart{Kind: parley.PartReasoning, ProviderData: []byte(`{"type":"redacted_thinking","data":"Em/+"}`)}, llmtest.Text("Hi.")), llmtest.Say("Go on"),
		}}},
		{Name: "hot", Request: hello(older, parley.Parameters{Temperature: llmtest.Of(1.5)}), Invalid: "temperature"},
		{Name: "blank", Request: parley.ModelRequest{Model: older, Messages: []parley.RequestMessage{llmtest.Say(" ")}}, Invalid: "messages"},
		{Name: "orphan result", Request: with(hello(older, parley.Parameters{}), func(r *parley.ModelRequest) {
			r.Messages = append(r.Messages, llmtest.Results(llmtest.Result("own", "noon", false)))
		}), Invalid: "messages"},
		{Name: "schema", Request: with(hello(older, parley.Parameters{}), func(r *parley.ModelRequest) {
			r.Tools = []parley.ToolDefinition{{Name: "x", Parameters: []byte(`{`)}}
		}), Invalid: "tools"},
	}
	llmtest.RunEncode(t, "1", llmtest.As(1, model), cases)
	llmtest.RunEncode(t, "2", model, append(cases, []llmtest.EncodeCase{
		{Name: "cached", Request: with(llmtest.Conversation(older, signed), caching)},
		{Name: "cached hello", Request: with(hello(older, parley.Parameters{}), caching)},
		{Name: "cached image", Request: with(parley.ModelRequest{Model: older, System: " ", Messages: []parley.RequestMessage{llmtest.Show(), llmtest.Answer(llmtest.Text("A dot.")), llmtest.Say("And now?"), llmtest.Say(" ")}}, caching)},
	}...))
	t.Run("leaves", func(t *testing.T) {
		// Reasoning and a call's arguments go as they came; who thinks takes no sampling, others one of the two kinds.
		signed := []byte(`{"type":"thinking","thinking":"A call.","signature":"EqQB/+0="}`)
		unsent := []string{".Messages[0].Parts[0].Name", ".Messages[0].Parts[0].Width", ".Messages[0].Parts[0].Height", ".Messages[0].Parts[0].Sequence", ".Messages[1].Parts[0].Text", ".Messages[1].Parts[2].Arguments",
			".Parameters.Seed", ".Think", ".CacheKey"}
		llmtest.RunLeaves(t, model, "anthropic/claude-sonnet-4-5", signed, append(unsent, ".Parameters.Temperature", ".Parameters.TopP")...)
		llmtest.RunLeaves(t, model, "anthropic/claude-3-5-haiku-latest", signed, append(unsent, ".Parameters.TopP", ".Parameters.ReasoningEffort")...)
	})
	t.Run("prefix", func(t *testing.T) {
		llmtest.RunPrefix(t, model, with(llmtest.Conversation(older, signed), caching))
	})
}

func BenchmarkStream(b *testing.B) {
	const words = 2000
	open := "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	frame := "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" word\"}}\n\n"
	llmtest.Bench(b, llmtest.Anthropic, newModel, open+strings.Repeat(frame, words)+"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", words)
}
