package acp

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/internal/acpwire"
	"example.org/parley/model"
	"example.org/parley/runner"
	"example.org/parley/store"
	"example.org/parley/tool"
)

const (
	// The bounds of how much of the record is searched, and sent to the program.
	recordLooked     = 50 // of calls and their results
	recordPassed     = 100
	recordPassedSize = 64 << 10 // bytes
)

// The reasons that people see for turns without an answer.
const (
	notGranted = "This agent may not start the program of its runtime. Give the agent or the session a grant that " +
		"allows %q. If somebody else changed the agent, open a new session to accept the change."
	interrupted = "The agent's process ended in the middle of its turn. What it did until then may have taken " +
		"effect. Retry to go on."
	forgotten = "The agent's process was gone when its turn could go on, and the agent cannot take up its session. " +
		"What it asked for was not run. Send a message to go on."
	unasked = "The agent did something that a rule of this session does not allow, without asking. It was stopped."
)

// voice joins a turn and the program that runs it. It is the speaker of the turn's handle.
type voice struct {
	runtime *Runtime
	turn    runner.Turn
	session *session // nil until one is needed
	spoke   bool     // this process began a prompt of the turn, or continues one
	cost    *parley.Money
}

var _ runner.Speaker = (*voice)(nil)

// RunTurn implements runner.Runtime.
func (r *Runtime) RunTurn(turn runner.Turn) error {
	claim := turn.Claim()
	v := &voice{runtime: r, turn: turn}
	v.settle() // an earlier turn may have left the program busy
	next, err := turn.Begin(v)
	if s := v.session; s != nil {
		s.busy()
	}
	waits := false
	for err == nil && next != runner.Over {
		waits = false
		switch next {
		case runner.AskNext:
			next, err = v.ask(claim)
		case runner.CallNext:
			next, err = turn.Call()
		case runner.WaitNext:
			waits = true
			next, err = turn.Wait()
		default:
			next, err = turn.Finish(nil)
		}
	}
	v.leave(waits && err == nil)
	return err
}

// settle finds the program that is kept for the session, and ends a prompt of another turn that is still under way.
func (v *voice) settle() {
	claim := v.turn.Claim()
	s := v.runtime.kept(claim.Fence.SessionID)
	if s == nil {
		return
	}
	if s.of(claim.Fence.TurnID) {
		v.session, v.spoke = s, true
		return
	}
	s.cancel(s.current())
	v.session = v.runtime.kept(claim.Fence.SessionID)
}

// ask continues the program's prompt, or begins one.
func (v *voice) ask(claim *store.Claim) (runner.Next, error) {
	s := v.session
	if s == nil || !s.of(claim.Fence.TurnID) {
		if v.again() && v.turn.Unsure() {
			return v.turn.Finish(&parley.Failure{Class: parley.ClassInterrupted, Sentence: interrupted})
		}
		granted, err := v.turn.Permits(v.runtime.Name())
		if err != nil {
			return runner.Over, err
		}
		if !granted {
			sentence := strings.Replace(notGranted, "%q", `"`+v.runtime.Name()+`"`, 1)
			return v.turn.Finish(&parley.Failure{Class: parley.ClassAuth, Sentence: sentence})
		}
		if v.again() && v.turn.Context().Err() == nil {
			if failure, err := v.takeUp(); err != nil {
				return runner.Over, err
			} else if failure != nil && v.turn.Context().Err() == nil {
				return v.turn.Finish(failure)
			}
		}
		return v.turn.Ask() // an interruption is settled there too
	}
	s.refuse(false)
	if s.escaped() {
		failure := v.turn.Limited()
		if failure == nil {
			failure = &parley.Failure{Class: parley.ClassLimit, Sentence: unasked}
		}
		return v.turn.Finish(failure)
	}
	if affords, err := v.turn.Affords(); err != nil {
		return runner.Over, err
	} else if !affords { // the program is not waited for
		return v.turn.Ask()
	}
	ended, err := s.left(v.turn.Context())
	if err != nil || ended == nil { // as above
		return v.turn.Ask()
	}
	s.free(claim.Fence.TurnID)
	_, failed := ended.outcome()
	if failed == nil {
		return v.turn.Finish(nil)
	}
	return v.turn.Finish(failureOf(failed))
}

// again reports whether the turn continues after a wait that its program does not know about: the program is then told
// to continue.
func (v *voice) again() bool {
	turn := &v.turn.Claim().Turn
	return turn.Attempt > 1 && turn.Step > 0 && !v.spoke
}

