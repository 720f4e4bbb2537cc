package worker

import (
	"encoding/json"
	"testing"

	"example.org/parley"
)

// TestAnApprovalIsForOneCall: the worker itself compares a call with its approval, even where the store would not
// notice.
func TestAnApprovalIsForOneCall(t *testing.T) {
	t.Parallel()
	approved, err := parley.Fingerprint("remove", json.RawMessage(`{"path":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ tool, arguments, refusal string }{
		"the same":        {"remove", `{"path":"a"}`, ""},
		"other arguments": {"remove", `{"path":"b"}`, resultOtherCall},
		"another tool":    {"move", `{"path":"a"}`, resultOtherCall},
		"no JSON":         {"remove", `{"path":`, resultOtherCall},
	} {
		call := toolCall{
			name:      c.tool,
			arguments: json.RawMessage(c.arguments),
			approval:  &parley.Approval{State: parley.ApprovalApproved, Fingerprint: approved},
		}
		(&rules{}).heed(&call, parley.GrantAllow, false)
		if call.refusal != c.refusal {
			t.Errorf("%s: the call is refused with %q; want %q", name, call.refusal, c.refusal)
		}
		if runs := call.approved(); runs != (c.refusal == "") {
			t.Errorf("%s: the call counts as approved: %t", name, runs)
		}
	}
}
