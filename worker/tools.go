package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"example.org/parley"
	"example.org/parley/internal/caught"
	"example.org/parley/internal/inflight"
	"example.org/parley/internal/schema"
	"example.org/parley/observe"
	"example.org/parley/prompt"
	"example.org/parley/store"
	"example.org/parley/tool"
)

const (
	// ParallelTools bounds the tools of one turn that run at once.
	ParallelTools = 8
	// MaxToolResultBytes bounds one tool's answer without its files. A longer text is recorded as its beginning and a
	// file.
	MaxToolResultBytes = 1 << 20
	// MaxToolAnswerBytes bounds one tool's answer with its files.
	MaxToolAnswerBytes = 32 << 20
	// toolGrace is how long a tool may take to notice that its context has ended.
	toolGrace = 200 * time.Millisecond
	// toolsPatience is how long a turn waits for tool servers at the start of the process.
	toolsPatience = 10 * time.Second
)

// Results that Parley writes itself, for the model to read.
const (
	resultTruncated = "Not run: the answer was cut off at its token limit before this call was complete."
	resultMalformed = "Not run: the arguments are not a JSON object. Call the tool again with a valid JSON object."
	resultUnfit     = "Not run: the arguments do not fit the tool's schema: %s. Call the tool again with arguments " +
		"that do."
	resultUncheckable = "Not run: the tool's schema makes its arguments uncheckable: %s. Go on without this tool."
	resultUnknown     = "Not run: there is no tool named %q."
	resultAway        = "Not run: the server of the tool %q does not answer. Try again later or go on without it."
	resultCancelled   = "Cancelled by the user. Whether it took effect is unknown."
	resultNeverRun    = "Cancelled by the user before it ran."
	resultTimeout     = "The tool did not answer within %s. Whether it took effect is unknown."
	resultPanic       = "The tool broke on an error inside."
	resultTooLarge    = "The tool's result is larger than %d bytes."
	resultNoJSON      = "The tool's result is not valid JSON."

	resultLongQuestion = "The tool asks the user more than can be shown. Whether it took effect is unknown."
)

// toolCall is a call of the record that needs a result.
type toolCall struct {
	messageID parley.ID
	id, name  string
	arguments json.RawMessage
	malformed bool
	tool      tool.Tool         // if set, the server runs it
	ref       parley.ToolRef    // the entry of the agent's tools that offers it
	child     *parley.AgentTool // if set, a session of that agent answers it
	transform tool.Tool         // if set, a transform answers it, and this is the tool
	client    bool              // a client answers it
	question  bool              // a person answers it
	own       bool              // tool waits for work that the speaker does by itself
	recall    bool              // tool is one that the worker offers by itself
	lost      bool              // the speaker that made it does not know it any more
	approval  *parley.Approval  // of a call that was asked about
	cleared   bool              // its approval is used: it may run, or wait for its own answer
	started   bool
	settled   bool
	refusal   string // why it does not run

}

// sort decides who answers a call.
func (t *tools) sort(call *toolCall) {
	if t.w.script != nil {
		t.sortDry(call)
		return
	}
	if t.speaker != nil {
		call.tool, call.own = t.speaker.Tool(call.name, call.arguments)
		call.lost = !call.own
		return
	}
	if t.reader(call) || t.teamTool(call) {
		return
	}
	for _, ref := range t.settings.Tools {
		if !ref.Offers(call.name) || call.tool != nil || call.inSession() || call.client || call.question {
			continue
		}
		call.ref = ref
		switch {
		case call.malformed:
			call.refusal = resultMalformed
		case ref.Agent != nil:
			call.child = ref.Agent
			call.refusal = t.unfit(call, ref.Agent.Definition())
		case ref.Definition != nil:
			call.client = true
			call.refusal = t.unfit(call, *ref.Definition)
		case call.name == parley.AskUserTool:
			if _, err := parley.ReadQuestion(call.arguments); err != nil {
				call.refusal = resultNoQuestion
			}
			call.question = true
		default:
			var ok bool
			if call.tool, ok = t.serverSource().Tool(call.name); !ok && t.serverSource().Expects(call.name) {
				call.refusal = fmt.Sprintf(resultAway, parley.Clip(call.name, 64))
			}
			if ok && call.name == parley.RunTransformTool {
				call.refusal = t.unfit(call, call.tool.Definition())
				call.tool, call.transform = nil, call.tool
			}
		}
	}
	if call.tool == nil && !call.inSession() && !call.client && !call.question && call.refusal == "" {
		call.refusal = fmt.Sprintf(resultUnknown, parley.Clip(call.name, 64))
	}
}

