package difftest_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	claude "github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"
	gpt "github.com/openai/openai-go/v3"

	"example.org/parley"
	"example.org/parley/llm/anthropic"
	"example.org/parley/llm/openai"
	"example.org/parley/model"
)

// The images of a message are sent as the vendors' SDKs send them: in their places
// between the texts, with their types.
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
			model, err := c.model()
			if err != nil {
				t.Fatal(err)
			}
			if closer, ok := model.(interface{ Close() }); ok {
				t.Cleanup(closer.Close)
			}
			asked := request
			asked.Model = c.id
			encoded, err := model.Encode(asked)
			if err != nil {
				t.Fatal(err)
			}
			var ours struct{ Messages any }
			if err := json.Unmarshal(encoded.Body, &ours); err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(c.theirs)
			if err != nil {
				t.Fatal(err)
			}
			var theirs any
			if err := json.Unmarshal(raw, &theirs); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(theirs, unmarked(ours.Messages)); diff != "" {
				t.Errorf("the messages (-SDK +Parley):\n%s", diff)
			}
		})
	}
}

// unmarked is JSON without marks for caches: where to set them is Parley's choice.
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
