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
			about: "When this answers, a user message and its turn are durable. Watch the session's events after " +
				"Parley-Event-Sequence to miss nothing, or ask for text/event-stream: the answer is then this " +
				"turn's frames up to its terminal event. Closing that stream cancels nothing; a repeat with the " +
				"same Idempotency-Key joins it. While a turn is unfinished, during decides what happens. Messages " +
				"of other roles are recorded and start nothing, but a tool_result resumes a waiting turn. An agent " +
				"that runs elsewhere opens an assistant message with status streaming on an idle session, appends " +
				"to it and settles it; until then the session waits for outside. With dry_run the process that " +
				"receives the request answers in the same way and writes nothing: no tool runs (tool_results " +
				"answers for them), and the answer comes when the turn has ended, or as frames without ids.",
			query:   []parameter{flushParameter(), waitParameter()},
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
			fails:  conflicting(),
			crowds: true,
		},
		{
			method: http.MethodPost,
			paths:  bothPaths("/preview"),
			name:   "previewMessage",
			tag:    "messages",
			verb:   engine.ReadSessions,
			says:   "Preview what would be sent for a message",
			about: "Takes the body of a message and returns the request that its turn would begin with, explained " +
				"like a call, with how much of it the provider's cache may hold and what it would cost. With " +
				"change it shows the next request as it would be after an edit, other marks, another text of the " +
				"summary or other settings, and what that costs against leaving it. Writes nothing and asks no model.",
			query: []parameter{briefParameter()},
			input: inputOf[engine.PreviewInput](
				`{"content":{"text":"Hello"},"change":{"session":{"context_policy":{"kind":"all"}}}}`,
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
			says:   "Read what the model's window holds now",
			about: "What the next request would show the model before any new message, by part: tools, system " +
				"prompt, summaries, and messages with their tokens; what is left out and why; how full the window " +
				"is.",
			query:   []parameter{briefParameter()},
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
			about: "By sequence, oldest first; queued messages come last, by position, and are left out with " +
				"order=desc. Three views show messages as they are: flat shows all; user leaves out internal ones; " +
				"recent shows the last of those, oldest first, on one page (limit is 10 by default). The views " +
				"transcript, chat and ids have rows of other kinds, and their own paths: …/messages/transcript, " +
				"…/messages/chat, …/messages/ids. The parameter view still takes their names.",
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
			says:   "Edit a queued message",
			about:  "Its content can change until it enters the record. markMessage changes marks, at any time.",
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
			about:   "It stays in the session as cancelled. 409 once it is in the record.",
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
			about: "steer shows it to the running turn at its next step and cancels the turn that was queued for " +
				"it; interrupt cancels the running turn and runs the message. A message that already runs next " +
				"stays as it is. 409 once it is in the record.",
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
			about: "Moves it before another message of its queue, or to the end. 409 once it is in the record or " +
				"about to start.",
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
			says:   "Append to a streaming message",
			about: "Adds a piece to its text, or to its reasoning, which comes before the text. The piece is " +
				"durable when this answers, and watchers see it like the deltas of any message. offset is the " +
				"present end of that text; a piece that was sent before is accepted again and adds nothing. 409 " +
				"with end, the present end, if the offset leaves a gap or the text differs; 409 with the state " +
				"once the message has settled.",
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
			says:   "Settle a streaming message",
			about: "Makes the message immutable and ends its turn: completed, failed or cancelled. usage counts in " +
				"the statistics. tool_calls are recorded after the message, in the same transaction. Settling " +
				"again with the same status gives the same answer, without the tool calls; 409 with the state for " +
				"any other.",
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
			about: "Marks can change at any time; they are not part of the immutable message. Marks that are left " +
				"out keep their values. A fork has its own marks on the messages that it shares: session says " +
				"whose marks to change.",
			query: []parameter{
				id("session", "The session whose marks to change; the one that wrote the message by default."),
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
			says:   "Ask again with an edited message",
			about: "For a user message in the record: creates a fork that begins before it, with the new text in " +
				"its place and a turn for it, in one transaction. The message and what followed stay as they are; " +
				"the fork's parent_message_id names the message. PATCH changes a queued message. text/event-stream " +
				"answers with the new turn's frames.",
			query: []parameter{
				flushParameter(), waitParameter(),
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
			about: "Like editMessage, but with the same text, for a user message or an answer to one; another " +
				"model or agent may answer. retryTurn tries a failed or cancelled turn again in place.",
			query: []parameter{
				flushParameter(), waitParameter(),
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
			about: "The sessions that were forked at the message or ask it again; last activity first, archived " +
				"ones included.",
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
			says:   "Search messages and titles",
			about: "Finds settled messages, tool calls and results included, and titles of sessions that you may " +
				"read; never internal messages. All words must occur, whatever their case and accents; \"a " +
				"phrase\" matches as it is written, -word must not occur, and the last word may be the beginning " +
				"of one. Best matches first, equal ones newest first; the newest 1,000 matches are ranked. New " +
				"messages are found within seconds.",
			query:   searchFilters(),
			serve:   serveSearch,
			answers: found[engine.SearchResults]("The hits.", searchExample),
			fails:   []parley.Code{parley.CodeNotFound},
		},
	}
}
