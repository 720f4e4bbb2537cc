package anthropic_test

import (
	"net/http"
	"testing"

	"parley"
	"parley/llm/anthropic"
	"parley/llm/llmtest"
)

// FuzzAnswer: any stream of bytes is an answer that ends, or an error.
func FuzzAnswer(f *testing.F) {
	llmtest.AnyBytes(f, func(c *http.Client) (parley.Model, error) {
		return anthropic.New(anthropic.Options{BaseURL: "http://provider.test/v1", HTTPClient: c})
	})
}
