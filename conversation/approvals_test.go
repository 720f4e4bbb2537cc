package conversation_test

import (
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// TestApprovalsOfATurn: a program answers the questions of a turn while it streams.
func TestApprovalsOfATurn(t *testing.T) {
	home := newHome(t)
	input := with("sim/script", "current_time")
	input.Grants = &[]parley.Grant{{Tool: "*", Effect: parley.GrantAsk}}
	chat := open(t, home, input)
	turn, err := chat.Say(
		t.Context(),
		`[[{"tool_call":{"name":"current_time","arguments":{}}},{"tool_call":{"name":"current_time",`+
			`"arguments":{"timezone":"UTC"}}}],[{"text":"Thanks."}]]`,
	)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for approval, err := range turn.Approvals(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		asked++
		answer := engine.DecisionInput{Decision: parley.DecideApprove}
		if string(approval.Arguments) == `{}` {
			answer = engine.DecisionInput{Decision: parley.DecideDeny, Comment: "name a zone"}
		}
		if _, err := chat.Decide(t.Context(), approval.ID, answer); err != nil {
			t.Fatal(err)
		}
		if _, err := chat.Decide(t.Context(), approval.ID, answer); parley.ErrorCode(err) != parley.CodeConflict {
			t.Errorf("a second answer: %v", err)
		}
	}
	if text, err := turn.All(t.Context()); asked != 2 || err != nil || text != "Thanks." {
		t.Errorf("asked %d times, %q, %v", asked, text, err)
	}
	for range turn.Approvals(t.Context()) {
		t.Error("an answered question was asked again")
	}
}
