package anthropic_test

import (
	"net/http"
	"testing"

	"example.org/parley/llm/anthropic"
	"example.org/parley/llm/llmtest"
	"example.org/parley/model"
)

// FuzzAnswer: any stream of bytes is an answer that ends, or an error.
func FuzzAnswer(f *testing.F) {
	llmtest.AnyBytes(f, func(c *http.Client) (model.Model, error) {
		return anthropic.New(anthropic.Options{BaseURL: "http://provider.test/v1", HTTPClient: c})
	})
}
