package httpapi

import (
	"net/http"
	"strconv"

	"example.org/parley/engine"
)

func serveStartLoop(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	var input engine.LoopInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	idempotency, err := x.idempotency(x.r.PathValue("session"))
	if err != nil {
		return err
	}
	started, err := a.engine.StartLoop(x.r.Context(), x.principal, id, input, idempotency)
	if err != nil {
		return err
	}
	header := x.w.Header()
	header.Set("Location", "/v1/loops/"+started.Loop.ID.String())
	header.Set(eventSequenceHeader, strconv.FormatInt(started.EventSequence, 10))
	return sendJSON(x, http.StatusCreated, started.Loop)
}

func serveListLoops(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.LoopList{Paging: args.paging()}
	if args.err != nil {
		return args.err
	}
	id, err := a.session(x)
	if err != nil {
		return err
	}
	return sendPage(x, id, list, a.engine.Loops)
}

func serveLoop(a *api, x *exchange) error {
	id, err := x.pathID("loop")
	if err != nil {
		return err
	}
	loop, err := a.engine.Loop(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, loop)
}

func serveStopLoop(a *api, x *exchange) error {
	id, err := x.pathID("loop")
	if err != nil {
		return err
	}
	var input engine.LoopStopInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	loop, err := a.engine.StopLoop(x.r.Context(), x.principal, id, input)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, loop)
}
