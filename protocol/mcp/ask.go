package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/event"
	"example.org/parley/protocol"
	"example.org/parley/store"
	"example.org/parley/stream"
)

// MaxWait is how long a call waits for the end of its turn. The turn continues without it.
const MaxWait = 10 * time.Minute

// asked are the arguments of the tools that ask agents.
type asked struct {
	Message string         `json:"message"`
	Session parley.ID      `json:"session_id"`
	Model   parley.ModelID `json:"model"`
	Key     string         `json:"idempotency_key"`
}

// answer is what a call of such a tool answers with.
type answer struct {
	Session  parley.ID         `json:"session_id"`
	Turn     parley.ID         `json:"turn_id"`
	Status   parley.TurnStatus `json:"status"`
	WaitsFor parley.WaitReason `json:"waits_for,omitempty"`
	Answer   string            `json:"answer,omitempty"`
}

// asking is a call that follows a turn. It implements stream.Writer.
type asking struct {
	a       *api
	r       *request
	agent   parley.Agent
	session parley.ID
	turn    parley.ID
	after   int64 // the session's last event before
	watch   *stream.Stream
	frames  *protocol.Frames // nil if the client takes no stream

	told      int             // notifications of progress
	asks      map[string]bool // questions that the client was asked, by their ids
	dismissed bool            // the client does not want to answer
	stop      func()          // ends the wait, once a question is dismissed

	over   bool
	reason parley.WaitReason // what the turn waits for; "" once it ended
	ended  parley.Turn
	holds  string // what a turn that waits for a limit says
}

// ask asks an agent, and answers when its turn ends or waits for somebody.
func (a *api) ask(ctx context.Context, r *request, slug string) (any, error) {
	end, err := r.x.Room()
	if err != nil {
		return nil, err
	}
	defer end()
	k := &asking{a: a, r: r, asks: map[string]bool{}}
	stream.Aside(func() { err = k.begin(ctx, slug) })
	var wrong *fault
	switch {
	case errors.As(err, &wrong):
		return nil, err
	case err != nil:
		return a.failed(r, err)
	}
	defer k.watch.Close()
	r.forget()
	r.x.Outlast()
	return nil, k.follow(ctx)
}

// begin does what the call asks for, and opens the turn's stream.
func (k *asking) begin(ctx context.Context, slug string) (err error) {
	var args asked
	if err := arguments(k.r, &args); err != nil {
		return err
	}
	if k.agent, err = k.a.engine.Agent(ctx, k.r.x.Principal, slug); err != nil {
		return err
	}
	switch {
	case k.r.State != "":
		err = k.resume(ctx)
	case args.Message != "":
		err = k.post(ctx, &args)
	case args.Session.IsZero():
		err = parley.InvalidField("message", "is missing or empty")
	default:
		err = k.join(ctx, args.Session)
	}
	if err == nil {
		k.watch, err = k.a.streams.Follow(ctx, k.r.x.Principal, stream.Turn(k.session, k.after, k.turn, MaxWait))
	}
	return err
}

// post begins a turn.
func (k *asking) post(ctx context.Context, args *asked) error {
	x := k.r.x
	content, err := parley.EncodeContent(parley.UserContent{
		Parts: []parley.Part{{Type: parley.PartText, Text: args.Message}},
	})
	if err != nil {
		return err
	}
	input := engine.MessageInput{
		Role: parley.RoleUser, Content: content, Settings: parley.Settings{Model: args.Model},
	}
	var once store.Idempotency
	if args.Key != "" {
		once = x.Call.Idempotency(args.Key, Prefix+"/"+k.agent.ID.String(), k.r.Arguments)
	}
	var posted *store.Posted
	if args.Session.IsZero() {
		opened, err := k.a.engine.OpenSession(ctx, x.Principal, engine.SessionInput{
			AgentID: k.agent.ID.String(), Message: &input,
		}, once)
		if err != nil {
			return err
		}
		posted = opened.Posted
	} else {
		if _, err := k.sessionOf(ctx, args.Session); err != nil {
			return err
		}
		defer k.a.streams.Expect(args.Session).Close()
		made, err := k.a.engine.PostMessage(ctx, x.Principal, args.Session, input, once)
		if err != nil {
			return err
		}
		posted = &made
	}
	k.session, k.turn, k.after = posted.Message.SessionID, posted.Message.TurnID, posted.EventSequence
	switch {
	case k.turn.IsZero(): // the message steers the turn that runs
		return k.join(ctx, k.session)
	case args.Key != "": // the turn may be over
		return k.look(ctx)
	}
	return nil
}

