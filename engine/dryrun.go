package engine

import (
	"context"
	"errors"
	"time"

	"example.org/parley"
	"example.org/parley/runner"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// DryInput asks for a dry run.
type DryInput struct {
	DryRun      bool                    `json:"dry_run,omitempty" doc:"Answer without writing anything, by the same path, in the process that receives the request. No tool runs."`
	ToolResults []parley.ScriptedResult `json:"tool_results,omitempty" maxItems:"256" doc:"For a dry run: what tools answer instead of running, in order per tool; the last result of a tool repeats. A tool without results is reported as not run."`
}

// notDry refuses fields that only a dry run accepts.
func (d *DryInput) notDry(field string) error {
	switch {
	case d.DryRun:
		return parley.InvalidField(
			field,
			"does not belong here: use the verb for dry runs, or set it on the outermost object",
		)
	case len(d.ToolResults) > 0:
		return parley.InvalidField("tool_results", "belong to dry runs: set dry_run too")
	}
	return nil
}

// check checks a script.
func (d *DryInput) check() error {
	if len(d.ToolResults) > parley.MaxScripted {
		return parley.InvalidField("tool_results", "are %d; at most %d", len(d.ToolResults), parley.MaxScripted)
	}
	for i := range d.ToolResults {
		r := &d.ToolResults[i]
		switch {
		case r.Name == "":
			return parley.InvalidField("tool_results", "entry %d does not name a tool", i+1)
		case r.Error != "" && len(r.Result) > 0:
			return parley.InvalidField("tool_results", "entry %d has a result and an error; give one", i+1)
		}
		if err := parley.CheckJSON(r.Result); len(r.Result) > 0 && err != nil {
			return parley.InvalidField("tool_results", "entry %d has a result that is not valid JSON", i+1)
		}
	}
	return nil
}

// DryRun is a turn that ran without a trace, with the messages that it would have written.
type DryRun struct {
	DryRun   bool             `json:"dry_run" doc:"true: nothing of this was written."`
	Message  parley.Message   `json:"message"`
	Turn     parley.Turn      `json:"turn" doc:"As it ended; waiting, if it reached something to wait for."`
	Messages []parley.Message `json:"messages" doc:"The turn's messages, its trigger first."`
	Calls    []parley.Call    `json:"calls"`
}

// DryWatch says who watches a dry run.
type DryWatch struct {
	Flush time.Duration  // how long the deltas of one message are merged
	Sink  runner.DrySink // nil: nobody
}

// DryRunMessage answers a user message of a session without writing anything, and returns when its turn has ended.
// Limits apply; what its calls used counts in the workspace's usage, under its own heading, and in budgets.
func (e *Engine) DryRunMessage(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	input MessageInput,
	watch DryWatch,
) (_ DryRun, err error) {
	ctx, call, err := e.enter(ctx, principal, "postMessage", PostMessages, of(sessionID))
	if err != nil {
		return DryRun{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	leave, err := e.rehearsals.enter(principal)
	if err != nil {
		return DryRun{}, err
	}
	defer leave()
	ctx = call.runsDry(ctx)
	session, err := e.store.Session(ctx, scope, sessionID)
	if err != nil {
		return DryRun{}, err
	}
	return e.dryRun(ctx, scope, principal, runner.DryTurn{Session: session}, input, watch)
}

// DryRunSession is DryRunMessage for the first message of a session, which is not created either; a key that exists
// selects that session.
func (e *Engine) DryRunSession(
	ctx context.Context,
	principal parley.Principal,
	input SessionInput,
	watch DryWatch,
) (_ DryRun, err error) {
	ctx, call, err := e.enter(ctx, principal, "createSession", OpenSessions)
	if err != nil {
		return DryRun{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	leave, err := e.rehearsals.enter(principal)
	if err != nil {
		return DryRun{}, err
	}
	defer leave()
	ctx = call.runsDry(ctx)
	if input.Message == nil {
		return DryRun{}, parley.InvalidField("message", "is missing: a dry run needs something to answer")
	}
	if err := input.Message.notDry("message.dry_run"); err != nil {
		return DryRun{}, err
	}
	session, err := e.newSession(ctx, scope, principal, input)
	if err != nil {
		return DryRun{}, err
	}
	of := runner.DryTurn{Session: session, Fresh: true}
	of.Session.RootID, of.Session.CreatedAt, of.Session.UpdatedAt = session.ID, parley.Now(), parley.Now()
	if session.Key != "" {
		wanted := store.NewSession{Session: session, Named: input.named()}
		found, err := e.store.SessionByKey(ctx, store.Scope{WorkspaceID: scope.WorkspaceID}, session.Key)
		switch {
		case err == nil:
			if err := wanted.Serves(scope, &found); err != nil {
				return DryRun{}, err
			}
			of = runner.DryTurn{Session: found}
		case parley.ErrorCode(err) != parley.CodeNotFound:
			return DryRun{}, err
		}
	}
	message := *input.Message
	message.DryInput = input.DryInput
	run, err := e.dryRun(ctx, scope, principal, of, message, watch)
	return run, inside("message", err)
}

// DryRunEnsureSession is DryRunSession for callers that name the session, as for EnsureSession.
func (e *Engine) DryRunEnsureSession(
	ctx context.Context,
	principal parley.Principal,
	input SessionInput,
	watch DryWatch,
) (_ DryRun, err error) {
	ctx, call, err := e.enter(ctx, principal, "ensureSession", OpenSessions)
	if err != nil {
		return DryRun{}, err
	}
	defer call.end(ctx, &err)
	if err := input.name(); err != nil {
		return DryRun{}, err
	}
	return e.DryRunSession(ctx, principal, input, watch)
}

// dryRun runs a message dry.
func (e *Engine) dryRun(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	of runner.DryTurn,
	input MessageInput,
	watch DryWatch,
) (DryRun, error) {
	if err := e.dryTurn(ctx, scope, principal, &of, input); err != nil {
		return DryRun{}, err
	}
	if err := e.keepsRate(ctx, scope, &of); err != nil {
		return DryRun{}, err
	}
	of.Script, of.Flush, of.Sink = input.ToolResults, watch.Flush, watch.Sink
	outcome, err := e.dry.DryRun(ctx, of)
	kept := context.WithoutCancel(ctx) // the calls are paid for, even if the caller has left
	err = errors.Join(err, e.countDry(kept, scope, principal, &of, outcome.Calls))
	return DryRun{
		DryRun:   true,
		Message:  outcome.Message,
		Turn:     outcome.Turn,
		Messages: orEmpty(outcome.Messages),
		Calls:    orEmpty(outcome.Calls),
	}, err
}

// countDry counts what the calls of a dry run used.
func (e *Engine) countDry(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	of *runner.DryTurn,
	calls []parley.Call,
) error {
	run := store.DryRun{AgentID: of.Agent.ID, OwnerID: principal.ID}
	if !of.Fresh {
		run.SessionID, run.RootID = of.Session.ID, of.Session.RootID
	}
	for i := range calls {
		if calls[i].Outcome != parley.CallOpen {
			run.Calls = append(run.Calls, calls[i])
		}
	}
	if len(run.Calls) == 0 {
		return nil
	}
	return e.store.CountDryRun(ctx, scope.WorkspaceID, run)
}

// dryTurn checks a message as a post would, and returns its turn with its agent.
func (e *Engine) dryTurn(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	of *runner.DryTurn,
	input MessageInput,
) error {
	if e.dry == nil {
		return parley.Errorf(
			parley.CodeUnavailable,
			"This process runs no turns, so it previews and dry-runs none. Ask one that does.",
		)
	}
	if input.Role == "" {
		input.Role = parley.RoleUser
	}
	switch {
	case input.Role != parley.RoleUser:
		return parley.InvalidField(
			"role",
			"a dry run answers a user message, not a %s",
			parley.Clip(string(input.Role), 32),
		)
	case input.Respond != nil && !*input.Respond:
		return parley.InvalidField("respond", "a dry run is the answer to a message: leave it out")
	}
	if err := input.check(); err != nil {
		return err
	}
	message, err := e.newMessage(principal, input)
	if err == nil {
		err = e.findAgents(ctx, scope, parley.ValueOf(input.Tools))
	}
	if err == nil {
		of.Agent, err = e.store.Agent(ctx, scope.WorkspaceID, of.Session.AgentID.String())
	}
	if err == nil {
		err = e.checkAnswerable(ctx, scope, &message, &of.Agent, &of.Session)
	}
	of.Message = message
	return err
}

// keepsRate refuses a dry run where a post would exceed the session's rate. The dry run itself is not counted.
func (e *Engine) keepsRate(ctx context.Context, scope store.Scope, of *runner.DryTurn) error {
	limits := parley.ValueOf(setting.Limits.Nearest(&of.Agent.Settings, &of.Session.Settings))
	if limits.RequestsPerMinute == nil || of.Fresh {
		return nil
	}
	wait, err := e.store.RateWait(ctx, scope.WorkspaceID, of.Session.ID, *limits.RequestsPerMinute)
	if err == nil && wait > 0 {
		err = parley.RateLimited("This session", *limits.RequestsPerMinute, wait)
	}
	return err
}
