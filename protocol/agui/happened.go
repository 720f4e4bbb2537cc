package agui

import (
	"context"
	"encoding/json"
	"strconv"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/stream"
)

// activityProgress is the type of the activities that say how far a tool has come.
const activityProgress = "parley.progress"

// happened sends what an event of the turn says.
func (w *writer) happened(ctx context.Context, e *parley.Event) error {
	switch {
	case e.Type.EndsTurn():
		end, err := event.Read[event.TurnEnd](e)
		if err == nil {
			w.ending = w.finished(&end.Turn)
		}
		return err
	case e.Type == parley.EventStepStarted:
		began, err := event.Read[event.StepStarted](e)
		if err == nil {
			w.begins(began)
		}
		return err
	case e.Type == parley.EventStepGenerated, e.Type == parley.EventStepError:
		settled, err := event.Read[event.Settled](e)
		if err != nil {
			return err
		}
		return w.settled(ctx, settled)
	case e.Type == parley.EventToolStarted:
		began, err := event.Read[event.ToolStarted](e)
		if err == nil {
			w.delegated(ctx, began.ToolCallID, began.Name, began.MessageID, false)
		}
		return err
	case e.Type == parley.EventToolProgress:
		progress, err := event.Read[event.ToolProgress](e)
		w.put(&frame{
			Type: "ACTIVITY_SNAPSHOT", MessageID: progress.ToolCallID + "-progress", ActivityType: activityProgress,
			Content: e.Data,
		})
		return err
	case e.Type == parley.EventToolCompleted:
		done, err := event.Read[event.ToolCompleted](e)
		if err != nil {
			return err
		}
		stream.Aside(func() { err = w.completed(ctx, done) })
		return err
	case e.Type == parley.EventApprovalCreated:
		asked, err := event.Read[event.Approval](e)
		if err == nil && asked.SessionID != w.thread.session { // a tool session's; perhaps the turn waits already
			stream.Aside(func() { err = w.pause(ctx, "") })
		}
		return err
	case e.Type == parley.EventSessionWaiting:
		waiting, err := event.Read[event.SessionWaiting](e)
		if err != nil || waiting.Reason == parley.WaitRateLimit || waiting.Reason == parley.WaitOutside {
			return err // the turn continues by itself
		}
		sentence := ""
		if waiting.Refused != nil {
			sentence = waiting.Sentence
		}
		stream.Aside(func() { err = w.pause(ctx, sentence) })
		return err
	}
	w.other(e)
	return nil
}

// other passes on what the protocol has no form for: some of it to every client, all of it to those that ask.
func (w *writer) other(e *parley.Event) {
	switch e.Type {
	case parley.EventStepRetrying, parley.EventLimitWarning, parley.EventContextDropped, parley.EventContextTruncated,
		parley.EventLoopProgress, parley.EventDelegationSent:
		w.put(&frame{Type: "CUSTOM", Name: "parley." + string(e.Type), Value: e.Data})
	default:
		if w.request.Forwarded.Raw {
			b := parley.AppendJSONString([]byte(`{"type":`), string(e.Type))
			b = append(append(b, `,"data":`...), e.Data...)
			w.put(&frame{Type: "RAW", Source: "parley", Event: append(b, '}')})
		}
	}
}

// begins begins a step, or another attempt at one.
func (w *writer) begins(s *event.StepStarted) {
	if s.Model != w.model {
		w.model, w.models = s.Model, w.models+1
	}
	name := "step " + strconv.Itoa(s.Step)
	// Of the step that ran when the client came, only another attempt is told here.
	repeated := name == w.step || w.step == "" && s.Step == w.joined
	if name != w.step {
		spoke := w.spoke && repeated
		w.endStep()
		w.step, w.spoke = name, spoke
		w.put(&frame{Type: "STEP_STARTED", Step: name})
	}
	if !repeated || !w.spoke {
		return
	}
	w.spoke = false
	stream.Aside(w.retell)
}

// retell takes back what an attempt said before it was repeated: the messages as the record has them replace the
// client's. If they are too many, the client has to connect again.
func (w *writer) retell() {
	for key := range w.texts {
		w.endText(key)
	}
	messages, _, whole, err := w.snapshot()
	defer w.free()
	var encoded []byte
	if err == nil {
		encoded, err = parley.EncodeJSON(messages)
	}
	if err != nil || !whole {
		w.ending = &frame{Type: "RUN_ERROR", Code: string(parley.CodeUnavailable),
			Message: "The model was asked again. Connect to get its answer, which continues."}
		return
	}
	w.texts = map[textKey]*said{}
	w.has(messages)
	w.put(&frame{Type: "MESSAGES_SNAPSHOT", Messages: encoded})
}

// settled completes the step's texts and calls.
func (w *writer) settled(ctx context.Context, s *event.Settled) error {
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.Content == nil || m.Status == parley.MessageFailed && m.Role != parley.RoleAssistant {
			continue // what a failed answer said is shown, as far as it came
		}
		made, err := shownOf(&parley.Message{
			ID: m.MessageID, Role: m.Role, Content: m.Content, Status: parley.MessageCompleted,
		})
		if err != nil {
			return err
		}
		for i := range made {
			w.tell(ctx, &made[i])
		}
	}
	return nil
}

