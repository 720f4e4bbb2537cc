package difftest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
)

// The vendor's Go runner of tools, unmodified, answers the calls of an agent's turns.
func TestOpenAIAgentsClientOfParley(t *testing.T) {
	client := served(t)
	sessions := client.Beta.Agents.Sessions
	parameters := map[string]any{"type": "object", "properties": map[string]any{}}
	none := sdk.NewEnvironmentParamNone()
	session, err := sessions.New(t.Context(), sdk.BetaAgentSessionNewParams{
		Environment: sdk.EnvironmentParamUnion{OfParamNone: &none},
		Agent: sdk.BetaAgentSessionNewParamsAgent{
			Model: sdk.String("sim/script"),
			Tools: []sdk.AgentToolParamUnion{sdk.AgentToolParamOfParamFunction("Looks.", "look", parameters)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	ask := func(input string) (string, sdk.AgentSessionEventUnion) {
		t.Helper()
		stream := sessions.Stream(t.Context(), session.ID, sdk.AgentSessionStreamParams{
			Input: input,
			ToolHandlers: map[string]sdk.AgentToolHandler{
				"look": func(_ context.Context, arguments map[string]any) (any, error) {
					if looked++; arguments["at"] != "it" {
						t.Errorf("the arguments are %v", arguments)
					}
					return map[string]any{"seen": "a cat"}, nil
				},
			},
		})
		defer func() { _ = stream.Close() }()
		said, last := "", sdk.AgentSessionEventUnion{}
		for stream.Next() {
			if last = stream.Current(); last.Type == "agent.session.turn.output_text.delta" {
				said += last.AsAgentSessionTurnOutputTextDelta().Delta
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		return said, last
	}
	const script = `[[{"tool_call":{"name":"look","arguments":{"at":"it"}}}],[{"text":"Seen."}]]`
	for range 2 {
		if said, last := ask(script); said != "Seen." || last.Type != "agent.session.idle" {
			t.Errorf("the turn said %q and ended with %s", said, last.RawJSON())
		}
	}
	if looked != 2 {
		t.Errorf("the tool ran %d times, want 2", looked)
	}

	outputs := 0
	items := sessions.Items.ListAutoPaging(t.Context(), session.ID, sdk.BetaAgentSessionItemListParams{
		Limit: sdk.Int(1),
	})
	for items.Next() {
		if item := items.Current(); item.Type == "function_call_output" &&
			strings.Contains(item.RawJSON(), `a cat`) {
			outputs++
		}
	}
	if err := items.Err(); err != nil || outputs != 2 {
		t.Errorf("the items have %d outputs (%v), want 2", outputs, err)
	}

	var refused *sdk.Error
	if _, err := sessions.Get(
		t.Context(),
		"asess_unknown",
	); !errors.As(err, &refused) ||
		refused.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown session gets %v", err)
	}
}
