package aisdk

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/stream"
)

// The data parts, for what no part of the protocol says. Those marked transient are for onData alone.
const (
	dataProgress = "data-progress" // transient: how far a tool has come
	dataRetry    = "data-retry"    // transient: an attempt failed, another one follows
	dataWaiting  = "data-waiting"  // what the turn waits for, when nobody can answer it here
	dataApproval = "data-approval" // an approval that the version cannot ask for
	dataLimit    = "data-limit"    // the turn is close to a limit
)

// happened sends what an event of the turn says.
func (w *writer) happened(ctx context.Context, e *parley.Event) error {
	switch {
	case e.Type.EndsTurn():
		end, err := event.Read[event.TurnEnd](e)
		if err == nil {
			w.finish(&end.Turn)
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
	case e.Type == parley.EventStepRetrying:
		retry, err := event.Read[event.StepRetrying](e)
		w.put(&chunk{Type: dataRetry, Data: retry, Transient: true})
		return err
	case e.Type == parley.EventToolProgress:
		progress, err := event.Read[event.ToolProgress](e)
		w.put(&chunk{Type: dataProgress, ID: progress.ToolCallID, Data: progress, Transient: true})
		return err
	case e.Type == parley.EventToolCompleted:
		done, err := event.Read[event.ToolCompleted](e)
		if err != nil {
			return err
		}
		stream.Aside(func() { err = w.completed(ctx, done) })
		return err
	case e.Type == parley.EventApprovalCreated, e.Type == parley.EventApprovalResolved:
		asked, err := event.Read[event.Approval](e)
		if err == nil {
			w.approval(asked)
		}
		return err
	case e.Type == parley.EventLimitWarning:
		w.step()
		w.put(&chunk{Type: dataLimit, Data: e.Data})
	case e.Type == parley.EventSessionWaiting:
		waiting, err := event.Read[event.SessionWaiting](e)
		if err == nil && stopsFor(waiting.Reason) {
			sentence := ""
			if waiting.Refused != nil {
				sentence = waiting.Sentence
			}
			w.pause(waiting.Reason, sentence)
		}
		return err
	}
	return nil
}

// project finds out which tools the client answers, when the first call comes: most turns have none.
func (w *writer) project(ctx context.Context) {
	if w.projection != nil {
		return
	}
	var tools *[]parley.ToolRef
	stream.Aside(func() {
		if session, err := w.api.engine.Session(ctx, w.x.Principal, w.turn.session); err == nil {
			tools = session.Tools
		}
	})
	settings := w.request.settings(&w.chat.agent)
	w.projection = &projection{clients: clientTools(w.chat.agent.Tools, tools, settings.Tools)}
}

// begins begins a step, or another attempt at one, whose text replaces what the last one said.
func (w *writer) begins(s *event.StepStarted) {
	if s.Attempt > 1 && w.inStep && w.version >= withResets {
		w.texts = map[textKey]*said{}
		w.put(&chunk{Type: "reset-step"})
		return
	}
	w.endStep()
}

// settled ends the step's texts, and shows its calls.
func (w *writer) settled(ctx context.Context, s *event.Settled) error {
	w.stopped = s.Finish
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.Content == nil || m.Status == parley.MessageFailed && m.Role != parley.RoleAssistant {
			continue // what a failed answer said is shown, as far as it came
		}
		switch m.Role {
		case parley.RoleAssistant:
			var content parley.AssistantContent
			if err := content.UnmarshalJSON(m.Content); err != nil {
				return err
			}
			for _, p := range partsOf(m.MessageID, &content) {
				w.part(p)
			}
		case parley.RoleToolCall:
			var content parley.ToolCallContent
			if err := json.Unmarshal(m.Content, &content); err != nil {
				return err
			}
			w.project(ctx)
			p := w.projection.call(&content)
			state := w.call(content.ID)
			w.showCall(state, p)
		}
	}
	return nil
}