// takeUp makes sure that a program runs and knows the conversation. A failure ends the turn.
func (v *voice) takeUp() (*parley.Failure, error) {
	v.drop()
	if v.session != nil {
		return nil, nil
	}
	state, err := v.state()
	if err != nil {
		return nil, err
	}
	forgot := &parley.Failure{Class: parley.ClassInterrupted, Sentence: forgotten}
	if state.Session == "" {
		return forgot, nil
	}
	s, fresh, err := v.runtime.open(v.turn.Context(), v.turn.Claim().Fence, v.turn.Project(), state)
	if err != nil {
		return failureOf(notStarted(err)), nil
	}
	if fresh {
		s.close()
		return forgot, nil
	}
	v.session = s
	return nil, nil
}

// drop releases a program that has ended, or whose session moved to another project.
func (v *voice) drop() {
	s := v.session
	if s != nil && s.files.project != v.turn.Project() {
		s.close()
	}
	if s != nil && s.gone() {
		v.session = nil
	}
}

// leave releases the program at the end of a run. The program is kept while the turn waits, told if the turn was
// interrupted, and ended after some idle time. A waiting turn may have been claimed again by now; its next run then
// continues the program's prompt.
func (v *voice) leave(waits bool) {
	s := v.session
	if s == nil {
		return
	}
	if waits && !v.turn.Cancelled() {
		s.await(v.turn.Claim().Fence.TurnID)
		return
	}
	s.rest(v.runtime.command.Idle)
	if turnID := v.turn.Claim().Fence.TurnID; s.abandon(turnID) {
		v.runtime.ending.Go(func() { s.cancel(turnID) })
	}
}

// Model implements runner.Speaker.
func (v *voice) Model() parley.ModelID { return parley.ModelID(v.runtime.Name()) }

// Listens implements runner.Speaker.
func (v *voice) Listens() bool { return v.session == nil || !v.session.of(v.turn.Claim().Fence.TurnID) }

// Tool implements runner.Speaker.
func (v *voice) Tool(_ string, arguments json.RawMessage) (tool.Tool, bool) {
	var named callArguments
	if v.session == nil || json.Unmarshal(arguments, &named) != nil {
		return nil, false
	}
	return v.session.tool(named.CallID)
}

// Speak implements runner.Speaker.
func (v *voice) Speak(said []parley.Message) (runner.Speech, error) {
	speech := runner.Speech{Chunks: v.chunks, Cost: func() *parley.Money { return v.cost }}
	if !v.Listens() {
		return speech, nil
	}
	if v.again() { // an earlier process was told what began the turn
		said = slices.DeleteFunc(said, func(m parley.Message) bool { return m.ID == v.turn.Claim().Trigger.ID })
	}
	shown, err := v.turn.Shown(said)
	if err != nil {
		return runner.Speech{}, err
	}
	var blocks []acpwire.Block
	if v.again() {
		if blocks, err = v.decided(); err != nil {
			return runner.Speech{}, err
		}
	}
	v.drop()
	if v.session == nil {
		state, err := v.state()
		if err != nil {
			return runner.Speech{}, err
		}
		s, fresh, err := v.runtime.open(v.turn.Context(), v.turn.Claim().Fence, v.turn.Project(), state)
		if err != nil {
			return broken(notStarted(err)), nil
		}
		if fresh && v.again() { // it has ended since
			s.close()
			return broken(model.NewError(parley.ClassInterrupted, false, forgotten, nil)), nil
		}
		v.session = s
		if fresh {
			if blocks, err = v.before(); err != nil {
				return runner.Speech{}, err
			}
		}
	}
	more, ok := blocksOf(v.session.takes, shown)
	if !ok {
		return broken(model.NewError(parley.ClassModel, false, noImages, nil)), nil
	}
	if blocks = append(blocks, more...); len(blocks) == 0 {
		blocks = append(blocks, acpwire.Block{Type: "text", Text: goOn})
	}
	v.spoke = true
	v.session.busy()
	v.session.obey(v.turn.Denies)
	if speech.Request, err = v.session.begin(v.turn.Claim().Fence.TurnID, blocks); err != nil {
		return broken(notStarted(err)), nil
	}
	return speech, nil
}

// kept is the state of the program's session, from a message's provider data.
type kept struct {
	Session string       `json:"session"`
	Cost    parley.Money `json:"cost,omitempty"` // charged so far
}

// state returns the kept state of this session's latest program session.
func (v *voice) state() (state kept, err error) {
	raw, err := v.turn.State()
	if err == nil && len(raw) > 0 {
		_ = json.Unmarshal(raw, &state) // unreadable state counts as none
	}
	return state, err
}

