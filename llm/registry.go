// Package llm is the registry of models: it finds the provider of a model id "provider/model" and
// knows the model's properties.
//
// It owns the list of this process's providers and a table of well-known models (models.json). It
// speaks no wire format; the providers do. A model that is not in the table is passed through; its
// price is then unknown, never zero.
package llm

import (
	"cmp"
	_ "embed" // for the table of models
	"encoding/json"
	"slices"
	"sort"
	"strings"

	"example.org/parley"
	"example.org/parley/model"
)

//go:embed models.json
var modelTable []byte // read only

// Options configure a Registry.
type Options struct {
	// the server's default model; "": that of the first provider that is not a simulator, else the simulator's
	Default   parley.ModelID
	Providers []Provider   // in the order of preference
	Models    []model.Info // replace entries of the table or a provider with the same provider and name
}

// Provider is one configured provider.
type Provider struct {
	Name         string       // the part of model ids before the first slash
	Model        model.Model  // its wire
	DefaultModel string       // the part after the slash; "" if it has none
	Models       []model.Info // its known models; nil: the table's entries for its name
	Simulator    bool         // its answers are made up and cost nothing
	Caching      bool         // unknown models have a prompt cache too
	CacheHour    bool         // it keeps what unknown models cached for an hour too
	Search       bool         // unknown models can search the web too
	// how models are asked for an object, unless the table says otherwise; "": model.OutputSchema
	Output model.OutputForm
}

// Registry implements model.Source. It never changes after NewRegistry.
type Registry struct {
	providers map[string]Provider
	known     map[parley.ModelID]model.Info
	models    []model.Info // by id
	fallback  parley.ModelID
}

var _ model.Source = (*Registry)(nil)

// NewRegistry makes a registry. It returns CodeInvalid for a provider without a name or with a used one, and for a
// default model that cannot be resolved.
func NewRegistry(options Options) (*Registry, error) {
	table, err := wellKnown()
	if err != nil {
		return nil, err
	}
	r := &Registry{providers: map[string]Provider{}, known: map[parley.ModelID]model.Info{}}
	for _, p := range options.Providers {
		if p.Name == "" || strings.Contains(p.Name, "/") || p.Model == nil {
			return nil, parley.InvalidField(
				"providers",
				"a provider needs a wire and a name without a slash, not %q",
				parley.Clip(p.Name, 64),
			)
		}
		if _, twice := r.providers[p.Name]; twice {
			return nil, parley.InvalidField("providers", "provider %q is configured twice", p.Name)
		}
		r.providers[p.Name] = p
		models := p.Models
		if models == nil {
			models = table[p.Name]
		}
		for _, info := range overridden(models, p.Name, options.Models) {
			info = complete(info, p, info.Name)
			info.Known = true
			if _, twice := r.known[info.ID]; !twice {
				r.known[info.ID] = info
				r.models = append(r.models, info)
			}
		}
	}
	sort.Slice(r.models, func(i, j int) bool { return r.models[i].ID < r.models[j].ID })
	r.fallback = fallback(options)
	if r.fallback != "" {
		if _, _, err := r.Resolve(r.fallback); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// overridden returns the models of a provider with the given ones in their places.
func overridden(models []model.Info, provider string, given []model.Info) (all []model.Info) {
	for _, info := range given {
		if info.Provider == provider {
			all = append(all, info) // the first with a name counts
		}
	}
	return append(all, models...)
}

// fallback returns the default model: the configured one, else that of the first real provider, else a simulator's.
func fallback(options Options) parley.ModelID {
	if options.Default != "" {
		return options.Default
	}
	for _, simulator := range []bool{false, true} {
		for _, p := range options.Providers {
			if p.Simulator == simulator && p.DefaultModel != "" {
				return parley.ModelID(p.Name + "/" + p.DefaultModel)
			}
		}
	}
	return ""
}

// complete fills in what follows from the provider.
func complete(info model.Info, p Provider, name string) model.Info {
	info.ID, info.Provider, info.Name = parley.ModelID(p.Name+"/"+name), p.Name, name
	info.Output = cmp.Or(info.Output, p.Output, model.OutputSchema)
	if p.Simulator {
		info.Simulator, info.Price = true, &model.Price{}
	}
	return info
}

// Resolve implements model.Source. Of a simulator only its own models resolve, since nobody else could know them.
func (r *Registry) Resolve(id parley.ModelID) (model.Model, model.Info, error) {
	if err := id.Validate(); err != nil {
		return nil, model.Info{}, err
	}
	p, found := r.providers[id.Provider()]
	if !found {
		return nil, model.Info{}, r.unknownProvider(id)
	}
	if info, known := r.known[id]; known {
		return p.Model, info, nil
	}
	info := complete(model.Info{Caching: p.Caching, CacheHour: p.CacheHour, Search: p.Search}, p, id.Name())
	if p.Simulator {
		if _, err := p.Model.Encode(model.Request{Model: id}); err != nil {
			return nil, model.Info{}, err
		}
		info.Known, info.Caching = true, true
	}
	return p.Model, info, nil
}

// unknownProvider says what is configured, and how to configure more.
func (r *Registry) unknownProvider(id parley.ModelID) error {
	names := make([]string, 0, len(r.providers))
	for name := range r.providers {
		names = append(names, name)
	}
	slices.Sort(names)
	configured := "none is configured"
	if len(names) > 0 {
		configured = "configured are " + strings.Join(names, ", ")
	}
	return parley.InvalidField(
		"model",
		"there is no provider %q for model %q: %s; set OPENAI_API_KEY, ANTHROPIC_API_KEY or DASHSCOPE_API_KEY in the "+
			"server's environment, or add the provider to parley.yaml, and start the server again",
		parley.Clip(id.Provider(), 64),
		parley.Clip(string(id), 64),
		configured,
	)
}

// Models implements model.Source.
func (r *Registry) Models() []model.Info { return slices.Clone(r.models) }

// Default implements model.Source; "" if no provider has a default model.
func (r *Registry) Default() parley.ModelID { return r.fallback }

// wellKnown reads the table of models, by provider.
func wellKnown() (map[string][]model.Info, error) {
	var models []model.Info
	if err := json.Unmarshal(modelTable, &models); err != nil {
		return nil, parley.WrapError(parley.CodeInternal, err, "the table of models cannot be read")
	}
	table := map[string][]model.Info{}
	for _, info := range models {
		table[info.Provider] = append(table[info.Provider], info)
	}
	return table, nil
}
