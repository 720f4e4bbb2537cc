package httpapi

import (
	"context"
	"net/http"

	"example.org/parley"
	"example.org/parley/store"
)

// branchVerb is Fork, EditMessage or Regenerate.
type branchVerb[Input any] func(ctx context.Context, principal parley.Principal, id parley.ID, input Input,
	idempotency store.Idempotency) (store.Opened, error)

func serveFork(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	return openBranch(a, x, id, a.engine.Fork)
}

func serveEditMessage(a *api, x *exchange) error { return ofMessage(a, x, a.engine.EditMessage) }

func serveRegenerate(a *api, x *exchange) error { return ofMessage(a, x, a.engine.Regenerate) }

func ofMessage[Input any](a *api, x *exchange, verb branchVerb[Input]) error {
	id, err := x.pathID("message")
	if err != nil {
		return err
	}
	return openBranch(a, x, id, verb)
}

// openBranch answers with the new session, or with the frames of its first turn.
func openBranch[Input any](a *api, x *exchange, id parley.ID, verb branchVerb[Input]) error {
	args := x.arguments()
	flush := args.flushMS(a.flush)
	if args.err != nil {
		return args.err
	}
	var input Input
	if err := checked(a, x, &input); err != nil {
		return err
	}
	idempotency, err := x.idempotency(id.String())
	if err != nil {
		return err
	}
	opened, err := verb(x.r.Context(), x.principal, id, input, idempotency)
	if err != nil {
		return err
	}
	return a.answerOpened(x, &opened, flush)
}

func serveBranches(a *api, x *exchange) error {
	args := x.arguments()
	list := args.paging()
	if args.err != nil {
		return args.err
	}
	id, err := x.pathID("message")
	if err != nil {
		return err
	}
	if _, err := a.engine.Message(x.r.Context(), x.principal, id); err != nil {
		return err
	}
	branches, err := a.engine.Branches(x.r.Context(), x.principal, id, list)
	if err != nil {
		return err
	}
	body := make([]byte, 0, 64+len(branches.Data)*sessionBytes)
	return x.sendBytes(http.StatusOK, appendPage(body, branches.Data, branches.Next, appendSession))
}
