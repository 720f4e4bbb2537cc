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
			about: "Repeats a task, each time as a numbered turn, until a condition is met or max is reached. The " +
				"transaction that ends one iteration makes the next; messages posted meanwhile wait for the " +
				"running iteration only, or steer it. Cancelling an iteration stops the loop, and a failed one " +
				"fails it; retrying or continuing that turn resumes it. The event loop.progress reports progress. " +
				"409 while another loop of the session runs.",
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
			about:   "With its state and its present iteration.",
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
			about: "Starts no further iteration. The running one continues to its end; now cancels it. Stopping " +
				"twice gives the same answer; 409 with the state if the loop ended otherwise.",
			input: inputOf[engine.LoopStopInput](
				`{"now":true}`,
			),
			serve:   serveStopLoop,
			answers: found[parley.Loop]("The stopped loop.", loopExample),
			fails:   conflicting(),
		},
	}
}
