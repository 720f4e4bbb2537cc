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
			about: "With message, the session, the message and its turn are created in one transaction. With a key " +
				"that a session of the workspace has, that session is answered (200) and the message posted there. " +
				"Watch the session's events after Parley-Event-Sequence to miss nothing, or ask for " +
				"text/event-stream: the answer is then that turn's frames, as of a posted message.",
			query: []parameter{
				flushParameter(),
			},
			headers: with(idempotent(), acceptHeader()),
			input:   inputOf[engine.SessionInput](sessionInputExample),
			serve:   serveCreateSession,
			answers: opened(),
			fails:   conflicting(),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/sessions", "/v1/agents/{agent}/sessions"},
			name:    "listSessions",
			tag:     "sessions",
			verb:    engine.ReadSessions,
			says:    "List sessions",
			about:   "Last activity first. Archived sessions are left out unless archived asks for them.",
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
			about: "The key is opaque, or made by the server from type, feature and task. Any number of callers at " +
				"once get one session. With message it is posted there, and text/event-stream is answered with that " +
				"turn's frames.",
			query: []parameter{
				flushParameter(),
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
			about:  "Give key, or type and feature (and task).",
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
			about:  "Sessions with an unfinished turn are left alone and named in busy.",
			input: inputOf[featureInput](
				`{"feature":"login"}`,
			),
			serve:   serveArchiveFeature,
			answers: found[engine.FeatureArchived]("The archived sessions.", featureArchivedExample),
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
			about: "The session and every tool session below it that the principal may see: each after its " +
				"parent, those of one parent in the order of their calls. statistics are a session's own, total adds " +
				"those below it. At most 1,000 sessions; truncated says that there are more.",
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
			about: "json is everything: the session, its agent, and all messages, turns and calls, oldest first. " +
				"markdown is the conversation to be read, without internal messages. It is written as it is read; " +
				"one that breaks off ends the connection.",
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
						messageExample + `],"turns":[` + turnExample + `],"calls":[]}`,
				},
				{
					status:  http.StatusOK,
					about:   "The file, as an attachment.",
					media:   "text/markdown",
					of:      &huma.Schema{Type: huma.TypeString},
					example: "# Release notes\n",
				},
			},
		},
		{
			method: http.MethodGet,
			paths:  bothPaths("/budget"),
			name:   "getBudget",
			tag:    "sessions",
			verb:   engine.ReadSessions,
			says:   "Read what a session may spend",
			about: "Its limits in effect, what was spent and what calls under way hold, with its tool sessions; " +
				"and the same of its agent if that is limited.",
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
			about: "The agent of the session reader may then read this one with the tool read_session, and nothing " +
				"else changes. The caller must see both. An existing share is returned (200).",
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
			about:  "Oldest first: the sessions that may read this one, or those that this one may read.",
			query: []parameter{
				choice(
					"direction",
					"out, the default: who reads this session; in: what this session reads.",
					"out",
					"in",
				),
			},
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
			about: "Fields that are left out stay, null clears. archived true archives (409 while a turn is " +
				"unfinished), archived false reopens. Of somebody else's session a member changes title, tags, " +
				"pinned, metadata and archived alone; the rest is its owner's and admins'. The visibility of a " +
				"session is that of its tool sessions too.",
			input:   inputOf[engine.SessionPatch](`{"title":"Release notes","pinned":true}`),
			serve:   serveUpdateSession,
			answers: found[parley.Session]("The session.", sessionExample()),
			fails:   conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  bothPaths("/fork"),
			name:   "forkSession",
			tag:    "sessions",
			verb:   engine.OpenSessions,
			says:   "Fork a session",
			about: "A new session that shares this one's history up to a message and goes on by itself; nothing is " +
				"copied, and neither notices the other. Sequences and hashes go on from the cut. Inside an answer " +
				"that calls tools the cut lies behind all of it, results included; 409 while its turn is still at " +
				"it. With message the fork's first turn starts in the same transaction, and text/event-stream is " +
				"answered with its frames.",
			query: []parameter{
				flushParameter(),
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
			about: "The explicit purge: its turn is cancelled; messages, versions, events, calls and tool sessions " +
				"go. Only the owner or an admin may.",
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
			about: "The model begins with nothing: its window begins at the next message, which gets a context " +
				"edge, what was pinned until now is not carried any more, and the session's context counts from 0. " +
				"The record and its statistics stay; a turn that runs goes on with what it has. To take it back, " +
				"unmark the edge. Cleared already, it answers the same.",
			serve:   serveClearContext,
			answers: found[parley.Session]("The session.", sessionExample()),
		},
	}
}
