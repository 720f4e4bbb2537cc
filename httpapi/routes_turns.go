package httpapi

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/engine"
)

// turnRoutes returns the routes that cancel and repeat turns, and explain their model calls.
func turnRoutes() []route {
	return []route{
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
				many(listOf[parley.TurnStatus]("status", "Only turns of this status.")),
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
			about:   "All attempts at model requests, newest first.",
			query:   with(paging(), many(id("turn", "Only calls of this turn."))),
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
			about: "Stops the model call, keeps the partial text and leaves the session usable. Cancelling twice " +
				"gives the same answer. The body may be left out.",
			input: inputOf[engine.CancelInput](
				`{"queued":true}`,
			),
			query:   []parameter{flag("queued", "Cancel the queued turns too; as in the body.")},
			serve:   serveCancel,
			answers: found[engine.CancelResult]("The cancelled turn.", cancelExample),
			fails:   conflicting(),
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
			about: "For a failed or cancelled turn at the end of the record: starts a new turn on the same " +
				"message, with continues_id naming the old one, and regenerates the answer that failed or was " +
				"interrupted. What the old turn had settled stays: no tool runs twice. 409 with the state for any " +
				"other turn. text/event-stream answers with the new turn's frames.",
			query: []parameter{
				flushParameter(), waitParameter(),
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
			says:   "Continue a turn after a limit",
			about: "A turn that waits for budget or rate_limit becomes ready again (200). A turn that failed at a " +
				"limit is continued by a new one with its own limits, like a retry (201). 409 with the state for " +
				"any other turn. text/event-stream answers with the turn's frames.",
			query: []parameter{
				flushParameter(), waitParameter(),
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
			about: "With its request, rebuilt from the record (exact says whether its hash is that of the bytes " +
				"sent), and its explanation: the parts of the request, each with its reason, its tokens and its " +
				"place in the bytes; the messages that were left out and why; other attempts; what its tokens cost.",
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
			about: "Sends it to the same model or another one, with the parameters given instead. The answer " +
				"enters no conversation: it is stored with a call of purpose replay, counts toward the session and " +
				"its budgets, and is returned beside the original's. No tool runs. If the model fails, the answer " +
				"says so. With text/event-stream it comes as replay.delta frames and one replay.completed. 409 " +
				"when a budget has no room.",
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
			about: "Compares it with the step before in its session, or with another call. Says where the bytes " +
				"part, what changed, how much of the beginning is shared, and what that means for the provider's " +
				"cache. 409 if a request cannot be rebuilt.",
			query: []parameter{
				id("with", "The call to compare with; the step before by default."),
			},
			serve:   serveDiffCall,
			answers: found[engine.CallDiff]("The difference.", callDiffExample),
			fails:   conflicting(),
		},
	}
}
