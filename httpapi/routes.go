package httpapi

import "slices"

// The two paths of a session: by its id alone, and under its agent.
const (
	flatSession  = "/v1/sessions/{session}"
	agentSession = "/v1/agents/{agent}/sessions/{session}"
)

func bothPaths(behind string) []string {
	return []string{flatSession + behind, agentSession + behind}
}

// routes returns every route of the API: those of the list, with the streams, waits and views that they have.
func routes() []route { return withViews(withWaits(withStreams(listedRoutes()))) }

// listedRoutes returns the list of routes. Those of each tag are in the file routes_TAG.go.
func listedRoutes() []route {
	return slices.Concat(
		agentRoutes(),
		teamRoutes(),
		sessionRoutes(),
		messageRoutes(),
		eventRoutes(),
		turnRoutes(),
		compactionRoutes(),
		loopRoutes(),
		scheduleRoutes(),
		webhookRoutes(),
		knowledgeRoutes(),
		approvalRoutes(),
		delegationRoutes(),
		inboxRoutes(),
		projectRoutes(),
		artifactRoutes(),
		transformRoutes(),
		fileRoutes(),
		modelRoutes(),
		toolRoutes(),
		workspaceRoutes(),
		keyRoutes(),
		auditRoutes(),
		clientRoutes(),
		serverRoutes(),
	)
}
