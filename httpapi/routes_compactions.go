package httpapi

import (
	"net/http"
	"reflect"

	"example.org/parley"
	"example.org/parley/engine"
)

// compactionRoutes returns the routes that have summaries written, and show what they cover.
func compactionRoutes() []route {
	return []route{
		{
			method: http.MethodPost,
			paths:  bothPaths("/compact"),
			name:   "compactSession",
			tag:    "compactions",
			verb:   engine.PostMessages,
			says:   "Summarise a session",
			about: "Summarises all but the newest turn, or what comes before a later message if through says so, " +
				"beside the conversation: the answer does not wait for it. " +
				"The summary enters the record as a message of role summary, at once or when the running turn " +
				"ends, and replaces what it covers in later contexts; nothing is deleted. 409 with the reason if " +
				"there is nothing to summarise, a compaction is pending or running, its summary is queued, or the " +
				"context policy is not summary. To undo it, set the summary's mark set_aside. From " +
				"originals, it is written from the messages alone, earlier summaries apart, in several requests " +
				"where they are too many for one. With preview the answer is 200 with what " +
				"it would cover and cost, and nothing is started.",
			input: inputOf[engine.CompactInput](`{"instructions":"Keep the prices."}`),
			serve: serveCompact,
			answers: []answer{
				{
					status:  http.StatusOK,
					about:   "What it would cover and cost.",
					goType:  reflect.TypeFor[parley.Compaction](),
					example: compactionExample,
				},
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
			about: "Returns the running compaction, or the last one if none runs. A session without any " +
				"has the state none. " +
				"The events compaction.started, compaction.completed and compaction.failed report it too. Its " +
				"calls are among the session's, with the purpose compaction.",
			serve:   serveCompaction,
			answers: found[parley.Compaction]("The compaction.", compactionExample),
		},
		{
			method: http.MethodPost,
			paths:  bothPaths("/summary"),
			name:   "reviseSummary",
			tag:    "compactions",
			verb:   engine.GrantSessions,
			says:   "Revise a session's summary",
			about: "Enters a version in your own words, which covers the same messages and replaces the summary in " +
				"later contexts. The earlier version stays in the record; the new one's mark set_aside brings it " +
				"back. For the session's owner and admins. 409 if message_id is not the summary that the model sees " +
				"now, and while a turn or a compaction is unfinished.",
			input: inputOf[engine.SummaryInput](
				`{"message_id":"` + messageIDExample + `","text":"# Task: plan a garden [1]"}`,
			),
			serve: serveReviseSummary,
			answers: []answer{
				{
					status:  http.StatusCreated,
					about:   "The new version.",
					goType:  reflect.TypeFor[parley.Message](),
					example: messageExample,
				},
			},
			fails: conflicting(),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/messages/{message}/covered"},
			name:   "listCovered",
			tag:    "compactions",
			verb:   engine.ReadSessions,
			says:   "List what a summary covers",
			about: "The messages that it stands for, oldest first, as they are in the record. 409 if the message " +
				"is not a summary.",
			query:   paging(),
			serve:   serveCovered,
			answers: listed[parley.Message](messageExample),
			fails:   conflicting(),
		},
	}
}
