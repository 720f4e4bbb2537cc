package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// knowledgeRoutes returns the routes of what agents know.
func knowledgeRoutes() []route {
	return []route{
		{
			method: http.MethodPost,
			paths:  []string{"/v1/knowledge"},
			name:   "createKnowledgeItem",
			tag:    "knowledge",
			verb:   engine.WriteAgents,
			says:   "Tell an agent something",
			about: "Later prompts of the agent, or of its team, are told it. An active item that says the same is " +
				"confirmed instead, and returned. Only the agent's owner and admins may. 409 for an archived agent, " +
				"one without an owner, or one with too many items.",
			headers: idempotent(),
			input: inputOf[engine.KnowledgeInput](
				`{"agent_id":"release-writer","kind":"preference","text":"Releases are cut on Tuesdays.",` +
					`"pinned":true}`,
			),
			alone:   true, // it is compared with all that the agent knows
			serve:   serveCreateKnowledge,
			answers: created[parley.KnowledgeItem]("The item.", knowledgeExample),
			fails:   conflicting(),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/knowledge"},
			name:   "listKnowledgeItems",
			tag:    "knowledge",
			verb:   engine.ReadAgents,
			says:   "List what agents know",
			about:  "Newest first. An item that comes from a session which you may not read is left out.",
			query: with(
				paging(),
				text("agent", "Only items of this agent, by id or slug."),
				text("team", "Only items of this team, by id or slug of its lead."),
				listOf[parley.KnowledgeKind]("kind", "Only items of this kind."),
				listOf[parley.KnowledgeStatus]("status", "Only items of this status."),
			),
			serve:   serveListKnowledge,
			answers: listed[parley.KnowledgeItem](knowledgeExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/knowledge/{knowledge}"},
			name:   "getKnowledgeItem",
			tag:    "knowledge",
			verb:   engine.ReadAgents,
			says:   "Read a knowledge item",
			about:  "With the messages that it was drawn from. 404 if you may not read all of them.",
			serve:  serveKnowledge,
			answers: found[parley.KnowledgeItem](
				"The item.", knowledgeExample,
			),
		},
		{
			method: http.MethodPatch,
			paths:  []string{"/v1/knowledge/{knowledge}"},
			name:   "updateKnowledgeItem",
			tag:    "knowledge",
			verb:   engine.WriteAgents,
			says:   "Change a knowledge item",
			about: "Its words, whether it is pinned, and whether a procedure may be used: one that an agent noted is " +
				"not, until approved is true.",
			input:   inputOf[engine.KnowledgePatch](`{"pinned":true}`),
			serve:   serveUpdateKnowledge,
			answers: found[parley.KnowledgeItem]("The changed item.", knowledgeExample),
			fails:   conflicting(),
		},
		{
			method:  http.MethodDelete,
			paths:   []string{"/v1/knowledge/{knowledge}"},
			name:    "forgetKnowledgeItem",
			tag:     "knowledge",
			verb:    engine.WriteAgents,
			says:    "Forget a knowledge item",
			about:   "No later prompt is told it. It stays readable here, as forgotten.",
			serve:   serveForgetKnowledge,
			answers: nothing("Forgotten."),
			fails:   conflicting(),
		},
	}
}
