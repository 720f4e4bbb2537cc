package acp

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/runner"
	"example.org/parley/store"
	"example.org/parley/tool"
)

const (
	// The bounds of what is looked through, and passed on, of the record.
	recordLooked     = 50
	recordPassed     = 100
	recordPassedSize = 64 << 10 // bytes
)

// What people are told of turns that end without an answer.
const (
	notGranted = "This agent may not start the program of its runtime. Give the agent or the session a grant that " +
		"allows %q. If somebody else changed the agent, open a new session to accept the change."
	interrupted = "The agent's process ended in the middle of its turn. What it did until then may have taken " +
		"effect. Retry to go on."
	unasked = "The agent did something that a rule or a limit of this session does not allow, without asking. It was " +
		"stopped."
)

// voice is a turn and the program that runs it: the speaker of its handle.
type voice struct {
	runtime *Runtime
	turn    runner.Turn
	session *session // nil until one is needed
	spoke   bool     // a prompt of the turn was begun in this process
}

var _ runner.Speaker = (*voice)(nil)

// RunTurn implements runner.Runtime.
func (r *Runtime) RunTurn(turn runner.Turn) error {
	claim := turn.Claim()
	v := &voice{runtime: r, turn: turn}
	v.settle() // what an earlier turn may have left
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

// settle finds the program that is kept for the session. One that is still at another
// turn is made to leave it.
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

// ask goes on with the program's prompt, or begins one.
func (v *voice) ask(claim *store.Claim) (runner.Next, error) {
	s := v.session
	if s == nil || !s.of(claim.Fence.TurnID) {
		if claim.Turn.Attempt > 1 && claim.Turn.Step > 0 && !v.spoke {
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
		return v.turn.Ask()
	}
	s.refuse(false)
	if s.escaped() {
		return v.turn.Finish(&parley.Failure{Class: parley.ClassLimit, Sentence: unasked})
	}
	ended, err := s.left(v.turn.Context())
	if err != nil || ended == nil { // an interruption is settled there too
		return v.turn.Ask()
	}
	s.free(claim.Fence.TurnID)
	_, failed := ended.outcome()
	if failed == nil {
		return v.turn.Finish(nil)
	}
	return v.turn.Finish(failureOf(failed))
}

// leave lets go of the program: it is kept for a turn that waits, told of one that was
// interrupted, and ended when it has been idle for a while.
func (v *voice) leave(waits bool) {
	s := v.session
	if s == nil {
		return
	}
	if waits && v.turn.Context().Err() == nil {
		s.rest(longestWait)
		return
	}
	s.rest(v.runtime.command.Idle)
	if turnID := v.turn.Claim().Fence.TurnID; s.of(turnID) {
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
func (v *voice) Speak(said []parley.Message) runner.Speech {
	first := v.Listens()
	if first {
		if err := v.begin(said); err != nil {
			return broken(err)
		}
	}
	return runner.Speech{Request: v.session.prompted(), Chunks: v.chunks}
}

// begin begins a prompt with what was said.
func (v *voice) begin(said []parley.Message) error {
	v.spoke = true
	prompt := blocksOf(said)
	if s := v.session; s != nil && s.files.project != v.turn.Project() { // it was moved meanwhile
		s.close()
		v.session = nil
	}
	if v.session == nil || v.session.gone() {
		claim := v.turn.Claim()
		earlier, err := v.earlier()
		if err != nil {
			return err
		}
		s, fresh, err := v.runtime.open(v.turn.Context(), claim.Fence.SessionID, v.turn.Project(), earlier)
		if err != nil {
			return err
		}
		v.session = s
		if fresh {
			before, err := v.before()
			if err != nil {
				return err
			}
			prompt = append(before, prompt...)
		}
	}
	v.session.busy()
	v.session.obey(v.turn.Denies)
	_, err := v.session.begin(v.turn.Claim().Fence.TurnID, prompt)
	return err
}

// kept is what a message's provider data tells of the program's session.
type kept struct {
	Runtime string `json:"runtime"`
	Session string `json:"session"`
}

// earlier is the program's session that this session had last.
func (v *voice) earlier() (string, error) {
	rows, err := v.turn.Record(store.MessageQuery{
		Roles: []parley.Role{parley.RoleAssistant}, RecordOnly: true, Descending: true, Limit: recordLooked,
	})
	for i := range rows {
		var was kept
		if rows[i].SessionID == v.turn.Claim().Fence.SessionID && len(rows[i].ProviderData) > 0 &&
			json.Unmarshal(rows[i].ProviderData, &was) == nil && was.Runtime == v.runtime.Name() {
			return was.Session, nil
		}
	}
	return "", err
}

// before is what a program is told first that knows nothing of the conversation: the
// instructions, and what was said.
func (v *voice) before() (blocks []block, err error) {
	if text := v.turn.Instructions(); text != "" {
		blocks = append(blocks, block{Type: "text", Text: "Instructions:\n" + text})
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
	return append(blocks, block{Type: "text", Text: text.String()}), nil
}

// textOf is the text of a message.
func textOf(m *parley.Message) string {
	if m.Role == parley.RoleAssistant {
		var content parley.AssistantContent
		_ = json.Unmarshal(m.Content, &content) // other content says nothing
		return content.Text
	}
	var content parley.UserContent
	_ = json.Unmarshal(m.Content, &content) // as above
	return content.Text
}

// blocksOf is what was said, as the protocol has it. Files stay here; they are named.
func blocksOf(said []parley.Message) (blocks []block) {
	for i := range said {
		var content parley.UserContent
		_ = json.Unmarshal(said[i].Content, &content) // other content says nothing
		if content.Text != "" {
			blocks = append(blocks, block{Type: "text", Text: content.Text})
		}
		for _, link := range content.Links {
			blocks = append(blocks, block{Type: "resource_link", URI: link, Name: link})
		}
		if len(content.Files) > 0 {
			blocks = append(blocks, block{Type: "text", Text: "[Files were attached, which you are not given.]"})
		}
	}
	if len(blocks) == 0 {
		blocks = append(blocks, block{Type: "text", Text: "Go on."})
	}
	return blocks
}

// said is the text of a block.
func (b *block) said() string {
	switch {
	case b.Type == "resource_link":
		return "[" + b.Name + "](" + b.URI + ")"
	case b.Type == "resource" && b.Resource != nil && b.Resource.Text != "":
		return b.Resource.Text
	case b.Type == "text" || b.Text != "":
		return b.Text
	}
	return "[" + parley.Clip(b.Type, 32) + "]"
}

// chunks is what the program says until it waits for the results of its calls, or has
// ended its turn.
func (v *voice) chunks(ctx context.Context) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		s := v.session
		data, err := parley.EncodeJSON(kept{Runtime: v.runtime.Name(), Session: s.own})
		if err != nil || !yield(model.Chunk{Kind: model.ChunkProviderData, Data: data}, nil) {
			return
		}
		block, thinks := 0, true // the program's own data stand with its thoughts
		for {
			next, ended, err := s.take(ctx)
			switch {
			case err != nil:
				yield(model.Chunk{}, err)
				return
			case ended != nil:
				s.free(v.turn.Claim().Fence.TurnID)
				finish, failed := ended.outcome()
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

// outcome is how a prompt ended: complete, or failed.
func (p *prompted) outcome() (parley.FinishReason, *model.Error) {
	var refused *wireError
	switch {
	case errors.As(p.err, &refused):
		return "", model.NewError(parley.ClassModel, false, "the agent answered with an error: "+refused.Error(), nil)
	case p.err != nil:
		return "", model.NewError(parley.ClassInterrupted, false, p.err.Error(), nil)
	}
	switch p.stop {
	case stopTurn:
		return parley.FinishStop, nil
	case stopTokens:
		return parley.FinishLength, nil
	case stopRefusal:
		return parley.FinishRefusal, nil
	case stopRequests:
		return "", model.NewError(parley.ClassLimit, false, "the agent came to its own limit of requests", nil)
	case stopCancelled:
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

// broken is the speech of a program that could not be told anything.
func broken(err error) runner.Speech {
	failed := model.NewError(parley.ClassModel, false, "the agent could not be started: "+err.Error(), nil)
	if errors.Is(err, errFull) {
		failed = model.NewError(parley.ClassLimit, false, err.Error(), nil)
	}
	return runner.Speech{Chunks: func(context.Context) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, failed) }
	}}
}

// of reports that the prompt of a turn is under way.
func (s *session) of(turnID parley.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turnID == turnID && !turnID.IsZero()
}

// gone reports that the process has ended.
func (s *session) gone() bool { return s.conn.why() != nil }

// prompted is what the program was sent.
func (s *session) prompted() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prompt
}

// obey has the program's file methods follow the rules of a turn.
func (s *session) obey(denies func(string, json.RawMessage) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denies = denies
}

// tool is what waits for a call.
func (s *session) tool(callID string) (tool.Tool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[callID]
	if c == nil {
		return nil, false
	}
	return waiting{session: s, call: c, asked: c.asked}, true
}

// busy keeps the process.
func (s *session) busy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
}

// rest ends the process unless it is busy again within a time.
func (s *session) rest(within time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle == nil {
		s.idle = time.AfterFunc(within, s.close)
	}
}
