package difftest_test

import (
	"encoding/json"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"example.org/parley"
	"example.org/parley/llm/anthropic"
	"example.org/parley/llm/llmtest"
)

// anthropicDiffers lists the recordings that Parley reads differently on purpose.
var anthropicDiffers = map[string]string{
	"end-before-content":  "the SDK takes the end of the connection for the end of the answer",
	"end-before-stop":     "as end-before-content",
	"end-early":           "as end-before-content",
	"end-inside-frame":    "as end-before-content; the SDK drops the frame that was cut",
	"error-unnamed-event": "the SDK passes over events without a name, errors too",
	"escapes": "the halves of a surrogate pair are joined across chunks, and NUL, which no database " +
		"takes, is replaced",
	"length-in-call":           "the SDK empties arguments that are not JSON; Parley keeps what was said",
	"nothing":                  "as end-before-content",
	"split-runes":              "what is not UTF-8 is replaced; the SDK passes it on",
	"tool-malformed-arguments": "as length-in-call",
	"tool-reused-index":        "the SDK refuses an index that comes twice; for Parley it is a new call",
	"tool-use-without-calls":   "a finish for tool calls without any is a stop",
}

func TestAnthropic(t *testing.T) {
	compare(t, llmtest.Anthropic, anthropicDiffers, func(t *testing.T, baseURL string) (answer, answer) {
		model, err := anthropic.New(anthropic.Options{BaseURL: baseURL, FirstToken: patience, Idle: patience})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(model.Close)
		mine, fold := ours(t, llmtest.Anthropic, model)
		for _, block := range fold.Blocks {
			var data struct{ Signature, Data string }
			if block.Kind == "reasoning" && json.Unmarshal([]byte(block.Data), &data) == nil {
				mine.Signatures = append(mine.Signatures, data.Signature+data.Data)
			}
		}
		return mine, anthropicSDK(t, baseURL)
	})
}

func anthropicSDK(t *testing.T, baseURL string) answer {
	t.Helper()
	client := sdk.NewClient(option.WithBaseURL(baseURL), option.WithAPIKey("none"), option.WithMaxRetries(0))
	stream := client.Messages.NewStreaming(t.Context(), sdk.MessageNewParams{
		Model:     "claude-sonnet-4-5",
		MaxTokens: 100,
		Messages:  []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("Hello"))},
	})
	defer stream.Close()
	var total sdk.Message
	var a answer
	for stream.Next() {
		event := stream.Current()
		if err := total.Accumulate(event); err != nil {
			a.Failed = true
			break
		}
	}
	a.Failed = a.Failed || stream.Err() != nil
	for _, block := range total.Content {
		switch block.Type {
		case "text":
			a.Text += block.Text
		case "thinking":
			a.Reasoning += block.Thinking
			a.Signatures = append(a.Signatures, block.Signature)
		case "redacted_thinking":
			a.Signatures = append(a.Signatures, block.Data)
		case "tool_use":
			a.Calls = append(a.Calls, call{block.ID, block.Name, string(block.Input)})
		}
	}
	u := total.Usage
	a.Usage = usage{
		Input:     u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens,
		Output:    u.OutputTokens,
		Cached:    u.CacheReadInputTokens,
		Written:   u.CacheCreationInputTokens,
		Reasoning: u.OutputTokensDetails.ThinkingTokens,
	}
	if !a.Failed {
		a.Finish = map[sdk.StopReason]parley.FinishReason{
			sdk.StopReasonEndTurn: parley.FinishStop, sdk.StopReasonStopSequence: parley.FinishStop,
			sdk.StopReasonToolUse:   parley.FinishToolCalls,
			sdk.StopReasonMaxTokens: parley.FinishLength, sdk.StopReasonModelContextWindowExceeded: parley.FinishLength,
			sdk.StopReasonPauseTurn: parley.FinishLength, sdk.StopReasonRefusal: parley.FinishRefusal,
		}[total.StopReason]
	}
	return a
}
