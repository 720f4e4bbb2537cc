package worker

import (
	"encoding/json"
	"slices"

	"example.org/parley"
	"example.org/parley/setting"
)

// cacheTTL decides how long the provider is asked to keep what the turn's requests begin with: as the settings say,
// else an hour if the turn may have to wait, since five minutes are over before people and other agents have answered.
// It is "" where the provider offers no choice.
func (t *tools) cacheTTL() parley.CacheTTL {
	switch set := setting.CacheTTL.Nearest(&t.claim.Agent.Settings, &t.claim.Session.Settings); {
	case !t.info.Caching || !t.info.CacheHour:
		return ""
	case set != nil:
		return *set
	case slices.ContainsFunc(t.settings.Tools, t.mayWait):
		return parley.CacheHour
	}
	return parley.CacheMinutes
}

// mayWait reports whether calls of an entry of the agent's tools may wait: for another agent, for a client's result, or
// for a person who answers or approves.
func (t *tools) mayWait(ref parley.ToolRef) bool {
	if ref.Agent != nil || ref.Definition != nil {
		return true
	}
	grants := slices.Concat(t.rules.grants.Agent, t.rules.grants.Session, t.rules.grants.Inherited)
	for _, tool := range t.serverTools(ref) {
		name := tool.Definition().Name
		asks := func(g parley.Grant) bool { return g.Effect == parley.GrantAsk && g.Names(name) }
		ruling := t.rules.grants.Decide(name, json.RawMessage("{}"), tool.Annotations())
		if name == parley.AskUserTool || name == parley.RunTransformTool || ruling.Effect == parley.GrantAsk ||
			ruling.Effect != parley.GrantDeny && slices.ContainsFunc(grants, asks) {
			return true
		}
	}
	return false
}
