package httpapi

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/engine"
)

// sessionRoutes returns the routes that open, change, share and delete sessions, and read what they hold.
func sessionRoutes() []route {
	return []route{
		{
			method: http.MethodPost,
			paths:  []string{"/v1/sessions", "/v1/agents/{agent}/sessions"},
			name:   "createSession",
			tag:    "sessions",
			verb:   engine.OpenSessions,
			makes:  true,
			says:   "Create a session",
			about: "With message, one transaction creates the session, the message and its turn. If a session of " +
				"the workspace has the given key, returns that session (200) and posts the message there. Watch " +
				"the session's events after Parley-Event-Sequence to miss nothing, or ask for text/event-stream: " +
				"the answer is then that turn's frames, as for postMessage.",
			query: []parameter{
				flushParameter(), waitParameter(),
			},
			headers: with(idempotent(), acceptHeader()),
			input:   inputOf[engine.SessionInput](sessionInputExample),
			serve:   serveCreateSession,
			answers: opened(),
			fails:   conflicting(),
			crowds:  true,
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/sessions", "/v1/agents/{agent}/sessions"},
			name:    "listSessions",
			tag:     "sessions",
			verb:    engine.ReadSessions,
			says:    "List sessions",
			about:   "Last activity first. Leaves out archived sessions unless archived asks for them.",
			query:   sessionFilters(),
			serve:   serveListSessions,
			answers: listed[parley.Session](sessionExample()),
		},
		{
			method: http.MethodPut,
			paths:  []string{"/v1/sessions/by-key"},
			name:   "ensureSession",
			tag:    "sessions",
			verb:   engine.OpenSessions,
			makes:  true,
			says:   "Get or create a session by key",
			about: "The key is opaque, or the server makes it from type, feature and task. Concurrent callers all " +
				"get the same session. With message, posts it there; text/event-stream then answers with that " +
				"turn's frames.",
			query: []parameter{
				flushParameter(), waitParameter(),
			},
			headers: with(idempotent(), acceptHeader()),
			input: inputOf[engine.SessionInput](
				`{"type":"dev-task","feature":"login","task":"T-7","agent_id":"parley"}`,
			),
			serve:   serveEnsureSession,
			answers: opened(),
			fails:   conflicting(),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/sessions/by-key"},
			name:   "getSessionByKey",
			tag:    "sessions",
			verb:   engine.ReadSessions,
			says:   "Read a session by its key",
			about:  "Takes key, or type, feature and perhaps task.",
			query: []parameter{
				text("key", "The session's key."),
				text("type", "Type, instead of a key."),
				text("feature", "Feature, instead of a key."),
				text("task", "Task, instead of a key."),
			},
			serve:   serveSessionByKey,
			answers: found[parley.Session]("The session.", sessionExample()),
			fails:   []parley.Code{parley.CodeNotFound},
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/sessions/archive"},
			name:   "archiveFeature",
			tag:    "sessions",
			verb:   engine.PatchSessions,
			says:   "Archive all sessions of a feature",
			about:  "Leaves sessions with an unfinished turn alone and names them in busy.",
			input: inputOf[featureInput](
				`{"feature":"login"}`,
			),
			serve:   serveArchiveFeature,
			answers: found[engine.FeatureArchived]("The archived sessions.", featureArchivedExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/imports"},
			name:   "importSessions",
			tag:    "sessions",
			verb:   engine.OpenSessions,
			makes:  true,
			most:   maxImportBody,
			says:   "Import a file's sessions",
			about: "The file is an export of a session as JSON, a chat.json, a per-task session.json or a " +
				"conversation file. Its format is recognised. Each session is imported whole, belongs to you and is " +
				"private; importing it again changes nothing. dry_run says what would happen.",
			input:   inputOf[engine.ImportInput](importInputExample),
			serve:   serveImport,
			answers: found[engine.Imported]("What became of the file.", importedExample),
			fails:   conflicting(),
		},
		{
			method:  http.MethodGet,
			paths:   bothPaths(""),
			name:    "getSession",
			tag:     "sessions",
			verb:    engine.ReadSessions,
			says:    "Read a session",
			about:   "With its live state and statistics.",
			serve:   serveSession,
			answers: found[parley.Session]("The session.", sessionExample()),
		},
		{
			method: http.MethodGet,
			paths:  bothPaths("/tree"),
			name:   "getSessionTree",
			tag:    "sessions",
			verb:   engine.ReadSessions,
			says:   "Read the tool sessions below a session",
			about: "The session and all tool sessions below it that you may see: each after its parent, siblings " +
				"in the order of their calls. statistics counts a session alone, total includes those below it. At " +
				"most 1,000 sessions; truncated says that there are more.",
			serve:   serveTree,
			answers: found[parley.Tree]("The tree.", treeExample),
		},
		{
			method: http.MethodGet,
			paths:  bothPaths("/export"),
			name:   "exportSession",
			tag:    "sessions",
			verb:   engine.ReadSessions,
			says:   "Export a session as one file",
			about: "json holds everything: the session, its agent, and all messages, turns and calls, oldest " +
				"first; importSessions reads it. markdown is the conversation for people, without internal messages. " +
				"The server writes while it reads; if reading fails, it closes the connection.",
			query: []parameter{
				choice("format", "json, the default, or markdown.", "json", "markdown"),
			},
			serve: serveExport,
			answers: []answer{
				{
					status: http.StatusOK,
					about:  "The file, as an attachment.",
					goType: reflect.TypeFor[sessionExport](),
					example: `{"session":` + sessionExample() + `,"agent":` + agentExample() + `,"messages":[` +
						messageExample + `],"turns":[` + turnExample + `],"calls":[],` +
						`"provider_data":[{"message_id":"` + messageIDExample + `","data":"eyJhIjoxfQ=="}]}`,
				},
				{
					status:  http.StatusOK,
					about:   "The file, as an attachment.",
					media:   "text/markdown",
					of:      &huma.Schema{Type: huma.TypeString},
					example: "# Release notes\n",
				},
			},
			lingers: true,
		},
		{
			method: http.MethodGet,
			paths:  bothPaths("/budget"),
			name:   "getBudget",
			tag:    "sessions",
			verb:   engine.ReadSessions,
			says:   "Read a session's budget",
			about: "The limits in effect, what the session and its tool sessions have spent, and what running " +
				"calls hold; and the same of its agent if that has a limit.",
			serve:   serveBudget,
			answers: found[engine.SessionBudget]("The budget.", budgetExample),
		},
		{
			method: http.MethodPut,
			paths:  bothPaths("/shares/{reader}"),
			name:   "shareSession",
			tag:    "sessions",
			verb:   engine.ShareForReading,
			says:   "Let another session read this one",
			about: "The agent of the session reader may then read this one with the tool read_session; nothing " +
				"else changes. You must be able to see both. Returns an existing share (200).",
			serve: serveShare,
			answers: append(
				created[parley.Share]("The new share.", shareExample),
				found[parley.Share]("The existing share.", shareExample)...),
			fails: conflicting(),
		},
		{
			method:  http.MethodDelete,
			paths:   bothPaths("/shares/{reader}"),
			name:    "unshareSession",
			tag:     "sessions",
			verb:    engine.ShareForReading,
			says:    "End a share",
			about:   "The session reader may no longer read this one.",
			serve:   serveUnshare,
			answers: nothing("Ended."),
		},
		{
			method: http.MethodGet,
			paths:  bothPaths("/shares"),
			name:   "listShares",
			tag:    "sessions",
			verb:   engine.ReadSessions,
			says:   "List shares",
			about:  "Oldest first: the sessions that may read this one, or those that it may read.",
			query: with(
				wholePaging(),
				choice(
					"direction",
					"out, the default, lists who reads this session; in lists what this session reads.",
					"out",
					"in",
				),
			),
			serve:   serveShares,
			answers: listed[parley.Share](shareExample),
		},
		{
			method: http.MethodPatch,
			paths:  bothPaths(""),
			name:   "updateSession",
			tag:    "sessions",
			verb:   engine.PatchSessions,
			says:   "Change a session",
			about: "Fields that are left out keep their values; null clears one. archived true archives (409 while " +
				"a turn is unfinished), archived false reopens. In other people's sessions members may change " +
				"title, tags, pinned, metadata and archived; the rest is for the owner and admins. A session's " +
				"visibility applies to its tool sessions too.",
			headers: conditional(),
			input:   inputOf[engine.SessionPatch](`{"title":"Release notes","pinned":true}`),
			serve:   serveUpdateSession,
			answers: found[parley.Session]("The session.", sessionExample()),
			fails:   append(conflicting(), parley.CodeChanged),
		},
		{
			method: http.MethodPost,
			paths:  bothPaths("/fork"),
			name:   "forkSession",
			tag:    "sessions",
			verb:   engine.OpenSessions,
			says:   "Fork a session",
			about: "Creates a session that shares this one's history up to a message and then goes its own way. " +
				"Nothing is copied, and neither session notices the other. Sequences and hashes continue from the " +
				"cut. A cut inside an answer that calls tools moves behind all of it, results included; 409 while " +
				"that turn still runs. With message, the fork's first turn starts in the same transaction, and " +
				"text/event-stream answers with its frames.",
			query: []parameter{
				flushParameter(), waitParameter(),
			},
			headers: with(idempotent(), acceptHeader()),
			input:   inputOf[engine.ForkInput](`{"at":"` + messageIDExample + `","title":"Another way"}`),
			serve:   serveFork,
			answers: branched(),
			fails:   conflicting(),
		},
		{
			method: http.MethodDelete,
			paths:  bothPaths(""),
			name:   "deleteSession",
			tag:    "sessions",
			verb:   engine.DropSessions,
			says:   "Delete a session",
			about: "Purges it: cancels its turn and removes its messages, versions, events, calls and tool " +
				"sessions. For the owner and admins.",
			serve:   serveDeleteSession,
			answers: nothing("Deleted."),
		},
		{
			method: http.MethodPost,
			paths:  bothPaths("/clear"),
			name:   "clearContext",
			tag:    "sessions",
			verb:   engine.PostMessages,
			says:   "Clear the context",
			about: "The model begins anew: its window starts at the next message, which gets a context edge; " +
				"earlier pins no longer carry over, and the session's context counts from 0. The record and its " +
				"statistics stay, and a running turn keeps its window. Unmark the edge to undo this. Clearing " +
				"twice gives the same answer.",
			serve:   serveClearContext,
			answers: found[parley.Session]("The session.", sessionExample()),
		},
	}
}
