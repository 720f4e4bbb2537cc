package worker

import (
	"strings"
	"testing"
	"time"

	"example.org/parley"
)

// Each part of a turn works from its claim alone: limits need no store while none is near.
func TestLimitsByThemselves(t *testing.T) {
	t.Parallel()
	calls := 1
	began := time.Now()
	c := &claimed{w: &Worker{options: Options{now: func() time.Time { return began }}}, ctx: t.Context()}
	l := &limits{claimed: c, began: began}
	l.set(parley.Limits{MaxToolCalls: &calls})
	asked := []toolCall{{id: "first"}, {id: "second"}}
	l.allow(asked)
	if asked[0].refusal != "" || !strings.Contains(asked[1].refusal, "max_tool_calls") {
		t.Errorf("the calls are refused with %q and %q", asked[0].refusal, asked[1].refusal)
	}
	failure, err := l.spent(position{step: 1})
	if err != nil || failure == nil || failure.Class != parley.ClassLimit {
		t.Errorf("two calls of one: %+v, %v", failure, err)
	}
	l.calls = 0
	failure, err = l.spent(position{step: parley.DefaultMaxSteps + 1})
	if err != nil || failure == nil || !strings.Contains(failure.Detail, "max_steps") {
		t.Errorf("a step too many: %+v, %v", failure, err)
	}
}

// Rules decide about a call without a turn.
func TestRulesByThemselves(t *testing.T) {
	t.Parallel()
	r := &rules{claimed: &claimed{w: &Worker{}}, grants: parley.Grants{
		Session: []parley.Grant{{Tool: "no", Effect: parley.GrantDeny}, {Tool: "acp/here", Effect: parley.GrantAllow}},
	}}
	call := toolCall{name: "no", arguments: []byte("{}")}
	if err := r.permit(&call); err != nil || call.refusal != resultForbidden {
		t.Errorf("a denied call: %q, %v", call.refusal, err)
	}
	for name, want := range map[string]bool{"acp/here": true, "acp/other": false} {
		if got, err := r.permits(name); got != want || err != nil {
			t.Errorf("%s is permitted: %t, %v", name, got, err)
		}
	}
}
