package main

import (
	"os"
	"path/filepath"

	"example.org/parley"
	"example.org/parley/llm"
	"example.org/parley/llm/anthropic"
	"example.org/parley/llm/openai"
	"example.org/parley/llm/record"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
)

// The wire formats that a configured provider may speak.
const (
	kindOpenAI    = "openai"
	kindAnthropic = "anthropic"
)

// knownProviders need nothing but their environment variables.
var knownProviders = [...]struct { //nolint:gochecknoglobals // a table that is never written
	providerSetting
	baseURLEnv string
}{
	{
		providerSetting{Name: "openai", Kind: kindOpenAI, KeyEnv: "OPENAI_API_KEY", DefaultModel: "gpt-5-mini"},
		"OPENAI_BASE_URL",
	},
	{
		providerSetting{
			Name:         "anthropic",
			Kind:         kindAnthropic,
			KeyEnv:       "ANTHROPIC_API_KEY",
			DefaultModel: "claude-sonnet-5-5",
		},
		"ANTHROPIC_BASE_URL",
	},
	{providerSetting{Name: dashScope, Kind: kindOpenAI, KeyEnv: "DASHSCOPE_API_KEY", DefaultModel: "qwen-plus",
		BaseURL: "https://dashscope.aliyuncs.com/compatible-mode/v1"}, "DASHSCOPE_BASE_URL"},
}

// configuredProviders lists the providers of the environment and the file. A provider of the file replaces the known
// one with its name.
func configuredProviders(s settings, env func(string) string) []providerSetting {
	var found []providerSetting
	inFile := map[string]bool{}
	for _, p := range s.Providers {
		inFile[p.Name] = true
	}
	for _, known := range knownProviders {
		p := known.providerSetting
		if base := env(known.baseURLEnv); base != "" {
			p.BaseURL = base
		} else if env(p.KeyEnv) == "" {
			continue
		}
		if !inFile[p.Name] {
			found = append(found, p)
		}
	}
	return append(found, s.Providers...)
}

// closer is a provider with open connections.
type closer interface{ Close() }

// dashScope is the provider whose wire has its own word for a search.
const dashScope = "dashscope"

// buildModels makes the registry: the configured providers and the simulator.
func buildModels(s settings, env func(string) string) (*llm.Registry, []closer, error) {
	var providers []llm.Provider
	var open []closer
	env = recordedKeys(s, env)
	for _, p := range configuredProviders(s, env) {
		if err := p.check(); err != nil {
			return nil, nil, err
		}
		var key string
		if p.KeyEnv != "" {
			if key = env(p.KeyEnv); key == "" && p.Kind == kindAnthropic {
				return nil, nil, parley.InvalidField(
					"providers",
					"provider %q needs its key in the environment variable %s",
					p.Name,
					p.KeyEnv,
				)
			}
		}
		provider := llm.Provider{Name: p.Name, DefaultModel: p.DefaultModel}
		switch p.Kind {
		case kindAnthropic:
			provider.Output = model.OutputTool // models older than those of the table know no format
			model, err := anthropic.New(anthropic.Options{Name: p.Name, BaseURL: p.BaseURL, APIKey: key})
			if err != nil {
				return nil, nil, err
			}
			provider.Model, provider.Caching, open = model, true, append(open, model)
			provider.CacheHour, provider.Search = p.Name == anthropic.DefaultName, true
		default:
			if p.Name == dashScope { // most of its models know no schema
				provider.Output = model.OutputTool
			}
			model, err := openai.New(openai.Options{Name: p.Name, BaseURL: p.BaseURL, APIKey: key})
			if err != nil {
				return nil, nil, err
			}
			provider.Model, provider.Caching, open = model, p.Name == openai.DefaultName, append(open, model)
			provider.Search = p.Name == dashScope
		}
		var err error
		if provider.Model, err = recorded(s, provider.Model, key); err != nil {
			return nil, nil, err
		}
		providers = append(providers, provider)
	}
	providers = append(
		providers,
		llm.Provider{
			Name:         sim.ProviderName,
			Model:        sim.New(),
			DefaultModel: sim.DefaultModel,
			Models:       sim.Models(),
			Simulator:    true,
		},
	)
	models, err := givenModels(s.Models)
	if err != nil {
		return nil, nil, err
	}
	registry, err := llm.NewRegistry(llm.Options{Default: s.Model, Providers: providers, Models: models})
	return registry, open, err
}

