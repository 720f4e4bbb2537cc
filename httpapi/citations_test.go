package httpapi

import (
	"context"
	"iter"
	"slices"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/llm"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
)

// answers is a model that always gives the same answer.
type answers struct {
	model.Model

	text string
}

// Stream implements model.Model.
func (a answers) Stream(context.Context, model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: a.text}, nil) &&
			yield(model.Chunk{Kind: model.ChunkFinish, Finish: parley.FinishStop}, nil)
	}
}

// TestCitationsThatLeadNowhereAreDropped: what a model cites is kept if it leads to a value or to lines of an input. An
// output whose citations all lead nowhere was made from all of every input, and its lineage says so.
func TestCitationsThatLeadNowhereAreDropped(t *testing.T) {
	t.Parallel()
	const answer = `{"outputs":{"good":{"a":1},"bad":"Text."},"sources":[
		{"output":"good","input":1,"pointer":"/1","target":"/a"},
		{"output":"good","input":2,"from_line":2,"to_line":3},
		{"output":"good","input":1,"pointer":"/2"},
		{"output":"good","input":1,"pointer":"/1","target":"/b"},
		{"output":"good","input":1,"from_line":1,"to_line":1},
		{"output":"good","input":2,"from_line":3,"to_line":4},
		{"output":"good","input":2,"from_line":2,"to_line":1},
		{"output":"good","input":2,"pointer":"/a"},
		{"output":"bad","input":0},
		{"output":"bad","input":3},
		{"output":"bad","input":1,"pointer":"0"},
		{"output":"bad","input":1,"pointer":"/0","target":"/a"},
		{"output":"bad","input":2,"from_line":0,"to_line":2},
		{"output":"other","input":1}]}`
	s := startServerWith(t, func(t *testing.T) *llm.Registry {
		return objectModels(t, answers{sim.New(), answer}, model.OutputSchema, "object")
	})
	plan := s.made(`{"kind":"json","name":"Plan","content":{"chapters":["Rain","Sun"]}}`)
	notes := s.made(`{"kind":"text","name":"Notes","content":"one\ntwo\nthree\n"}`)
	ended := s.transformed(`{"name":"Both","instructions":"Write.","model":"other/object","cite":true,"inputs":[` +
		`{"artifact_id":"` + plan.ID.String() + `","pointer":"/chapters"},{"artifact_id":"` + notes.ID.String() +
		`"}],"outputs":[{"name":"good","kind":"json"},{"name":"bad","kind":"text"}]}`)
	if ended.Status != parley.TransformCompleted {
		t.Fatalf("ended: %+v", ended.Failure)
	}
	kept := []parley.TransformSource{
		{Target: "/a", ArtifactID: plan.ID, Version: 1, Pointer: "/chapters/1"},
		{ArtifactID: notes.ID, Version: 1, FromLine: 2, ToLine: 3},
	}
	if good, bad := ended.Outputs[0].Sources, ended.Outputs[1].Sources; !slices.Equal(good, kept) || len(bad) != 0 {
		t.Errorf("kept: %+v, %+v", good, bad)
	}
	for at, c := range [][]string{{"/chapters/1 ", " 2-3"}, {"/chapters ", " "}} {
		causes := want[engine.Lineage](s, 200, "GET",
			"/v1/artifacts/"+ended.Outputs[at].ArtifactID.String()+"/lineage", "")
		var inputs []string
		for _, edge := range causes.Edges {
			if edge.Kind == parley.LineageInput {
				inputs = append(inputs, edge.Pointer+" "+edge.Range)
			}
		}
		slices.Sort(inputs)
		slices.Sort(c)
		if !slices.Equal(inputs, c) {
			t.Errorf("output %d was made from %q, want %q", at+1, inputs, c)
		}
	}
}