// before returns what a program that does not know the conversation is told first: the instructions and the earlier
// messages.
func (v *voice) before() (blocks []acpwire.Block, err error) {
	if text := v.turn.Instructions(); text != "" {
		blocks = append(blocks, acpwire.Block{Type: "text", Text: "Instructions:\n" + text})
	}
	rows, err := v.turn.Record(store.MessageQuery{
		Roles:      []parley.Role{parley.RoleUser, parley.RoleAssistant},
		RecordOnly: true, Descending: true, AfterSequence: v.turn.Claim().Trigger.Sequence,
		Limit: recordPassed, MaxBytes: recordPassedSize,
	})
	if err != nil || len(rows) == 0 || v.turn.Claim().Trigger.Sequence <= 1 {
		return blocks, err
	}
	var text strings.Builder
	text.WriteString("Earlier in this conversation:")
	for i := len(rows) - 1; i >= 0; i-- {
		who := "User"
		if rows[i].Role == parley.RoleAssistant {
			who = "You"
		}
		if said := textOf(&rows[i]); said != "" && text.Len()+len(said) < 2*recordPassedSize {
			text.WriteString("\n\n" + who + ": " + said)
		}
	}
	return append(blocks, acpwire.Block{Type: "text", Text: text.String()}), nil
}

// textOf returns the text of a message.
func textOf(m *parley.Message) string {
	if m.Role == parley.RoleAssistant {
		var content parley.AssistantContent
		_ = json.Unmarshal(m.Content, &content) // other content has no text
		return content.Text
	}
	var content parley.UserContent
	_ = json.Unmarshal(m.Content, &content) // as above
	return content.Text
}

// goOn is the prompt that makes a program continue without a new message.
const goOn = "Go on."

// decided returns what a program is told if its process ended while the turn waited: how its permission requests were
// decided.
func (v *voice) decided() (blocks []acpwire.Block, err error) {
	claim := v.turn.Claim()
	rows, err := v.turn.Record(store.MessageQuery{
		TurnID: claim.Fence.TurnID, Roles: []parley.Role{parley.RoleToolCall, parley.RoleToolResult},
		RecordOnly: true, Descending: true, Limit: recordLooked,
	})
	if err != nil {
		return nil, err
	}
	results := map[string]string{}
	var text strings.Builder
	for i := range rows { // results come before their calls
		m := &rows[i]
		if m.Step != claim.Turn.Step {
			continue
		}
		if m.Role == parley.RoleToolResult {
			var result parley.ToolResultContent
			if json.Unmarshal(m.Content, &result) == nil && result.Error != nil {
				results[m.ToolCallID] = parley.Clip(*result.Error, maxTitle)
			}
			continue
		}
		var made parley.ToolCallContent
		var arguments callArguments
		if why, found := results[m.ToolCallID]; found && json.Unmarshal(m.Content, &made) == nil &&
			json.Unmarshal(made.Arguments, &arguments) == nil {
			text.WriteString("\n- " + parley.Clip(m.ToolName, maxTitle) + ", " + arguments.Title + ": " + why)
		}
	}
	if text.Len() > 0 {
		blocks = append(
			blocks,
			acpwire.Block{Type: "text", Text: "Your process ended while its turn waited. What it had asked " +
				"for:" + text.String() + "\n" + goOn},
		)
	}
	return blocks, nil
}

// chunks yields what the program says until it waits for results of its calls or ends its turn.
func (v *voice) chunks(ctx context.Context) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		s := v.session
		if !v.yieldState(yield) {
			return
		}
		block, thinks := 0, true // the program's own data go with its thoughts
		for {
			next, ended, err := s.take(ctx)
			switch {
			case err != nil:
				yield(model.Chunk{}, err)
				return
			case ended != nil:
				s.free(v.turn.Claim().Fence.TurnID)
				finish, failed := ended.outcome()
				if !v.yieldSpent(yield) {
					return
				}
				if failed != nil {
					yield(model.Chunk{}, failed)
					return
				}
				yield(model.Chunk{Kind: model.ChunkFinish, Finish: finish}, nil)
				return
			case next.call != nil:
				block++
				if !s.yieldCall(next.call, block, yield) {
					return
				}
				if !s.nextIsCall() {
					if !v.yieldSpent(yield) {
						return
					}
					yield(model.Chunk{Kind: model.ChunkFinish, Finish: parley.FinishToolCalls}, nil)
					return
				}
				continue
			}
			if next.thought != thinks {
				block, thinks = block+1, next.thought
			}
			kind := model.ChunkText
			if next.thought {
				kind = model.ChunkReasoning
			}
			if !yield(model.Chunk{Kind: kind, Block: block, Text: next.text.String()}, nil) {
				return
			}
		}
	}
}