// recorded wraps a provider in a recorder or a player if the settings ask for one.
func recorded(s settings, model model.Model, key string) (model.Model, error) {
	switch {
	case s.Record != "":
		return record.New(model, s.Record, record.Options{Secrets: []string{key}})
	case s.Replay != "":
		return record.Open(model, s.Replay, record.Options{})
	}
	return model, nil
}

// unusedKey is the key of providers that are never asked.
const unusedKey = "unused"

// recordedKeys is an environment in which recorded providers have a key: playing needs none.
func recordedKeys(s settings, env func(string) string) func(string) string {
	if s.Replay == "" {
		return env
	}
	given := map[string]bool{}
	for _, known := range knownProviders {
		if info, err := os.Stat(filepath.Join(s.Replay, known.Name)); err == nil && info.IsDir() {
			given[known.KeyEnv] = true
		}
	}
	for _, p := range s.Providers {
		given[p.KeyEnv] = true
	}
	return func(name string) string {
		if value := env(name); value != "" || !given[name] {
			return value
		}
		return unusedKey
	}
}

func (p providerSetting) check() error {
	switch {
	case p.Name == "" || p.Name == sim.ProviderName:
		return parley.InvalidField("providers", "a provider needs a name, and it cannot be %q", sim.ProviderName)
	case p.Kind != "" && p.Kind != kindOpenAI && p.Kind != kindAnthropic:
		return parley.InvalidField(
			"providers",
			"provider %q: kind must be openai or anthropic, the wire that it speaks",
			p.Name,
		)
	}
	return nil
}

// givenModels returns the models of the file.
func givenModels(settings []modelSetting) (models []model.Info, err error) {
	for _, m := range settings {
		if err := m.ID.Validate(); err != nil {
			return nil, parley.InvalidField(
				"models",
				"%q is not a valid model id: write provider/model",
				parley.Clip(string(m.ID), 64),
			)
		}
		info := model.Info{
			Provider:      m.ID.Provider(),
			Name:          m.ID.Name(),
			ContextLength: m.ContextLength,
			MaxOutput:     m.MaxOutput,
			Reasoning:     m.Reasoning,
			Caching:       m.Caching,
			CacheHour:     m.CacheHour,
			Tools:         m.Tools,
			Vision:        m.Vision,
			Search:        m.Search,
			ThinkTags:     m.ThinkTags,
		}
		if p := m.Price; p != nil {
			price := model.Price{Input: p.Input, Output: p.Output, CachedInput: p.Input, CacheWrite: p.CacheWrite,
				CacheWriteHour: p.CacheWriteHour}
			if p.CachedInput != nil {
				price.CachedInput = *p.CachedInput
			}
			if price.Input < 0 || price.Output < 0 || price.CachedInput < 0 ||
				p.CacheWrite != nil && *p.CacheWrite < 0 || p.CacheWriteHour != nil && *p.CacheWriteHour < 0 {
				return nil, parley.InvalidField("models", "a price of %q is below zero", parley.Clip(string(m.ID), 64))
			}
			info.Price = &price
		}
		models = append(models, info)
	}
	return models, nil
}

// describedProviders returns the configured providers, the simulator, and the known ones that lack only their key.
func describedProviders(s settings, env func(string) string) (found []model.ProviderInfo) {
	describe := func(p providerSetting, configured bool) {
		info := model.ProviderInfo{Name: p.Name, Configured: configured, KeyEnv: p.KeyEnv}
		if p.DefaultModel != "" {
			info.DefaultModel = parley.ModelID(p.Name + "/" + p.DefaultModel)
		}
		found = append(found, info)
	}
	named := map[string]bool{}
	for _, p := range configuredProviders(s, env) {
		named[p.Name] = true
		describe(p, true)
	}
	for _, known := range knownProviders {
		if !named[known.Name] {
			describe(known.providerSetting, false)
		}
	}
	return append(
		found,
		model.ProviderInfo{
			Name:         sim.ProviderName,
			Configured:   true,
			Simulator:    true,
			DefaultModel: sim.ProviderName + "/" + sim.DefaultModel,
		},
	)
}
