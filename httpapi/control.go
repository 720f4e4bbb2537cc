package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
	"example.org/parley/stream"
)

func serveSendMessage(a *api, x *exchange) error {
	id, err := x.pathID("message")
	if err != nil {
		return err
	}
	var input engine.SendInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	posted, err := a.engine.SendMessage(x.r.Context(), x.principal, id, input)
	if err != nil {
		return err
	}
	x.tellPosted(&posted)
	return x.sendMessage(http.StatusOK, &posted.Message)
}

func serveMoveMessage(a *api, x *exchange) error {
	id, err := x.pathID("message")
	if err != nil {
		return err
	}
	var input engine.MoveInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	message, err := a.engine.MoveMessage(x.r.Context(), x.principal, id, input)
	if err != nil {
		return err
	}
	return x.sendMessage(http.StatusOK, &message)
}

// resumeVerb is RetryTurn or ContinueTurn.
type resumeVerb func(context.Context, parley.Principal, parley.ID, store.Idempotency) (store.TurnResumed, error)

func serveRetryTurn(a *api, x *exchange) error    { return a.resumeTurn(x, a.engine.RetryTurn) }
func serveContinueTurn(a *api, x *exchange) error { return a.resumeTurn(x, a.engine.ContinueTurn) }

// resumeTurn answers with the resumed turn (201 for a new one), or with its frames.
func (a *api) resumeTurn(x *exchange, resume resumeVerb) error {
	args := x.arguments()
	flush := args.flushMS(a.flush)
	if args.err != nil {
		return args.err
	}
	id, err := x.pathID("turn")
	if err != nil {
		return err
	}
	if err := checked(a, x, new(engine.ResumeInput)); err != nil {
		return err
	}
	idempotency, err := x.idempotency(id.String())
	if err != nil {
		return err
	}
	resumed, err := resume(x.r.Context(), x.principal, id, idempotency)
	if err != nil {
		return err
	}
	x.turn = resumed.Turn.ID
	x.w.Header().Set(eventSequenceHeader, strconv.FormatInt(resumed.EventSequence, 10))
	if x.waits || x.wantsStream() {
		turn := stream.Turn(resumed.Turn.SessionID, resumed.EventSequence, resumed.Turn.ID, flush)
		if x.waits {
			return a.answerTurn(x, turn)
		}
		return a.streamTurn(x, turn)
	}
	x.w.Header().Set("Location", "/v1/turns/"+resumed.Turn.ID.String())
	status := http.StatusCreated
	if resumed.Turn.ID == id {
		status = http.StatusOK
	}
	return sendJSON(x, status, resumed.Turn)
}