// arguments sends a piece of a call's arguments while they stream. The first one finds out which call it is.
func (w *writer) arguments(ctx context.Context, message parley.ID, offset int, text string) {
	key := textKey{message, parley.KindArguments}
	t := w.texts[key]
	if t == nil {
		t = &said{}
		w.texts[key] = t
		var m parley.Message
		var err error
		stream.Aside(func() { m, err = w.api.engine.Message(ctx, w.x.Principal, message) })
		var content parley.ToolCallContent
		if err != nil || json.Unmarshal(m.Content, &content) != nil || content.ID == "" || content.Name == "" {
			t.all = true // the call is shown when it is complete
			return
		}
		w.project(ctx)
		p := w.projection.call(&parley.ToolCallContent{ID: content.ID, Name: content.Name})
		state := w.call(content.ID)
		t.all = state.started
		if !t.all {
			state.started = true
			w.ids = append(w.ids, streamed{message, content.ID})
			w.step()
			c := &chunk{Type: "tool-input-start", CallID: content.ID}
			w.named(c, p)
			w.put(c)
		}
	}
	if t.all || offset > t.sent || offset+len(text) <= t.sent {
		return
	}
	text = text[t.sent-offset:]
	t.sent += len(text)
	w.put(&chunk{Type: "tool-input-delta", CallID: w.callOf(message), InputDelta: text})
}

// streamed is a call whose arguments stream.
type streamed struct {
	message parley.ID
	call    string
}

// callOf returns the call whose arguments stream into a message.
func (w *writer) callOf(message parley.ID) string {
	for _, s := range w.ids {
		if s.message == message {
			return s.call
		}
	}
	return ""
}

// completed reads and sends a call's result.
func (w *writer) completed(ctx context.Context, done *event.ToolCompleted) error {
	state := w.call(done.ToolCallID)
	if state.completed || !state.shown {
		return nil
	}
	m, err := w.api.engine.Message(ctx, w.x.Principal, done.MessageID)
	if err != nil {
		return err
	}
	var content parley.ToolResultContent
	if err := json.Unmarshal(m.Content, &content); err != nil {
		return err
	}
	w.project(ctx)
	p := w.projection.call(&parley.ToolCallContent{ID: done.ToolCallID, Name: done.Name})
	if state.denied {
		approved := false
		p.Approval = &approval{Approved: &approved}
	}
	w.result(p, &content)
	w.complete(state, p)
	return nil
}

// approval asks for an approval, or notes its decision.
func (w *writer) approval(asked *event.Approval) {
	state := w.call(asked.ToolCallID)
	switch {
	case asked.State == parley.ApprovalPending && asked.SessionID == w.turn.session && w.version >= withApprovals:
		w.ask(state, asked.ToolCallID, asked.ApprovalID.String())
	case asked.SessionID != w.turn.session || w.version < withApprovals:
		w.put(&chunk{Type: dataApproval, ID: asked.ApprovalID.String(), Data: asked})
	}
	if asked.SessionID == w.turn.session {
		state.denied = asked.State == parley.ApprovalDenied || asked.State == parley.ApprovalExpired
	}
}

// pause ends the stream while the turn waits for somebody.
func (w *writer) pause(reason parley.WaitReason, sentence string) {
	made := &chunk{Type: "finish", FinishReason: "tool-calls"}
	if !reason.Answered() {
		made.FinishReason = "other"
		w.put(&chunk{Type: dataWaiting, Data: struct {
			Reason   parley.WaitReason `json:"reason"`
			Sentence string            `json:"sentence"`
		}{reason, sentence}})
	}
	w.endStep()
	w.put(made)
	w.over = true
}

// finish ends the stream with its turn.
func (w *writer) finish(turn *parley.Turn) {
	w.endStep()
	w.over = true
	about := ends{turn.Status, turn.Usage, turn.Cost}
	switch turn.Status {
	case parley.TurnCancelled:
		w.put(&chunk{Type: "message-metadata", Metadata: about})
		w.put(&chunk{Type: "abort", Reason: "The turn was cancelled."})
	case parley.TurnFailed:
		sentence := "The turn failed."
		if turn.Error != nil {
			sentence = turn.Error.Sentence
		}
		w.put(&chunk{Type: "finish", FinishReason: "error", Metadata: about})
		w.put(&chunk{Type: "error", ErrorText: sentence})
	default:
		w.put(&chunk{Type: "finish", FinishReason: w.reason(), Metadata: about})
	}
}

// reason says why the last answer ended.
func (w *writer) reason() string {
	var about struct {
		Finish parley.FinishReason `json:"finish"`
	}
	if w.stopped == nil {
		stream.Aside(func() {
			m, err := w.api.engine.Message(w.x.R.Context(), w.x.Principal, w.last)
			if err == nil {
				_ = json.Unmarshal(m.Metadata, &about) // an answer without it was complete
			}
		})
		w.stopped = &about.Finish
	}
	switch *w.stopped {
	case parley.FinishLength:
		return "length"
	case parley.FinishRefusal:
		return "content-filter"
	}
	return "stop"
}
