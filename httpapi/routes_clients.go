package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// clientRoutes returns the routes that tell which windows and tabs have a session open.
func clientRoutes() []route {
	return []route{
		{
			method: http.MethodPut,
			paths:  []string{"/v1/clients/{client}/session"},
			name:   "setClientSession",
			tag:    "clients",
			verb:   engine.SetClients,
			says:   "Say what a client has open",
			about: "A client (window, tab) names itself. It counts as there for 90 seconds and says so again to " +
				"stay; the workspace feed tells when it comes, and when it goes or has been silent for that long.",
			input:   inputOf[clientInput](`{"session_id":"` + sessionIDExample + `"}`),
			serve:   serveSetClient,
			answers: found[parley.Session]("The session that is open now.", sessionExample()),
			fails:   []parley.Code{parley.CodeNotFound},
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/clients/{client}/session"},
			name:    "getClientSession",
			tag:     "clients",
			verb:    engine.SetClients,
			says:    "Read what a client has open",
			about:   "404 for nothing.",
			serve:   serveClient,
			answers: found[parley.Session]("The session.", sessionExample()),
		},
		{
			method:  http.MethodDelete,
			paths:   []string{"/v1/clients/{client}/session"},
			name:    "clearClientSession",
			tag:     "clients",
			verb:    engine.SetClients,
			says:    "Say that a client has nothing open",
			about:   "Closing twice is not an error.",
			serve:   serveClearClient,
			answers: nothing("Cleared."),
		},
		{
			method: http.MethodGet,
			paths:  bothPaths("/clients"),
			name:   "listSessionClients",
			tag:    "clients",
			verb:   engine.ReadSessions,
			says:   "List who has a session open",
			about: "The clients (windows, tabs) that said so in the last 90 seconds, with their principals. At " +
				"most 100.",
			serve:   serveSessionClients,
			answers: listed[parley.SessionClient](sessionClientExample),
		},
	}
}
