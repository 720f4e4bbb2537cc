package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// delegationRoutes returns the routes of what agents hand to each other.
func delegationRoutes() []route {
	return []route{
		{
			method: http.MethodGet,
			paths:  []string{"/v1/delegations"},
			name:   "listDelegations",
			tag:    "delegations",
			verb:   engine.ReadSessions,
			says:   "List delegations",
			about: "Tasks, questions and reports between the agents of teams, newest first: those from or to a " +
				"background session that you may see.",
			query: with(
				paging(),
				many(listOf[parley.DelegationStatus]("status", "Only those in this state.")),
				many(listOf[parley.DelegationKind]("kind", "Only those of this kind.")),
				many(text("agent", "Only those from or to this agent, by id or slug.")),
				many(id("session", "Only those from or to this session.")),
				id("root", "Only those of the chain that this message began."),
			),
			serve:   serveListDelegations,
			answers: listed[parley.Delegation](delegationExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/delegations/{delegation}"},
			name:   "getDelegation",
			tag:    "delegations",
			verb:   engine.ReadSessions,
			says:   "Read a delegation",
			about: "With its whole text, the messages that carried and answered it, and the budget of the chain that " +
				"it belongs to.",
			serve:   serveDelegation,
			answers: found[engine.DelegationDetail]("The delegation.", delegationDetailExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/delegations/{delegation}/cancel"},
			name:   "cancelDelegation",
			tag:    "delegations",
			verb:   engine.CancelTurns,
			says:   "Cancel a delegation",
			about: "Its sender is told, the turns that work for it stop, and what was sent on for it is cancelled " +
				"too. A cancelled one is returned as it is; 409 with the state if it has ended otherwise.",
			serve:   serveCancelDelegation,
			answers: found[parley.Delegation]("The delegation, cancelled.", delegationExample),
			fails:   conflicting(),
		},
	}
}
