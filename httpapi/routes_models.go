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
			about:   "Of the configured providers. The simulator's are labelled.",
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
			about: "Those that the server has and those that it could have, with the environment variable of their " +
				"key; never a key.",
			serve:   serveProviders,
			answers: found[providerPage]("The providers.", providersExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/usage"},
			name:   "getUsage",
			tag:    "models",
			verb:   engine.ReadSessions,
			says:   "Sum up what calls took",
			about: "Calls, tokens, money, and what providers' caches gave, of the sessions that you may read: by " +
				"day, agent, model or session. Calls that run, those of deleted sessions, and what agents elsewhere " +
				"report of their own (it is in their sessions' statistics) are not in it. Without a time it is that " +
				"of the last 30 days; at most 366.",
			query: []parameter{
				choice("group", "By what to sum up; day by default.", "agent", "model", "session", "day"),
				flag("daily", "Sum up each day of an agent, model or session apart: charts over time."),
				instant("from", "Only calls that began at this time or later."),
				instant("to", "Only calls that began before this time."),
				text(
					"agent_id",
					"Only calls of this agent's sessions: its id or slug.",
				),
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
			says:   "What the response cache holds and saved",
			about: "Of the workspace. Agents and sessions enable it with response_cache; a call that was answered " +
				"from it says manifest.cached_response, uses nothing and costs nothing, and its cache.saved is what " +
				"the first one cost.",
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
			about:   "All kept answers of the workspace go; the counters stay. For admins.",
			serve:   serveClearResponseCache,
			answers: nothing("Cleared."),
		},
	}
}