// teamTool finds the tool of the agent's background session that answers a call.
func (t *tools) teamTool(call *toolCall) bool {
	for _, one := range t.team {
		if one.Definition().Name == call.name && !call.malformed {
			call.tool, call.recall = one, true
			return true
		}
	}
	return false
}

// unfit says why a call answered outside the server is refused: its arguments do not fit the schema. The server's own
// tools check theirs themselves.
func (t *tools) unfit(call *toolCall, definition parley.ToolDefinition) string {
	wanted, err := schema.Read(definition.Parameters)
	wrong := ""
	if err == nil {
		wrong, err = wanted.Check(t.ctx, call.arguments)
	}
	switch {
	case t.ctx.Err() != nil: // the call stays open or is settled with the turn, and does not run
	case err != nil: // an endless check, or a schema that an earlier version accepted
		t.log().WarnContext(t.ctx, "a tool's schema cannot be used for checks", "tool", call.name, "error", err)
		return fmt.Sprintf(resultUncheckable, err)
	case wrong != "":
		return fmt.Sprintf(resultUnfit, wrong)
	}
	return ""
}

// refuseThose records the results of calls that do not run.
func (t *tools) refuseThose(step int, calls []toolCall) error {
	for i := range calls {
		if calls[i].refusal == "" || calls[i].settled {
			continue
		}
		if err := t.refuse(step, &calls[i], calls[i].refusal); err != nil {
			return err
		}
	}
	return nil
}

