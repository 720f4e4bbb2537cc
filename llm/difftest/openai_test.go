package difftest_test

import (
	"encoding/json"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"example.org/parley"
	"example.org/parley/llm/llmtest"
	"example.org/parley/llm/openai"
)

// openaiDiffers lists the recordings that Parley reads differently on purpose.
var openaiDiffers = map[string]string{
	"comments":            "the accumulator wants the completion's id in every frame, also in another event",
	"done-without-finish": "[DONE] ends an answer, with or without a finish reason",
	"end-before-content":  "the SDK takes the end of the connection for the end of the answer",
	"end-early":           "as end-before-content",
	"end-inside-frame":    "as end-before-content; the SDK drops the frame that was cut",
	"error-finish-reason": "the SDK passes an unknown finish reason on; it says that the provider failed",
	"error-null": "the SDK takes \"error\":null for an error; some compatible servers send it in " +
		"every chunk",
	"escapes": "the halves of a surrogate pair are joined across chunks, and NUL, which no database " +
		"takes, is replaced",
	"nothing":                  "as end-before-content",
	"reasoning-parts":          "content in parts is a dialect that the SDK does not know",
	"reasoning-twice-named":    "both fields hold the same text, and the SDK has neither: the test adds them up",
	"refusal":                  "an answer with a refusal is told as one, though the wire calls it a stop",
	"split-runes":              "what is not UTF-8 is replaced; the SDK passes it on",
	"tool-calls-without-calls": "a finish for tool calls without any is a stop",
	"tool-empty-arguments":     "no arguments are an empty object",
	"tool-reused-index":        "the accumulator joins calls of one index, whatever their ids",
	"tool-stop-with-calls":     "a stop with calls wants them run",
	"tool-without-id-or-index": "as tool-reused-index",
	"usage-in-choice":          "a dialect that the SDK does not know",
	"usage-in-every-chunk":     "counts are totals so far; the accumulator adds them up",
}

func TestOpenAI(t *testing.T) {
	compare(t, llmtest.OpenAI, openaiDiffers, func(t *testing.T, baseURL string) (answer, answer) {
		model, err := openai.New(openai.Options{BaseURL: baseURL + "/v1", FirstToken: patience, Idle: patience})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(model.Close)
		mine, _ := ours(t, llmtest.OpenAI, model)
		return mine, openaiSDK(t, baseURL+"/v1")
	})
}

func openaiSDK(t *testing.T, baseURL string) answer {
	t.Helper()
	client := sdk.NewClient(option.WithBaseURL(baseURL), option.WithAPIKey("none"), option.WithMaxRetries(0))
	stream := client.Chat.Completions.NewStreaming(t.Context(), sdk.ChatCompletionNewParams{
		Model: "gpt-5", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("Hello")},
	})
	defer stream.Close()
	var total sdk.ChatCompletionAccumulator
	var a answer
	for stream.Next() {
		chunk := stream.Current()
		if !total.AddChunk(chunk) {
			a.Failed = true
			break
		}
		for _, choice := range chunk.Choices {
			for _, field := range []string{"reasoning_content", "reasoning"} {
				var text string
				if json.Unmarshal([]byte(choice.Delta.JSON.ExtraFields[field].Raw()), &text) == nil {
					a.Reasoning += text
				}
			}
		}
	}
	a.Failed = a.Failed || stream.Err() != nil
	u := total.Usage
	a.Usage = usage{
		Input:     u.PromptTokens,
		Output:    u.CompletionTokens,
		Cached:    u.PromptTokensDetails.CachedTokens,
		Reasoning: u.CompletionTokensDetails.ReasoningTokens,
	}
	if len(total.Choices) == 0 {
		return a
	}
	choice := total.Choices[0]
	a.Text, a.Refusal = choice.Message.Content, choice.Message.Refusal
	for _, c := range choice.Message.ToolCalls {
		a.Calls = append(a.Calls, call{c.ID, c.Function.Name, c.Function.Arguments})
	}
	if !a.Failed {
		a.Finish = map[string]parley.FinishReason{
			"stop": parley.FinishStop, "tool_calls": parley.FinishToolCalls, "length": parley.FinishLength,
			"content_filter": parley.FinishRefusal,
		}[choice.FinishReason]
	}
	return a
}
