// Package tool is the port of tools. Its Registry joins a server's sources of tools into one, from
// which agents choose. A source owns its tools and may change them at any time; the Registry stores
// none. This package does not decide whether a call may run; a call is durable before its tool sees
// it. The packages below this one are the sources.
package tool

import (
	"context"
	"slices"
	"sort"

	"example.org/parley"
)

// Registry combines several sources into one. If two have a tool of the same name, the earlier source wins. It stores
// nothing: changes of a source show immediately.
type Registry struct {
	sources []Source
}

var _ Source = (*Registry)(nil)

// Join makes a Registry. It returns CodeInvalid if two sources already have a tool of the same name: a configured tool
// must not hide another.
func Join(sources ...Source) (*Registry, error) {
	owner := map[string]string{}
	for _, source := range sources {
		for _, tool := range source.Tools() {
			name := tool.Definition().Name
			if other, taken := owner[name]; taken {
				return nil, parley.InvalidField(
					"tools",
					"there are two tools named %q, one of %s and one of %s; rename one of them",
					parley.Clip(name, 64),
					other,
					tool.Source(),
				)
			}
			owner[name] = tool.Source()
		}
	}
	return &Registry{sources: slices.Clone(sources)}, nil
}

// For implements Source.
func (r *Registry) For(workspaceID parley.ID) Source {
	own := &Registry{sources: make([]Source, len(r.sources))}
	for i, source := range r.sources {
		own.sources[i] = source.For(workspaceID)
	}
	return own
}

// Tool finds a tool by its exact name.
func (r *Registry) Tool(name string) (Tool, bool) {
	for _, source := range r.sources {
		if tool, ok := source.Tool(name); ok {
			return tool, true
		}
	}
	return nil, false
}

// Tools lists the tools of all sources by name.
func (r *Registry) Tools() []Tool {
	var all []Tool
	for _, source := range r.sources {
		all = append(all, source.Tools()...)
	}
	byName := func(i, j int) bool { return all[i].Definition().Name < all[j].Definition().Name }
	sort.SliceStable(all, byName) // stable: the earlier source stays first
	return slices.CompactFunc(all, func(a, b Tool) bool { return a.Definition().Name == b.Definition().Name })
}

// Faults lists the unusable tools of all sources, by name.
func (r *Registry) Faults() []Fault {
	var all []Fault
	for _, source := range r.sources {
		all = append(all, source.Faults()...)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// Await returns when Await of every source has.
func (r *Registry) Await(ctx context.Context) {
	for _, source := range r.sources {
		source.Await(ctx)
	}
}

// Expects reports whether one of the sources expects the name.
func (r *Registry) Expects(name string) bool {
	return slices.ContainsFunc(r.sources, func(source Source) bool { return source.Expects(name) })
}
