package sim_test

import (
	"testing"

	"example.org/parley/llm/llmtest"
	"example.org/parley/llm/sim"
)

func TestContract(t *testing.T) {
	for _, model := range []string{"echo", "lorem-20-0", "lorem-20-1", "reason"} {
		t.Run(model, func(t *testing.T) {
			llmtest.RunContract(t, sim.New(), ask(model, "one two three four"))
		})
	}
	t.Run("script", func(t *testing.T) {
		llmtest.RunContract(t, sim.New(), ask("script", `[[{"text":"one two three"},{"tool_call":{"name":"x"}}]]`))
	})
}