// sessionOf reads a session, which must be the agent's.
func (k *asking) sessionOf(ctx context.Context, id parley.ID) (parley.Session, error) {
	s, err := k.a.engine.Session(ctx, k.r.x.Principal, id)
	if err == nil && s.AgentID != k.agent.ID {
		err = parley.InvalidField("session_id", "is a session of another agent; use that agent's tool")
	}
	return s, err
}

// join follows the turn that a session works on, or takes up its last one.
func (k *asking) join(ctx context.Context, id parley.ID) error {
	s, err := k.sessionOf(ctx, id)
	if err != nil {
		return err
	}
	k.session, k.turn, k.after = id, s.TurnID, s.LastEvent
	if k.turn.IsZero() {
		rows, err := k.a.engine.Messages(ctx, k.r.x.Principal, id, engine.MessageList{
			Paging: engine.Paging{Limit: 1, Order: engine.Descending},
			Roles:  []parley.Role{parley.RoleUser, parley.RoleAssistant},
		})
		if err != nil {
			return err
		}
		if len(rows.Data) == 0 || rows.Data[0].TurnID.IsZero() {
			return parley.InvalidField("message", "is missing or empty; the session has no answer to return")
		}
		k.turn = rows.Data[0].TurnID
	}
	return k.look(ctx)
}

// look reads the turn's state: what is over already, no stream tells.
func (k *asking) look(ctx context.Context) error {
	turn, err := k.a.engine.Turn(ctx, k.r.x.Principal, k.turn)
	if err != nil {
		return err
	}
	switch {
	case turn.Status.Finished():
		k.over, k.ended = true, turn
	case turn.Status == parley.TurnWaiting && stopsFor(turn.WaitReason):
		k.over, k.reason = true, turn.WaitReason
	}
	return nil
}

// stopsFor reports whether a turn that waits for a reason needs somebody; for others it continues by itself.
func stopsFor(reason parley.WaitReason) bool {
	return reason != parley.WaitChild && reason != parley.WaitRateLimit && reason != parley.WaitOutside
}

// takesStream reports whether the client accepts server-sent events.
func takesStream(r *http.Request) bool {
	for _, accepted := range r.Header.Values("Accept") {
		for one := range strings.SplitSeq(accepted, ",") {
			kind, _, _ := mime.ParseMediaType(one) // what cannot be read is not accepted
			if kind == "text/event-stream" || kind == "text/*" || kind == "*/*" {
				return true
			}
		}
	}
	return false
}

// follow passes the turn on to the client, and answers the call.
func (k *asking) follow(ctx context.Context) error {
	if takesStream(k.r.x.R) {
		k.frames = protocol.NewFrames(k.r.x.W)
		defer k.frames.End()
	}
	timed, stop := context.WithTimeout(ctx, MaxWait)
	defer stop()
	k.stop = stop
	defer k.forget()
	k.progress("session " + k.session.String() + ", turn " + k.turn.String())
	if k.over && k.reason != "" {
		stream.Aside(func() { k.elicit(timed) })
	}
	var err error
	if !k.over {
		err = k.watch.Relay(timed, k, k.r.x.Leave) // nil at the end of its time, too
	}
	if ctx.Err() != nil {
		return nil // the client is gone; the turn continues
	}
	switch {
	case k.over || err != nil:
	case timed.Err() != nil: // the time is over, or a question was dismissed
		stream.Aside(func() { err = k.look(ctx) })
	default: // the process stops, or the caller may no longer read
		err = parley.Errorf(parley.CodeUnavailable,
			"The stream ended before the turn. The turn goes on in the session %s.", k.session)
	}
	var body []byte
	if err != nil {
		body = faultOf(k.r.x.Problem(err)).encode(k.r.ID)
	} else {
		stream.Aside(func() { body = k.result(ctx) })
	}
	if k.frames == nil {
		answerJSON(k.r.x, http.StatusOK, body)
		return nil
	}
	k.send(body)
	_ = k.frames.Flush() // the client may be gone
	return nil
}

// send adds a message to the frames.
func (k *asking) send(body []byte) {
	if k.frames != nil {
		b := append(append(k.frames.Buffer, "event: message\ndata: "...), body...)
		k.frames.Buffer = append(b, "\n\n"...)
	}
}

