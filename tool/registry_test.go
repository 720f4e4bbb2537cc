package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/tool"
)

// named is a tool with a name and a source.
type named struct{ name, source string }

func (n named) Definition() parley.ToolDefinition { return parley.ToolDefinition{Name: n.name} }
func (named) Annotations() parley.ToolAnnotations { return parley.ToolAnnotations{} }
func (n named) Source() string                    { return n.source }
func (n named) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(n.answer(ctx, call))
}

func (named) answer(context.Context, tool.Call) (json.RawMessage, error) {
	return json.RawMessage("null"), nil
}

// source is a list of tools that may change, with an expected prefix.
type source struct {
	tools   []tool.Tool
	expects string
}

func (s *source) Tools() []tool.Tool { return s.tools }
func (s *source) Tool(name string) (tool.Tool, bool) {
	for _, t := range s.tools {
		if t.Definition().Name == name {
			return t, true
		}
	}
	return nil, false
}
func (*source) Await(context.Context)       {}
func (*source) Faults() []tool.Fault        { return nil }
func (s *source) For(parley.ID) tool.Source { return s }

func (s *source) Expects(name string) bool {
	return s.expects != "" && strings.HasPrefix(name, s.expects)
}

func listed(r *tool.Registry) (all []string) {
	for _, t := range r.Tools() {
		all = append(all, t.Definition().Name+" of "+t.Source())
	}
	return all
}

func TestJoinedSourcesReadAsOne(t *testing.T) {
	first := &source{tools: []tool.Tool{named{"zeta", "one"}, named{"beta", "one"}}}
	second := &source{tools: []tool.Tool{named{"alpha", "two"}}, expects: "fs__"}
	registry, err := tool.Join(first, second)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"alpha of two", "beta of one", "zeta of one"}, listed(registry)); diff != "" {
		t.Error(diff)
	}
	if found, ok := registry.Tool("alpha"); !ok || found.Source() != "two" {
		t.Errorf("alpha is %v, %v", found, ok)
	}
	if _, ok := registry.Tool("gamma"); ok {
		t.Error("a missing tool was found")
	}
	if !registry.Expects("fs__read") || registry.Expects("alpha") {
		t.Error("Expects differs from the sources'")
	}
	second.tools = append(second.tools, named{"beta", "two"}, named{"omega", "two"})
	if diff := cmp.Diff(
		[]string{"alpha of two", "beta of one", "omega of two", "zeta of one"},
		listed(registry),
	); diff != "" {
		t.Errorf("after a source changed: %s", diff)
	}
	if found, _ := registry.Tool("beta"); found.Source() != "one" {
		t.Error("a later source took over a name")
	}
}

func TestTwoToolsOfOneNameAreRefused(t *testing.T) {
	_, err := tool.Join(
		&source{tools: []tool.Tool{named{"read_file", "builtin"}}},
		&source{tools: []tool.Tool{named{"read_file", "http"}}},
	)
	if parley.ErrorCode(err) != parley.CodeInvalid || !strings.Contains(err.Error(), `"read_file"`) {
		t.Errorf("got %v", err)
	}
}
