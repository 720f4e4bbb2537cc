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
			about: "The server's tools by name; agents may name them. In an agent's list a name may end in * to " +
				"stand for all tools that begin so.",
			query:   wholePaging(),
			serve:   serveTools,
			answers: listed[engine.ToolInfo](toolExample),
		},
	}
}
