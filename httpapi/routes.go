package httpapi

import "github.com/danielgtaylor/huma/v2"

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

// section is the routes of one tag; they are in the file routes_TAG.go.
type section struct {
	tag, about string
	routes     func() []route
}

// sections returns the tags in the order of the document.
func sections() []section {
	return []section{
		{"agents", "Configurations of agentic loops, versioned.", agentRoutes},
		{"teams", "Leads and the agents below them, and agents' own sessions.", teamRoutes},
		{"approvals", "Questions to people about exact tool calls.", approvalRoutes},
		{"inbox", "What agents that work on their own want their people to read or to answer.", inboxRoutes},
		{"delegations", "What the agents of teams hand to each other.", delegationRoutes},
		{"sessions", "Conversations of one agent.", sessionRoutes},
		{"messages", "The entries of a session's record.", messageRoutes},
		{"turns", "Runs of the agent and their model calls.", turnRoutes},
		{"loops", "Durable repetitions of a task.", loopRoutes},
		{"schedules", "When agents work by themselves, and work given by hand.", scheduleRoutes},
		{"webhooks", "Addresses to which the events of sessions are posted.", webhookRoutes},
		{"knowledge", "What agents know from earlier work.", knowledgeRoutes},
		{"artifacts", "Documents with all their versions.", artifactRoutes},
		{"transforms", "Generations that read documents and write others.", transformRoutes},
		{"pipelines", "Transforms that read what others write.", pipelineRoutes},
		{"compactions", "Summaries that stand for earlier messages.", compactionRoutes},
		{"events", "Streams of what happens.", eventRoutes},
		{"projects", "Directories of work.", projectRoutes},
		{"models", "Models and providers.", modelRoutes},
		{"audit", "The audit: who did what.", auditRoutes},
		{"tools", "Tools that agents may use.", toolRoutes},
		{"clients", "Sessions that windows and tabs have open.", clientRoutes},
		{"files", "Uploads that messages use.", fileRoutes},
		{"workspace", "The settings of a workspace.", workspaceRoutes},
		{"keys", "Keys and sign-ins.", keyRoutes},
		{"server", "The server itself.", serverRoutes},
	}
}

// tags returns the tags of the document.
func tags() (all []*huma.Tag) {
	for _, s := range sections() {
		all = append(all, &huma.Tag{Name: s.tag, Description: s.about})
	}
	return all
}

// listedRoutes returns the list of routes.
func listedRoutes() (all []route) {
	for _, s := range sections() {
		all = append(all, s.routes()...)
	}
	return all
}