// reconsider reads what kept a turn from waiting: results or decisions.
func (t *tools) reconsider(step int, calls []toolCall) error {
	state, err := t.w.store.RecoverTurn(t.writes, t.fence)
	if err != nil {
		return err
	}
	for i := range state.Messages {
		m := &state.Messages[i]
		t.wrote(m.Sequence)
		for j := range calls {
			if m.Role == parley.RoleToolResult && m.ToolCallID == calls[j].id {
				calls[j].settled = true
			}
		}
	}
	for i := range calls {
		if calls[i].waitsFor() == parley.WaitApproval {
			if err := t.rules.takeUp(&calls[i], state.Approvals, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// batchEnd returns the end of the batch that begins at from: a series of calls that are safe to run in parallel, or one
// other call. Of calls that keep an order, a batch has one, or several that only read.
func batchEnd(calls []toolCall, from int) int {
	safe := func(call *toolCall) bool {
		return !call.runs() && !call.approved() || call.tool == nil || call.own || call.tool.Annotations().Parallel()
	}
	if !safe(&calls[from]) {
		return from + 1
	}
	readers := map[string]bool{} // by order: whether its calls in the batch only read
	to := from
	for to < len(calls) && to-from < ParallelTools && safe(&calls[to]) {
		if calls[to].tool != nil && calls[to].tool.Annotations().Order != "" {
			does := calls[to].tool.Annotations()
			if read, some := readers[does.Order]; some && (!read || !does.ReadOnly) {
				break
			}
			readers[does.Order] = does.ReadOnly
		}
		to++
	}
	return to
}

// toolOutcome is the outcome of one call.
type toolOutcome struct {
	index      int
	held       *inflight.Holding // until it is recorded
	content    parley.ToolResultContent
	fileTokens int // the size of the result's files in a request
	send       *parley.Sending
	refused    *parley.Sending // what it wanted to send before the store refused it
	ask        *tool.Question  // instead of content
}

// runBatch runs calls in parallel and records each result in its own transaction. If the run is interrupted, calls
// without a result stay so.
func (t *tools) runBatch(step int, calls []toolCall) error {
	if err := t.useApprovals(calls); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(t.at, t.w.options.ToolTimeout)
	if t.speaker != nil { // a speaker ends its calls by itself, or with the turn
		stop()
		ctx, stop = context.WithCancel(t.at)
	}
	defer stop()
	outcomes := make(chan toolOutcome, len(calls)) // room for all: no tool waits for this turn
	notes := make(progress, len(calls))
	answered := make([]atomic.Bool, len(calls)) // what follows is the filing of the answer, and not the tool's time
	over := make(chan struct{})                 // what was not recorded by then is not needed any more
	defer close(over)
	open := 0
	for i := range calls {
		if !calls[i].runs() || t.ctx.Err() != nil {
			continue
		}
		open++
		calls[i].started = true
		t.w.toolCalls.Go(func() { // ends with the tool and this batch; Stop waits for it
			held := t.w.results.Holding(t.owner(), freeResultBytes)
			defer held.End()
			outcome := t.callTool(ctx, &calls[i], notes, held, &answered[i])
			outcome.index, outcome.held = i, held
			outcomes <- outcome
			<-over
		})
	}
	var grace <-chan time.Time
	done := ctx.Done()
	for open > 0 {
		select {
		case outcome := <-outcomes:
			if calls[outcome.index].settled { // too late
				continue
			}
			open--
			if !outcome.content.Success && t.ctx.Err() != nil {
				continue // report the interruption, not the tool
			}
			write := t.record
			if outcome.ask != nil {
				write = t.ask
			}
			if err := write(step, &calls[outcome.index], &outcome); err != nil {
				return err
			}
			outcome.held.End()
		case note := <-notes:
			if err := t.noteProgress(note); err != nil {
				return err
			}
		case <-done:
			done = nil
			timer := time.NewTimer(toolGrace)
			defer timer.Stop()
			grace = timer.C
		case <-grace:
			if t.ctx.Err() != nil {
				return nil
			}
			for i := range calls {
				if calls[i].started && !calls[i].settled && !answered[i].Load() {
					open--
					if err := t.refuse(
						step,
						&calls[i],
						fmt.Sprintf(resultTimeout, t.w.options.ToolTimeout),
					); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// callTool runs a tool. Whatever goes wrong in there is a result.
// held is what its answer holds, and answered is set once the tool has.
func (t *tools) callTool(
	ctx context.Context,
	call *toolCall,
	notes progress,
	held *inflight.Holding,
	answered *atomic.Bool,
) (of toolOutcome) {
	started := time.Now()
	toolCall := tool.Call{
		WorkspaceID: t.fence.WorkspaceID,
		SessionID:   t.fence.SessionID,
		TurnID:      t.fence.TurnID,
		MessageID:   call.messageID,
		ID:          call.id,
		Arguments:   call.arguments,
		ProjectPath: t.project,
		Progress:    notes.of(call),
		TraceParent: parley.TraceParentOf(t.claim.Trigger.Metadata),
		Hold: func(bytes int64) error {
			if !held.Take(bytes) {
				return errResultHolds
			}
			return nil
		},
		Hidden: t.layers.Hidden,
		Answer: call.answer(),
	}
	outcome, source, began := observe.ToolFailed, "", false
	defer func() {
		if value := recover(); value != nil {
			outcome = observe.ToolPanicked
			panicked := caught.New(value)
			t.log().
				ErrorContext(ctx, "a tool panicked", "call_id", call.id, "tool", call.name, "panic", panicked.What(),
					"stack", panicked.Stack())
			of = toolOutcome{content: failedResult(resultPanic)}
		}
		took := time.Since(started)
		of.content.ExecutionTimeMS = new(took.Milliseconds())
		if began {
			t.w.observer.ToolEnded(
				ctx,
				observe.ToolEnded{Name: call.name, Source: source, Outcome: outcome, Result: &of.content, Took: took},
			)
		}
	}()
	source = call.tool.Source()
	ctx = t.w.observer.ToolBegan(ctx, observe.ToolBegun{Name: call.name, Source: source, Call: &toolCall})
	began = true
	result, err := call.tool.Call(ctx, toolCall)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		outcome = observe.ToolTimedOut
		return toolOutcome{content: failedResult(fmt.Sprintf(resultTimeout, t.w.options.ToolTimeout))}
	case err != nil && ctx.Err() != nil:
		outcome = observe.ToolStopped
		return toolOutcome{content: failedResult(parley.Clip(toolErrorText(err), 4096))}
	case err != nil:
		return toolOutcome{content: failedResult(parley.Clip(toolErrorText(err), 4096))}
	case result.Ask != nil:
		outcome = observe.ToolSucceeded
		return toolOutcome{ask: result.Ask, content: parley.ToolResultContent{Success: true}}
	}
	answered.Store(true)
	kept, fileTokens, refusal := t.keep(call, result)
	if refusal != "" {
		return toolOutcome{content: failedResult(refusal)}
	}
	outcome = observe.ToolSucceeded
	return toolOutcome{content: kept, fileTokens: fileTokens, send: result.Send}
}

// answer is what came of the question that an earlier run of the call has asked; nil if it asked nothing.
func (c *toolCall) answer() *tool.Answer {
	a := c.approval
	if a == nil || a.Question == nil {
		return nil
	}
	answer := &tool.Answer{State: a.Carried, Action: tool.AnswerCancel}
	switch a.State {
	case parley.ApprovalApproved:
		answer.Action, answer.Content = tool.AnswerAccept, a.Answer
	case parley.ApprovalDenied:
		answer.Action = tool.AnswerDecline
	case parley.ApprovalPending, parley.ApprovalExpired, parley.ApprovalCancelled:
	}
	return answer
}

// ask records what a tool asks; its call then waits for the answer.
func (t *tools) ask(step int, call *toolCall, of *toolOutcome) error {
	if size := len(of.ask.Message) + len(parley.ValueOf(of.ask.Schema)); size > 2*parley.MaxToolQuestion ||
		len(of.ask.State) > parley.MaxToolState {
		return t.refuse(step, call, resultLongQuestion)
	}
	a := &parley.Approval{
		ID: parley.NewID(), State: parley.ApprovalPending, Reason: parley.AskedByTool, Question: &of.ask.ToolQuestion,
		Digest: t.rules.digestOf(call), Carried: of.ask.State,
		Rules: parley.RulesAbout(call.name, parley.ValueOf(t.claim.Agent.Grants)),
	}
	err := t.persist(func() error {
		return t.w.store.AskTool(t.writes, t.fence, store.Ask{
			ApprovalID: a.ID, ToolCallID: call.id, Timeout: t.rules.timeout(), Reason: a.Reason, Digest: a.Digest,
			Rules: a.Rules, Question: a.Question, State: a.Carried,
		})
	})
	if parley.ErrorCode(err) == parley.CodeConflict { // it got its result meanwhile
		call.settled = true
		return nil
	}
	if err == nil {
		call.approval, call.cleared, call.started = a, false, false
	}
	return err
}

// toolErrorText returns what the model is told of a tool's error.
func toolErrorText(err error) string {
	var known *parley.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return err.Error()
}

func failedResult(text string) parley.ToolResultContent {
	text = strings.ReplaceAll(text, "\x00", "\uFFFD") // whoever answered with it
	return parley.ToolResultContent{Result: json.RawMessage("null"), Error: &text}
}

// refuse records a result that Parley writes itself.
func (t *tools) refuse(step int, call *toolCall, text string) error {
	return t.record(step, call, &toolOutcome{content: failedResult(text)})
}

// record writes a call's result, and what it sends. A call that got its result meanwhile keeps that.
func (t *tools) record(step int, call *toolCall, result *toolOutcome) error {
	encoded, err := parley.EncodeContent(result.content)
	if err != nil {
		if encoded, err = parley.EncodeContent(failedResult(resultNoJSON)); err != nil {
			return err
		}
	}
	settle := store.ToolSettle{
		MessageID:     parley.NewID(),
		Step:          step,
		ToolCallID:    call.id,
		ToolName:      call.name,
		Content:       encoded,
		Author:        t.author,
		TokenEstimate: prompt.EstimateContent(t.settings.Model, parley.RoleToolResult, encoded) + result.fileTokens,
		Send:          result.send,
		Refused:       result.refused,
	}
	if call.approval != nil {
		settle.ApprovalID = call.approval.ID
	}
	var written parley.Message
	err = t.persist(func() (err error) {
		written, err = t.w.store.SettleTool(t.writes, t.fence, settle)
		return err
	})
	switch {
	case result.send != nil && parley.ErrorCode(err) == parley.CodeInvalid:
		refused := failedResult(toolErrorText(err))
		refused.ExecutionTimeMS = result.content.ExecutionTimeMS
		return t.record(step, call, &toolOutcome{content: refused, refused: result.send})
	case err != nil && parley.ErrorCode(err) != parley.CodeConflict:
		return err
	}
	call.settled = true
	t.wrote(written.Sequence)
	return nil
}
