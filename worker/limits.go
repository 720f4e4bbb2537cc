package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// The results of calls that a limit kept from running, or stopped.
const (
	resultOverCalls = "Not run: this turn may call tools %d times at most (max_tool_calls)."
	resultOutOfTime = "Stopped: the turn's time is over (max_seconds). Whether it took effect is unknown."
)

// bounds are the limits of a turn, and what it has used of those that are its own.
type bounds struct {
	limits parley.Limits // in effect: the session's over the agent's
	agent  parley.Limits // the agent's, of its current version
	calls  int           // tools asked for
	used   time.Duration // by earlier runs
	began  time.Time     // of this run
	tokens int64         // charged, of the whole turn; counted while tokens or money are limited
	cost   parley.Money
	warned map[parley.Limit]bool
	clock  context.CancelFunc // of the time limit; nil without
}

// stop ends the clock of the time limit.
func (b *bounds) stop() {
	if b.clock != nil {
		b.clock()
	}
}

// readLimits reads the limits that hold for a claim. Those of the agent are its
// current version's: a turn that goes on may have begun under another one.
func (t *turn) readLimits() error {
	agent := parley.ValueOf(t.claim.Agent.Limits)
	if t.claim.Turn.Attempt > 1 {
		current, err := t.w.store.Agent(t.writes, t.fence.WorkspaceID, t.claim.Agent.ID.String())
		if err != nil {
			return err
		}
		agent = parley.ValueOf(current.Limits)
	}
	t.bounds.began = t.w.options.now()
	t.setLimits(agent)
	return nil
}

func (t *turn) setLimits(agent parley.Limits) {
	t.bounds.agent, t.bounds.limits = agent, parley.ValueOf(t.claim.Session.Limits).Over(agent)
}

// countUsed counts what earlier runs have used: tools by the record's calls, time and
// money by those of the model.
func (t *turn) countUsed(messages []parley.Message) error {
	for i := range messages {
		m := &messages[i]
		if m.Role == parley.RoleToolCall && m.Status == parley.MessageCompleted {
			t.bounds.calls++
		}
	}
	for i := range messages {
		if messages[i].Role == parley.RoleToolResult {
			t.bounds.used += resultTime(messages[i].Content)
		}
	}
	scope := store.Scope{WorkspaceID: t.fence.WorkspaceID}
	calls, err := t.w.store.Calls(
		t.writes,
		scope,
		t.fence.SessionID,
		store.CallQuery{TurnID: t.fence.TurnID, Limit: parley.MaxPage},
	)
	for i := range calls {
		c := &calls[i]
		if c.TotalMS != nil {
			t.bounds.used += time.Duration(*c.TotalMS) * time.Millisecond
		}
		if c.Outcome != parley.CallOpen && c.Reserved != nil {
			t.charge(
				&store.CallSettled{Outcome: c.Outcome, Usage: c.Usage, Cost: c.Cost, FirstTokenMS: c.FirstTokenMS},
				&store.Reservation{Reserved: *c.Reserved},
			)
		}
	}
	return err
}

// resultTime is how long the tool of a result ran.
func resultTime(content json.RawMessage) time.Duration {
	var result parley.ToolResultContent
	if json.Unmarshal(content, &result) != nil || result.ExecutionTimeMS == nil { // unreadable: nothing is known
		return 0
	}
	return time.Duration(*result.ExecutionTimeMS) * time.Millisecond
}

// within ends the run's context when the turn's time is over; bounds.stop frees it.
func (t *turn) within() {
	t.ctx, t.bounds.clock = context.WithTimeoutCause(t.ctx, t.bounds.limits.Time()-t.bounds.used, errOutOfTime)
}

// overdue is the failure of a turn whose time is over, and nil for any other end
// of its context.
func (t *turn) overdue() *parley.Failure {
	if !errors.Is(context.Cause(t.ctx), errOutOfTime) {
		return nil
	}
	return t.atLimit(parley.LimitSeconds, fmt.Sprintf("the turn ran for %s", t.bounds.limits.Time()))
}

// atLimit is the failure of a turn that came to a limit.
func (t *turn) atLimit(limit parley.Limit, what string) *parley.Failure {
	return &parley.Failure{
		Class:    parley.ClassLimit,
		Sentence: t.settings.Retry.Sentence(parley.ClassLimit),
		Detail: fmt.Sprintf(
			"%s: %s. Continue the turn, or raise limits.%s of the session or its agent first.",
			limit,
			what,
			limit,
		),
	}
}

// spent checks the limits of a turn that count steps and tools before a step, and
// warns when one of them, or its time, is near.
func (t *turn) spent(at place) (*parley.Failure, error) {
	b := &t.bounds
	if most := b.limits.Steps(); at.step > most {
		return t.atLimit(parley.LimitSteps, fmt.Sprintf("the turn took %d steps without coming to an end", most)), nil
	}
	if most := b.limits.MaxToolCalls; most != nil && b.calls > *most {
		return t.atLimit(parley.LimitToolCalls, fmt.Sprintf("the turn asked for more than %d tool calls", *most)), nil
	}
	near := []parley.LimitWarning{{Limit: parley.LimitSteps, Spent: int64(at.step - 1), Of: int64(b.limits.Steps())}}
	if b.limits.MaxToolCalls != nil {
		near = append(
			near,
			parley.LimitWarning{Limit: parley.LimitToolCalls, Spent: int64(b.calls), Of: int64(*b.limits.MaxToolCalls)},
		)
	}
	ran := b.used + t.w.options.now().Sub(b.began)
	near = append(
		near,
		parley.LimitWarning{
			Limit: parley.LimitSeconds,
			Spent: int64(ran.Seconds()),
			Of:    int64(b.limits.Time().Seconds()),
		},
	)
	for _, warning := range near {
		if err := t.warn(warning); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// warn tells of a limit of the turn's own that is near, once in a run.
func (t *turn) warn(warning parley.LimitWarning) error {
	if warning.Share() < parley.WarnShare || t.bounds.warned[warning.Limit] {
		return nil
	}
	if t.bounds.warned == nil {
		t.bounds.warned = map[parley.Limit]bool{}
	}
	t.bounds.warned[warning.Limit] = true
	warning.Scope = parley.BudgetOfTurn
	return t.persist(func() error { return t.w.store.WarnLimit(t.writes, t.fence, warning, parley.ID{}) })
}

// allow counts an answer's calls of tools, and refuses those beyond the limit.
func (t *turn) allow(calls []toolCall) {
	for i := range calls {
		t.bounds.calls++
		if most := t.bounds.limits.MaxToolCalls; most != nil && t.bounds.calls > *most && calls[i].refusal == "" {
			calls[i].tool, calls[i].child, calls[i].client, calls[i].approval = nil, nil, false, nil
			calls[i].refusal = fmt.Sprintf(resultOverCalls, *most)
		}
	}
}
