package worker

import (
	"encoding/json"
	"strconv"
	"testing"

	"example.org/parley"
)

// TestToolsetsAreKeptAndNeverMistaken: an encoded set is reused, and a set that differs in anything that a request
// shows is not mistaken for it.
func TestToolsetsAreKeptAndNeverMistaken(t *testing.T) {
	t.Parallel()
	sets := newToolsets()
	of := func(description, parameters string) parley.Hash {
		t.Helper()
		tools, err := sets.of(
			[]parley.ToolDefinition{{Name: "look", Description: description, Parameters: json.RawMessage(parameters)}},
		)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := sets.of(
			[]parley.ToolDefinition{{Name: "look", Description: description, Parameters: json.RawMessage(parameters)}},
		); err != nil ||
			&again.Text()[0] != &tools.Text()[0] {
			t.Errorf("%s %s was made again, %v", description, parameters, err)
		}
		return tools.Hash()
	}
	one, two, three := of(
		"Looks.",
		`{"type":"object"}`,
	), of(
		"Looks up.",
		`{"type":"object"}`,
	), of(
		"Looks.",
		`{"type":"object","required":["x"]}`,
	)
	if one == two || one == three || two == three {
		t.Errorf("the hashes are %s, %s, %s", one, two, three)
	}
	for i := range 3 * maxToolsets {
		if _, err := sets.of([]parley.ToolDefinition{{Name: "look_" + strconv.Itoa(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(sets.ready) > maxToolsets {
		t.Errorf("%d sets are cached", len(sets.ready))
	}
	if _, err := sets.of(
		[]parley.ToolDefinition{{Name: "look", Parameters: json.RawMessage(`{`)}},
	); parley.ErrorCode(
		err,
	) != parley.CodeInvalid {
		t.Errorf("invalid JSON as parameters gave %v", err)
	}
}
