package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// modelRoutes returns the routes that tell of models, providers, and what calls cost.
func modelRoutes() []route {
	return []route{
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/models"},
			name:    "listModels",
			tag:     "models",
			verb:    engine.ReadModels,
			says:    "List models",
			about:   "The models of the configured providers. Those of the simulator are labelled.",
			query:   wholePaging(),
			serve:   serveModels,
			answers: found[modelPage]("The models and the default.", modelsExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/providers"},
			name:   "listProviders",
			tag:    "models",
			verb:   engine.ReadModels,
			says:   "List providers",
			about: "The configured providers and the others that the server knows, with the environment variable " +
				"for their key. Never shows a key.",
			serve:   serveProviders,
			answers: found[providerPage]("The providers.", providersExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/usage"},
			name:   "getUsage",
			tag:    "models",
			verb:   engine.ReadSessions,
			says:   "Sum up usage",
			about: "Calls, tokens, cost, and what providers' caches saved, in the sessions that you may read: by " +
				"day, agent, model or session. Leaves out running calls, those of deleted sessions, and what " +
				"agents elsewhere report of their own (their sessions' statistics have it). Covers the last 30 " +
				"days by default, at most 366.",
			query: []parameter{
				choice("group", "What to sum up by; day by default.", "agent", "model", "session", "day",
					"purpose"),
				flag("daily", "Sum up each day of an agent, model or session separately, for charts over time."),
				instant("created_from", "Only calls that began at this time or later."),
				instant("created_to", "Only calls that began before this time."),
				many(text("agent", "Only calls of this agent's sessions, by id or slug.")),
				many(id("project", "Only calls of this project's sessions.")),
				many(id("session", "Only calls of this session.")),
				{name: "limit", about: "Rows; 100 by default.", schema: integer(1, parley.MaxPage)},
			},
			serve:   serveUsage,
			answers: found[engine.UsageReport]("The sums.", usageExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/cache"},
			name:   "getResponseCache",
			tag:    "models",
			verb:   engine.ReadCache,
			says:   "Read the response cache's state",
			about: "Of the workspace. Agents and sessions enable the cache with response_cache. A call that was " +
				"answered from it has manifest.cached_response, uses and costs nothing, and names what the first " +
				"one cost in cache.saved.",
			serve: serveResponseCache,
			answers: found[parley.ResponseCacheState](
				"The cache.",
				`{"entries":12,"bytes":48210,"hits":31,"misses":14,"stored":14,"evicted":2,"saved":0.0412}`,
			),
		},
		{
			method:  http.MethodDelete,
			paths:   []string{"/v1/cache"},
			name:    "clearResponseCache",
			tag:     "models",
			verb:    engine.ClearCache,
			says:    "Clear the response cache",
			about:   "Drops all cached answers of the workspace; the counters stay. For admins.",
			serve:   serveClearResponseCache,
			answers: nothing("Cleared."),
		},
	}
}