// arguments sends a piece of a call's arguments while they stream. The first one finds out which call it is.
func (w *writer) arguments(ctx context.Context, message parley.ID, offset int, text string) {
	id, known := w.streaming[message]
	if !known {
		var m parley.Message
		var err error
		stream.Aside(func() { m, err = w.api.engine.Message(ctx, w.x.Principal, message) })
		var content parley.ToolCallContent
		if err == nil && json.Unmarshal(m.Content, &content) == nil && content.ID != "" && content.Name != "" {
			id = content.ID
			w.openCall(id, content.Name, message.String())
		}
		w.streaming[message] = id // without one the call is shown when it is complete
	}
	if id != "" {
		w.argue(id, w.call(id), offset, text)
	}
}

// completed reads and sends a call's result.
func (w *writer) completed(ctx context.Context, done *event.ToolCompleted) error {
	if w.call(done.ToolCallID).complete {
		return nil
	}
	m, err := w.api.engine.Message(ctx, w.x.Principal, done.MessageID)
	if err != nil {
		return err
	}
	made, err := shownOf(&m)
	for i := range made {
		w.tell(ctx, &made[i])
	}
	return err
}

// delegated announces the agent that works on a call, if it is an agent's. One that the record has may not have begun:
// then only its session says so.
func (w *writer) delegated(ctx context.Context, id, name string, message parley.ID, recorded bool) {
	state := w.call(id)
	if state.subagent != "" || state.complete {
		return
	}
	stream.Aside(func() {
		w.readAgents(ctx)
		if w.agents[name] != nil && recorded {
			if _, err := w.api.engine.Session(ctx, w.x.Principal, parley.ChildID(message)); err != nil {
				name = ""
			}
		}
	})
	agent := w.agents[name]
	if agent == nil {
		return
	}
	state.subagent = parley.ChildID(message).String()
	w.put(&frame{
		Type: "SUBAGENT_STARTED", SubagentID: state.subagent, Name: agent.slug, Description: agent.description,
		ParentCallID: id, ParentID: message.String(),
	})
}

// readAgents finds out which tools are agents, when the first call comes: most turns have none.
func (w *writer) readAgents(ctx context.Context) {
	if w.agents != nil {
		return
	}
	w.agents = map[string]*agentTool{}
	chosen := []*[]parley.ToolRef{w.thread.agent.Tools}
	if session, err := w.api.engine.Session(ctx, w.x.Principal, w.thread.session); err == nil {
		chosen = append(chosen, session.Tools)
	}
	for _, tools := range chosen {
		for _, ref := range parley.ValueOf(tools) {
			if ref.Agent != nil {
				w.agents[ref.Agent.Name] = &agentTool{ref.Agent.Agent, ref.Agent.Description}
			}
		}
	}
}

// pause is paused for the turn as it is now.
func (w *writer) pause(ctx context.Context, sentence string) error {
	turn, err := w.api.engine.Turn(ctx, w.x.Principal, w.turn)
	if err != nil {
		return err
	}
	return w.paused(ctx, &turn, sentence)
}

// paused ends the run if its turn waits for somebody: with what the client's user can answer, or with the calls of the
// client's tools. A turn whose approvals somebody else has just decided goes on.
func (w *writer) paused(ctx context.Context, turn *parley.Turn, sentence string) error {
	if turn.Status != parley.TurnWaiting {
		return nil
	}
	open, err := w.api.pending(ctx, w.x.Principal, w.thread.session, w.turn)
	if err != nil {
		return err
	}
	if turn.WaitReason == parley.WaitBudget {
		open = append(open, limitReached(w.turn, sentence))
	}
	made := &frame{Type: "RUN_FINISHED", Usage: w.used(turn), Metadata: about(turn)}
	switch {
	case len(open) > 0:
		made.Outcome = &outcome{Type: outcomeInterrupt, Interrupts: open}
	case turn.WaitReason == parley.WaitToolResult:
		made.Outcome = &outcome{Type: outcomeSuccess}
	default:
		return nil
	}
	w.ending = made
	return nil
}

// finished is what ends the run with its turn.
func (w *writer) finished(turn *parley.Turn) *frame {
	made := &frame{Type: "RUN_FINISHED", Usage: w.used(turn), Metadata: about(turn)}
	switch turn.Status {
	case parley.TurnCancelled:
		made.Outcome = &outcome{Type: outcomeCancelled}
	case parley.TurnFailed:
		made.Type, made.Message = "RUN_ERROR", "The turn failed."
		if turn.Error != nil {
			made.Message, made.Code = turn.Error.Sentence, string(turn.Error.Class)
		}
	default:
		made.Outcome = &outcome{Type: outcomeSuccess}
	}
	return made
}
