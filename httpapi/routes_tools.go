package httpapi

import (
	"net/http"

	"example.org/parley/engine"
)

// toolRoutes returns the routes that list tools.
func toolRoutes() []route {
	return []route{
		{
			method: http.MethodGet,
			paths:  []string{"/v1/tools"},
			name:   "listTools",
			tag:    "tools",
			verb:   engine.ReadTools,
			says:   "List tools",
			about: "Of the server, by name: what agents may name. An agent's tool may end in * and then stands for " +
				"all that begin so.",
			serve:   serveTools,
			answers: listed[engine.ToolInfo](toolExample),
		},
	}
}
