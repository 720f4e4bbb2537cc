package httpapi

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/engine"
)

// serverRoutes returns the routes that describe the API, and say how the process is.
func serverRoutes() []route {
	return []route{
		{
			method: http.MethodGet,
			paths:  []string{"/v1/openapi.json"},
			name:   "getOpenAPI",
			tag:    "server",
			open:   true,
			says:   "This document",
			about:  "OpenAPI 3.1.",
			serve:  serveOpenAPI,
			answers: []answer{
				{
					status: http.StatusOK,
					about:  "The document.",
					media:  "application/openapi+json",
					of:     object("OpenAPI 3.1."),
				},
			},
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/openapi.yaml"},
			name:   "getOpenAPIYAML",
			tag:    "server",
			open:   true,
			says:   "This document as YAML",
			about:  "OpenAPI 3.1.",
			serve:  serveOpenAPIYAML,
			answers: []answer{
				{
					status: http.StatusOK,
					about:  "The document.",
					media:  "application/openapi+yaml",
					of:     &huma.Schema{Type: huma.TypeString},
				},
			},
		},
		{
			method: http.MethodGet,
			paths:  []string{"/docs"},
			name:   "getDocs",
			tag:    "server",
			open:   true,
			says:   "This document for people",
			about:  "One page that loads nothing from elsewhere.",
			serve:  serveDocs,
			answers: []answer{
				{
					status: http.StatusOK,
					about:  "The page.",
					media:  "text/html",
					of:     &huma.Schema{Type: huma.TypeString},
				},
			},
		},
		{
			method: http.MethodGet,
			paths:  []string{"/docs/docs.js"},
			name:   "getDocsScript",
			tag:    "server",
			open:   true,
			says:   "The script of that page",
			about:  "Not meant for programs.",
			serve:  serveDocsScript,
			answers: []answer{
				{
					status: http.StatusOK,
					about:  "The script.",
					media:  "text/javascript",
					of:     &huma.Schema{Type: huma.TypeString},
				},
			},
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/healthz"},
			name:    "getHealth",
			tag:     "server",
			open:    true,
			says:    "Is the process alive",
			about:   "Answers without asking the store.",
			serve:   serveHealth,
			answers: found[health]("Alive.", `{"status":"ok"}`),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/readyz"},
			name:    "getReadiness",
			tag:     "server",
			open:    true,
			says:    "Is the server ready",
			about:   "503 while the store does not answer or the process drains.",
			serve:   serveReady,
			answers: found[health]("Ready.", `{"status":"ok"}`),
			fails:   []parley.Code{parley.CodeUnavailable},
		},
		{
			method: http.MethodGet,
			paths:  []string{"/metrics"},
			name:   "getMetrics",
			tag:    "server",
			verb:   engine.ReadMetrics,
			says:   "Metrics for Prometheus",
			about:  "For this process and all workspaces; for admins. docs/observability.md lists them.",
			serve:  serveMetrics,
			answers: []answer{
				{
					status:  http.StatusOK,
					about:   "Prometheus' text format.",
					media:   "text/plain",
					of:      &huma.Schema{Type: huma.TypeString},
					example: "parley_ready 1\n",
				},
			},
		},
	}
}
