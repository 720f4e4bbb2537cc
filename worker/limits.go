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

// The results of calls that a limit prevented or stopped.
const (
	resultOverCalls = "Not run: this turn may call tools %d times at most (max_tool_calls)."
	resultOutOfTime = "Stopped: the turn's time is over (max_seconds). Whether it took effect is unknown."
)

// limits are a turn's limits and how much of them it has used.
type limits struct {
	*claimed

	inEffect parley.Limits // the session's, else the agent's
	ofAgent  parley.Limits // of the agent's current version
	calls    int           // tool calls requested
	used     time.Duration // by earlier runs
	began    time.Time     // start of this run
	tokens   int64         // charged to the whole turn; counted while tokens or money are limited
	cost     parley.Money
	warned   map[parley.Limit]bool
	clock    context.CancelFunc // stops the time limit; nil without one
}

// stop stops the clock of the time limit.
func (l *limits) stop() {
	if l.clock != nil {
		l.clock()
	}
}

// read reads the limits that apply to a claim. The agent's are those of its current version: a resumed turn may have
// begun under another one.
func (l *limits) read() error {
	agent := parley.ValueOf(l.claim.Agent.Limits)
	if l.claim.Turn.Attempt > 1 {
		current, err := l.w.store.Agent(l.writes, l.fence.WorkspaceID, l.claim.Agent.ID.String())
		if err != nil {
			return err
		}
		agent = parley.ValueOf(current.Limits)
	}
	l.began = l.w.options.now()
	l.set(agent)
	return nil
}

func (l *limits) set(agent parley.Limits) {
	l.ofAgent, l.inEffect = agent, parley.ValueOf(l.claim.Session.Limits).Over(agent)
}

// countUsed counts what earlier runs have used: tools by the record's calls, time and money by the model's calls.
func (l *limits) countUsed(messages []parley.Message) error {
	for i := range messages {
		m := &messages[i]
		if m.Role == parley.RoleToolCall && m.Status == parley.MessageCompleted {
			l.calls++
		}
	}
	for i := range messages {
		if messages[i].Role == parley.RoleToolResult {
			l.used += resultTime(messages[i].Content)
		}
	}
	scope := store.Scope{WorkspaceID: l.fence.WorkspaceID}
	calls, err := l.w.store.Calls(
		l.writes,
		scope,
		l.fence.SessionID,
		store.CallQuery{TurnID: l.fence.TurnID, Limit: parley.MaxPage},
	)
	for i := range calls {
		c := &calls[i]
		if c.TotalMS != nil {
			l.used += time.Duration(*c.TotalMS) * time.Millisecond
		}
		if c.Outcome != parley.CallOpen && c.Reserved != nil {
			l.charge(
				&store.CallSettled{
					Outcome: c.Outcome, Usage: c.Usage, Cost: c.Cost, FirstTokenMS: c.FirstTokenMS,
					Estimated: c.Estimated, Estimate: c.Estimate,
				},
				&store.Reservation{Reserved: *c.Reserved},
			)
		}
	}
	return err
}

// resultTime returns how long the tool of a result ran.
func resultTime(content json.RawMessage) time.Duration {
	var result parley.ToolResultContent
	if json.Unmarshal(content, &result) != nil || result.ExecutionTimeMS == nil { // unreadable: unknown
		return 0
	}
	return time.Duration(*result.ExecutionTimeMS) * time.Millisecond
}

// startClock ends the run's context when the turn's time is over; stop releases the timer.
func (l *limits) startClock() {
	l.ctx, l.clock = context.WithTimeoutCause(l.ctx, l.inEffect.Time()-l.used, errOutOfTime)
}

// overdue returns the failure of a turn whose time is over, and nil if its context ended for another reason.
func (l *limits) overdue() *parley.Failure {
	if !errors.Is(context.Cause(l.ctx), errOutOfTime) {
		return nil
	}
	return l.atLimit(parley.LimitSeconds, fmt.Sprintf("the turn ran for %s", l.inEffect.Time()))
}

// atLimit returns the failure of a turn that reached a limit.
func (l *limits) atLimit(limit parley.Limit, what string) *parley.Failure {
	return &parley.Failure{
		Class:    parley.ClassLimit,
		Sentence: l.settings.Retry.Sentence(parley.ClassLimit),
		Detail: fmt.Sprintf(
			"%s: %s. Continue the turn, or raise limits.%s of the session or its agent first.",
			limit,
			what,
			limit,
		),
	}
}

// reached returns the failure of a turn that may not take another step, because it reached its limit of steps or tool
// calls.
func (l *limits) reached(at position) *parley.Failure {
	if most, limited := l.steps(); limited && at.step > most {
		return l.atLimit(parley.LimitSteps, fmt.Sprintf("the turn took %d steps without ending", most))
	}
	if most := l.inEffect.MaxToolCalls; most != nil && l.calls > *most {
		return l.atLimit(parley.LimitToolCalls, fmt.Sprintf("the turn asked for more than %d tool calls", *most))
	}
	return nil
}

// steps returns how many steps the turn may take. A speaker's steps are many and short, so only a limit that somebody
// set applies to them.
func (l *limits) steps() (most int, limited bool) {
	return l.inEffect.Steps(), l.speaker == nil || l.inEffect.MaxSteps != nil
}

// spent checks the limits on steps and tool calls before a step, and warns if one of them, or the time limit, is near.
func (l *limits) spent(at position) (*parley.Failure, error) {
	if failure := l.reached(at); failure != nil {
		return failure, nil
	}
	var near []parley.LimitWarning
	if most, limited := l.steps(); limited {
		near = append(near, parley.LimitWarning{Limit: parley.LimitSteps, Spent: int64(at.step - 1), Of: int64(most)})
	}
	if l.inEffect.MaxToolCalls != nil {
		near = append(
			near,
			parley.LimitWarning{
				Limit: parley.LimitToolCalls,
				Spent: int64(l.calls),
				Of:    int64(*l.inEffect.MaxToolCalls),
			},
		)
	}
	ran := l.used + l.w.options.now().Sub(l.began)
	near = append(
		near,
		parley.LimitWarning{
			Limit: parley.LimitSeconds,
			Spent: int64(ran.Seconds()),
			Of:    int64(l.inEffect.Time().Seconds()),
		},
	)
	for _, warning := range near {
		if err := l.warn(warning); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// warn warns that one of the turn's own limits is near, once per run.
func (l *limits) warn(warning parley.LimitWarning) error {
	if warning.Share() < parley.WarnShare || l.warned[warning.Limit] {
		return nil
	}
	if l.warned == nil {
		l.warned = map[parley.Limit]bool{}
	}
	l.warned[warning.Limit] = true
	warning.Scope = parley.BudgetOfTurn
	return l.persist(func() error { return l.w.store.WarnLimit(l.writes, l.fence, warning, parley.ID{}) })
}

// allow counts the tool calls of an answer, and refuses those beyond the limit.
func (l *limits) allow(calls []toolCall) {
	for i := range calls {
		l.calls++
		if most := l.inEffect.MaxToolCalls; most != nil && l.calls > *most && calls[i].refusal == "" {
			calls[i].tool, calls[i].child, calls[i].client, calls[i].approval = nil, nil, false, nil
			calls[i].transform = nil
			calls[i].refusal = fmt.Sprintf(resultOverCalls, *most)
		}
	}
}
