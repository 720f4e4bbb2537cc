package telemetry

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"example.org/parley"
	"example.org/parley/observe"
	"example.org/parley/store"
)

// Contents implements observe.Turns.
func (t *Telemetry) Contents() bool { return t.traces != nil && t.traces.contents }

// TurnBegan implements observe.Turns.
func (t *Telemetry) TurnBegan(ctx context.Context, claim *store.Claim) context.Context {
	if turn := &claim.Turn; turn.Attempt <= 1 && turn.StartedAt > 0 {
		wait := max(0, turn.StartedAt.Std().Sub(turn.CreatedAt.Std()))
		t.metrics.turnWait.With(priorityOf(claim.Mode())).Observe(wait.Seconds())
	}
	if t.traces != nil {
		ctx = t.traces.turn(ctx, claim)
	}
	return ctx
}

func priorityOf(mode parley.Mode) string {
	if mode == parley.ModeBackground {
		return background
	}
	return foreground
}

// TurnEnded implements observe.Turns.
func (t *Telemetry) TurnEnded(ctx context.Context, ended observe.TurnRun) {
	t.metrics.turn.With(string(ended.Outcome)).Observe(ended.Took.Seconds())
	switch ended.Outcome {
	case observe.RunFailed:
		t.metrics.turnErrors.With(string(classOf(ended.Failure))).Inc()
	case observe.RunParked:
		t.countPark(&ended)
	}
	t.countChild(&ended)
	if t.traces != nil {
		t.traces.turnEnded(ctx, &ended)
	}
}

// unknownPrice stands for a limit on money with a model whose price is unknown.
const unknownPrice parley.Limit = "unknown_price"

func (t *Telemetry) countPark(ended *observe.TurnRun) {
	t.metrics.parks.With(string(ended.Waits)).Inc()
	switch ended.Waits {
	case parley.WaitBudget:
		t.metrics.budgetRefusals.With(string(cmp.Or(ended.Limit, unknownPrice))).Inc()
	case parley.WaitRateLimit:
		t.RateLimited(observe.RateOfLoop)
	}
}

// WrongKey counts an unknown key by the status of the answer.
func (t *Telemetry) WrongKey(status int) {
	t.metrics.wrongKeys.With(strconv.Itoa(status)).Inc()
}

// RateLimited counts requests that came too often.
func (t *Telemetry) RateLimited(scope observe.RateScope) {
	t.metrics.rateRefusals.With(string(scope)).Inc()
}

// agentSource is the source of agents used as tools.
const agentSource = "agent"

// countChild counts the call that a tool session answers, when its first turn has ended: nobody runs that call, so no
// tool reports its end. The tool's name belongs to its caller; it is counted by its agent.
func (t *Telemetry) countChild(ended *observe.TurnRun) {
	claim := ended.Claim
	if !claim.Session.AnswersCall() || claim.Trigger.Sequence != 1 || !claim.Turn.ContinuesID.IsZero() {
		return
	}
	var outcome observe.ToolOutcome
	switch ended.Outcome {
	case observe.RunCompleted:
		outcome = observe.ToolSucceeded
	case observe.RunFailed:
		outcome = observe.ToolFailed
	case observe.RunCancelled:
		outcome = observe.ToolStopped
	default:
		return // it continues
	}
	took := max(0, time.Since(claim.Turn.CreatedAt.Std()))
	t.metrics.tool.With(t.metrics.tools.label(claim.Agent.Slug), agentSource, string(outcome)).
		Observe(took.Seconds())
}

// classOf returns a failure's class; internal if it has none.
func classOf(failure *parley.Failure) parley.ErrorClass {
	if failure == nil || !slices.Contains(parley.ErrorClasses(), failure.Class) { // outside agents choose theirs
		return parley.ClassInternal
	}
	return failure.Class
}

// StepBegan implements observe.Turns.
func (t *Telemetry) StepBegan(ctx context.Context, step int) context.Context {
	if t.traces != nil {
		ctx = t.traces.step(ctx, step)
	}
	return ctx
}

// StepEnded implements observe.Turns.
func (t *Telemetry) StepEnded(ctx context.Context, broken error) {
	if t.traces != nil {
		t.traces.stepEnded(ctx, broken)
	}
}

// CallBegan implements observe.Turns.
func (t *Telemetry) CallBegan(ctx context.Context, begun observe.CallBegun) context.Context {
	t.reserve(begun.Reserved, 1)
	if t.traces != nil {
		ctx = t.traces.call(ctx, &begun)
	}
	return ctx
}

// CallEnded implements observe.Turns.
func (t *Telemetry) CallEnded(ctx context.Context, ended observe.CallEnded) {
	t.reserve(ended.Reserved, -1)
	t.countCall(&ended)
	if t.traces != nil {
		t.traces.callEnded(ctx, &ended)
	}
}

// reserve adds a call's reservation to the gauges, or with sign -1 removes it.
func (t *Telemetry) reserve(reserved *store.Reservation, sign float64) {
	if reserved == nil {
		return
	}
	t.metrics.reservedTokens.With().Add(sign * float64(reserved.Tokens))
	if reserved.Cost != nil {
		t.metrics.reservedDollars.With().Add(sign * float64(*reserved.Cost) / nanodollars)
	}
}

// nanodollars is the number of units of parley.Money in a dollar.
const nanodollars = 1e9

