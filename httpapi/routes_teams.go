package httpapi

import (
	"net/http"
	"reflect"

	"example.org/parley"
	"example.org/parley/engine"
)

// teamRoutes returns the routes of teams, and of the sessions that agents and people have with each other.
func teamRoutes() []route {
	return []route{
		{
			method: http.MethodGet,
			paths:  []string{"/v1/teams"},
			name:   "listTeams",
			tag:    "teams",
			verb:   engine.ReadAgents,
			says:   "List teams",
			about: "The agents that lead others and have no lead themselves, sorted by slug, ascending unless order " +
				"says otherwise. Archived agents are in no team.",
			query: with(
				paging(),
				many(text("owner", "Only teams of this principal; me for your own.")),
			),
			serve:   serveListTeams,
			answers: listed[parley.TeamLead](teamLeadExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/teams/{lead}"},
			name:   "getTeam",
			tag:    "teams",
			verb:   engine.ReadAgents,
			says:   "Read a team",
			about: "By the id or slug of its lead, who may have a lead too: the answer has everyone below, what they " +
				"do now, whom they wait for, when their schedules are due, and what their background sessions have " +
				"cost. background is null for members whose session you may not see. 404 if the agent leads nobody.",
			serve:   serveTeam,
			answers: found[parley.Team]("The team.", teamExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/teams/example"},
			name:   "ensureExampleTeam",
			tag:    "teams",
			verb:   engine.WriteAgents,
			makes:  true,
			says:   "Get or create the example team",
			about: "A lead, example-editor, and four subordinates that the simulator plays, with a schedule and a " +
				"first task: they work at once, and the lead briefs you in your inbox. Needs no provider's key. Once " +
				"the first task is given, repeating the request only returns the team. 409 if the lead is archived, " +
				"or if somebody else has the workspace's example team.",
			serve: serveEnsureExampleTeam,
			answers: []answer{
				{
					status:  http.StatusCreated,
					about:   "The new team.",
					goType:  reflect.TypeFor[parley.Team](),
					example: teamExample,
					headers: []parameter{locationHeader()},
				},
				{
					status:  http.StatusOK,
					about:   "The existing team.",
					goType:  reflect.TypeFor[parley.Team](),
					example: teamExample,
					headers: []parameter{locationHeader()},
				},
			},
			fails: conflicting(),
		},
		{
			method: http.MethodPut,
			paths:  []string{"/v1/agents/{agent}/foreground"},
			name:   "ensureForegroundSession",
			tag:    "teams",
			verb:   engine.OpenSessions,
			makes:  true,
			says:   "Get or create your session with an agent",
			about: "Each principal has one foreground session with each agent, private until shared. Concurrent " +
				"callers all get the same. An archived one is returned as it is; reopen it with PATCH.",
			serve: serveForegroundSession,
			answers: []answer{
				{
					status:  http.StatusCreated,
					about:   "The new session.",
					goType:  reflect.TypeFor[parley.Session](),
					example: sessionExample(),
					headers: []parameter{locationHeader()},
				},
				{
					status:  http.StatusOK,
					about:   "The existing session.",
					goType:  reflect.TypeFor[parley.Session](),
					example: sessionExample(),
					headers: []parameter{locationHeader()},
				},
			},
			fails: conflicting(),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/agents/{agent}/background"},
			name:   "getBackgroundSession",
			tag:    "teams",
			verb:   engine.ReadSessions,
			says:   "Read an agent's background session",
			about: "The one session in which the agent does its own work, kept across its work sessions, which are " +
				"its turns. It belongs to the agent's owner, and is made when the agent enters a team or gets a " +
				"schedule, or when its owner or an admin reads it for the first time. 404 for anybody else until " +
				"then. 409 for an agent without an owner.",
			serve:   serveBackgroundSession,
			answers: found[parley.Session]("The session.", sessionExample()),
			fails:   conflicting(),
		},
	}
}
