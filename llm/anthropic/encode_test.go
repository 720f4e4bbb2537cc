package anthropic_test

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
	const (
		older = parley.ModelID("anthropic/claude-sonnet-4-5-20250929")
		newer = parley.ModelID("anthropic/claude-opus-4-8")
	)
	signed := []byte(`{"type":"thinking","thinking":"Two calls.","signature":"EqQB/+="}`)
	effort := func(e string, maxTokens int) parley.Parameters {
		p := parley.Parameters{ReasoningEffort: &e}
		if maxTokens > 0 {
			p.MaxTokens = &maxTokens
		}
		return p
	}
	caching := func(r *model.Request) { r.CacheKey = "0f0f" }
	cases := []llmtest.EncodeCase{
		{
			Name: "image",
			Request: model.Request{
				Model: "anthropic/claude-sonnet-4-5",
				Messages: []model.Message{
					llmtest.Show(),
					llmtest.Answer(llmtest.Text("A dot.")),
					llmtest.Say("And now?"),
				},
			},
		},
		{Name: "images of results", Request: llmtest.ShownByTools(older)},
		{Name: "hello", Request: hello(older, parley.Parameters{})},
		{Name: "conversation", Request: llmtest.Conversation(older, signed)},
		{Name: "conversation thinking", Request: with(llmtest.Conversation(older, signed), think)},
		{Name: "conversation from elsewhere", Request: llmtest.Conversation(older, []byte(`{"field":"reasoning"}`))},
		{
			Name: "thinking in the middle of a step",
			Request: with(llmtest.Conversation(older, signed), func(r *model.Request) {
				r.Think, r.Messages = true, r.Messages[:3]
			}),
		},
		{
			Name: "parameters",
			Request: hello(
				older,
				parley.Parameters{
					Temperature: llmtest.Of(0.5),
					TopP:        llmtest.Of(0.9),
					MaxTokens:   llmtest.Of(100),
					Seed:        llmtest.Of(int64(7)),
				},
			),
		},
		{
			Name: "parameters thinking",
			Request: hello(
				older,
				parley.Parameters{
					Temperature:     llmtest.Of(0.5),
					TopP:            llmtest.Of(0.97),
					ReasoningEffort: llmtest.Of("high"),
				},
			),
		},
		{Name: "think", Request: with(hello(older, parley.Parameters{}), think)},
		{Name: "think adaptive", Request: with(hello(newer, parley.Parameters{}), think)},
		{Name: "effort none", Request: hello(newer, effort("none", 0))},
		{Name: "effort minimal adaptive", Request: hello(newer, effort("minimal", 500))},
		{Name: "effort high in a small bound", Request: hello(older, effort("high", 4000))},
		{Name: "effort high in too small a bound", Request: hello(older, effort("high", 1024))},
		{
			Name:    "think before thinking",
			Request: with(hello("anthropic/claude-3-5-haiku-latest", parley.Parameters{}), think),
		},
		{Name: "search", Request: with(hello(older, parley.Parameters{}), func(r *model.Request) { r.Search = true })},
		{Name: "window from an answer", Request: model.Request{Model: older, Messages: []model.Message{
			llmtest.Answer(llmtest.Text("Earlier.")), llmtest.Say("One"), llmtest.Say("  "), llmtest.Say("Two"),
		}}},
		{Name: "redacted", Request: model.Request{Model: older, Messages: []model.Message{
			llmtest.Say(
				"Hello",
			),
			llmtest.Answer(
				model.Part{
					Kind:         model.PartReasoning,
					ProviderData: []byte(`{"type":"redacted_thinking","data":"Em/+"}`),
				},
				llmtest.Text("Hi."),
			),
			llmtest.Say("Go on"),
		}}},
		{Name: "hot", Request: hello(older, parley.Parameters{Temperature: llmtest.Of(1.5)}), Invalid: "temperature"},
		{
			Name:    "blank",
			Request: model.Request{Model: older, Messages: []model.Message{llmtest.Say(" ")}},
			Invalid: "messages",
		},
		{Name: "orphan result", Request: with(hello(older, parley.Parameters{}), func(r *model.Request) {
			r.Messages = append(r.Messages, llmtest.Results(llmtest.Result("own", "noon", false)))
		}), Invalid: "messages"},
		{Name: "schema", Request: with(hello(older, parley.Parameters{}), func(r *model.Request) {
			r.Tools = []parley.ToolDefinition{{Name: "x", Parameters: []byte(`{`)}}
		}), Invalid: "tools"},
	}
	llmtest.RunEncode(t, "1", llmtest.As(1, adapter), cases)
	llmtest.RunEncode(t, "2", adapter, append(cases, []llmtest.EncodeCase{
		{Name: "wishes", Request: llmtest.Wishes(older, nil)},
		{Name: "wishes otherwise", Request: llmtest.Wishes(older, func(p *parley.Parameters) {
			*p = parley.Parameters{
				ToolChoice: llmtest.Of(parley.ToolChoiceRequired), ParallelToolCalls: llmtest.Of(true),
				ResponseFormat: &parley.ResponseFormat{Type: parley.FormatText}, ServiceTier: llmtest.Of("auto"),
			}
		})},
		{Name: "wishes none", Request: llmtest.Wishes(older, func(p *parley.Parameters) {
			*p = parley.Parameters{ToolChoice: llmtest.Of(parley.ToolChoiceNone), ParallelToolCalls: llmtest.Of(false)}
		})},
		{Name: "wishes without tools", Request: with(llmtest.Wishes(older, func(p *parley.Parameters) {
			*p = parley.Parameters{ToolChoice: llmtest.Of(parley.ToolChoiceAuto), ParallelToolCalls: llmtest.Of(false)}
		}), func(r *model.Request) { r.Tools = nil })},
		{Name: "no tool to force", Request: llmtest.Wishes(older, func(p *parley.Parameters) {
			p.ToolChoice = llmtest.Of("missing")
		}), Invalid: "tool_choice"},
		{Name: "no tools to force", Request: with(llmtest.Wishes(older, func(p *parley.Parameters) {
			p.ToolChoice = llmtest.Of(parley.ToolChoiceRequired)
		}), func(r *model.Request) { r.Tools = nil }), Invalid: "tool_choice"},
		{Name: "wishes with effort", Request: llmtest.Wishes("anthropic/claude-opus-4-7", func(p *parley.Parameters) {
			p.ReasoningEffort, p.ToolChoice = llmtest.Of("low"), llmtest.Of(parley.ToolChoiceAuto)
		})},
		{
			Name: "forced while thinking",
			Request: llmtest.Wishes("anthropic/claude-opus-4-7", func(p *parley.Parameters) {
				p.ReasoningEffort = llmtest.Of("low")
			}),
			Invalid: "tool_choice",
		},
		{Name: "metadata", Request: llmtest.Wishes(older, func(p *parley.Parameters) {
			p.RequestMetadata = llmtest.Of(map[string]string{"team": "sales"})
		}), Invalid: "request_metadata"},
		{Name: "flex", Request: llmtest.Wishes(older, func(p *parley.Parameters) {
			p.ServiceTier = llmtest.Of("flex")
		}), Invalid: "service_tier"},
		{Name: "JSON of any kind", Request: llmtest.Wishes(older, func(p *parley.Parameters) {
			p.ResponseFormat = &parley.ResponseFormat{Type: parley.FormatJSONObject}
		}), Invalid: "response_format"},
		{Name: "cached", Request: with(llmtest.Conversation(older, signed), caching)},
		{Name: "cached images of results", Request: with(llmtest.ShownByTools(older), caching)},
		{Name: "cached hello", Request: with(hello(older, parley.Parameters{}), caching)},
		{
			Name: "cached for an hour",
			Request: with(llmtest.Conversation(older, signed), func(r *model.Request) {
				r.CacheKey, r.CacheTTL = "0f0f", parley.CacheHour
			}),
		},
		{
			Name: "cached image",
			Request: with(
				model.Request{
					Model:  older,
					System: " ",
					Messages: []model.Message{
						llmtest.Show(),
						llmtest.Answer(llmtest.Text("A dot.")),
						llmtest.Say("And now?"),
						llmtest.Say(" "),
					},
				},
				caching,
			),
		},
	}...))
	t.Run("leaves", func(t *testing.T) {
		// Reasoning and a call's arguments are sent as they came; with thinking no sampling is sent, otherwise one of
		// the two kinds.
		signed := []byte(`{"type":"thinking","thinking":"A call.","signature":"EqQB/+0="}`)
		unsent := []string{
			".Messages[0].Parts[0].Name",
			".Messages[0].Parts[0].Width",
			".Messages[0].Parts[0].Height",
			".Messages[0].Parts[0].Sequence",
			".Messages[1].Parts[0].Text",
			".Messages[1].Parts[2].Arguments",
			".Parameters.Seed",
			".Think",
			".CacheKey",
			".CacheTTL",
		}
		llmtest.RunLeaves(
			t,
			adapter,
			"anthropic/claude-sonnet-4-5",
			signed,
			append(unsent, ".Parameters.Temperature", ".Parameters.TopP")...)
		llmtest.RunLeaves(
			t,
			adapter,
			"anthropic/claude-3-5-haiku-latest",
			signed,
			append(unsent, ".Parameters.TopP", ".Parameters.ReasoningEffort")...)
	})
	t.Run("prefix", func(t *testing.T) {
		llmtest.RunPrefix(t, adapter, with(llmtest.Conversation(older, signed), caching))
	})
}

func BenchmarkStream(b *testing.B) {
	const words = 2000
	open := "event: message_start\ndata: " +
		"{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: " +
		"{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	frame := "event: content_block_delta\ndata: " +
		"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" word\"}}\n\n"
	llmtest.Bench(
		b,
		llmtest.Anthropic,
		newModel,
		open+strings.Repeat(frame, words)+"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		words,
	)
}
