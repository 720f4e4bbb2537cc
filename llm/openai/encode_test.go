package openai_test

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/llm/llmtest"
	"example.org/parley/model"
)

func TestEncode(t *testing.T) {
	adapter := newModel(t, llmtest.Options{BaseURL: "http://127.0.0.1:1"})
	hello := func(id parley.ModelID, p parley.Parameters) model.Request {
		return model.Request{Model: id, Messages: []model.Message{llmtest.Say("Hello")}, Parameters: p}
	}
	with := func(r model.Request, change func(*model.Request)) model.Request {
		change(&r)
		return r
	}
	think := func(r *model.Request) { r.Think = true }
	search := func(r *model.Request) { r.Search = true }
	every := parley.Parameters{
		Temperature:     llmtest.Of(0.7),
		TopP:            llmtest.Of(1.0),
		MaxTokens:       llmtest.Of(100),
		Seed:            llmtest.Of(int64(-7)),
		ReasoningEffort: llmtest.Of("low"),
	}
	caching := func(r *model.Request) { r.CacheKey = "0f0f" }
	cases := []llmtest.EncodeCase{
		{Name: "hello", Request: hello("openai/gpt-4.1", parley.Parameters{})},
		{Name: "conversation", Request: llmtest.Conversation("openai/gpt-5", nil)},
		{
			Name:    "reasoning sent back",
			Request: llmtest.Conversation("deepseek/deepseek-chat", []byte(`{"field":"reasoning_content"}`)),
		},
		{Name: "parameters", Request: hello("openai/o3", every)},
		{Name: "parameters elsewhere", Request: hello("groq/openai/gpt-oss-120b", every)},
		{Name: "think", Request: with(hello("openai/gpt-5-mini", parley.Parameters{}), think)},
		{Name: "think without reasoning", Request: with(hello("openai/gpt-4.1", parley.Parameters{}), think)},
		{Name: "think dashscope", Request: with(hello("dashscope/qwen-plus", parley.Parameters{}), think)},
		{Name: "search", Request: with(hello("openai/gpt-5-search-api", parley.Parameters{}), search)},
		{Name: "search dashscope", Request: with(hello("dashscope/qwen-plus", parley.Parameters{}), search)},
		{Name: "signed call", Request: with(hello("gemini/gemini-3-pro", parley.Parameters{}), func(r *model.Request) {
			r.Messages = append(
				r.Messages,
				llmtest.Answer(
					llmtest.Call(
						"own",
						"now",
						"{}",
						[]byte(`{"id":"x","arguments":"{}","extra":{"google":{"thought_signature":"s"}}}`),
					),
				),
				llmtest.Results(llmtest.Result("own", "noon", false)),
			)
		})},
		{
			Name: "image",
			Request: model.Request{
				Model: "openai/gpt-5",
				Messages: []model.Message{
					llmtest.Show(),
					llmtest.Answer(llmtest.Text("A dot.")),
					llmtest.Say("And now?"),
				},
			},
		},
		{Name: "images of results", Request: llmtest.ShownByTools("openai/gpt-5")},
		{Name: "nothing", Request: model.Request{Model: "openai/gpt-5"}, Invalid: "messages"},
		{Name: "orphan result", Request: with(hello("openai/gpt-5", parley.Parameters{}), func(r *model.Request) {
			r.Messages = append(r.Messages, llmtest.Results(llmtest.Result("own", "noon", false)))
		}), Invalid: "messages"},
		{Name: "schema", Request: with(hello("openai/gpt-5", parley.Parameters{}), func(r *model.Request) {
			r.Tools = []parley.ToolDefinition{{Name: "x", Parameters: []byte(`[1]`)}}
		}), Invalid: "tools"},
	}
	llmtest.RunEncode(t, "1", llmtest.As(1, adapter), cases)
	llmtest.RunEncode(t, "2", adapter, append(cases, []llmtest.EncodeCase{
		{Name: "wishes", Request: llmtest.Wishes("openai/gpt-5", func(p *parley.Parameters) {
			p.RequestMetadata = llmtest.Of(map[string]string{"team": "sales", "of": "\"x\""})
		})},
		{Name: "wishes otherwise", Request: llmtest.Wishes("openai/gpt-5", func(p *parley.Parameters) {
			*p = parley.Parameters{
				ToolChoice: llmtest.Of(parley.ToolChoiceRequired), ParallelToolCalls: llmtest.Of(true),
				ResponseFormat: &parley.ResponseFormat{Type: parley.FormatJSONObject}, ServiceTier: llmtest.Of("auto"),
			}
		})},
		{Name: "wishes none", Request: llmtest.Wishes("openai/gpt-5", func(p *parley.Parameters) {
			*p = parley.Parameters{ToolChoice: llmtest.Of(parley.ToolChoiceNone), ParallelToolCalls: llmtest.Of(false)}
		})},
		{Name: "wishes without tools", Request: with(llmtest.Wishes("openai/gpt-5", func(p *parley.Parameters) {
			*p = parley.Parameters{ToolChoice: llmtest.Of(parley.ToolChoiceAuto), ParallelToolCalls: llmtest.Of(false)}
		}), func(r *model.Request) { r.Tools = nil })},
		{Name: "no tool to force", Request: llmtest.Wishes("openai/gpt-5", func(p *parley.Parameters) {
			p.ToolChoice = llmtest.Of("missing")
		}), Invalid: "tool_choice"},
		{Name: "no tools to force", Request: with(llmtest.Wishes("openai/gpt-5", func(p *parley.Parameters) {
			p.ToolChoice = llmtest.Of(parley.ToolChoiceRequired)
		}), func(r *model.Request) { r.Tools = nil }), Invalid: "tool_choice"},
		{Name: "too many stops", Request: llmtest.Wishes("openai/gpt-5", func(p *parley.Parameters) {
			p.Stop = llmtest.Of([]string{"1", "2", "3", "4", "5"})
		}), Invalid: "stop"},
		{Name: "cached", Request: with(llmtest.Conversation("openai/gpt-5", nil), caching)},
		{Name: "cached mistral", Request: with(hello("mistral/mistral-large", parley.Parameters{}), caching)},
		{
			Name:    "cached images of results dashscope",
			Request: with(llmtest.ShownByTools("dashscope/qwen-plus"), caching),
		},
		{Name: "cached elsewhere", Request: with(hello("groq/openai/gpt-oss-120b", parley.Parameters{}), caching)},
		{Name: "cached dashscope", Request: with(llmtest.Conversation("dashscope/qwen-plus", nil), caching)},
		{
			Name: "cached image dashscope",
			Request: with(
				model.Request{
					Model: "dashscope/qwen3.5-plus",
					Messages: []model.Message{
						llmtest.Show(),
						llmtest.Answer(llmtest.Text("A dot.")),
						llmtest.Say("And now?"),
					},
				},
				caching,
			),
		},
	}...))
	t.Run("leaves", func(t *testing.T) {
		// Effort replaces think; provider data contain a call's exact arguments.
		unsent := []string{
			".Messages[0].Parts[0].Name",
			".Messages[0].Parts[0].Width",
			".Messages[0].Parts[0].Height",
			".Messages[0].Parts[0].Sequence",
			".Messages[1].Parts[2].Arguments",
			".Think",
			".CacheKey",
			".CacheTTL",
		}
		llmtest.RunLeaves(t, adapter, "deepseek/deepseek-chat", []byte(`{"field":"reasoning_content"}`), unsent...)
		llmtest.RunLeaves(
			t,
			adapter,
			"openai/gpt-5",
			nil,
			append(unsent, ".Messages[1].Parts[0].Kind", ".Messages[1].Parts[0].Text")...)
	})
	t.Run("prefix", func(t *testing.T) {
		for _, id := range []parley.ModelID{"openai/gpt-5", "dashscope/qwen-plus"} {
			llmtest.RunPrefix(t, adapter, with(llmtest.Conversation(id, nil), caching))
		}
	})
}

func BenchmarkStream(b *testing.B) {
	const words = 2000
	frame := `data: {"id":"chatcmpl-Bx1","object":"chat.completion.chunk","created":1763700000,` +
		`"model":"gpt-5-2025-08-07","service_tier":"default","system_fingerprint":"fp_4a1","choices":[{"index":0,` +
		`"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"
	llmtest.Bench(b, llmtest.OpenAI, newModel, strings.Repeat(frame, words)+"data: [DONE]\n\n", words)
}
