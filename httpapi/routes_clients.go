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
			says:   "Set the session that a client has open",
			about: "A client (window, tab) names itself. It counts as present for 90 seconds and repeats this to " +
				"stay; the workspace feed reports when it comes, and when it leaves or has been silent that long.",
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
			says:    "Read the session that a client has open",
			about:   "404 if it has none open.",
			serve:   serveClient,
			answers: found[parley.Session]("The session.", sessionExample()),
		},
		{
			method:  http.MethodDelete,
			paths:   []string{"/v1/clients/{client}/session"},
			name:    "clearClientSession",
			tag:     "clients",
			verb:    engine.SetClients,
			says:    "Close the session that a client has open",
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
			says:   "List the clients that have a session open",
			about: "The clients (windows, tabs) that said so in the last 90 seconds, with their principals. At " +
				"most 100.",
			serve:   serveSessionClients,
			answers: listed[parley.SessionClient](sessionClientExample),
		},
	}
}
