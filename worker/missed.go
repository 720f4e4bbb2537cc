package worker

import (
	"sync"

	"example.org/parley"
)

// maxMissed bounds the missing tools that a worker remembers; beyond it, it forgets all, and warns once more of each.
const maxMissed = 1024

// missedTool is a name that a version of an agent lists, and that this server does not have.
type missedTool struct {
	agentID parley.ID
	version int
	name    string
}

// missed remembers which missing tools have been logged.
type missed struct {
	mu   sync.Mutex // guards told
	told map[missedTool]bool
}

// first reports whether the log has not been told yet.
func (m *missed) first(one missedTool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.told[one] {
		return false
	}
	if m.told == nil || len(m.told) >= maxMissed {
		m.told = map[missedTool]bool{}
	}
	m.told[one] = true
	return true
}
