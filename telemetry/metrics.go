package telemetry

import (
	"net/http"
	"strconv"

	"example.org/parley"
	"example.org/parley/internal/metric"
	"example.org/parley/observe"
)

// The buckets, in seconds.
func fastBuckets() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}
}
func slowBuckets() []float64 {
	return []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 900}
}
func waitBuckets() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
}

// The metrics of the package metric, by kind. One without labels has a single series, With().
type (
	counters   = metric.Vec[*metric.Counter]
	gaugesOf   = metric.Vec[*metric.Gauge]
	histograms = metric.Vec[*metric.Histogram]
)

// metrics are the process's counters. docs/observability.md explains each.
type metrics struct {
	claims, fenced, retries, turnErrors, callErrors *counters
	cacheCalls                                      *counters
	responses                                       *counters
	tokens, cost, httpRequests                      *counters
	leaseLosses, sweeps, takeovers                  *counters
	readersCut, exportFailures                      *counters
	turn, turnWait, call, firstToken, tool          *histograms
	store, httpTime                                 *histograms
	parks, budgetRefusals, rateRefusals, wrongKeys  *counters
	reservedTokens, reservedDollars                 *gaugesOf
	httpOpen                                        *gaugesOf
	build                                           *gaugesOf

	agentTokens, agentBytes *counters

	providers, models, tools, sources, agents *names // the values of those labels
}

func newMetrics() *metrics {
	return &metrics{
		providers: newNames(
			MaxProviders,
		),
		models:  newNames(MaxModels),
		tools:   newNames(MaxTools),
		sources: newNames(MaxSources),
		agents:  newNames(MaxAgents),

		claims: metric.NewCounters(
			"parley_claims_total",
			"Turns that this process claimed, by the claimer or with the post of their message.",
			"by",
		),
		leaseLosses: metric.NewCounters(
			"parley_lease_losses_total",
			"Leases of this process that ended before it did; its turns were aborted.",
		),
		fenced: metric.NewCounters(
			"parley_fenced_writes_total",
			"Writes that the store refused because the claim was no longer held.",
			"operation",
		),
		sweeps: metric.NewCounters("parley_sweeps_total", "Looks for claims of processes whose lease has expired."),
		takeovers: metric.NewCounters(
			"parley_takeovers_total",
			"Sessions taken over from processes whose lease has expired, or repaired.",
		),

		turn: metric.NewHistograms(
			"parley_turn_seconds",
			"Runs of turns from claim to end, by how they ended.",
			slowBuckets(),
			"outcome",
		),
		turnWait: metric.NewHistograms(
			"parley_turn_wait_seconds",
			"Time from the message that starts a turn to the turn's first claim.",
			waitBuckets(),
			"priority",
		),
		turnErrors: metric.NewCounters("parley_turn_errors_total", "Turns that failed, by class of error.", "class"),
		parks: metric.NewCounters(
			"parley_turn_parks_total",
			"Runs of turns that ended waiting for something outside, by reason.",
			"reason",
		),

		budgetRefusals: metric.NewCounters(
			"parley_budget_refusals_total",
			"Turns that wait because of a limit on tokens or money, by limit.",
			"limit",
		),
		rateRefusals: metric.NewCounters(
			"parley_rate_refusals_total",
			"Requests and streams answered 429, and turns of loops that wait, because there were too many.",
			"scope",
		),

		wrongKeys: metric.NewCounters(
			"parley_wrong_keys_total",
			"Requests with an unknown key, cookie or code, by the status of the answer.",
			"status",
		),

		call: metric.NewHistograms(
			"parley_call_seconds",
			"Time until a model request's answer was complete, failed or was interrupted.",
			slowBuckets(),
			"provider",
			"model",
			"outcome",
		),
		firstToken: metric.NewHistograms(
			"parley_call_first_token_seconds",
			"Time until the first piece of a model request's answer.",
			waitBuckets(),
			"provider",
			"model",
		),
		callErrors: metric.NewCounters(
			"parley_call_errors_total",
			"Model requests that failed, by class of error.",
			"provider",
			"class",
		),
		retries: metric.NewCounters(
			"parley_call_retries_total",
			"Repeated model requests, by class of the preceding error.",
			"provider",
			"class",
		),
		cacheCalls: metric.NewCounters(
			"parley_prompt_cache_calls_total",
			"Completed calls by the provider's report on its prompt cache: hit, miss or unknown.",
			"provider",
			"model",
			"result",
		),
		responses: metric.NewCounters(
			"parley_response_cache_total",
			"Outcomes of the response cache: requests answered from it (hit) or not (miss), answers stored "+
				"and evicted.",
			"outcome",
		),
		tokens: metric.NewCounters(
			"parley_tokens_total",
			"Tokens as providers counted them. Input includes cached and cache_write; output includes reasoning.",
			"provider",
			"model",
			"kind",
		),
		agentTokens: metric.NewCounters(
			"parley_agent_tokens_total",
			"Tokens of agents' requests: input and cached of calls whose provider told both, and dropped, estimated.",
			"agent",
			"kind",
		),
		agentBytes: metric.NewCounters(
			"parley_agent_request_bytes_total",
			"Bytes of agents' requests that followed another of their session: sent, and repeated from its beginning.",
			"agent",
			"kind",
		),
		cost: metric.NewCounters(
			"parley_cost_dollars_total",
			"Cost of calls whose price and usage are known, in US dollars.",
			"provider",
			"model",
		),
		tool: metric.NewHistograms(
			"parley_tool_seconds",
			"Runs of tools; of an agent tool, from the call to the end of its session's first turn.",
			slowBuckets(),
			"tool",
			"source",
			"outcome",
		),

		reservedTokens: metric.NewGauges(
			"parley_reserved_tokens",
			"Estimated tokens reserved from budgets by the calls under way in this process.",
		),
		reservedDollars: metric.NewGauges(
			"parley_reserved_dollars",
			"The same reservations in US dollars, as far as prices are known.",
		),

		store: metric.NewHistograms(
			"parley_store_seconds",
			"Store calls of the worker, by operation and by whether the store accepted, refused or failed them.",
			fastBuckets(),
			"operation",
			"outcome",
		),

		readersCut: metric.NewCounters(
			"parley_readers_cut_total",
			"Event streams cut off because their reader accepted nothing for too long.",
		),

		httpRequests: metric.NewCounters(
			"parley_http_requests_total",
			"HTTP answers. A stream counts when it begins.",
			"method",
			"route",
			"status",
		),
		httpTime: metric.NewHistograms(
			"parley_http_request_seconds",
			"Time until an HTTP answer was written, without event streams.",
			fastBuckets(),
			"method",
			"route",
		),
		httpOpen: metric.NewGauges("parley_http_open_requests", "HTTP requests under way, including event streams."),

		exportFailures: metric.NewCounters(
			"parley_trace_export_failures_total",
			"Batches of spans that the OTLP endpoint did not accept; they are lost.",
		),
		build: metric.NewGauges(
			"parley_build_info",
			"1, with the version of this program.",
			"version",
			"go_version",
		),
	}
}

