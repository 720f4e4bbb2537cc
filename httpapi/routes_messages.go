package httpapi

import (
	"net/http"
	"reflect"

	"example.org/parley"
	"example.org/parley/engine"
)

// messageRoutes returns the routes that post, read, change and find messages.
func messageRoutes() []route {
	return []route{
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
	}
}
