package httpapi

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"parley"
	"parley/engine"
)

// The two places of a session: by its id alone, and under its agent.
const (
	flatSession  = "/v1/sessions/{session}"
	agentSession = "/v1/agents/{agent}/sessions/{session}"
)

func bothPaths(behind string) []string {
	return []string{flatSession + behind, agentSession + behind}
}

// routes is every route of the API, in one list.
func routes() []route {
	return []route{
		{method: http.MethodPost, paths: []string{"/v1/agents"}, name: "createAgent", tag: "agents", verb: engine.WriteAgents,
			says: "Create an agent", about: "Only a name is needed. The slug derives from it; one that is taken in the workspace is 409.",
			headers: idempotent(), input: inputOf[engine.AgentInput](agentInputExample), serve: serveCreateAgent,
			answers: created[parley.Agent]("The agent, version 1.", agentExample), fails: conflicting()},
		{method: http.MethodGet, paths: []string{"/v1/agents"}, name: "listAgents", tag: "agents", verb: engine.ReadAgents,
			says: "List agents", about: "By slug, ascending unless order says otherwise. Archived agents are left out unless status asks for them.",
			query: with(paging(), choice("status", "active, the default, hides archived agents; any shows all.", "active", "archived", "any"), text("tag", "Only agents with this tag.")),
			serve: serveListAgents, answers: listed[parley.Agent](agentExample)},
		{method: http.MethodGet, paths: []string{"/v1/agents/{agent}"}, name: "getAgent", tag: "agents", verb: engine.ReadAgents,
			says: "Read an agent", about: "By id or slug.", serve: serveAgent, answers: found[parley.Agent]("The agent in its current version.", agentExample)},
		{method: http.MethodPatch, paths: []string{"/v1/agents/{agent}"}, name: "updateAgent", tag: "agents", verb: engine.WriteAgents,
			says: "Change an agent", about: "Fields that are left out stay, null clears. Every change makes a new version; turns that have begun keep theirs. With status active an archived agent is back.",
			input: inputOf[engine.AgentPatch](`{"model":"sim/echo","temperature":0.2}`), serve: serveUpdateAgent,
			answers: found[parley.Agent]("The agent in its new version.", agentExample), fails: conflicting()},
		{method: http.MethodDelete, paths: []string{"/v1/agents/{agent}"}, name: "archiveAgent", tag: "agents", verb: engine.WriteAgents,
			says: "Archive an agent", about: "Nothing is lost: its sessions stay, new ones are refused.", serve: serveArchiveAgent, answers: nothing("Archived."), fails: conflicting()},
		{method: http.MethodGet, paths: []string{"/v1/agents/{agent}/versions/{version}"}, name: "getAgentVersion", tag: "agents", verb: engine.ReadAgents,
			says: "Read an earlier version of an agent", about: "The agent as the turns of that version used it.", serve: serveAgentVersion, answers: found[parley.Agent]("The agent in that version.", agentExample)},

		{method: http.MethodPost, paths: []string{"/v1/sessions", "/v1/agents/{agent}/sessions"}, name: "createSession", tag: "sessions", verb: engine.OpenSessions,
			says: "Create a session", about: "With message, the session, the message and its turn are created in one transaction. With a key that a session of the workspace has, that session is answered (200) and the message posted there. Watch the session's events after Parley-Event-Sequence to miss nothing, or ask for text/event-stream: the answer is then that turn's frames, as of a posted message.",
			query: []parameter{flushParameter()}, headers: with(idempotent(), acceptHeader()), input: inputOf[engine.SessionInput](sessionInputExample), serve: serveCreateSession, answers: opened(), fails: conflicting()},
		{method: http.MethodGet, paths: []string{"/v1/sessions", "/v1/agents/{agent}/sessions"}, name: "listSessions", tag: "sessions", verb: engine.ReadSessions,
			says: "List sessions", about: "Last activity first. Archived sessions are left out unless archived asks for them.",
			query: sessionFilters(), serve: serveListSessions, answers: listed[parley.Session](sessionExample)},
		{method: http.MethodPut, paths: []string{"/v1/sessions/by-key"}, name: "ensureSession", tag: "sessions", verb: engine.OpenSessions,
			says: "Get or create a session by key", about: "The key is opaque, or made by the server from type, feature and task. Any number of callers at once get one session. With message it is posted there, and text/event-stream is answered with that turn's frames.",
			query: []parameter{flushParameter()}, headers: with(idempotent(), acceptHeader()), input: inputOf[engine.SessionInput](`{"type":"dev-task","feature":"login","task":"T-7","agent_id":"parley"}`), serve: serveEnsureSession, answers: opened(), fails: conflicting()},
		{method: http.MethodGet, paths: []string{"/v1/sessions/by-key"}, name: "getSessionByKey", tag: "sessions", verb: engine.ReadSessions,
			says: "Read a session by its key", about: "Give key, or type and feature (and task).",
			query: []parameter{text("key", "The session's key."), text("type", "Type, instead of a key."), text("feature", "Feature, instead of a key."), text("task", "Task, instead of a key.")},
			serve: serveSessionByKey, answers: found[parley.Session]("The session.", sessionExample), fails: []parley.Code{parley.CodeNotFound}},
		{method: http.MethodPost, paths: []string{"/v1/sessions/archive"}, name: "archiveFeature", tag: "sessions", verb: engine.PatchSessions,
			says: "Archive all sessions of a feature", about: "Sessions with an unfinished turn are left alone and named in busy.",
			input: inputOf[featureInput](`{"feature":"login"}`), serve: serveArchiveFeature, answers: found[engine.FeatureArchived]("What was archived.", featureArchivedExample)},
		{method: http.MethodGet, paths: bothPaths(""), name: "getSession", tag: "sessions", verb: engine.ReadSessions,
			says: "Read a session", about: "With its live state and statistics.", serve: serveSession, answers: found[parley.Session]("The session.", sessionExample)},
		{method: http.MethodPatch, paths: bothPaths(""), name: "updateSession", tag: "sessions", verb: engine.PatchSessions,
			says: "Change a session", about: "Fields that are left out stay, null clears. archived true archives (409 while a turn is unfinished), archived false reopens. Only the owner or an admin changes visibility.",
			input: inputOf[engine.SessionPatch](`{"title":"Release notes","pinned":true}`), serve: serveUpdateSession,
			answers: found[parley.Session]("The session.", sessionExample), fails: conflicting()},
		{method: http.MethodDelete, paths: bothPaths(""), name: "deleteSession", tag: "sessions", verb: engine.DropSessions,
			says: "Delete a session", about: "The explicit purge: its turn is cancelled; messages, versions, events, calls and tool sessions go. Only the owner or an admin may.", serve: serveDeleteSession, answers: nothing("Deleted.")},

		{method: http.MethodPost, paths: bothPaths("/messages"), name: "postMessage", tag: "messages", verb: engine.PostMessages,
			says: "Post a message", about: "A user message is durable, with its turn, when this answers. Watch the session's events after Parley-Event-Sequence to miss nothing, or ask for text/event-stream: the answer is then this turn's frames up to its terminal event. Closing that stream cancels nothing; a repeat with the same Idempotency-Key joins it. While a turn is unfinished, during decides what happens. Messages of other roles are recorded and start nothing; a tool_result resumes a waiting turn.",
			query: []parameter{flushParameter()}, headers: with(idempotent(), acceptHeader()),
			input: inputOf[engine.MessageInput](`{"role":"user","content":{"text":"Hello"}}`), serve: servePostMessage,
			answers: []answer{
				{status: http.StatusCreated, about: "The message, with its turn.", goType: reflect.TypeFor[parley.Message](), example: messageExample, headers: []parameter{locationHeader(), sequenceHeader(), messageIDHeader()}},
				{status: http.StatusOK, about: "With Accept: text/event-stream, the turn's frames.", media: "text/event-stream", of: &huma.Schema{Type: huma.TypeString}, example: framesExample, headers: []parameter{sequenceHeader(), messageIDHeader()}},
			}, fails: conflicting()},
		{method: http.MethodGet, paths: bothPaths("/messages"), name: "listMessages", tag: "messages", verb: engine.ReadSessions,
			says: "List messages", about: "By sequence, oldest first; queued ones stand at the end by position. Views: flat, the rows; user, without internal ones; recent, the last of those (limit, 10 by default), oldest first, on one page; transcript, an agent's output folded into blocks per turn; chat, one assistant message per step with its calls; ids. All but flat and ids leave internal messages out; transcript and chat never cut a turn in two, so their pages may be longer than limit.",
			query: messageFilters(), serve: serveListMessages, answers: messagePages()},
		{method: http.MethodGet, paths: bothPaths("/events"), name: "watchSession", tag: "events", lasting: true, verb: engine.ReadSessions,
			says: "Watch a session", about: "Server-sent events: those after Last-Event-ID (it wins) or after, else from the first, then live. Durable events carry an id; step.generating carries deltas and has none; resync says that the place is unknown and the session is to be read again. A comment comes every 15 s.",
			query:   []parameter{{name: "after", about: "Begin after this event sequence.", schema: huma.Schema{Type: huma.TypeString}}, flushParameter()},
			headers: []parameter{{name: "Last-Event-ID", about: "The last event seen; sent by browsers when they connect again.", schema: huma.Schema{Type: huma.TypeString}}},
			serve:   serveSessionEvents, answers: streamed()},
		{method: http.MethodGet, paths: bothPaths("/turns"), name: "listTurns", tag: "turns", verb: engine.ReadSessions,
			says: "List turns", about: "Newest first.", query: with(paging(), listOf[parley.TurnStatus]("status", "Only turns of this status.")),
			serve: serveListTurns, answers: listed[parley.Turn](turnExample)},
		{method: http.MethodGet, paths: bothPaths("/calls"), name: "listCalls", tag: "turns", verb: engine.ReadSessions,
			says: "List model calls", about: "Every attempt at a model request, newest first.", query: with(paging(), id("turn_id", "Only calls of this turn.")),
			serve: serveListCalls, answers: listed[parley.Call](callExample)},
		{method: http.MethodPost, paths: bothPaths("/cancel"), name: "cancelTurn", tag: "turns", verb: engine.CancelTurns,
			says: "Cancel the running turn", about: "Stops the model call, keeps the partial text and leaves the session usable. A turn cancelled before gives the same answer. The body may be left out.",
			input: inputOf[engine.CancelInput](`{"queued":true}`), query: []parameter{flag("queued", "Cancel the queued turns too; as in the body.")}, serve: serveCancel, answers: found[engine.CancelResult]("The cancelled turn.", cancelExample), fails: conflicting()},

		{method: http.MethodGet, paths: []string{"/v1/messages/{message}"}, name: "getMessage", tag: "messages", verb: engine.ReadSessions,
			says: "Read a message", about: "By its id alone.", serve: serveMessage, answers: found[parley.Message]("The message.", messageExample)},
		{method: http.MethodPatch, paths: []string{"/v1/messages/{message}"}, name: "updateMessage", tag: "messages", verb: engine.PostMessages,
			says: "Edit a queued message, or mark one", about: "The content can change while the message is queued, the marks at any time; one of the two per request.",
			input: inputOf[engine.MessagePatch](`{"content":{"text":"Hello again"}}`), serve: serveUpdateMessage, answers: found[parley.Message]("The message.", messageExample), fails: conflicting()},
		{method: http.MethodDelete, paths: []string{"/v1/messages/{message}"}, name: "removeMessage", tag: "messages", verb: engine.PostMessages,
			says: "Remove a queued message", about: "It stays as cancelled. 409 once it is in the record.", serve: serveRemoveMessage, answers: nothing("Removed."), fails: conflicting()},
		{method: http.MethodPost, paths: []string{"/v1/messages/{message}/send"}, name: "sendMessage", tag: "messages", verb: engine.PostMessages,
			says: "Send a queued message now", about: "steer shows it to the running turn at its next step (the turn that it waited for is cancelled); interrupt cancels the running turn and runs the message. One that runs next already stays as it is. 409 once it is in the record.",
			input: inputOf[engine.SendInput](`{"how":"steer"}`), serve: serveSendMessage,
			answers: []answer{{status: http.StatusOK, about: "The message.", goType: reflect.TypeFor[parley.Message](), example: messageExample, headers: []parameter{sequenceHeader(), messageIDHeader()}}}, fails: conflicting()},
		{method: http.MethodPost, paths: []string{"/v1/messages/{message}/move"}, name: "moveMessage", tag: "messages", verb: engine.PostMessages,
			says: "Move a queued message", about: "Before another one of its queue, or to the end. 409 once it is in the record, and for the one that is about to start.",
			input: inputOf[engine.MoveInput](`{"before":"` + otherIDExample + `"}`), serve: serveMoveMessage, answers: found[parley.Message]("The message, in its new place.", messageExample), fails: conflicting()},
		{method: http.MethodPut, paths: []string{"/v1/messages/{message}/marks"}, name: "markMessage", tag: "messages", verb: engine.PostMessages,
			says: "Mark a message", about: "Marks are changeable and outside the message's immutable self. Those left out stay.",
			input: inputOf[engine.MarksPatch](`{"pinned":true}`), serve: serveMarkMessage, answers: found[parley.Message]("The message.", messageExample)},
		{method: http.MethodGet, paths: []string{"/v1/messages/{message}/versions"}, name: "listVersions", tag: "messages", verb: engine.ReadSessions,
			says: "List a message's versions", about: "The durable pieces in which it was streamed.", serve: serveVersions, answers: listed[parley.Version](versionExample)},
		{method: http.MethodGet, paths: []string{"/v1/turns/{turn}"}, name: "getTurn", tag: "turns", verb: engine.ReadSessions,
			says: "Read a turn", about: "One run of the agent.", serve: serveTurn, answers: found[parley.Turn]("The turn.", turnExample)},
		{method: http.MethodPost, paths: []string{"/v1/turns/{turn}/retry"}, name: "retryTurn", tag: "turns", verb: engine.PostMessages,
			says: "Try a turn again", about: "For a failed or cancelled turn with which the record ends: a new turn on the same message, whose continues_id names it, asks anew for the answer that failed or was interrupted. What the turn had settled before stays: no tool runs twice. 409 with the state for any other. With text/event-stream the answer is the new turn's frames.",
			query: []parameter{flushParameter()}, headers: with(idempotent(), acceptHeader()), input: inputOf[engine.ResumeInput](`{}`), serve: serveRetryTurn, answers: resumed(), fails: conflicting()},
		{method: http.MethodPost, paths: []string{"/v1/turns/{turn}/continue"}, name: "continueTurn", tag: "turns", verb: engine.PostMessages,
			says: "Go on after a limit", about: "A turn that waits for budget or rate_limit is ready again, the same one (200). One that failed at a limit is taken up by a new turn with limits of its own, as a retry does (201). 409 with the state for any other. With text/event-stream the answer is the turn's frames.",
			query: []parameter{flushParameter()}, headers: with(idempotent(), acceptHeader()), input: inputOf[engine.ResumeInput](`{}`), serve: serveContinueTurn,
			answers: append(resumed(), answer{status: http.StatusOK, about: "The turn that waited.", goType: reflect.TypeFor[parley.Turn](), example: turnExample, headers: []parameter{sequenceHeader()}}), fails: conflicting()},
		{method: http.MethodGet, paths: []string{"/v1/calls/{call}"}, name: "getCall", tag: "turns", verb: engine.ReadSessions,
			says: "Read a model call", about: "With the request that it made, rebuilt from the record; exact says whether its hash is that of the bytes sent.", serve: serveCall, answers: found[engine.CallDetail]("The call.", callDetailExample)},

		{method: http.MethodPost, paths: []string{"/v1/projects"}, name: "chooseProject", tag: "projects", verb: engine.WriteProjects,
			says: "Choose a directory as a project", about: "Adds it, or refreshes the one with this path (200).", input: inputOf[engine.ProjectInput](`{"path":"/home/ada/site"}`), serve: serveChooseProject,
			answers: append(created[parley.Project]("The new project.", projectExample), found[parley.Project]("The project, its last access refreshed.", projectExample)...)},
		{method: http.MethodGet, paths: []string{"/v1/projects"}, name: "listProjects", tag: "projects", verb: engine.ReadProjects,
			says: "List projects", about: "Last access first.", query: with(paging(), parameter{name: "recent", about: "Only this many, last access first; instead of limit.", schema: integer(1, parley.MaxPage)}),
			serve: serveListProjects, answers: listed[parley.Project](projectExample)},
		{method: http.MethodGet, paths: []string{"/v1/projects/{project}"}, name: "getProject", tag: "projects", verb: engine.ReadProjects,
			says: "Read a project", about: "A directory of work.", serve: serveProject, answers: found[parley.Project]("The project.", projectExample)},
		{method: http.MethodDelete, paths: []string{"/v1/projects/{project}"}, name: "deleteProject", tag: "projects", verb: engine.DropProjects,
			says: "Delete a project", about: "Its sessions are detached, or deleted with cascade (admins only). The directory itself is not touched.", query: []parameter{flag("cascade", "Delete its sessions too.")}, serve: serveDeleteProject, answers: nothing("Deleted.")},

		{method: http.MethodGet, paths: []string{"/v1/models"}, name: "listModels", tag: "models", verb: engine.ReadModels,
			says: "List models", about: "Of the configured providers. The simulator's are labelled.", serve: serveModels, answers: found[modelPage]("The models and the default.", modelsExample)},
		{method: http.MethodGet, paths: []string{"/v1/tools"}, name: "listTools", tag: "tools", verb: engine.ReadTools,
			says: "List tools", about: "Of the server, by name: what agents may name. An agent's tool may end in * and then stands for all that begin so.", serve: serveTools, answers: listed[engine.ToolInfo](toolExample)},
		{method: http.MethodGet, paths: []string{"/v1/principal"}, name: "getPrincipal", tag: "keys",
			says: "Who am I", about: "The principal that this request acts as.", serve: servePrincipal, answers: found[parley.Principal]("The principal.", principalExample)},
		{method: http.MethodPost, paths: []string{"/v1/keys"}, name: "createKey", tag: "keys", verb: engine.WriteKeys,
			says: "Create a key", about: "The secret is in this answer and nowhere else. Only the machine's own user may name another workspace. From the first key on every request needs one.", input: inputOf[keyInput](`{"name":"ci","role":"member"}`), serve: serveCreateKey,
			answers: created[engine.NewKey]("The key, with its secret.", newKeyExample), fails: conflicting()},
		{method: http.MethodGet, paths: []string{"/v1/keys"}, name: "listKeys", tag: "keys", verb: engine.ReadKeys,
			says: "List keys", about: "Newest first, without secrets.", serve: serveKeys, answers: listed[parley.Key](keyExample)},
		{method: http.MethodDelete, paths: []string{"/v1/keys/{key}"}, name: "revokeKey", tag: "keys", verb: engine.WriteKeys,
			says: "Revoke a key", about: "It stops working at once.", serve: serveRevokeKey, answers: nothing("Revoked.")},

		{method: http.MethodGet, paths: []string{"/v1/events"}, name: "watchWorkspace", tag: "events", lasting: true, verb: engine.ReadSessions,
			says: "Watch the workspace", about: "List changes (session.updated, status_changed, deleted, activated, deactivated), and the events and deltas of the sessions asked for, on one connection. There is no replay of list changes: on resync, which comes first, fetch the lists again.",
			query: []parameter{{name: "session", about: "A session's id, a colon and the event sequence to begin after. Repeatable.", schema: huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}, repeats: true}, flushParameter()},
			serve: serveWorkspaceEvents, answers: streamed()},
		{method: http.MethodPut, paths: []string{"/v1/clients/{client}/session"}, name: "setClientSession", tag: "clients", verb: engine.SetClients,
			says: "Say what a client has open", about: "A client (window, tab) names itself. The workspace feed tells of it.", input: inputOf[clientInput](`{"session_id":"` + sessionIDExample + `"}`), serve: serveSetClient, answers: found[parley.Session]("The session that is open now.", sessionExample), fails: []parley.Code{parley.CodeNotFound}},
		{method: http.MethodGet, paths: []string{"/v1/clients/{client}/session"}, name: "getClientSession", tag: "clients", verb: engine.SetClients,
			says: "Read what a client has open", about: "404 for nothing.", serve: serveClient, answers: found[parley.Session]("The session.", sessionExample)},
		{method: http.MethodDelete, paths: []string{"/v1/clients/{client}/session"}, name: "clearClientSession", tag: "clients", verb: engine.SetClients,
			says: "Say that a client has nothing open", about: "Closing twice is no error.", serve: serveClearClient, answers: nothing("Cleared.")},

		{method: http.MethodGet, paths: []string{"/v1/openapi.json"}, name: "getOpenAPI", tag: "server", open: true, says: "This document", about: "OpenAPI 3.1.", serve: serveOpenAPI,
			answers: []answer{{status: http.StatusOK, about: "The document.", media: "application/openapi+json", of: object("OpenAPI 3.1.")}}},
		{method: http.MethodGet, paths: []string{"/v1/openapi.yaml"}, name: "getOpenAPIYAML", tag: "server", open: true, says: "This document as YAML", about: "OpenAPI 3.1.", serve: serveOpenAPIYAML,
			answers: []answer{{status: http.StatusOK, about: "The document.", media: "application/openapi+yaml", of: &huma.Schema{Type: huma.TypeString}}}},
		{method: http.MethodGet, paths: []string{"/docs"}, name: "getDocs", tag: "server", open: true, says: "This document for people", about: "One page that loads nothing from elsewhere.", serve: serveDocs,
			answers: []answer{{status: http.StatusOK, about: "The page.", media: "text/html", of: &huma.Schema{Type: huma.TypeString}}}},
		{method: http.MethodGet, paths: []string{"/docs/docs.js"}, name: "getDocsScript", tag: "server", open: true, says: "The script of that page", about: "Nothing for programs.", serve: serveDocsScript,
			answers: []answer{{status: http.StatusOK, about: "The script.", media: "text/javascript", of: &huma.Schema{Type: huma.TypeString}}}},
		{method: http.MethodGet, paths: []string{"/healthz"}, name: "getHealth", tag: "server", open: true, says: "Is the process alive", about: "Answers without looking further.", serve: serveHealth,
			answers: found[health]("Alive.", `{"status":"ok"}`)},
		{method: http.MethodGet, paths: []string{"/readyz"}, name: "getReadiness", tag: "server", open: true, says: "Is the server ready", about: "503 while the store does not answer, or the process drains.", serve: serveReady,
			answers: found[health]("Ready.", `{"status":"ok"}`), fails: []parley.Code{parley.CodeUnavailable}},
		{method: http.MethodGet, paths: []string{"/metrics"}, name: "getMetrics", tag: "server", verb: engine.ReadMetrics, says: "Metrics for Prometheus", about: "Of this process, all workspaces together: for admins. docs/observability.md lists them.", serve: serveMetrics,
			answers: []answer{{status: http.StatusOK, about: "The text format of Prometheus.", media: "text/plain", of: &huma.Schema{Type: huma.TypeString}, example: "parley_ready 1\n"}}},
	}
}
