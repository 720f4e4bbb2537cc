package prompt_test

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

// TestAnInstructionTellsOfStubs: a summary asked for behind a request with stubs is told that it does not see those
// results, and what to keep of them; behind another request it is not.
func TestAnInstructionTellsOfStubs(t *testing.T) {
	t.Parallel()
	const told = "you cannot read it now"
	r := &record{}
	for n := 1; n <= 3; n++ {
		id := turnID(n)
		r.add(user(id, "question"))
		r.add(assistant(id, 1, parley.AssistantContent{}))
		r.add(call(id, 1, "c", `{"q":1}`))
		r.add(result(id, 1, "c", `"`+strings.Repeat("found ", 200)+`"`)).TokenEstimate = 400
		r.add(assistant(id, 2, parley.AssistantContent{Text: "answer"}))
	}
	r.add(user(turnID(4), "now"))
	for stubbed, want := range map[int64]bool{0: false, 5: true} {
		v := r.view(len(r.rows), parley.Policy{Kind: parley.PolicyAuto}, 0, prompt.Budget{Tokens: 2000, Ratio: 1})
		v.Session.Context.Stubbed = stubbed
		request, manifest := mustBuild(t, prompt.Settings{Model: modelA}, mustView(t, v))
		if (manifest.Stubs != nil) != want {
			t.Fatalf("the stubs of the request are %+v", manifest.Stubs)
		}
		source, _ := prompt.PlanCompaction(r.rows[:10], nil, false, 0, 100_000, false)
		if got := prompt.SummaryInstruction("", source, &request, 1000, nil); strings.Contains(got, told) != want {
			t.Errorf("with stubs up to message %d the instruction is %s", stubbed, got)
		}
	}
	none := model.Request{}
	if got := prompt.SummaryInstruction("", prompt.Source{}, &none, 1000, nil); strings.Contains(got, told) {
		t.Errorf("behind an empty request the instruction is %s", got)
	}
}
