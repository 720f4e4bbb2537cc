package sqlite

import (
	"sync"

	"example.org/parley"
)

// The bounds of the cache of agents.
const (
	keptAgents  = 128      // it is emptied when full
	longestKept = 64 << 10 // bytes of the JSON of one; longer ones are read each time
)

// agentCache keeps agents as they were last read, because each request of a protocol begins with its agent. Only the
// writer changes agents. It empties the cache after the commit and before it answers, so nobody who has heard of a
// change reads an older agent.
type agentCache struct {
	mu     sync.Mutex
	round  int64 // counts the changes
	agents map[agentName]parley.Agent
}

// agentName is how an agent is asked for.
type agentName struct {
	workspaceID parley.ID
	idOrSlug    string
}

// find returns a cached agent, or the round in which to read it. Callers share its settings, and must
// not change them in place.
func (a *agentCache) find(name agentName) (agent parley.Agent, round int64, found bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	agent, found = a.agents[name]
	return agent, a.round, found
}

// keep caches an agent that was read in a round, if no change came in between: it may have been read before that.
func (a *agentCache) keep(name agentName, agent parley.Agent, round int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.round != round {
		return
	}
	if a.agents == nil || len(a.agents) >= keptAgents {
		a.agents = map[agentName]parley.Agent{}
	}
	a.agents[name] = agent
}

// forget empties the cache after a change.
func (a *agentCache) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.round++
	clear(a.agents)
}
