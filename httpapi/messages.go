package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
	"example.org/parley/stream"
)

// messageBytes is the usual size of a listed message.
const messageBytes = 1300

// servePostMessage is the hot path: one strict decode, one transaction, and for a stream the turn's frames from just
// before the post. A streamed message is posted on another goroutine, so that the stream keeps a small stack.
func servePostMessage(a *api, x *exchange) (err error) {
	if !x.wantsStream() {
		_, err = a.postMessage(x, false)
		return err
	}
	var turn *stream.Stream
	stream.Aside(func() { turn, err = a.postMessage(x, true) })
	if turn != nil {
		a.relayTurn(x, turn)
	}
	return err
}

// postMessage posts and answers, but if the turn is to be streamed it returns the turn's stream.
func (a *api) postMessage(x *exchange, streams bool) (*stream.Stream, error) {
	args := x.arguments()
	flush := args.flushMS(a.flush)
	if args.err != nil {
		return nil, args.err
	}
	id, err := a.session(x)
	if err != nil {
		return nil, err
	}
	var input engine.MessageInput
	if err := decode(a, x, &input); err != nil {
		return nil, err
	}
	if input.DryRun {
		return nil, a.dryRunMessage(x, id, input, flush)
	}
	idempotency, err := x.idempotency(x.r.PathValue("session"))
	if err != nil {
		return nil, err
	}
	if streams || x.waits {
		defer a.streams.Expect(id).Close()
	}
	posted, err := a.engine.PostMessage(x.r.Context(), x.principal, id, input, idempotency)
	if err != nil {
		return nil, err
	}
	x.tellPosted(&posted)
	x.w.Header().Set("Location", "/v1/messages/"+posted.Message.ID.String())
	if x.waits {
		return nil, a.answerPosted(x, &posted)
	}
	if x.streamed && posted.Message.TurnID.IsZero() {
		return nil, x.noFrames()
	}
	if !streams || posted.Message.TurnID.IsZero() {
		return nil, x.sendMessage(http.StatusCreated, &posted.Message)
	}
	return a.streams.Follow(x.r.Context(), x.principal, turnOf(&posted, flush))
}

// tellPosted puts into the headers the message's id, and the event sequence to watch from.
func (x *exchange) tellPosted(posted *store.Posted) {
	x.turn = posted.Message.TurnID
	header := x.w.Header()
	header.Set(messageHeader, posted.Message.ID.String())
	header.Set(eventSequenceHeader, strconv.FormatInt(posted.EventSequence, 10))
}

// turnOf requests the frames of the turn that a post began or repeats, from just before the post.
func turnOf(posted *store.Posted, flush time.Duration) stream.Request {
	return stream.Turn(posted.Message.SessionID, posted.EventSequence, posted.Message.TurnID, flush)
}

// streamTurn answers with the frames of a turn that the request began or joined.
func (a *api) streamTurn(x *exchange, request stream.Request) error {
	turn, err := a.streams.Follow(x.r.Context(), x.principal, request)
	if err == nil {
		a.relayTurn(x, turn)
	}
	return err
}

// relayTurn answers with a turn's frames and ends its stream.
func (a *api) relayTurn(x *exchange, turn *stream.Stream) {
	defer turn.Close()
	x.call.End(x.r.Context())
	x.body = nil // it is in the record
	x.letGo()
	a.relay(x, newSSE(x.w), turn)
}

func serveListMessages(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.MessageList{
		Paging:     args.paging(),
		Roles:      words[parley.Role](args, "role"),
		Statuses:   words[parley.MessageStatus](args, "status"),
		Internal:   args.flag(internalParameter),
		TurnIDs:    args.ids("turn"),
		Iterations: args.numbers("iteration", 0, maxIteration),
		ToolNames:  words[string](args, "tool"),
		AgentTypes: words[string](args, "agent_type"),
	}
	if from := args.number("from_sequence", 1, maxSequence); from != nil {
		list.From = int64(*from)
	}
	if args.err != nil {
		return args.err
	}
	id, err := a.session(x)
	if err != nil {
		return err
	}
	ctx := x.r.Context()
	var messages engine.Page[parley.Message]
	view := x.view
	if view == "" {
		view = args.text(viewParameter)
	}
	switch view {
	case "", "flat":
		messages, err = a.engine.Messages(ctx, x.principal, id, list)
	case "user":
		messages, err = a.engine.UserMessages(ctx, x.principal, id, list)
	case "recent":
		messages, err = a.engine.RecentMessages(ctx, x.principal, id, list)
	case "transcript":
		entries, err := a.engine.Transcript(ctx, x.principal, id, list)
		if err != nil {
			return err
		}
		return x.sendBytes(http.StatusOK, appendPage(nil, entries.Data, entries.Next, appendEntry))
	case "chat":
		return sendPage(x, id, list, a.engine.Chat)
	case "ids":
		return sendPage(x, id, list, a.engine.MessageIDs)
	default:
		return parley.InvalidField(viewParameter, "is not one of flat, transcript, user, recent, chat, ids")
	}
	if err != nil {
		return err
	}
	body := make([]byte, 0, 64+len(messages.Data)*messageBytes)
	return x.sendBytes(http.StatusOK, appendPage(body, messages.Data, messages.Next, appendMessage))
}

func serveMessage(a *api, x *exchange) error {
	id, err := x.pathID("message")
	if err != nil {
		return err
	}
	message, err := a.engine.Message(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return x.sendMessage(http.StatusOK, &message)
}

func serveUpdateMessage(a *api, x *exchange) error {
	var patch engine.MessagePatch
	if err := checked(a, x, &patch); err != nil {
		return err
	}
	return a.updateMessage(x, patch)
}

func serveMarkMessage(a *api, x *exchange) error {
	args := x.arguments()
	session := args.id("session")
	if args.err != nil {
		return args.err
	}
	id, err := x.pathID("message")
	if err != nil {
		return err
	}
	var marks engine.MarksPatch
	if err := checked(a, x, &marks); err != nil {
		return err
	}
	message, err := a.engine.MarkMessage(x.r.Context(), x.principal, session, id, marks)
	if err != nil {
		return err
	}
	return x.sendMessage(http.StatusOK, &message)
}

func (a *api) updateMessage(x *exchange, patch engine.MessagePatch) error {
	id, err := x.pathID("message")
	if err != nil {
		return err
	}
	message, err := a.engine.UpdateMessage(x.r.Context(), x.principal, id, patch)
	if err != nil {
		return err
	}
	return x.sendMessage(http.StatusOK, &message)
}

func serveRemoveMessage(a *api, x *exchange) error {
	id, err := x.pathID("message")
	if err != nil {
		return err
	}
	if _, err := a.engine.RemoveMessage(x.r.Context(), x.principal, id); err != nil {
		return err
	}
	return x.sendNothing()
}

func serveVersions(a *api, x *exchange) error {
	id, err := x.pathID("message")
	if err != nil {
		return err
	}
	versions, err := a.engine.Versions(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, page[parley.Version]{Data: versions.Data})
}

func (x *exchange) sendMessage(status int, message *parley.Message) error {
	return x.sendBytes(status, appendMessage(make([]byte, 0, messageBytes), message))
}