// progress tells a client that wants to know how far the turn has come.
func (k *asking) progress(message string) {
	token := k.r.Meta.Progress
	if k.frames == nil || !isID(token) {
		return
	}
	k.told++
	b := append([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`), token...)
	b = strconv.AppendInt(append(b, `,"progress":`...), int64(k.told), 10)
	b = parley.AppendJSONString(append(b, `,"message":`...), message)
	k.send(append(b, "}}"...))
}

// Write implements stream.Writer.
func (k *asking) Write(ctx context.Context, from *stream.Stream) error {
	return k.frames.Pass(ctx, from, func(frame *stream.Frame) (bool, error) {
		if frame.Kind != stream.EventFrame {
			return false, nil
		}
		err := k.happened(k.r.x.R.Context(), &frame.Event)
		return k.over, err
	})
}

// Beat implements stream.Writer. Clients end a call that shows no progress.
func (k *asking) Beat() error {
	k.progress("still running")
	return k.frames.Beat()
}

// happened follows the turn.
func (k *asking) happened(ctx context.Context, e *parley.Event) error {
	switch {
	case e.Type.EndsTurn():
		end, err := event.Read[event.TurnEnd](e)
		k.over, k.reason, k.ended = true, "", end.Turn
		return err
	case e.Type == parley.EventStepStarted:
		step, err := event.Read[event.StepStarted](e)
		k.progress("step " + strconv.Itoa(step.Step))
		return err
	case e.Type == parley.EventToolStarted:
		call, err := event.Read[event.ToolStarted](e)
		k.progress("calls " + call.Name)
		return err
	case e.Type == parley.EventToolProgress:
		call, err := event.Read[event.ToolProgress](e)
		k.progress(call.Name + ": " + call.Message)
		return err
	case e.Type == parley.EventToolCompleted:
		call, err := event.Read[event.ToolCompleted](e)
		k.progress(call.Name + " has a result")
		return err
	case e.Type == parley.EventApprovalCreated:
		held, err := event.Read[event.Approval](e)
		k.progress("waits for an approval of " + held.Name)
		if err == nil && held.SessionID != k.session { // its own session's come with session.waiting
			stream.Aside(func() { k.elicit(ctx) })
		}
		return err
	case e.Type == parley.EventSessionWaiting:
		waiting, err := event.Read[event.SessionWaiting](e)
		if err != nil || !stopsFor(waiting.Reason) {
			return err
		}
		k.over, k.reason = true, waiting.Reason
		if waiting.Refused != nil {
			k.holds = waiting.Sentence
		}
		stream.Aside(func() { k.elicit(ctx) })
	}
	return nil
}

// result is the message that answers the call.
func (k *asking) result(ctx context.Context) []byte {
	x := k.r.x
	made := toolResult{outcome: k.a.completed(k.r, false)}
	about := answer{Session: k.session, Turn: k.turn, Status: parley.TurnWaiting, WaitsFor: k.reason}
	again := "Call " + parley.Clip(k.r.Name, 96) + " with session_id " + k.session.String() + " and without message "
	var said string
	switch {
	case !k.over:
		about.Status = parley.TurnRunning
		said = "The agent is still working. " + again + "to wait for its answer."
	case k.reason != "":
		pending, err := k.pending(ctx)
		if err != nil {
			return faultOf(x.Problem(err)).encode(k.r.ID)
		}
		if k.r.standsAlone() && k.r.elicits && !k.dismissed && len(pending) > 0 {
			body, err := k.inputRequired(ctx, pending)
			if err != nil {
				return faultOf(x.Problem(err)).encode(k.r.ID)
			}
			return body
		}
		said = k.waits(pending) + " " + again + "to get the answer afterwards."
	case k.ended.Status == parley.TurnFailed:
		about.Status, made.Failed, said = k.ended.Status, true, "The turn failed."
		if k.ended.Error != nil {
			said = k.ended.Error.Sentence
		}
	case k.ended.Status == parley.TurnCancelled:
		about.Status, made.Failed, said = k.ended.Status, true, "The turn was cancelled."
	default:
		text, err := k.said(ctx)
		if err != nil {
			return faultOf(x.Problem(err)).encode(k.r.ID)
		}
		about.Status, about.Answer, said = k.ended.Status, text, text
	}
	made.Content = []text{textOf(said), textOf("session_id: " + k.session.String())}
	made.Structured = about
	body, err := response(k.r.ID, made)
	if err != nil {
		return faultOf(x.Problem(err)).encode(k.r.ID)
	}
	return body
}

// said reads the last text of the turn.
func (k *asking) said(ctx context.Context) (string, error) {
	rows, err := k.a.engine.Messages(ctx, k.r.x.Principal, k.session, engine.MessageList{
		Paging: engine.Paging{Limit: mostRows, Order: engine.Descending},
		Roles:  []parley.Role{parley.RoleAssistant}, TurnIDs: []parley.ID{k.turn},
	})
	if err != nil {
		return "", err
	}
	for i := range rows.Data {
		m := &rows.Data[i]
		var content parley.AssistantContent
		if m.Internal || m.Status == parley.MessageFailed || json.Unmarshal(m.Content, &content) != nil {
			continue
		}
		said := content.Text
		if said == "" {
			said = content.Refusal
		}
		if said != "" {
			return said, k.r.hold(int64(transcriptHolds * len(said)))
		}
	}
	return "", nil
}
