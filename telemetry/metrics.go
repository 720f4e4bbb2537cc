package telemetry

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"example.org/parley"
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

// metrics are the process's counters. docs/observability.md explains each.
type metrics struct {
	claims, fenced, retries, turnErrors, callErrors *prometheus.CounterVec
	cacheCalls                                      *prometheus.CounterVec
	responses                                       *prometheus.CounterVec
	tokens, cost, httpRequests                      *prometheus.CounterVec
	leaseLosses, sweeps, takeovers                  prometheus.Counter
	readersCut, exportFailures                      prometheus.Counter
	turn, turnWait, call, firstToken, tool          *prometheus.HistogramVec
	store, httpTime                                 *prometheus.HistogramVec
	parks, budgetRefusals, rateRefusals, wrongKeys  *prometheus.CounterVec
	reservedTokens, reservedDollars                 prometheus.Gauge
	httpOpen                                        prometheus.Gauge
	build                                           *prometheus.GaugeVec

	agentTokens, agentBytes *prometheus.CounterVec

	providers, models, tools, sources, agents *names // the values of those labels
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func gaugeOf(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
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

		claims: counters(
			"parley_claims_total",
			"Turns that this process claimed, by the claimer or with the post of their message.",
			"by",
		),
		leaseLosses: counter(
			"parley_lease_losses_total",
			"Leases of this process that ended before it did; its turns were aborted.",
		),
		fenced: counters(
			"parley_fenced_writes_total",
			"Writes that the store refused because the claim was no longer held.",
			"operation",
		),
		sweeps: counter("parley_sweeps_total", "Looks for claims of processes whose lease has expired."),
		takeovers: counter(
			"parley_takeovers_total",
			"Sessions taken over from processes whose lease has expired, or repaired.",
		),

		turn: histograms(
			"parley_turn_seconds",
			"Runs of turns from claim to end, by how they ended.",
			slowBuckets(),
			"outcome",
		),
		turnWait: histograms(
			"parley_turn_wait_seconds",
			"Time from the message that starts a turn to the turn's first claim.",
			waitBuckets(),
			"priority",
		),
		turnErrors: counters("parley_turn_errors_total", "Turns that failed, by class of error.", "class"),
		parks: counters(
			"parley_turn_parks_total",
			"Runs of turns that ended waiting for something outside, by reason.",
			"reason",
		),

		budgetRefusals: counters(
			"parley_budget_refusals_total",
			"Turns that wait because of a limit on tokens or money, by limit.",
			"limit",
		),
		rateRefusals: counters(
			"parley_rate_refusals_total",
			"Requests and streams answered 429, and turns of loops that wait, because there were too many.",
			"scope",
		),

		wrongKeys: counters(
			"parley_wrong_keys_total",
			"Requests with an unknown key, cookie or code, by the status of the answer.",
			"status",
		),

		call: histograms(
			"parley_call_seconds",
			"Time until a model request's answer was complete, failed or was interrupted.",
			slowBuckets(),
			"provider",
			"model",
			"outcome",
		),
		firstToken: histograms(
			"parley_call_first_token_seconds",
			"Time until the first piece of a model request's answer.",
			waitBuckets(),
			"provider",
			"model",
		),
		callErrors: counters(
			"parley_call_errors_total",
			"Model requests that failed, by class of error.",
			"provider",
			"class",
		),
		retries: counters(
			"parley_call_retries_total",
			"Repeated model requests, by class of the preceding error.",
			"provider",
			"class",
		),
		cacheCalls: counters(
			"parley_prompt_cache_calls_total",
			"Completed calls by the provider's report on its prompt cache: hit, miss or unknown.",
			"provider",
			"model",
			"result",
		),
		responses: counters(
			"parley_response_cache_total",
			"Outcomes of the response cache: requests answered from it (hit) or not (miss), answers stored "+
				"and evicted.",
			"outcome",
		),
		tokens: counters(
			"parley_tokens_total",
			"Tokens as providers counted them. Input includes cached and cache_write; output includes reasoning.",
			"provider",
			"model",
			"kind",
		),
		agentTokens: counters(
			"parley_agent_tokens_total",
			"Tokens of agents' requests: input and cached of calls whose provider told both, and dropped, estimated.",
			"agent",
			"kind",
		),
		agentBytes: counters(
			"parley_agent_request_bytes_total",
			"Bytes of agents' requests that followed another of their session: sent, and repeated from its beginning.",
			"agent",
			"kind",
		),
		cost: counters(
			"parley_cost_dollars_total",
			"Cost of calls whose price and usage are known, in US dollars.",
			"provider",
			"model",
		),
		tool: histograms(
			"parley_tool_seconds",
			"Runs of tools; of an agent tool, from the call to the end of its session's first turn.",
			slowBuckets(),
			"tool",
			"source",
			"outcome",
		),

		reservedTokens: gaugeOf(
			"parley_reserved_tokens",
			"Estimated tokens reserved from budgets by the calls under way in this process.",
		),
		reservedDollars: gaugeOf(
			"parley_reserved_dollars",
			"The same reservations in US dollars, as far as prices are known.",
		),

		store: histograms(
			"parley_store_seconds",
			"Store calls of the worker, by operation and by whether the store accepted, refused or failed them.",
			fastBuckets(),
			"operation",
			"outcome",
		),

		readersCut: counter(
			"parley_readers_cut_total",
			"Event streams cut off because their reader accepted nothing for too long.",
		),

		httpRequests: counters(
			"parley_http_requests_total",
			"HTTP answers. A stream counts when it begins.",
			"method",
			"route",
			"status",
		),
		httpTime: histograms(
			"parley_http_request_seconds",
			"Time until an HTTP answer was written, without event streams.",
			fastBuckets(),
			"method",
			"route",
		),
		httpOpen: gaugeOf("parley_http_open_requests", "HTTP requests under way, including event streams."),

		exportFailures: counter(
			"parley_trace_export_failures_total",
			"Batches of spans that the OTLP endpoint did not accept; they are lost.",
		),
		build: prometheus.NewGaugeVec(
			prometheus.GaugeOpts{Name: "parley_build_info", Help: "1, with the version of this program."},
			[]string{"version", "go_version"},
		),
	}
}

// begin creates the series of closed lists of labels at 0, so that an alert on something that has never happened has a
// value to compare with.
func (m *metrics) begin() {
	for _, by := range []string{byClaimer, byPost} {
		m.claims.WithLabelValues(by)
	}
	for _, operation := range observe.Operations() {
		m.fenced.WithLabelValues(string(operation))
	}
	for _, class := range parley.ErrorClasses() {
		m.turnErrors.WithLabelValues(string(class))
	}
	for _, outcome := range observe.TurnOutcomes() {
		m.turn.WithLabelValues(string(outcome))
	}
	for _, reason := range parley.WaitReasons() {
		m.parks.WithLabelValues(string(reason))
	}
	for _, limit := range append(parley.BudgetLimits(), unknownPrice) {
		m.budgetRefusals.WithLabelValues(string(limit))
	}
	for _, outcome := range observe.ResponseCacheOutcomes() {
		m.responses.WithLabelValues(string(outcome))
	}
	for _, scope := range observe.RateScopes() {
		m.rateRefusals.WithLabelValues(string(scope))
	}
	for _, status := range []int{http.StatusUnauthorized, http.StatusTooManyRequests} {
		m.wrongKeys.WithLabelValues(strconv.Itoa(status))
	}
	for _, priority := range []string{foreground, background} {
		m.turnWait.WithLabelValues(priority)
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{
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
