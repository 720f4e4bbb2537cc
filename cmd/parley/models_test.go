package main

import (
	"testing"

	"example.org/parley"
)

// Prices and lengths of the file stand in the place of the built-in table's; what
// it leaves out is unknown, not zero.
func TestModelsOfTheFile(t *testing.T) {
	t.Parallel()
	settings := settings{
		Providers: []providerSetting{
			{Name: "acme", BaseURL: "http://127.0.0.1:1/v1"},
			{Name: "openai", BaseURL: "http://127.0.0.1:1/v1"},
		},
		Models: []modelSetting{
			{ID: "acme/large", MaxOutput: 9000, Price: &priceSetting{Input: 3, Output: 6}},
			{ID: "openai/gpt-4o", Price: &priceSetting{Input: 1, Output: 2}},
		},
	}
	registry, open, err := buildModels(settings, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	for _, provider := range open {
		defer provider.Close()
	}
	_, large, err := registry.Resolve("acme/large")
	if err != nil || large.MaxOutput != 9000 || large.Price == nil || large.Price.CachedInput != 3 ||
		large.Price.CacheWrite != nil ||
		!large.Known {
		t.Errorf("acme/large is %+v, %v", large, err)
	}
	if _, known, err := registry.Resolve(
		"openai/gpt-4o",
	); err != nil || known.Price.Input != 1 ||
		known.ContextLength != 0 {
		t.Errorf("openai/gpt-4o is %+v, %v", known, err)
	}
	if _, other, err := registry.Resolve("acme/other"); err != nil || other.Price != nil || other.Known {
		t.Errorf("a model that nobody described is %+v, %v", other, err)
	}
	for _, wrong := range []modelSetting{{ID: "nameless"}, {ID: "acme/x", Price: &priceSetting{Input: -1}}} {
		if _, err := givenModels([]modelSetting{wrong}); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	found := describedProviders(settings, func(string) string { return "" })
	names := map[string]bool{}
	for _, p := range found {
		names[p.Name] = p.Configured
	}
	if !names["acme"] || !names["openai"] || names["anthropic"] || !names["sim"] || len(names) != 5 {
		t.Errorf("the providers are %+v", found)
	}
}
