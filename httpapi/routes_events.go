package httpapi

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley/engine"
)

// eventRoutes returns the routes that stream what happens.
func eventRoutes() []route {
	return []route{
		{
			method:  http.MethodGet,
			paths:   bothPaths("/events"),
			name:    "watchSession",
			tag:     "events",
			lasting: true,
			verb:    engine.ReadSessions,
			says:    "Watch a session",
			about: "Server-sent events: those after Last-Event-ID, else after the parameter after, else from the " +
				"first; then live ones. Durable events carry an id; step.generating carries deltas and has none; " +
				"resync says that the place is unknown and the session must be read again. A comment comes every " +
				"15 s. With raw=true admins also get step.raw: what the provider sends while a call runs, without " +
				"credentials; the audit names it watchRaw.",
			query: []parameter{
				{name: "after", about: "Begin after this event sequence.", schema: huma.Schema{Type: huma.TypeInteger}},
				flushParameter(),
				flag("raw", "Also show what the provider sends, unprocessed, in frames step.raw. For admins."),
			},
			headers: []parameter{
				{
					name:   "Last-Event-ID",
					about:  "The last event that was received; browsers send it when they reconnect.",
					schema: huma.Schema{Type: huma.TypeString},
				},
			},
			serve:   serveSessionEvents,
			answers: streamed(),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/events"},
			name:    "watchWorkspace",
			tag:     "events",
			lasting: true,
			verb:    engine.ReadSessions,
			says:    "Watch the workspace",
			about: "Changes of lists (session.updated, status_changed, deleted, activated, deactivated), and the " +
				"events and deltas of the sessions named by session, on one connection. Changes of lists are not " +
				"replayed: on resync, which comes first, fetch the lists again.",
			query: []parameter{
				{
					name:    "session",
					about:   "A session's id, a colon and the event sequence to begin after. Repeatable.",
					schema:  huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}},
					repeats: true,
				},
				flushParameter(),
			},
			serve:   serveWorkspaceEvents,
			answers: streamed(),
		},
	}
}
