package httpapi

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/engine"
)

// The two places of a session: by its id alone, and under its agent.
const (
	flatSession  = "/v1/sessions/{session}"
	agentSession = "/v1/agents/{agent}/sessions/{session}"
)

func bothPaths(behind string) []string {
	return []string{flatSession + behind, agentSession + behind}
}

// routes is every route of the API: those of the list, and those that answer with the streams of theirs.
func routes() []route { return withViews(withStreams(listedRoutes())) }

// listedRoutes is the list of routes.
func listedRoutes() []route {
	return []route{
		{
			method:  http.MethodPost,
			paths:   []string{"/v1/agents"},
			name:    "createAgent",
			tag:     "agents",
			verb:    engine.WriteAgents,
			makes:   true,
			says:    "Create an agent",
			about:   "Only a name is needed. The slug derives from it; one that is taken in the workspace is 409.",
			headers: idempotent(),
			input:   inputOf[engine.AgentInput](agentInputExample),
			serve:   serveCreateAgent,
			answers: created[parley.Agent]("The agent, version 1.", agentExample()),
			fails:   conflicting(),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/agents"},
			name:   "listAgents",
			tag:    "agents",
			verb:   engine.ReadAgents,
			says:   "List agents",
			about: "By slug, ascending unless order says otherwise. Archived agents are left out unless status asks " +
				"for them.",
			query: with(
				paging(),
				choice(
					"status",
					"active, the default, hides archived agents; any shows all.",
					"active",
					"archived",
					"any",
				),
				text("tag", "Only agents with this tag."),
				text("owner_id", "Only agents of this principal; me for one's own."),
			),
			serve:   serveListAgents,
			answers: listed[parley.Agent](agentExample()),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/agents/{agent}"},
			name:    "getAgent",
			tag:     "agents",
			verb:    engine.ReadAgents,
			says:    "Read an agent",
			about:   "By id or slug.",
			serve:   serveAgent,
			answers: found[parley.Agent]("The agent in its current version.", agentExample()),
		},
		{
			method: http.MethodPatch,
			paths:  []string{"/v1/agents/{agent}"},
			name:   "updateAgent",
			tag:    "agents",
			verb:   engine.WriteAgents,
			says:   "Change an agent",
			about: "Fields that are left out stay, null clears. Every change makes a new version; turns that have " +
				"begun keep theirs. With status active an archived agent is back.",
			input:   inputOf[engine.AgentPatch](`{"model":"sim/echo","temperature":0.2}`),
			serve:   serveUpdateAgent,
			answers: found[parley.Agent]("The agent in its new version.", agentExample()),
			fails:   conflicting(),
		},
		{
			method:  http.MethodDelete,
			paths:   []string{"/v1/agents/{agent}"},
			name:    "archiveAgent",
			tag:     "agents",
			verb:    engine.WriteAgents,
			says:    "Archive an agent",
			about:   "Nothing is lost: its sessions stay, new ones are refused.",
			serve:   serveArchiveAgent,
			answers: nothing("Archived."),
			fails:   conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/agents/{agent}/warm"},
			name:   "warmAgent",
			tag:    "agents",
			verb:   engine.WriteAgents,
			says:   "Warm the provider's cache for an agent",
			about: "Sends what all requests of the agent begin with, its tools and system prompt, to its provider " +
				"once, for an answer of one token. Where nothing is gained by it nothing is sent, and reason says " +
				"why. It is in no session: its cost is in this answer and in the metrics.",
			serve:   serveWarmAgent,
			answers: found[parley.Warmed]("The outcome.", warmedExample),
			fails:   []parley.Code{parley.CodeUnavailable},
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/agents/{agent}/versions/{version}"},
			name:    "getAgentVersion",
			tag:     "agents",
			verb:    engine.ReadAgents,
			says:    "Read an earlier version of an agent",
			about:   "The agent as the turns of that version used it.",
			serve:   serveAgentVersion,
			answers: found[parley.Agent]("The agent in that version.", agentExample()),
		},

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
			paths:  bothPaths("/messages"),
			name:   "postMessage",
			tag:    "messages",
			verb:   engine.PostMessages,
			says:   "Post a message",
			about: "A user message is durable, with its turn, when this answers. Watch the session's events after " +
				"Parley-Event-Sequence to miss nothing, or ask for text/event-stream: the answer is then this turn's " +
				"frames up to its terminal event. Closing that stream cancels nothing; a repeat with the same " +
				"Idempotency-Key joins it. While a turn is unfinished, during decides what happens. Messages of " +
				"other roles are recorded and start nothing; a tool_result resumes a waiting turn. An assistant " +
				"message with status streaming is opened on an idle session, by an agent that runs elsewhere, which " +
				"appends to it and settles it; until then the session waits for outside. With dry_run the answer " +
				"comes by the same path, in the process that was asked, and nothing is written: no tool runs " +
				"(tool_results answers for them), and the answer comes when the turn has ended, or as frames " +
				"without ids.",
			query:   []parameter{flushParameter()},
			headers: with(idempotent(), acceptHeader()),
			input:   inputOf[engine.MessageInput](`{"role":"user","content":{"text":"Hello"}}`),
			serve:   servePostMessage,
			answers: []answer{
				{
					status:  http.StatusCreated,
					about:   "The message, with its turn.",
					goType:  reflect.TypeFor[parley.Message](),
					example: messageExample,
					headers: []parameter{locationHeader(), sequenceHeader(), messageIDHeader()},
				},
				turnFrames(sequenceHeader(), messageIDHeader()),
				{
					status:  http.StatusOK,
					about:   "With dry_run, what would have been written.",
					goType:  reflect.TypeFor[engine.DryRun](),
					example: dryRunExample,
				},
			},
			fails: conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  bothPaths("/preview"),
			name:   "previewMessage",
			tag:    "messages",
			verb:   engine.ReadSessions,
			says:   "Preview what would be sent for a message",
			about: "The body is that of a message. Answers the request that its turn would begin with, taken apart " +
				"as a call is, with what a provider's cache may hold of it and what it would cost. Nothing is " +
				"written, and no model is asked.",
			input: inputOf[engine.MessageInput](
				`{"content":{"text":"Hello"}}`,
			),
			serve:   servePreview,
			answers: found[engine.Preview]("The request.", previewExample),
		},
		{
			method: http.MethodGet,
			paths:  bothPaths("/context"),
			name:   "getContext",
			tag:    "messages",
			verb:   engine.ReadSessions,
			says:   "Read what the window holds now",
			about: "What the next request would show the model before anything else is said, by part: tools, " +
				"system prompt, summaries, messages with their tokens; what is left out and why; how full the " +
				"window is.",
			serve:   serveContext,
			answers: found[engine.Preview]("The window.", previewExample),
		},
		{
			method: http.MethodGet,
			paths:  bothPaths("/messages"),
			name:   "listMessages",
			tag:    "messages",
			verb:   engine.ReadSessions,
			says:   "List messages",
			about: "By sequence, oldest first; queued ones stand at the end by position, and are left out with " +
				"order=desc. Views: flat, the rows; user, without internal ones; recent, the last of those (limit, " +
				"10 by default), oldest first, on one page; both leave internal messages out. The views transcript, " +
				"chat and ids have rows of their own, and paths of their own: …/messages/transcript and so on. " +
				"view=transcript and so on answers the same.",
			query:   messageFilters(),
			serve:   serveListMessages,
			answers: listed[parley.Message](messageExample),
			views:   true,
		},
		{
			method:  http.MethodGet,
			paths:   bothPaths("/events"),
			name:    "watchSession",
			tag:     "events",
			lasting: true,
			verb:    engine.ReadSessions,
			says:    "Watch a session",
			about: "Server-sent events: those after Last-Event-ID (it wins) or after, else from the first, then " +
				"live. Durable events carry an id; step.generating carries deltas and has none; resync says that the " +
				"place is unknown and the session is to be read again. A comment comes every 15 s.",
			query: []parameter{
				{name: "after", about: "Begin after this event sequence.", schema: huma.Schema{Type: huma.TypeInteger}},
				flushParameter(),
			},
			headers: []parameter{
				{
					name:   "Last-Event-ID",
					about:  "The last event seen; sent by browsers when they connect again.",
					schema: huma.Schema{Type: huma.TypeString},
				},
			},
			serve:   serveSessionEvents,
			answers: streamed(),
		},
		{
			method: http.MethodGet,
			paths:  bothPaths("/turns"),
			name:   "listTurns",
			tag:    "turns",
			verb:   engine.ReadSessions,
			says:   "List turns",
			about:  "Newest first.",
			query: with(
				paging(),
				listOf[parley.TurnStatus]("status", "Only turns of this status."),
				parameter{
					name:   "number",
					about:  "Only the turn of this number: 1 is the session's first.",
					schema: integer(1, maxTurnNumber),
				},
			),
			serve:   serveListTurns,
			answers: listed[parley.Turn](turnExample),
		},
		{
			method:  http.MethodGet,
			paths:   bothPaths("/calls"),
			name:    "listCalls",
			tag:     "turns",
			verb:    engine.ReadSessions,
			says:    "List model calls",
			about:   "Every attempt at a model request, newest first.",
			query:   with(paging(), id("turn_id", "Only calls of this turn.")),
			serve:   serveListCalls,
			answers: listed[parley.Call](callExample),
		},
		{
			method: http.MethodPost,
			paths:  bothPaths("/cancel"),
			name:   "cancelTurn",
			tag:    "turns",
			verb:   engine.CancelTurns,
			says:   "Cancel the running turn",
			about: "Stops the model call, keeps the partial text and leaves the session usable. A turn cancelled " +
				"before gives the same answer. The body may be left out.",
			input: inputOf[engine.CancelInput](
				`{"queued":true}`,
			),
			query:   []parameter{flag("queued", "Cancel the queued turns too; as in the body.")},
			serve:   serveCancel,
			answers: found[engine.CancelResult]("The cancelled turn.", cancelExample),
			fails:   conflicting(),
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
		{
			method: http.MethodPost,
			paths:  bothPaths("/compact"),
			name:   "compactSession",
			tag:    "compactions",
			verb:   engine.PostMessages,
			says:   "Have a summary written",
			about: "Of all but the newest turn, beside the conversation: the answer does not wait for it. The " +
				"summary enters the record as a message of role summary, at once or when the turn ends that runs, " +
				"and stands in later context for what it covers; nothing is deleted. 409 with the reason when there " +
				"is nothing to summarise, while a compaction is pending or running or its summary is queued, " +
				"and when " +
				"the context policy is not summary. To undo it, set the mark set_aside of the summary.",
			input: inputOf[engine.CompactInput](`{}`),
			serve: serveCompact,
			answers: []answer{
				{
					status:  http.StatusAccepted,
					about:   "The compaction, pending.",
					goType:  reflect.TypeFor[parley.Compaction](),
					example: compactionExample,
				},
			},
			fails: conflicting(),
		},
		{
			method: http.MethodGet,
			paths:  bothPaths("/compaction"),
			name:   "getCompaction",
			tag:    "compactions",
			verb:   engine.ReadSessions,
			says:   "Read a session's compaction",
			about: "The one that is under way, or the last one; its state is none for a session that never had " +
				"one. The events compaction.started, compaction.completed and compaction.failed report it too, and " +
				"its calls are among the session's, with the purpose compaction.",
			serve:   serveCompaction,
			answers: found[parley.Compaction]("The compaction.", compactionExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/messages/{message}/covered"},
			name:   "listCovered",
			tag:    "compactions",
			verb:   engine.ReadSessions,
			says:   "List what a summary covers",
			about: "The messages that it stands for, oldest first, as they are in the record. 409 for a message " +
				"that is not a summary.",
			query:   paging(),
			serve:   serveCovered,
			answers: listed[parley.Message](messageExample),
			fails:   conflicting(),
		},

		{
			method: http.MethodPost,
			paths:  bothPaths("/loops"),
			name:   "startLoop",
			tag:    "loops",
			verb:   engine.PostMessages,
			says:   "Start a loop",
			about: "The same task again and again, each time as a turn with its number, until a condition is met " +
				"or max is reached. The next iteration is made in the transaction that ends the one before; what is " +
				"posted meanwhile waits for the running iteration alone, or steers it. A cancel of an iteration " +
				"stops the loop, a failure fails it; both go on when that turn is retried or continued. Progress is " +
				"in the events (loop.progress). 409 while another loop of the session runs.",
			headers: idempotent(),
			input: inputOf[engine.LoopInput](
				`{"prompt":"Fix one failing test.","max":5,"until":{"text_matches":"(?i)all tests pass"},` +
					`"context":{"recent":1}}`,
			),
			serve: serveStartLoop,
			answers: []answer{
				{
					status:  http.StatusCreated,
					about:   "The loop, with its first iteration.",
					goType:  reflect.TypeFor[parley.Loop](),
					example: loopExample,
					headers: []parameter{locationHeader(), sequenceHeader()},
				},
			},
			fails: conflicting(),
		},
		{
			method:  http.MethodGet,
			paths:   bothPaths("/loops"),
			name:    "listLoops",
			tag:     "loops",
			verb:    engine.ReadSessions,
			says:    "List loops",
			about:   "Newest first.",
			query:   paging(),
			serve:   serveListLoops,
			answers: listed[parley.Loop](loopExample),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/loops/{loop}"},
			name:    "getLoop",
			tag:     "loops",
			verb:    engine.ReadSessions,
			says:    "Read a loop",
			about:   "With its state and the iteration that it is at.",
			serve:   serveLoop,
			answers: found[parley.Loop]("The loop.", loopExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/loops/{loop}/stop"},
			name:   "stopLoop",
			tag:    "loops",
			verb:   engine.CancelTurns,
			says:   "Stop a loop",
			about: "No further iteration follows. The one that runs is left to its end, or with now cancelled. A " +
				"loop that was stopped before gives the same answer; one that ended otherwise is 409 with its state.",
			input: inputOf[engine.LoopStopInput](
				`{"now":true}`,
			),
			serve:   serveStopLoop,
			answers: found[parley.Loop]("The stopped loop.", loopExample),
			fails:   conflicting(),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/messages/{message}"},
			name:    "getMessage",
			tag:     "messages",
			verb:    engine.ReadSessions,
			says:    "Read a message",
			about:   "By its id alone.",
			serve:   serveMessage,
			answers: found[parley.Message]("The message.", messageExample),
		},
		{
			method: http.MethodPatch,
			paths:  []string{"/v1/messages/{message}"},
			name:   "updateMessage",
			tag:    "messages",
			verb:   engine.PostMessages,
			says:   "Edit a queued message, or mark one",
			about: "The content can change while the message is queued, the marks at any time; one of the two per " +
				"request.",
			input: inputOf[engine.MessagePatch](
				`{"content":{"text":"Hello again"}}`,
			),
			serve:   serveUpdateMessage,
			answers: found[parley.Message]("The message.", messageExample),
			fails:   conflicting(),
		},
		{
			method:  http.MethodDelete,
			paths:   []string{"/v1/messages/{message}"},
			name:    "removeMessage",
			tag:     "messages",
			verb:    engine.PostMessages,
			says:    "Remove a queued message",
			about:   "It stays as cancelled. 409 once it is in the record.",
			serve:   serveRemoveMessage,
			answers: nothing("Removed."),
			fails:   conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/messages/{message}/send"},
			name:   "sendMessage",
			tag:    "messages",
			verb:   engine.PostMessages,
			says:   "Send a queued message now",
			about: "steer shows it to the running turn at its next step (the turn that it waited for is cancelled); " +
				"interrupt cancels the running turn and runs the message. A message that already runs next stays as " +
				"it is. " +
				"409 once it is in the record.",
			input: inputOf[engine.SendInput](`{"how":"steer"}`),
			serve: serveSendMessage,
			answers: []answer{
				{
					status:  http.StatusOK,
					about:   "The message.",
					goType:  reflect.TypeFor[parley.Message](),
					example: messageExample,
					headers: []parameter{sequenceHeader(), messageIDHeader()},
				},
			},
			fails: conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/messages/{message}/move"},
			name:   "moveMessage",
			tag:    "messages",
			verb:   engine.PostMessages,
			says:   "Move a queued message",
			about: "Before another one of its queue, or to the end. 409 once it is in the record, and for the one " +
				"that is about to start.",
			input: inputOf[engine.MoveInput](
				`{"before":"` + otherIDExample + `"}`,
			),
			serve:   serveMoveMessage,
			answers: found[parley.Message]("The message, in its new place.", messageExample),
			fails:   conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/messages/{message}/append"},
			name:   "appendMessage",
			tag:    "messages",
			verb:   engine.PostMessages,
			says:   "Append to a message that was opened as streaming",
			about: "A piece of its text, or of its reasoning, which comes before the text. It is durable when this " +
				"answers, and watched like the deltas of any message. offset is the present end of that text; what " +
				"was sent already is accepted again and adds nothing. 409 with end, the present end, for a hole or " +
				"for another text than is there; 409 with the state once the message has settled.",
			input: inputOf[engine.AppendInput](
				`{"offset":0,"text":"I look at "}`,
			),
			serve:   serveAppendMessage,
			answers: found[parley.OutsideGrown]("How far the message has come.", grownExample),
			fails:   conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/messages/{message}/settle"},
			name:   "settleMessage",
			tag:    "messages",
			verb:   engine.PostMessages,
			says:   "Settle a message that was opened as streaming",
			about: "It is immutable from then on, and its turn ends with it: completed, failed or cancelled. usage " +
				"counts in the statistics. tool_calls are recorded behind it, in the same transaction. Settling so " +
				"again gives the same answer, without the tool calls; 409 with the state for any other.",
			input: inputOf[engine.SettleInput](
				`{"status":"completed","usage":{"input_tokens":12,"output_tokens":5}}`,
			),
			serve: serveSettleMessage,
			answers: found[engine.OutsideResult](
				"The settled message, and its turn.",
				outsideExample,
			),
			fails: conflicting(),
		},
		{
			method: http.MethodPut,
			paths:  []string{"/v1/messages/{message}/marks"},
			name:   "markMessage",
			tag:    "messages",
			verb:   engine.PostMessages,
			says:   "Mark a message",
			about: "Marks are changeable and outside the message's immutable self. Those left out stay. A fork has " +
				"its own marks on what it shares: session_id says whose are meant.",
			query: []parameter{
				id("session_id", "The session whose marks are meant; the one that wrote the message by default."),
			},
			input: inputOf[engine.MarksPatch](
				`{"pinned":true}`,
			),
			serve:   serveMarkMessage,
			answers: found[parley.Message]("The message.", messageExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/messages/{message}/edit"},
			name:   "editMessage",
			tag:    "messages",
			verb:   engine.OpenSessions,
			says:   "Ask a message in other words",
			about: "For a user's message of the record: a fork that begins before it, with the new words in its " +
				"place and their turn, in one transaction. The message and what followed stay; the fork's " +
				"parent_message_id names it. A queued message is changed with PATCH. With text/event-stream the " +
				"answer is the new turn's frames.",
			query: []parameter{
				flushParameter(),
			},
			headers: with(idempotent(), acceptHeader()),
			input:   inputOf[engine.EditInput](`{"content":{"text":"Hello again"}}`),
			serve:   serveEditMessage,
			answers: branched(),
			fails:   conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/messages/{message}/regenerate"},
			name:   "regenerateMessage",
			tag:    "messages",
			verb:   engine.OpenSessions,
			says:   "Ask a message again",
			about: "As editMessage with the same words, for a user's message or an answer to it: perhaps by another " +
				"model or agent. A turn that failed or was cancelled is tried again in place (retryTurn).",
			query: []parameter{
				flushParameter(),
			},
			headers: with(idempotent(), acceptHeader()),
			input:   inputOf[engine.RegenerateInput](`{"model":"sim/echo"}`),
			serve:   serveRegenerate,
			answers: branched(),
			fails:   conflicting(),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/messages/{message}/branches"},
			name:   "listBranches",
			tag:    "messages",
			verb:   engine.ReadSessions,
			says:   "List a message's branches",
			about: "The sessions that were forked at the message, or that repeat it; last activity first, " +
				"archived ones too.",
			query:   paging(),
			serve:   serveBranches,
			answers: listed[parley.Session](sessionExample()),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/messages/{message}/versions"},
			name:    "listVersions",
			tag:     "messages",
			verb:    engine.ReadSessions,
			says:    "List a message's versions",
			about:   "The durable pieces in which it was streamed.",
			serve:   serveVersions,
			answers: listed[parley.Version](versionExample),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/turns/{turn}"},
			name:    "getTurn",
			tag:     "turns",
			verb:    engine.ReadSessions,
			says:    "Read a turn",
			about:   "One run of the agent.",
			serve:   serveTurn,
			answers: found[parley.Turn]("The turn.", turnExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/turns/{turn}/retry"},
			name:   "retryTurn",
			tag:    "turns",
			verb:   engine.PostMessages,
			says:   "Try a turn again",
			about: "For a failed or cancelled turn with which the record ends: a new turn on the same message, " +
				"whose continues_id names it, regenerates the answer that failed or was interrupted. What the turn " +
				"had settled before stays: no tool runs twice. 409 with the state for any other. With " +
				"text/event-stream the answer is the new turn's frames.",
			query: []parameter{
				flushParameter(),
			},
			headers: with(idempotent(), acceptHeader()),
			input:   inputOf[engine.ResumeInput](`{}`),
			serve:   serveRetryTurn,
			answers: resumed(),
			fails:   conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/turns/{turn}/continue"},
			name:   "continueTurn",
			tag:    "turns",
			verb:   engine.PostMessages,
			says:   "Go on after a limit",
			about: "A turn that waits for budget or rate_limit is ready again, the same one (200). One that failed " +
				"at a limit is taken up by a new turn with limits of its own, as a retry does (201). 409 with the " +
				"state for any other. With text/event-stream the answer is the turn's frames.",
			query: []parameter{
				flushParameter(),
			},
			headers: with(idempotent(), acceptHeader()),
			input:   inputOf[engine.ResumeInput](`{}`),
			serve:   serveContinueTurn,
			answers: append(
				resumed(),
				answer{
					status:  http.StatusOK,
					about:   "The turn that waited.",
					goType:  reflect.TypeFor[parley.Turn](),
					example: turnExample,
					headers: []parameter{sequenceHeader()},
				},
			),
			fails: conflicting(),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/calls/{call}"},
			name:   "getCall",
			tag:    "turns",
			verb:   engine.ReadSessions,
			says:   "Read a model call",
			about: "With the request that it made, rebuilt from the record (exact says whether its hash is that of " +
				"the bytes sent), and what explains it: the parts of the request with why each is in it, its tokens " +
				"and its place in the bytes; the messages that were left out and why; other attempts; what its " +
				"tokens cost.",
			serve:   serveCall,
			answers: found[engine.CallDetail]("The call.", callDetailExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/calls/{call}/replay"},
			name:   "replayCall",
			tag:    "turns",
			verb:   engine.PostMessages,
			says:   "Send a call's request again",
			about: "To the same model or another one, with the parameters given instead. The answer enters no " +
				"conversation: it is kept with a call of purpose replay, counted to the session and its budgets, and " +
				"answered beside the original's. No tool runs. A model's failure is in the answer. With " +
				"text/event-stream it comes as replay.delta frames and one replay.completed. 409 when a budget has " +
				"no room.",
			headers: []parameter{
				acceptHeader(),
			},
			input: inputOf[engine.ReplayInput](`{"model":"openai/gpt-5-mini","temperature":0}`),
			serve: serveReplay,
			answers: append(
				created[engine.ReplayResult]("The replay beside the original.", replayExample),
				answer{
					status:  http.StatusOK,
					about:   "The replay as it comes: the data of each frame is a ReplayFrame.",
					media:   eventStream,
					of:      &huma.Schema{Ref: schemaPrefix + replaySchema},
					example: `{"kind":"text","delta":"It is "}`,
				},
			),
			fails: conflicting(),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/calls/{call}/diff"},
			name:   "diffCall",
			tag:    "turns",
			verb:   engine.ReadSessions,
			says:   "Compare a call's request with an earlier one's",
			about: "By default with the step before in its session. Says where the bytes part, which changes there " +
				"are, how much of the front is shared, and what that means for the provider's cache. 409 when a " +
				"request cannot be rebuilt.",
			query: []parameter{
				id("with", "The call to compare with."),
			},
			serve:   serveDiffCall,
			answers: found[engine.CallDiff]("The difference.", callDiffExample),
			fails:   conflicting(),
		},

		{
			method: http.MethodGet,
			paths:  []string{"/v1/approvals"},
			name:   "listApprovals",
			tag:    "approvals",
			verb:   engine.ReadSessions,
			says:   "List approvals",
			about: "Questions about tool calls, of all sessions that the caller may see, newest first. " +
				"state=pending is what waits for somebody.",
			query: with(
				approvalFilters(),
				id("session_id", "Only those of this session and of the tool sessions below it."),
			),
			serve:   serveListApprovals,
			answers: listed[parley.Approval](approvalExample),
		},
		{
			method:  http.MethodGet,
			paths:   bothPaths("/approvals"),
			name:    "listSessionApprovals",
			tag:     "approvals",
			verb:    engine.ReadSessions,
			says:    "List a session's approvals",
			about:   "With those of the tool sessions below it, newest first.",
			query:   approvalFilters(),
			serve:   serveSessionApprovals,
			answers: listed[parley.Approval](approvalExample),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/approvals/{approval}"},
			name:    "getApproval",
			tag:     "approvals",
			verb:    engine.ReadSessions,
			says:    "Read an approval",
			about:   "With the exact arguments of the call.",
			serve:   serveApproval,
			answers: found[parley.Approval]("The approval.", approvalExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/approvals/{approval}"},
			name:   "decideApproval",
			tag:    "approvals",
			verb:   engine.AnswerApprovals,
			says:   "Answer an approval",
			about: "Once: the waiting turn goes on at once, and a denial is what the model reads as the call's " +
				"result. With scope session a grant is added to the session, for these exact arguments or, covers " +
				"tool, for the tool, and answers the turn's other questions that it covers; with scope change the " +
				"session's owner accepts what somebody else changed. Where several people have to approve, it stays " +
				"pending until the last of them has. An approval that was answered, that has expired or whose turn " +
				"has ended is 409 with its state, a repeat of the same answer too.",
			input: inputOf[engine.DecisionInput](
				`{"decision":"approve"}`,
			),
			serve:   serveDecide,
			answers: found[parley.Approval]("The approval, answered.", approvalExample),
			fails:   conflicting(),
		},

		{
			method: http.MethodPost,
			paths:  []string{"/v1/projects"},
			name:   "chooseProject",
			tag:    "projects",
			verb:   engine.WriteProjects,
			says:   "Choose a directory as a project",
			about: "Adds it, or refreshes the one with this path (200). It lies within the roots that the server " +
				"names; without any only the machine's own user chooses. Private directories are refused.",
			input: inputOf[engine.ProjectInput](`{"path":"/home/ada/site"}`),
			serve: serveChooseProject,
			answers: append(
				created[parley.Project]("The new project.", projectExample),
				found[parley.Project]("The project, its last access refreshed.", projectExample)...),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/projects"},
			name:   "listProjects",
			tag:    "projects",
			verb:   engine.ReadProjects,
			says:   "List projects",
			about:  "Last access first.",
			query: with(
				paging(),
				parameter{
					name:   "recent",
					about:  "Only this many, last access first; instead of limit.",
					schema: integer(1, parley.MaxPage),
				},
			),
			serve:   serveListProjects,
			answers: listed[parley.Project](projectExample),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/projects/{project}"},
			name:    "getProject",
			tag:     "projects",
			verb:    engine.ReadProjects,
			says:    "Read a project",
			about:   "A directory of work.",
			serve:   serveProject,
			answers: found[parley.Project]("The project.", projectExample),
		},
		{
			method: http.MethodDelete,
			paths:  []string{"/v1/projects/{project}"},
			name:   "deleteProject",
			tag:    "projects",
			verb:   engine.DropProjects,
			says:   "Delete a project",
			about: "Its sessions are detached, or deleted with cascade (admins only). The directory itself is not " +
				"touched.",
			query:   []parameter{flag("cascade", "Delete its sessions too.")},
			serve:   serveDeleteProject,
			answers: nothing("Deleted."),
		},

		{
			method: http.MethodGet,
			paths:  []string{"/v1/directories"},
			name:   "listDirectories",
			tag:    "projects",
			verb:   engine.WriteProjects,
			says:   "List directories that may be projects",
			about: "Those in one directory, by name, at most 1,000 of them, or the allowed roots without path. " +
				"Links are followed as far as they lead to directories inside the roots. What lies outside or is " +
				"private is 404, whether it exists or not.",
			query: []parameter{
				text("path", "The directory to look into, absolute. Without it the roots are listed."),
				text("name", "Only directories whose names contain this, whatever its case."),
				flag("hidden", "Also directories whose names begin with a dot."),
			},
			serve:   serveDirectories,
			answers: found[engine.Directories]("The directories.", directoriesExample),
			fails:   []parley.Code{parley.CodeNotFound},
		},

		{
			method:  http.MethodPost,
			paths:   []string{"/v1/files"},
			name:    "uploadFile",
			tag:     "files",
			verb:    engine.WriteFiles,
			makes:   true,
			uploads: true,
			says:    "Upload a file",
			about: "As a form (its field file), or as the body itself with name. At most 64 MiB; streamed, never " +
				"whole in memory. Its type is found by looking at its bytes. The same name and bytes uploaded again " +
				"are answered with the file that is there (200).",
			query: []parameter{
				text("name", "The file's name; of a form, instead of the one in it."),
			},
			serve: serveUploadFile,
			answers: append(
				created[parley.File]("The new file.", fileExample),
				found[parley.File]("The file that has this name and these bytes.", fileExample)...),
			fails: []parley.Code{parley.CodeConflict},
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/files"},
			name:    "listFiles",
			tag:     "files",
			verb:    engine.ReadFiles,
			says:    "List files",
			about:   "Newest first: one's own, and those that messages use which one may read.",
			query:   paging(),
			serve:   serveListFiles,
			answers: listed[parley.File](fileExample),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/files/{file}"},
			name:    "getFile",
			tag:     "files",
			verb:    engine.ReadFiles,
			says:    "Read what is known of a file",
			about:   "Without its bytes.",
			serve:   serveFile,
			answers: found[parley.File]("The file.", fileExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/files/{file}/content"},
			name:   "getFileContent",
			tag:    "files",
			verb:   engine.ReadFiles,
			says:   "Download a file",
			about: "Ranges (Range, If-Range) and If-None-Match are understood. It comes as an attachment, in a " +
				"sandbox.",
			serve: serveFileContent,
			answers: []answer{
				{
					status: http.StatusOK,
					about:  "The bytes, in the file's own media type.",
					media:  unknownMedia,
					of:     binary(),
				},
				{
					status: http.StatusPartialContent,
					about:  "The range that was asked for.",
					media:  unknownMedia,
					of:     binary(),
				},
			},
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/files/{file}/thumbnail"},
			name:   "getThumbnail",
			tag:    "files",
			verb:   engine.ReadFiles,
			says:   "Read an image's thumbnail",
			about: "JPEG, or PNG where the image is not opaque; its longer side has at most 256 pixels. 422 for a " +
				"file that is not an image.",
			serve: serveThumbnail,
			answers: []answer{
				{status: http.StatusOK, about: "The thumbnail.", media: "image/jpeg", of: binary()},
				{status: http.StatusOK, about: "The thumbnail.", media: "image/png", of: binary()},
			},
		},
		{
			method: http.MethodDelete,
			paths:  []string{"/v1/files/{file}"},
			name:   "deleteFile",
			tag:    "files",
			verb:   engine.DropFiles,
			says:   "Delete a file",
			about: "409 while a message uses it: it goes with the last session that has such a message. Only who " +
				"uploaded it or an admin may.",
			serve:   serveDeleteFile,
			answers: nothing("Deleted."),
			fails:   conflicting(),
		},

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
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/principal"},
			name:    "getPrincipal",
			tag:     "keys",
			says:    "Who am I",
			about:   "The principal that this request acts as.",
			serve:   servePrincipal,
			answers: found[whoAmI]("The principal.", whoAmIExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/sign-in"},
			name:   "signIn",
			tag:    "keys",
			open:   true,
			signs:  true,
			says:   "Sign a browser in",
			about: "The browser gets a cookie with a secret of its own, not the key, which scripts cannot read and " +
				"other sites' pages do not send. It ends with the key, when it is ended here, after 7 days without " +
				"use, and after 30 days. Programs send keys in the header Authorization instead.",
			input:   inputOf[signInInput](`{"key":"pk_…"}`),
			serve:   serveSignIn,
			answers: found[parley.Principal]("The key's principal.", principalExample),
		},
		{
			method:  http.MethodDelete,
			paths:   []string{"/v1/sign-in"},
			name:    "signOut",
			tag:     "keys",
			open:    true,
			signs:   true,
			says:    "Sign a browser out",
			about:   "The cookie's sign-in ends, with its streams; the key stays valid.",
			serve:   serveSignOut,
			answers: nothing("Signed out."),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/sign-ins"},
			name:    "listSignIns",
			tag:     "keys",
			verb:    engine.ReadSignIns,
			says:    "List sign-ins",
			about:   "The browsers that are signed in, newest first: one's own, to admins all of the workspace.",
			serve:   serveSignIns,
			answers: listed[parley.SignIn](signInExample),
		},
		{
			method: http.MethodDelete,
			paths:  []string{"/v1/sign-ins/{sign_in}"},
			name:   "endSignIn",
			tag:    "keys",
			verb:   engine.EndSignIns,
			says:   "End a sign-in",
			about: "The browser has to sign in again; its streams end, on other processes of a PostgreSQL database " +
				"with their next heartbeat.",
			serve:   serveEndSignIn,
			answers: nothing("Ended."),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/sign-in"},
			name:   "signInByCode",
			tag:    "keys",
			open:   true,
			signs:  true,
			says:   "Sign a browser in by the one-time code",
			about: "Where `parley serve` prints an address with a code, because the system does not tell whose a " +
				"connection is, this is it. The code works once, for 15 minutes.",
			query: []parameter{text("code", "The code.")},
			serve: serveSignInByCode,
			answers: []answer{
				{
					status:  http.StatusSeeOther,
					about:   "Signed in; on to the page.",
					headers: []parameter{locationHeader()},
				},
			},
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/keys"},
			name:   "createKey",
			tag:    "keys",
			verb:   engine.WriteKeys,
			says:   "Create a key",
			about: "The secret is in this answer and nowhere else. Only the machine's own user may name another " +
				"workspace. From the first key on every request needs one.",
			input:   inputOf[keyInput](`{"name":"ci","role":"member"}`),
			serve:   serveCreateKey,
			answers: created[engine.NewKey]("The key, with its secret.", newKeyExample),
			fails:   conflicting(),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/keys"},
			name:    "listKeys",
			tag:     "keys",
			verb:    engine.ReadKeys,
			says:    "List keys",
			about:   "Newest first, without secrets.",
			serve:   serveKeys,
			answers: listed[parley.Key](keyExample),
		},
		{
			method: http.MethodDelete,
			paths:  []string{"/v1/keys/{key}"},
			name:   "revokeKey",
			tag:    "keys",
			verb:   engine.WriteKeys,
			says:   "Revoke a key",
			about: "It stops working at once, and its streams end; on other processes of a PostgreSQL database " +
				"within two seconds, streams with their next heartbeat.",
			serve:   serveRevokeKey,
			answers: nothing("Revoked."),
		},

		{
			method: http.MethodGet,
			paths:  []string{"/v1/audit"},
			name:   "listAudit",
			tag:    "audit",
			verb:   engine.ReadAudit,
			says:   "List who did what",
			about: "Newest first, about a second behind. Every request that reads or writes is here but for lists " +
				"of models and tools; no content is. For admins.",
			query: with(
				paging(),
				id("session_id", "Only what concerns this session, though it be deleted."),
				id("principal_id", "Only what this principal did."),
				flag("changes", "true: without what only reads, watches or tells what a window has open."),
			),
			serve:   serveAudit,
			answers: listed[parley.AuditEntry](auditExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/audit/anchor"},
			name:   "getAnchor",
			tag:    "audit",
			verb:   engine.ReadAudit,
			says:   "Name the end of the audit's chain",
			about: "The number and hash of the latest link, of all workspaces together. Kept elsewhere, it shows " +
				"later whether the chain up to there is still the same. For admins.",
			serve:   serveAnchor,
			answers: found[parley.Anchor]("The latest link; number 0 while there is none.", anchorExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/verify"},
			name:   "verify",
			tag:    "audit",
			verb:   engine.ReadAudit,
			local:  true,
			says:   "Verify the store, step by step",
			about: "Makes the next small step: the database's pages, every record, the files, and the audit with " +
				"its chain. Send what next says as place, until done. For the machine's own user alone, by the local " +
				"token; parley verify does it.",
			input: inputOf[verifyInput](
				`{"place":""}`,
			),
			serve:   serveVerify,
			answers: found[parley.VerifyStep]("What the step found, and where the next one begins.", verifyExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/search"},
			name:   "search",
			tag:    "messages",
			verb:   engine.ReadSessions,
			says:   "Search what was said",
			about: "Settled messages, calls and results of tools included, and titles of sessions that one may " +
				"read; internal messages are not found. All words must occur, whatever their case and accents; \"a " +
				"phrase\" stands as it is written, -word must not occur, and the last word may be the beginning of " +
				"one. Best first, those alike newest first; at most the newest 1,000 matches are ranked. What is " +
				"said is found within seconds.",
			query:   searchFilters(),
			serve:   serveSearch,
			answers: found[engine.SearchResults]("What was found.", searchExample),
			fails:   []parley.Code{parley.CodeNotFound},
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
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/events"},
			name:    "watchWorkspace",
			tag:     "events",
			lasting: true,
			verb:    engine.ReadSessions,
			says:    "Watch the workspace",
			about: "List changes (session.updated, status_changed, deleted, activated, deactivated), and the " +
				"events and deltas of the sessions asked for, on one connection. There is no replay of list changes: " +
				"on resync, which comes first, fetch the lists again.",
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
			about:  "Nothing for programs.",
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
			about:   "Answers without looking further.",
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
			about:   "503 while the store does not answer, or the process drains.",
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
			about:  "Of this process, all workspaces together: for admins. docs/observability.md lists them.",
			serve:  serveMetrics,
			answers: []answer{
				{
					status:  http.StatusOK,
					about:   "The text format of Prometheus.",
					media:   "text/plain",
					of:      &huma.Schema{Type: huma.TypeString},
					example: "parley_ready 1\n",
				},
			},
		},
	}
}
