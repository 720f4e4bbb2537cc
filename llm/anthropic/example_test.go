package anthropic_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"example.org/parley/llm/anthropic"
	"example.org/parley/llm/llmtest"
	"example.org/parley/model"
)

// A provider is a base URL and a key; here a server on loopback plays it.
func ExampleNew() {
	server := httptest.NewServer(llmtest.ServeText(llmtest.Anthropic, "Hello there"))
	defer server.Close()

	adapter, err := anthropic.New(anthropic.Options{BaseURL: server.URL})
	if err != nil {
		panic(err)
	}
	defer adapter.Close()
	encoded, err := adapter.Encode(model.Request{
		Model: "anthropic/some-model",
		Messages: []model.Message{
			{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: "Hello"}}},
		},
	})
	if err != nil {
		panic(err)
	}
	for chunk, err := range adapter.Stream(context.Background(), encoded) {
		switch {
		case err != nil:
			panic(err)
		case chunk.Kind == model.ChunkText:
			fmt.Println(chunk.Text)
		case chunk.Kind == model.ChunkFinish:
			fmt.Println(chunk.Finish)
		}
	}
	// Output:
	// Hello there
	// stop
}
