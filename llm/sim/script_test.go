package sim_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.org/parley"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
)

func TestScriptSteps(t *testing.T) {
	t.Parallel()
	script := `[
		[{"reasoning":"I need it."},{"provider_data":"sig"},{"text":"Looking."},
		 {"tool_call":{"name":"current_time","arguments":{"zone": "UTC"}}},
		 {"tool_call":{"id":"mine","name":"other","arguments_text":"{broken"},"split":3}],
		[{"text":"ab ","repeat":3},{"usage":{"input_tokens":7}},{"refusal":"No."},{"finish":"refusal"},
		 {"text":"never"}],
		[{"usage":{"none":true}}]
	]`
	request := ask("script", script)
	want := []played{
		{Reasoning: "I need it.", Data: "sig", Text: "Looking.", Finish: parley.FinishToolCalls,
			Calls: []string{`call_1_4 current_time {"zone": "UTC"}`, "mine other {broken"}},
		{
			Text:    "ab ab ab ",
			Refusal: "No.",
			Finish:  parley.FinishRefusal,
			Usage:   parley.Usage{InputTokens: new(int64(7))},
		},
		{Finish: parley.FinishStop},
	}
	for step, want := range want {
		got := mustPlay(t, request)
		if step == 0 {
			got.Usage = parley.Usage{} // counted, not scripted
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(played{})); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", step+1, diff)
		}
		request.Messages = append(
			request.Messages,
			model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Kind: model.PartText, Text: "…"}}},
			model.Message{
				Role:  model.RoleTool,
				Parts: []model.Part{{Kind: model.PartToolResult, CallID: "c", Text: "1"}},
			},
			user("a steer that is not a script"),
		)
	}
	_, err := play(t.Context(), t, request)
	if err == nil || !strings.Contains(err.Error(), "has 3 steps") {
		t.Errorf("beyond the last step: %v", err)
	}
	request.Messages = append(request.Messages, user(`[[{"text":"fresh"}]]`))
	if p := mustPlay(t, request); p.Text != "fresh" {
		t.Errorf("a new script answers %q", p.Text)
	}
}

func TestScriptTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		p := mustPlay(
			t,
			ask(
				"script",
				`[[{"wait_ms":1000},{"text":"a b c","token_ms":100},{"text":"äöü","split":1},{"wait_ms":0},`+
					`{"tool_call":{"name":"x","arguments":{"a":1}},"split":3,"token_ms":10}]]`,
			),
		)
		if took := time.Since(started); took != 1330*time.Millisecond {
			t.Errorf("the script took %s", took)
		}
		if p.Text != "a b cäöü" || p.chunks != 3+3+1+3+2 {
			t.Errorf("%q in %d chunks", p.Text, p.chunks)
		}
	})
}

func TestScriptErrors(t *testing.T) {
	t.Parallel()
	script := `[[{"text":"some"},{"error":{"class":"rate_limit","retry_after_ms":1500,"message":"slow down",` +
		`"attempts":1}},{"text":" more"}]]`
	p, err := play(t.Context(), t, ask("script", script))
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Class != parley.ClassRateLimit || !failed.Retryable ||
		failed.RetryAfter != 1500*time.Millisecond ||
		failed.Message != "slow down" ||
		p.Text != "some" {
		t.Errorf("attempt 1: %q, %v", p.Text, err)
	}
	p, err = play(model.WithAttempt(t.Context(), 2), t, ask("script", script))
	if err != nil || p.Text != "some more" {
		t.Errorf("attempt 2: %q, %v", p.Text, err)
	}
	_, err = play(t.Context(), t, ask("script", `[[{"error":{"class":"stream","retryable":false}}]]`))
	if !errors.As(err, &failed) || failed.Class != parley.ClassStream || failed.Retryable {
		t.Errorf("an unretryable stream failure: %v", err)
	}
}

func TestErrorsOfInvalidScripts(t *testing.T) {
	t.Parallel()
	for script, complaint := range map[string]string{
		"hello":                           "must be a JSON list of steps",
		"":                                "must be a JSON list of steps",
		"[]":                              "1 to 100 steps",
		`[[{"text":"a"}]] x`:              "after the script's closing bracket",
		`[{"text":"a"}]`:                  "must be a JSON list of steps",
		`[[{}]]`:                          "step 1, action 1: an action has exactly one of",
		`[[],[{"text":"a"},{"txt":"b"}]]`: `step 2, action 2: json: unknown field "txt"`,
		`[[{"text":"a","wait_ms":1}]]`:    "this one has 2",
		`[[{"text":1}]]`:                  "step 1, action 1",
		`[[{"wait_ms":-1}]]`:              "wait_ms lies between",
		`[[{"tool_call":{}}]]`:            "needs a name",
		`[[{"tool_call":{"name":"x","arguments":{},"arguments_text":""}}]]`: "not both",
		`[[{"error":{"class":"boredom"}}]]`:                                 "error.class is one of content_filter",
		`[[{"finish":"bored"}]]`:                                            "finish is one of",
		`[[{"text":"a","split":-1}]]`:                                       "split",
	} {
		_, err := play(t.Context(), t, ask("script", script))
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Class != parley.ClassModel || failed.Retryable ||
			!strings.Contains(failed.Message, complaint) {
			t.Errorf("%s: got %v, want a model failure that says %q", script, err, complaint)
		}
	}
}

// The published schema lists the possible members of scripts, and its examples play.
func TestScriptSchema(t *testing.T) {
	t.Parallel()
	var schema struct {
		Examples []json.RawMessage
		Defs     struct {
			Action struct {
				Properties map[string]json.RawMessage
				OneOf      []struct{ Required []string }
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(sim.ScriptSchema()), &schema); err != nil {
		t.Fatal(err)
	}
	if len(schema.Examples) == 0 {
		t.Error("the schema has no examples")
	}
	for _, example := range schema.Examples {
		if _, err := play(model.WithAttempt(t.Context(), 2), t, ask("script", string(example))); err != nil {
			t.Errorf("example %s: %v", example, err)
		}
	}
	values := map[string]string{
		"text":          `"a"`,
		"reasoning":     `"a"`,
		"refusal":       `"a"`,
		"tool_call":     `{"name":"a"}`,
		"provider_data": `"a"`,
		"wait_ms":       "0",
		"error":         `{"class":"auth"}`,
		"usage":         "{}",
		"finish":        `"stop"`,
		"split":         "1",
		"repeat":        "1",
		"token_ms":      "0",
	}
	for name := range schema.Defs.Action.Properties {
		value, known := values[name]
		if !known {
			t.Errorf("the schema names %q, which no test gives", name)
			continue
		}
		action := `{"` + name + `":` + value
		if !slices.ContainsFunc(
			schema.Defs.Action.OneOf,
			func(o struct{ Required []string }) bool { return slices.Contains(o.Required, name) },
		) {
			action += `,"text":"a"`
		}
		if _, err := play(t.Context(), t, ask("script", "[["+action+"}]]")); err != nil && name != "error" {
			t.Errorf("%s: %v", action, err)
		}
	}
	if len(values) != len(schema.Defs.Action.Properties) {
		t.Errorf("the schema names %d members, scripts may have %d", len(schema.Defs.Action.Properties), len(values))
	}
}