// callRefused is the outcome of a call whose record the store refused.
const callRefused = "refused"

func (t *Telemetry) countCall(ended *observe.CallEnded) {
	m := t.metrics
	provider, model := m.providers.label(ended.Call.Provider), m.models.label(ended.Call.Model.Name())
	if ended.Broken != nil {
		m.call.With(provider, model, callRefused).Observe(ended.Took.Seconds())
		return
	}
	settled := ended.Settled
	m.call.With(provider, model, string(settled.Outcome)).Observe(ended.Took.Seconds())
	if ended.FirstToken > 0 {
		m.firstToken.With(provider, model).Observe(ended.FirstToken.Seconds())
	}
	if settled.Outcome == parley.CallFailed {
		m.callErrors.With(provider, string(classOf(settled.Error))).Inc()
	}
	usage := &settled.Usage
	m.countContext(&ended.Context, usage)
	for _, counted := range [...]struct {
		kind   string
		tokens *int64
	}{
		{"input", usage.InputTokens}, {"output", usage.OutputTokens}, {"cached", usage.CachedTokens},
		{"cache_write", usage.CacheWriteTokens}, {"reasoning", usage.ReasoningTokens},
	} {
		if counted.tokens != nil && *counted.tokens > 0 {
			m.tokens.With(provider, model, counted.kind).Add(float64(*counted.tokens))
		}
	}
	if settled.Outcome == parley.CallCompleted {
		result := "unknown"
		if cache := parley.CacheOf(*usage, settled.Saved); cache.Hit != nil {
			if result = "miss"; *cache.Hit {
				result = "hit"
			}
		}
		m.cacheCalls.With(provider, model, result).Inc()
	}
	if settled.Cost != nil && *settled.Cost > 0 {
		m.cost.With(provider, model).Add(float64(*settled.Cost) / nanodollars)
	}
}

// countContext counts what a call showed of its session.
func (m *metrics) countContext(shown *observe.Context, usage *parley.Usage) {
	if shown.Agent == "" {
		return
	}
	agent := m.agents.label(shown.Agent)
	if shown.Bytes > 0 {
		m.agentBytes.With(agent, "sent").Add(float64(shown.Bytes))
		m.agentBytes.With(agent, "repeated").Add(float64(shown.Repeated))
	}
	if usage.InputTokens != nil && usage.CachedTokens != nil {
		m.agentTokens.With(agent, "input").Add(float64(max(0, *usage.InputTokens)))
		m.agentTokens.With(agent, "cached").Add(float64(max(0, *usage.CachedTokens)))
	}
	if shown.Dropped > 0 {
		m.agentTokens.With(agent, "dropped").Add(float64(shown.Dropped))
	}
}

// CallRetried implements observe.Turns.
func (t *Telemetry) CallRetried(ctx context.Context, failed *parley.Call, notice store.RetryNotice) {
	t.metrics.retries.With(t.metrics.providers.label(failed.Provider), string(notice.Class)).Inc()
	if t.traces != nil {
		t.traces.callRetried(ctx, notice)
	}
}

// ToolBegan implements observe.Turns.
func (t *Telemetry) ToolBegan(ctx context.Context, begun observe.ToolBegun) context.Context {
	if t.traces != nil {
		ctx = t.traces.tool(ctx, &begun)
	}
	return ctx
}

// ToolEnded implements observe.Turns.
func (t *Telemetry) ToolEnded(ctx context.Context, ended observe.ToolEnded) {
	t.metrics.tool.With(t.metrics.tools.label(ended.Name), t.metrics.sources.label(ended.Source),
		string(ended.Outcome)).
		Observe(ended.Took.Seconds())
	if t.traces != nil {
		t.traces.toolEnded(ctx, &ended)
	}
}

// The values of the label by.
const (
	byClaimer = "claimer"
	byPost    = "post"
)

// Claimed implements observe.Process.
func (t *Telemetry) Claimed(turns int, posted bool) {
	by := byClaimer
	if posted {
		by = byPost
	}
	t.metrics.claims.With(by).Add(float64(turns))
}

// LeaseLost implements observe.Process.
func (t *Telemetry) LeaseLost() { t.metrics.leaseLosses.With().Inc() }

// CachedResponses implements observe.Process.
func (t *Telemetry) CachedResponses(outcome observe.ResponseCacheOutcome, n int) {
	t.metrics.responses.With(string(outcome)).Add(float64(n))
}

// Swept implements observe.Process.
func (t *Telemetry) Swept(sessions int) {
	t.metrics.sweeps.With().Inc()
	t.metrics.takeovers.With().Add(float64(sessions))
}

// The values of the label outcome of parley_store_seconds.
const (
	storeOK      = "ok"
	storeRefused = "refused" // refused with a code
	storeFailed  = "failed"  // the database itself, or no time left
)

// Stored implements observe.Process.
func (t *Telemetry) Stored(operation observe.Operation, took time.Duration, err error) {
	outcome := storeOK
	if err != nil {
		switch code := parley.ErrorCode(err); code {
		case parley.CodeInternal, parley.CodeUnavailable, parley.CodeStorageFull:
			outcome = storeFailed
		default:
			outcome = storeRefused
			if code == parley.CodeFenced {
				t.metrics.fenced.With(string(operation)).Inc()
			}
		}
	}
	t.metrics.store.With(string(operation), outcome).Observe(took.Seconds())
}
