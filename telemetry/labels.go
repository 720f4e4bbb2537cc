package telemetry

import (
	"sync"
	"unicode/utf8"
)

// The bounds of labels with values from outside.
const (
	MaxModels    = 100
	MaxProviders = 20
	MaxTools     = 200
	MaxSources   = 50
	MaxAgents    = 200

	maxLabelBytes = 128 // of a name; longer or invalid names become "other"
)

// other stands for every name beyond a bound.
const other = "other"

// names bounds a label's values: the first names up to a bound stay, all later ones become other.
type names struct {
	most int

	mu    sync.RWMutex // guards known
	known map[string]struct{}
}

func newNames(most int) *names { return &names{most: most, known: map[string]struct{}{}} }

// label returns the value to use for a name.
func (n *names) label(name string) string {
	if len(name) > maxLabelBytes || !utf8.ValidString(name) {
		return other
	}
	n.mu.RLock()
	_, ok := n.known[name]
	full := len(n.known) >= n.most
	n.mu.RUnlock()
	switch {
	case ok:
		return name
	case full:
		return other
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.known[name]; !ok {
		if len(n.known) >= n.most {
			return other
		}
		n.known[name] = struct{}{}
	}
	return name
}
