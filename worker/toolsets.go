package worker

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"

	"example.org/parley"
	"example.org/parley/prompt"
)

// maxToolsets bounds the sets of tools that a worker keeps ready for requests.
const maxToolsets = 64

// toolsets keeps what agents' tools look like in requests. An agent's tools are
// the same from turn to turn, and to read a hundred schemas takes longer than
// all the rest of a turn.
type toolsets struct {
	seed maphash.Seed

	mu    sync.Mutex // guards ready
	ready map[uint64]toolset
}

// toolset is one set beside the definitions that it was made of.
type toolset struct {
	of    []parley.ToolDefinition
	tools prompt.Tools
}

func newToolsets() *toolsets {
	return &toolsets{seed: maphash.MakeSeed(), ready: map[uint64]toolset{}}
}

// of gives definitions the form that requests have of them.
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

// sameDefinition compares what requests show. Of definitions that come from one
// place it compares pointers.
func sameDefinition(a, b parley.ToolDefinition) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
}
