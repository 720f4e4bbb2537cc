package sim_test

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
)

// The writer of documents goes on with what its tools answer, and ends with their refusal.
func TestDocument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		tool, answered string // the last call and its result
		refused        bool
		want           string
	}{
		{"begins with a list", "", "", false, `list_artifacts {}`},
		{"writes the first", "list_artifacts", `{"artifacts":[]}`, false, `write_artifact {"content":"# Plan it\n`},
		{"reads one", "list_artifacts", `{"artifacts":[{"id":"d","version":2}]}`, false, `read_artifact {"id":"d"}`},
		{
			"extends what it read", "read_artifact", `{"id":"d","version":2}`, false,
			`edit_artifact {"id":"d","base_version":2,"edits":[{"old":"Status: ready","new":"## Plan it`,
		},
		{
			"edits what it wrote", "write_artifact", `{"id":"d","version":1}`, false,
			`edit_artifact {"id":"d","base_version":1,"edits":[{"old":"Status: draft","new":"Status: ready"}]}`,
		},
		{"ends", "edit_artifact", `{"name":"P","version":2}`, false, `the document "P" is ready, as version 2.`},
		{"is refused", "edit_artifact", "no such passage", true, "did not change. edit_artifact: no such passage"},
	} {
		request := model.Request{Model: "sim/document", Messages: []model.Message{user("Plan it.")}}
		for _, name := range []string{"list_artifacts", "read_artifact", "write_artifact", "edit_artifact"} {
			request.Tools = append(request.Tools, parley.ToolDefinition{Name: name})
		}
		if c.tool != "" {
			request.Messages = append(request.Messages,
				model.Message{Role: model.RoleAssistant, Parts: []model.Part{{
					Kind: model.PartToolCall, CallID: "c", Name: c.tool, Arguments: json.RawMessage(`{}`),
				}}},
				model.Message{Role: model.RoleTool, Parts: []model.Part{{
					Kind: model.PartToolResult, CallID: "c", Name: c.tool, Text: c.answered, IsError: c.refused,
				}}})
		}
		p := mustPlay(t, request)
		if got := strings.Join(p.Calls, "; ") + p.Text; !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	p := mustPlay(t, model.Request{Model: "sim/document", Messages: []model.Message{user("Plan it.")}})
	if !strings.Contains(p.Text, "give it the tool list_artifacts") {
		t.Errorf("without tools: %s", p.Text)
	}
}
