package anthropic

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"example.org/parley"
)

// A lease is read as it was written; what cannot be read is free.
func TestLeases(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_800_000_000_000)
	for text, want := range map[string]struct {
		state, last string
		held        bool
	}{
		`"active 7 true 1799999990000"`:    {workActive, "7", true},
		`"active 7 true 1799990000000"`:    {workActive, "7", false},
		`"starting 3 false 1799999999999"`: {workStarting, noBeat, true},
		`"stopped 9 true 1799999999999"`:   {workStopped, "9", false},
		`"active"`:                         {workQueued, noBeat, false},
		`{"active":7}`:                     {workQueued, noBeat, false},
		`null`:                             {workQueued, noBeat, false},
	} {
		l := leaseOf(&parley.Session{Metadata: json.RawMessage(`{"` + leaseMember + `":` + text + `}`)})
		if l.State != want.state || l.last() != want.last || l.held(now) != want.held {
			t.Errorf("%s is %+v, held %v; want %+v", text, l, l.held(now), want)
		}
	}
}

// Models and agents have two forms; what nobody knows is refused by name.
func TestManagedRequests(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"name":"x","model":"a/b"}`:                     "a/b",
		`{"name":"x","model":{"id":"a/b","speed":null}}`: "a/b",
		`{"name":"x","model":7}`:                         "",
		`{"name":"x","skills":[]}`:                       "",
		`[]`:                                             "",
		`{"model":{"id":"a/b"},"tools":[{"type":"custom"}]}`: "a/b",
	} {
		var r agentRequest
		err := read([]byte(body), &r, "an agent")
		if r.Model.ID != want || (err == nil) != (want != "") {
			t.Errorf("%s has the model %q, %v", body, r.Model.ID, err)
		}
	}
	var n agentName
	if err := json.Unmarshal(
		[]byte(`{"id":"agent_x","type":"agent","version":3}`),
		&n,
	); err != nil ||
		n.ID != "agent_x" {
		t.Errorf("the agent is %+v, %v", n, err)
	}
	for name, fits := range map[string]bool{
		"own": true, "a.b_c-1": true, "": false, "-x": false, "ä": false, strings.Repeat("x", 41): false, "a/b": false,
	} {
		if environmentName.MatchString(name) != fits {
			t.Errorf("an environment %q: want %v", name, fits)
		}
	}
}

// Whatever is sent, reading it ends without a panic.
func FuzzManaged(f *testing.F) {
	f.Add([]byte(`{"name":"x","model":{"id":"a/b"},"tools":[{"type":"custom","name":"n","input_schema":{}}]}`))
	f.Add([]byte(`{"type":"user.custom_tool_result","custom_tool_use_id":"sevt_c","content":[{"type":"text"}]}`))
	f.Add([]byte(`{"parley_work":"active 1 true 5"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var r agentRequest
		if read(body, &r, "an agent") == nil {
			_, _ = (&request{Tools: r.Tools}).tools(&parley.Settings{}, &parley.Agent{})
		}
		var sent sentEvent
		if json.Unmarshal(body, &sent) == nil {
			b := block{Type: "tool_result", UseID: callOf(sent.CustomID), Content: sent.Content, IsError: sent.IsError}
			_, _ = b.result("", "content")
			_, _ = (&message{Role: "user", Content: sent.Content}).read("", nil)
		}
		if l := leaseOf(&parley.Session{Metadata: body}); l.State == "" {
			t.Fatalf("%s has a lease without a state", body)
		}
	})
}
