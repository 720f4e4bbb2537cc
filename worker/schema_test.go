package worker

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// A schema stored by an earlier version is checked again when it is used: one that refers to itself, or to another
// document, refuses the call and does not crash the process.
func TestSchemasOfEarlierVersions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, told string }{
		"of itself": {`{"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a","type":"object"}`, "refers to itself"},
		"elsewhere": {`{"$ref":"https://example.com/all.json","type":"object"}`, "refers to another document"},
	} {
		t.Run(name, func(t *testing.T) { refusedBySchema(t, c.schema, c.told) })
	}
}

func refusedBySchema(t *testing.T, stored, told string) {
	r := newRig(t)
	r.start(nil)
	refs := []parley.ToolRef{
		{
			Name: "trap",
			Definition: &parley.ToolDefinition{
				Name:        "trap",
				Description: "A trap.",
				Parameters:  json.RawMessage(stored),
			},
		},
	}
	r.model.play(calls(parley.FinishToolCalls, "trap", `{}`), says("Then without."))
	turn := r.ended(r.post(r.session(parley.Settings{Model: scriptedID, Tools: &refs}, nil), "Go", "").Turn.ID)
	if turn.Status != parley.TurnCompleted {
		t.Fatalf("the turn is %s: %+v", turn.Status, turn.Error)
	}
	messages, err := r.store.Messages(
		t.Context(),
		r.scope,
		turn.SessionID,
		store.MessageQuery{Roles: []parley.Role{parley.RoleToolResult}, Limit: 5},
	)
	r.must(err)
	if len(messages) != 1 || !strings.Contains(string(messages[0].Content), told) {
		t.Errorf("the call's result is %v", messages)
	}
}