// yieldState yields the state that the program's next process needs.
func (v *voice) yieldState(yield func(model.Chunk, error) bool) bool {
	s := v.session
	s.mu.Lock()
	state := kept{Session: s.own, Cost: s.spends.charged}
	s.mu.Unlock()
	data, err := parley.EncodeJSON(state)
	if err != nil {
		yield(model.Chunk{}, model.NewError(parley.ClassInternal, false, "", err))
		return false
	}
	return yield(model.Chunk{Kind: model.ChunkProviderData, Data: data}, nil)
}

// yieldSpent yields the usage that the program reported for the answer.
func (v *voice) yieldSpent(yield func(model.Chunk, error) bool) bool {
	s := v.session
	s.mu.Lock()
	usage, cost := s.spends.charge()
	s.mu.Unlock()
	if v.cost = cost; usage.IsZero() {
		return true
	}
	return yield(model.Chunk{Kind: model.ChunkUsage, Usage: usage}, nil) && v.yieldState(yield)
}

// yieldCall yields a call with its arguments.
func (s *session) yieldCall(c *call, block int, yield func(model.Chunk, error) bool) bool {
	s.mu.Lock()
	name := s.toolName(c.sort)
	arguments, err := c.arguments()
	s.mu.Unlock()
	if err != nil {
		yield(model.Chunk{}, model.NewError(parley.ClassModel, false, "the agent made a call that cannot be kept", err))
		return false
	}
	return yield(model.Chunk{Kind: model.ChunkToolCall, Block: block, CallID: c.id, Name: name}, nil) &&
		yield(model.Chunk{Kind: model.ChunkArguments, Block: block, Text: arguments}, nil)
}

// outcome returns how a prompt ended: complete or failed.
func (p *prompted) outcome() (parley.FinishReason, *model.Error) {
	var refused *acpwire.Fault
	switch {
	case errors.As(p.err, &refused):
		return "", model.NewError(parley.ClassModel, false, "the agent answered with an error: "+refused.Error(), nil)
	case p.err != nil:
		return "", model.NewError(parley.ClassInterrupted, false, p.err.Error(), nil)
	}
	switch p.stop {
	case acpwire.StopTurn:
		return parley.FinishStop, nil
	case acpwire.StopTokens:
		return parley.FinishLength, nil
	case acpwire.StopRefusal:
		return parley.FinishRefusal, nil
	case acpwire.StopRequests:
		return "", model.NewError(parley.ClassLimit, false, "the agent came to its own limit of requests", nil)
	case acpwire.StopCancelled:
		return "", model.NewError(parley.ClassInterrupted, false, "the agent cancelled its turn by itself", nil)
	}
	return "", model.NewError(parley.ClassModel, false, "the agent ended its turn for an unknown reason", nil)
}

func failureOf(failed *model.Error) *parley.Failure {
	failure := &parley.Failure{Class: failed.Class, Sentence: failed.Class.Sentence(), Detail: failed.Message}
	if failed.Class == parley.ClassInterrupted {
		failure.Sentence = interrupted
	}
	return failure
}

// notStarted is the failure of a turn whose program could not be reached.
func notStarted(err error) *model.Error {
	if errors.Is(err, errFull) {
		return model.NewError(parley.ClassLimit, false, err.Error(), nil)
	}
	return model.NewError(parley.ClassModel, false, "the agent could not be started: "+err.Error(), nil)
}

// broken returns an answer that fails.
func broken(failed *model.Error) runner.Speech {
	return runner.Speech{Chunks: func(context.Context) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, failed) }
	}}
}

// of reports whether a turn's prompt is under way.
func (s *session) of(turnID parley.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turnID == turnID && !turnID.IsZero() && !s.leaves
}

// gone reports whether the process has ended.
func (s *session) gone() bool { return s.conn.Why() != nil }

// obey applies a turn's rules to the program's file methods.
func (s *session) obey(denies func(string, json.RawMessage) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denies = denies
}

// tool returns the tool that waits for a call.
func (s *session) tool(callID string) (tool.Tool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[callID]
	if c == nil {
		return nil, false
	}
	return waiting{session: s, call: c, asked: c.asked}, true
}

// busy keeps the process running.
func (s *session) busy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = false
	if s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
}

// await keeps the process while its turn waits for a person.
func (s *session) await(turnID parley.ID) {
	s.mu.Lock()
	s.waits = s.turnID == turnID
	s.mu.Unlock()
	s.rest(longestWait)
}

// rest ends the process unless it becomes busy again in time.
func (s *session) rest(within time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle == nil {
		s.idle = time.AfterFunc(within, s.close)
	}
}
