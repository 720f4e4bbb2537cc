package openai_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"parley"
	"parley/llm/llmtest"
	"parley/llm/openai"
)

// A provider is a base URL and a key; here a server on loopback stands in for it.
func ExampleNew() {
	server := httptest.NewServer(llmtest.ServeText(llmtest.OpenAI, "Hello there"))
	defer server.Close()

	model, err := openai.New(openai.Options{BaseURL: server.URL + "/v1"})
	if err != nil {
		panic(err)
	}
	defer model.Close()
	encoded, err := model.Encode(parley.ModelRequest{
		Model: "openai/some-model",
		Messages: []parley.RequestMessage{
			{Role: parley.RequestUser, Parts: []parley.RequestPart{{Kind: parley.PartText, Text: "Hello"}}},
		},
	})
	if err != nil {
		panic(err)
	}
	for chunk, err := range model.Stream(context.Background(), encoded) {
		switch {
		case err != nil:
			panic(err)
		case chunk.Kind == parley.ChunkText:
			fmt.Println(chunk.Text)
		case chunk.Kind == parley.ChunkFinish:
			fmt.Println(chunk.Finish)
		}
	}
	// Output:
	// Hello there
	// stop
}
