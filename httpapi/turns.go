package httpapi

import (
	"context"
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// openVerb is OpenSession or EnsureSession.
type openVerb func(context.Context, parley.Principal, engine.SessionInput, store.Idempotency) (store.Opened, error)

// listVerb is one of the engine's lists of a session.
type listVerb[List, Row any] func(context.Context, parley.Principal, parley.ID, List) (engine.Page[Row], error)

// sendPage answers with a list that is not hot.
func sendPage[List, Row any](x *exchange, session parley.ID, list List, verb listVerb[List, Row]) error {
	rows, err := verb(x.r.Context(), x.principal, session, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, rows)
}

// maxTurnNumber bounds the parameter number.
const maxTurnNumber = 1_000_000_000

func serveListTurns(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.TurnList{Paging: args.paging(), Statuses: words[parley.TurnStatus](args, "status")}
	if number := args.number("number", 1, maxTurnNumber); number != nil {
		list.Number = int64(*number)
	}
	if args.err != nil {
		return args.err
	}
	id, err := a.session(x)
	if err != nil {
		return err
	}
	return sendPage(x, id, list, a.engine.Turns)
}

func serveTurn(a *api, x *exchange) error {
	id, err := x.pathID("turn")
	if err != nil {
		return err
	}
	turn, err := a.engine.Turn(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, turn)
}

func serveListCalls(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.CallList{Paging: args.paging(), TurnIDs: args.ids("turn")}
	if args.err != nil {
		return args.err
	}
	id, err := a.session(x)
	if err != nil {
		return err
	}
	return sendPage(x, id, list, a.engine.Calls)
}

func serveCall(a *api, x *exchange) error {
	id, err := x.pathID("call")
	if err != nil {
		return err
	}
	call, err := a.engine.Call(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendExact(x, call)
}

func serveDiffCall(a *api, x *exchange) error {
	args := x.arguments()
	with := args.id("with")
	if args.err != nil {
		return args.err
	}
	id, err := x.pathID("call")
	if err != nil {
		return err
	}
	diff, err := a.engine.DiffCall(x.r.Context(), x.principal, id, with)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, diff)
}

func serveCancel(a *api, x *exchange) error {
	args := x.arguments()
	queued := args.flag("queued")
	if args.err != nil {
		return args.err
	}
	id, err := a.session(x)
	if err != nil {
		return err
	}
	var input engine.CancelInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	if queued != nil {
		input.Queued = *queued
	}
	cancelled, err := a.engine.Cancel(x.r.Context(), x.principal, id, input)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, cancelled)
}
