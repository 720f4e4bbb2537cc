package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// agentRoutes returns the routes that make, change and archive agents.
func agentRoutes() []route {
	return []route{
		{
			method: http.MethodPost,
			paths:  []string{"/v1/agents"},
			name:   "createAgent",
			tag:    "agents",
			verb:   engine.WriteAgents,
			makes:  true,
			says:   "Create an agent",
			about: "Only name is required. Without slug, one is derived from the name, in Latin letters, with a " +
				"number if it is taken. 409 if the given slug is taken.",
			headers: idempotent(),
			input:   inputOf[engine.AgentInput](agentInputExample),
			alone:   true, // prompts are long
			serve:   serveCreateAgent,
			answers: created[parley.Agent]("The agent, version 1.", agentExample()),
			fails:   conflicting(),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/agents"},
			name:   "listAgents",
			tag:    "agents",
			verb:   engine.ReadAgents,
			says:   "List agents",
			about: "Sorted by slug, ascending unless order says otherwise. Leaves out archived agents unless " +
				"status asks for them.",
			query: with(
				paging(),
				choice(
					"status",
					"active, the default, hides archived agents; any shows all.",
					"active",
					"archived",
					"any",
				),
				many(text("tag", "Only agents with this tag.")),
				many(text("owner", "Only agents of this principal; me for your own.")),
			),
			serve:   serveListAgents,
			answers: listed[parley.Agent](agentExample()),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/agents/{agent}"},
			name:    "getAgent",
			tag:     "agents",
			verb:    engine.ReadAgents,
			says:    "Read an agent",
			about:   "By id or slug.",
			serve:   serveAgent,
			answers: found[parley.Agent]("The agent in its current version.", agentExample()),
		},
		{
			method: http.MethodPatch,
			paths:  []string{"/v1/agents/{agent}"},
			name:   "updateAgent",
			tag:    "agents",
			verb:   engine.WriteAgents,
			says:   "Change an agent",
			about: "Fields that are left out keep their values; null clears one. Every change makes a new version, " +
				"and a patch that changes nothing makes none; turns that have begun keep theirs. Setting status to " +
				"active brings an archived agent back. 409 for archiving the built-in agent, or giving it another " +
				"slug, and for archiving an agent that leads others. lead_id puts the agent into a team: a tree of " +
				"at most 5 levels and 64 agents, all of one owner.",
			headers: conditional(),
			input:   inputOf[engine.AgentPatch](`{"model":"sim/echo","temperature":0.2}`),
			alone:   true,
			serve:   serveUpdateAgent,
			answers: found[parley.Agent]("The agent in its new version.", agentExample()),
			fails:   append(conflicting(), parley.CodeChanged),
		},
		{
			method: http.MethodDelete,
			paths:  []string{"/v1/agents/{agent}"},
			name:   "archiveAgent",
			tag:    "agents",
			verb:   engine.WriteAgents,
			says:   "Archive an agent",
			about: "Nothing is lost: its sessions stay, and new ones are refused. 409 for the built-in agent, and " +
				"for an agent that leads others, which cascade archives with it.",
			query:   []parameter{flag("cascade", "Archive the agents below it too, all or none.")},
			alone:   true,
			serve:   serveArchiveAgent,
			answers: nothing("Archived."),
			fails:   conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/agents/{agent}/warm"},
			name:   "warmAgent",
			tag:    "agents",
			verb:   engine.WriteAgents,
			says:   "Warm the provider's cache for an agent",
			about: "Sends what all requests of the agent begin with, its tools and system prompt, to its provider " +
				"once and asks for one token. Sends nothing where that gains nothing; reason says why. The call " +
				"belongs to no session: its cost is in this answer and in the metrics.",
			serve:   serveWarmAgent,
			answers: found[parley.Warmed]("The outcome.", warmedExample),
			fails:   []parley.Code{parley.CodeUnavailable},
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/agents/{agent}/versions"},
			name:   "listAgentVersions",
			tag:    "agents",
			verb:   engine.ReadAgents,
			says:   "List the versions of an agent",
			about: "The latest first unless order says otherwise. Each is the agent as the turns of that version " +
				"used it.",
			query:   paging(),
			serve:   serveAgentVersions,
			answers: listed[parley.Agent](agentExample()),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/agents/{agent}/versions/{version}"},
			name:    "getAgentVersion",
			tag:     "agents",
			verb:    engine.ReadAgents,
			says:    "Read an earlier version of an agent",
			about:   "The agent as the turns of that version used it.",
			serve:   serveAgentVersion,
			answers: found[parley.Agent]("The agent in that version.", agentExample()),
		},
	}
}
