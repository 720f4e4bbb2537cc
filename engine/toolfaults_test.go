package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// hopeful is a source that expects every tool that begins with its name; troubled is one whose server is away.
type hopeful struct{}

func (hopeful) Tool(string) (tool.Tool, bool) { return nil, false }
func (hopeful) Tools() []tool.Tool            { return nil }
func (h hopeful) For(parley.ID) tool.Source   { return h }
func (hopeful) Expects(name string) bool      { return strings.Contains(name, "__") }
func (hopeful) Await(context.Context)         {}
func (hopeful) Faults() []tool.Fault          { return nil }

type troubled struct{ hopeful }

func (f troubled) For(parley.ID) tool.Source { return f }
func (troubled) Expects(name string) bool    { return strings.HasPrefix(name, "slow__") }
func (troubled) Faults() []tool.Fault {
	return []tool.Fault{
		{Name: "away__*", Source: "mcp/away", Reason: "it is away", Do: "Start it."},
		{Name: "up__bad", Source: "mcp/up", Reason: "its schema", Do: "Ask."},
	}
}

// TestToolsSayWhatAgentsLack: what active agents name and cannot use is listed with the reason, what to do, and the
// agents: a server that is away, an unusable tool, a name that no source has, and a runtime that is not configured.
func TestToolsSayWhatAgentsLack(t *testing.T) {
	h := newHouse(t, nobody)
	before := engine.New(engine.Options{
		Store: h.store, Models: models(t), Tools: hopeful{}, Runtimes: []string{"acp/gone"},
	})
	created := func(name, runtime string, tools ...string) parley.Agent {
		refs := []parley.ToolRef{{Name: "own", Definition: &parley.ToolDefinition{
			Name: "own", Parameters: []byte(`{"type":"object"}`),
		}}}
		for _, one := range tools {
			refs = append(refs, parley.ToolRef{Name: one})
		}
		agent, _, err := before.CreateAgent(t.Context(), h.admin, engine.AgentInput{
			Name: name, Runtime: runtime, Settings: parley.Settings{Tools: &refs},
		}, store.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		return agent
	}
	created("Ada", "acp/gone", "away__*", "gone__*", "slow__x")
	created("Ben", "", "away__read", "up__bad", "gone__*")
	created("Cleo", "", "up__fine", "aw__*")
	archived := created("Dora", "", "away__*", "other__x")
	if _, err := before.ArchiveAgent(t.Context(), h.admin, archived.ID.String()); err != nil {
		t.Fatal(err)
	}
	after := engine.New(engine.Options{Store: h.store, Models: models(t), Tools: troubled{}})
	page, err := after.Tools(t.Context(), h.reader, engine.Paging{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, one := range page.Data {
		if one.Unusable == nil || one.Do == nil || *one.Unusable == "" || *one.Do == "" {
			t.Errorf("%s says neither why nor what to do: %+v", one.Name, one)
		}
		got[one.Source+" "+one.Name] = one.Agents
	}
	want := map[string][]string{
		"mcp/away away__*":  {"ada", "ben"},
		"mcp/up up__bad":    {"ben"},
		"none gone__*":      {"ada", "ben"},
		"none up__fine":     {"cleo"},
		"none aw__*":        {"cleo"},
		"none current_time": {"parley"}, // of the built-in agent
		"runtime acp/gone":  {"ada"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
