package worker

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"

	"example.org/parley"
	"example.org/parley/prompt"
)

// maxToolsets bounds the sets of tools that a worker caches.
const maxToolsets = 64

// toolsets caches the encoded tools of agents. An agent's tools stay the same from turn to turn, and reading a hundred
// schemas takes longer than the rest of a turn.
type toolsets struct {
	seed maphash.Seed

	mu    sync.Mutex // guards ready
	ready map[uint64]toolset
}

// toolset is one encoded set with the definitions that it was made from.
type toolset struct {
	of    []parley.ToolDefinition
	tools prompt.Tools
}

func newToolsets() *toolsets {
	return &toolsets{seed: maphash.MakeSeed(), ready: map[uint64]toolset{}}
}

// of returns definitions in the form that requests use.
func (s *toolsets) of(definitions []parley.ToolDefinition) (prompt.Tools, error) {
	if len(definitions) == 0 {
		return prompt.Tools{}, nil
	}
	var hash maphash.Hash
	hash.SetSeed(s.seed)
	for i := range definitions {
		_, _ = hash.WriteString(definitions[i].Name) // neither fails
		_ = hash.WriteByte(0)
	}
	key := hash.Sum64()
	s.mu.Lock()
	found, ok := s.ready[key]
	s.mu.Unlock()
	if ok && slices.EqualFunc(found.of, definitions, sameDefinition) {
		return found.tools, nil
	}
	tools, err := prompt.NewTools(definitions)
	if err != nil {
		return prompt.Tools{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ready) >= maxToolsets {
		clear(s.ready)
	}
	s.ready[key] = toolset{of: definitions, tools: tools}
	return tools, nil
}

// sameDefinition compares what requests show. Definitions from the same source compare by pointer.
func sameDefinition(a, b parley.ToolDefinition) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
}
