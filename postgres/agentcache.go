package postgres

import (
	"sync"

	"example.org/parley"
)

// cachedAgents bounds each part of the agent cache; a full part is emptied.
const cachedAgents = 1024

// agentState says which version of an agent is current. Every change of an agent makes a new version.
type agentState struct {
	version int
	status  parley.AgentStatus
}

type agentKey struct {
	workspaceID, agentID parley.ID
	version              int
}

// agentCache caches agents: versions, which never change, and the current version of each, which the database confirms.
type agentCache struct {
	mu       sync.Mutex // guards both
	states   map[agentKey]agentState
	versions map[agentKey]*parley.Agent
}

func newAgentCache() *agentCache {
	return &agentCache{states: map[agentKey]agentState{}, versions: map[agentKey]*parley.Agent{}}
}

func (c *agentCache) current(workspaceID, agentID parley.ID) (agentState, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	state, ok := c.states[agentKey{workspaceID, agentID, 0}]
	return state, ok
}

func (c *agentCache) note(workspaceID, agentID parley.ID, state agentState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.states) >= cachedAgents {
		clear(c.states)
	}
	c.states[agentKey{workspaceID, agentID, 0}] = state
}

func (c *agentCache) version(workspaceID, agentID parley.ID, version int) *parley.Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.versions[agentKey{workspaceID, agentID, version}]
}

func (c *agentCache) keep(workspaceID, agentID parley.ID, version int, agent *parley.Agent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.versions) >= cachedAgents {
		clear(c.versions)
	}
	c.versions[agentKey{workspaceID, agentID, version}] = agent
}
