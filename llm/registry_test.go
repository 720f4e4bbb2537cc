package llm_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/llm"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
)

func simulator() llm.Provider {
	return llm.Provider{
		Name:         sim.ProviderName,
		Model:        sim.New(),
		DefaultModel: sim.DefaultModel,
		Models:       sim.Models(),
		Simulator:    true,
	}
}

// wire returns a stand-in for a provider's adapter, which the registry only passes on.
func wire(name, model string) llm.Provider {
	return llm.Provider{Name: name, Model: sim.New(), DefaultModel: model}
}

func registry(t *testing.T, options llm.Options) *llm.Registry {
	t.Helper()
	r, err := llm.NewRegistry(options)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDefault(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		options llm.Options
		want    parley.ModelID
	}{
		{"nothing", llm.Options{}, ""},
		{"simulator alone", llm.Options{Providers: []llm.Provider{simulator()}}, "sim/echo"},
		{"the first real one", llm.Options{Providers: []llm.Provider{simulator(), wire("local", ""),
			wire("anthropic", "claude-haiku-4-5"), wire("openai", "gpt-5")}}, "anthropic/claude-haiku-4-5"},
		{"as configured", llm.Options{Default: "sim/lorem-10-1",
			Providers: []llm.Provider{wire("openai", "gpt-5"), simulator()}}, "sim/lorem-10-1"},
	} {
		if got := registry(t, test.options).Default(); got != test.want {
			t.Errorf("%s: default %q, want %q", test.name, got, test.want)
		}
	}
}

func TestNewRegistryRefuses(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]llm.Options{
		"a default of an unknown provider": {Default: "openai/gpt-5", Providers: []llm.Provider{simulator()}},
		"a default that is no id":          {Default: "echo", Providers: []llm.Provider{simulator()}},
		"an unknown simulator":             {Default: "sim/gpt", Providers: []llm.Provider{simulator()}},
		"a provider twice":                 {Providers: []llm.Provider{simulator(), simulator()}},
		"a provider without a name":        {Providers: []llm.Provider{wire("", "x")}},
		"a name with a slash":              {Providers: []llm.Provider{wire("a/b", "x")}},
		"a provider without a wire":        {Providers: []llm.Provider{{Name: "a"}}},
	} {
		if _, err := llm.NewRegistry(options); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%s: got %v, want %s", name, err, parley.CodeInvalid)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	r := registry(
		t,
		llm.Options{Providers: []llm.Provider{wire("openai", "gpt-5"), wire("local", "llama"), simulator()}},
	)
	for _, test := range []struct {
		id   parley.ModelID
		want model.Info
	}{
		{"openai/gpt-5", model.Info{Provider: "openai", Name: "gpt-5", Known: true, Reasoning: true, Caching: true,
			Tools: true, Vision: true,
			ContextLength: 400_000, Price: &model.Price{Input: 1.25, Output: 10, CachedInput: 0.125}}},
		{"openai/gpt-99", model.Info{Provider: "openai", Name: "gpt-99"}},
		{"local/meta/llama-4", model.Info{Provider: "local", Name: "meta/llama-4"}},
		{"local/gpt-5", model.Info{Provider: "local", Name: "gpt-5"}},
		{"sim/lorem-7-3", model.Info{Provider: "sim", Name: "lorem-7-3", Simulator: true, Known: true, Caching: true,
			Price: &model.Price{}}},
	} {
		test.want.ID, test.want.Output = test.id, model.OutputSchema
		found, info, err := r.Resolve(test.id)
		if err != nil || found == nil {
			t.Errorf("%s: %v", test.id, err)
			continue
		}
		if diff := cmp.Diff(test.want, info); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.id, diff)
		}
	}
}

func TestResolveSaysWhatToDo(t *testing.T) {
	t.Parallel()
	r := registry(t, llm.Options{Providers: []llm.Provider{wire("local", "llama"), simulator()}})
	for id, words := range map[parley.ModelID][]string{
		"openai/gpt-5": {"configured are local, sim", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DASHSCOPE_API_KEY"},
		"sim/gpt":      {"echo", "lorem-<tokens>-<ms per token>", "script"},
		"gpt-5":        {"provider/model"},
	} {
		_, _, err := r.Resolve(id)
		if parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%s: got %v, want %s", id, err, parley.CodeInvalid)
			continue
		}
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q does not mention %q", id, err, word)
			}
		}
	}
}

// The table contains every listed model once, with plausible prices or none.
func TestModels(t *testing.T) {
	t.Parallel()
	r := registry(
		t,
		llm.Options{
			Providers: []llm.Provider{wire("openai", ""), wire("anthropic", ""), wire("dashscope", ""), simulator()},
		},
	)
	models := r.Models()
	seen := map[string]int{}
	for i, info := range models {
		seen[info.Provider]++
		if i > 0 && models[i-1].ID >= info.ID {
			t.Errorf("%s comes behind %s", info.ID, models[i-1].ID)
		}
		if !info.Known || info.ID.Validate() != nil || info.ContextLength < 0 {
			t.Errorf("model %+v", info)
		}
		if p := info.Price; p != nil && !info.Simulator &&
			!(p.CachedInput > 0 && p.CachedInput < p.Input && p.Input < p.Output) {
			t.Errorf("%s costs %+v", info.ID, *p)
		}
		if info.Simulator != (info.Provider == sim.ProviderName) {
			t.Errorf("%s: simulator is %t", info.ID, info.Simulator)
		}
	}
	for _, provider := range []string{"openai", "anthropic", "dashscope", "sim"} {
		if seen[provider] == 0 {
			t.Errorf("no model of %s is known", provider)
		}
	}
	models[0].Name = "changed"
	if r.Models()[0].Name == "changed" {
		t.Error("a caller can change the registry's list")
	}
}

// A model is asked for objects as the table says, else as its provider's models are.
func TestResolveSaysHowObjectsAreAskedFor(t *testing.T) {
	t.Parallel()
	anthropic := wire("anthropic", "")
	anthropic.Output = model.OutputTool
	r := registry(t, llm.Options{Providers: []llm.Provider{anthropic, wire("openai", "gpt-5"), simulator()}})
	for id, want := range map[parley.ModelID]model.OutputForm{
		"anthropic/claude-sonnet-4-5": model.OutputSubset, "anthropic/claude-3-haiku": model.OutputTool,
		"openai/gpt-5": model.OutputSchema, "openai/new": model.OutputSchema, "sim/object": model.OutputSchema,
	} {
		if _, info, err := r.Resolve(id); err != nil || info.Output != want {
			t.Errorf("%s is asked by %q, %v; want %q", id, info.Output, err, want)
		}
	}
}
