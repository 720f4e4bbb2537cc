package worker

import (
	"encoding/json"
	"strings"
	"testing"

	"parley"
)

// A schema that an earlier version stored is looked at again when it is used: one
// that refers to itself refuses the call and takes no process down.
func TestSchemasOfEarlierVersions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(nil)
	refs := []parley.ToolRef{{Name: "trap", Definition: &parley.ToolDefinition{
		Name: "trap", Description: "A trap.", Parameters: json.RawMessage(`{"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a","type":"object"}`),
	}}}
	r.model.play(calls(parley.FinishToolCalls, "trap", `{}`), says("Then without."))
	turn := r.ended(r.post(r.session(parley.Overrides{Model: scriptedID, Tools: &refs}, nil), "Go", "").Turn.ID)
	if turn.Status != parley.TurnCompleted {
		t.Fatalf("the turn is %s: %+v", turn.Status, turn.Error)
	}
	messages, err := r.store.Messages(t.Context(), r.scope, turn.SessionID, parley.MessageQuery{Roles: []parley.Role{parley.RoleToolResult}, Limit: 5})
	r.must(err)
	if len(messages) != 1 || !strings.Contains(string(messages[0].Content), "refers to itself") {
		t.Errorf("the call's result is %v", messages)
	}
}
