package httpapi

import (
	"net/http"
	"reflect"

	"example.org/parley"
	"example.org/parley/engine"
)

// loopRoutes returns the routes that repeat a task.
func loopRoutes() []route {
	return []route{
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
	}
}
