package anthropic_test

import (
	"testing"

	"go.uber.org/goleak"

	"example.org/parley/llm/anthropic"
	"example.org/parley/llm/llmtest"
	"example.org/parley/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) { llmtest.Run(t, llmtest.Anthropic, newModel) }

func newModel(t testing.TB, o llmtest.Options) model.Model {
	t.Helper()
	model, err := anthropic.New(
		anthropic.Options{BaseURL: o.BaseURL, APIKey: o.APIKey, FirstToken: o.FirstToken, Idle: o.Idle},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	return model
}
