package httpapi

import "slices"

// The two places of a session: by its id alone, and under its agent.
const (
	flatSession  = "/v1/sessions/{session}"
	agentSession = "/v1/agents/{agent}/sessions/{session}"
)

func bothPaths(behind string) []string {
	return []string{flatSession + behind, agentSession + behind}
}

// routes is every route of the API: those of the list, and those that answer with the streams and views of theirs.
func routes() []route { return withViews(withStreams(listedRoutes())) }

// listedRoutes is the list of routes: those of each tag stand in the file routes_TAG.go.
func listedRoutes() []route {
	return slices.Concat(
		agentRoutes(),
		sessionRoutes(),
		messageRoutes(),
		eventRoutes(),
		turnRoutes(),
		compactionRoutes(),
		loopRoutes(),
		approvalRoutes(),
		projectRoutes(),
		fileRoutes(),
		modelRoutes(),
		toolRoutes(),
		keyRoutes(),
		auditRoutes(),
		clientRoutes(),
		serverRoutes(),
	)
}