// begin creates the series of closed lists of labels at 0, so that an alert on something that has never happened has a
// value to compare with.
func (m *metrics) begin() {
	for _, by := range []string{byClaimer, byPost} {
		m.claims.With(by)
	}
	for _, operation := range observe.Operations() {
		m.fenced.With(string(operation))
	}
	for _, class := range parley.ErrorClasses() {
		m.turnErrors.With(string(class))
	}
	for _, outcome := range observe.TurnOutcomes() {
		m.turn.With(string(outcome))
	}
	for _, reason := range parley.WaitReasons() {
		m.parks.With(string(reason))
	}
	for _, limit := range append(parley.BudgetLimits(), unknownPrice) {
		m.budgetRefusals.With(string(limit))
	}
	for _, outcome := range observe.ResponseCacheOutcomes() {
		m.responses.With(string(outcome))
	}
	for _, scope := range observe.RateScopes() {
		m.rateRefusals.With(string(scope))
	}
	for _, status := range []int{http.StatusUnauthorized, http.StatusTooManyRequests} {
		m.wrongKeys.With(strconv.Itoa(status))
	}
	for _, priority := range []string{foreground, background} {
		m.turnWait.With(priority)
	}
}

func (m *metrics) all() []metric.Collector {
	return []metric.Collector{
		m.claims,
		m.fenced,
		m.retries,
		m.turnErrors,
		m.callErrors,
		m.cacheCalls,
		m.tokens,
		m.agentTokens,
		m.agentBytes,
		m.cost,
		m.httpRequests,
		m.leaseLosses,
		m.sweeps,
		m.takeovers,
		m.readersCut,
		m.exportFailures,
		m.turn,
		m.turnWait,
		m.call,
		m.firstToken,
		m.tool,
		m.store,
		m.httpTime,
		m.httpOpen,
		m.build,
		m.parks,
		m.budgetRefusals,
		m.rateRefusals,
		m.wrongKeys,
		m.reservedTokens,
		m.reservedDollars,
		m.responses,
	}
}
