package difftest_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	claude "github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"
	gpt "github.com/openai/openai-go/v3"
	openaiparam "github.com/openai/openai-go/v3/packages/param"

	"example.org/parley"
	"example.org/parley/llm/anthropic"
	"example.org/parley/llm/openai"
	"example.org/parley/model"
)

// Images of a message are sent as the vendors' SDKs send them: in their positions between the texts, with their types.
func TestImagesAreSentAsTheSDKsDo(t *testing.T) {
	t.Parallel()
	png, jpeg := []byte("\x89PNG\r\n\x1a\n\x00\xff\xfe"), []byte("\xff\xd8\xff\xe0not long")
	request := model.Request{Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{
		{Kind: model.PartText, Text: "What \"is\" this?"},
		{Kind: model.PartImage, Name: "a.png", MediaType: "image/png", Data: png, Width: 1, Height: 1},
		{Kind: model.PartText, Text: "And that?"},
		{Kind: model.PartImage, Name: "b.jpg", MediaType: "image/jpeg", Data: jpeg, Width: 1, Height: 1},
	}}}}
	text := base64.StdEncoding.EncodeToString
	for name, c := range map[string]struct {
		model  func() (model.Model, error)
		id     parley.ModelID
		theirs any
	}{
		"openai": {
			func() (model.Model, error) {
				return openai.New(openai.Options{BaseURL: "http://localhost/v1"})
			}, "openai/gpt-5",
			[]gpt.ChatCompletionMessageParamUnion{gpt.UserMessage([]gpt.ChatCompletionContentPartUnionParam{
				gpt.TextContentPart("What \"is\" this?"),
				gpt.ImageContentPart(gpt.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64," +
					text(png)}),
				gpt.TextContentPart("And that?"),
				gpt.ImageContentPart(gpt.ChatCompletionContentPartImageImageURLParam{URL: "data:image/jpeg;base64," +
					text(jpeg)}),
			})},
		},
		"anthropic": {
			func() (model.Model, error) {
				return anthropic.New(anthropic.Options{BaseURL: "http://localhost"})
			}, "anthropic/claude-sonnet-4-5",
			[]claude.MessageParam{claude.NewUserMessage(
				claude.NewTextBlock("What \"is\" this?"), claude.NewImageBlockBase64("image/png", text(png)),
				claude.NewTextBlock("And that?"), claude.NewImageBlockBase64("image/jpeg", text(jpeg)),
			)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sentAlike(t, c.model, c.id, request, c.theirs)
		})
	}
}

// Images of tool results are sent as each wire accepts them: Anthropic's in the result; OpenAI's, whose results are
// text only, in a user message after all results.
func TestImagesOfResultsAreSentAsTheSDKsDo(t *testing.T) {
	t.Parallel()
	png := []byte("\x89PNG\r\n\x1a\n\x00\xff\xfe")
	request := model.Request{Messages: []model.Message{
		{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: "Look."}}},
		{Role: model.RoleAssistant, Parts: []model.Part{
			{Kind: model.PartToolCall, CallID: "a", Name: "shoot", Arguments: []byte(`{}`)},
			{Kind: model.PartToolCall, CallID: "b", Name: "now", Arguments: []byte(`{}`)},
		}},
		{Role: model.RoleTool, Parts: []model.Part{
			{Kind: model.PartToolResult, CallID: "a", Name: "shoot", Text: "[image a.png]"},
			{Kind: model.PartImage, CallID: "a", Name: "a.png", MediaType: "image/png", Data: png, Width: 1, Height: 1},
			{Kind: model.PartToolResult, CallID: "b", Name: "now", Text: "noon"},
		}},
	}}
	text := base64.StdEncoding.EncodeToString(png)
	openAI := func() (model.Model, error) { return openai.New(openai.Options{BaseURL: "http://localhost/v1"}) }
	call := func(id, name string) gpt.ChatCompletionMessageToolCallUnionParam {
		return gpt.ChatCompletionMessageToolCallUnionParam{OfFunction: &gpt.ChatCompletionMessageFunctionToolCallParam{
			ID: id, Function: gpt.ChatCompletionMessageFunctionToolCallFunctionParam{Name: name, Arguments: "{}"},
		}}
	}
	calls := gpt.ChatCompletionAssistantMessageParam{
		ToolCalls: []gpt.ChatCompletionMessageToolCallUnionParam{call("a", "shoot"), call("b", "now")},
	}
	calls.Content.OfString = openaiparam.Null[string]()
	sentAlike(t, openAI, "openai/gpt-5", request, []gpt.ChatCompletionMessageParamUnion{
		gpt.UserMessage("Look."), {OfAssistant: &calls},
		gpt.ToolMessage("[image a.png]", "a"), gpt.ToolMessage("noon", "b"),
		gpt.UserMessage([]gpt.ChatCompletionContentPartUnionParam{
			gpt.TextContentPart("[image a.png], from a tool's result:"),
			gpt.ImageContentPart(gpt.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64," + text}),
		}),
	})
	anthropicOne := func() (model.Model, error) { return anthropic.New(anthropic.Options{BaseURL: "http://localhost"}) }
	result := claude.ToolResultBlockParam{ToolUseID: "a"}
	result.Content = []claude.ToolResultBlockParamContentUnion{
		{OfText: &claude.TextBlockParam{Text: "[image a.png]"}},
		{OfImage: claude.NewImageBlockBase64("image/png", text).OfImage},
	}
	sentAlike(t, anthropicOne, "anthropic/claude-sonnet-4-5", request, []any{
		claude.NewUserMessage(claude.NewTextBlock("Look.")),
		claude.NewAssistantMessage(
			claude.NewToolUseBlock(
				"a",
				map[string]any{},
				"shoot",
			),
			claude.NewToolUseBlock("b", map[string]any{}, "now"),
		),
		map[string]any{"role": "user", "content": []any{
			result, map[string]any{"type": "tool_result", "tool_use_id": "b", "content": "noon"},
		}},
	})
}

// sentAlike compares the messages of a request, as a wire encodes them, with an SDK's.
func sentAlike(
	t *testing.T, wire func() (model.Model, error), id parley.ModelID, asked model.Request, theirs any,
) {
	t.Helper()
	model, err := wire()
	if err != nil {
		t.Fatal(err)
	}
	if closer, ok := model.(interface{ Close() }); ok {
		t.Cleanup(closer.Close)
	}
	asked.Model = id
	encoded, err := model.Encode(asked)
	if err != nil {
		t.Fatal(err)
	}
	var ours struct{ Messages any }
	if err := json.Unmarshal(encoded.Body, &ours); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	var want any
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, unmarked(ours.Messages)); diff != "" {
		t.Errorf("the messages (-SDK +Parley):\n%s", diff)
	}
}

// unmarked returns JSON without cache marks: their position is Parley's choice.
func unmarked(value any) any {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "cache_control")
		for key := range value {
			value[key] = unmarked(value[key])
		}
	case []any:
		for i := range value {
			value[i] = unmarked(value[i])
		}
	}
	return value
}
