package httpapi

import (
	"net/http"

	"example.org/parley/engine"
)

func serveCompact(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	var input engine.CompactInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	compaction, err := a.engine.CompactSession(x.r.Context(), x.principal, id, input)
	if err != nil {
		return err
	}
	if input.Preview {
		return sendJSON(x, http.StatusOK, compaction)
	}
	return sendJSON(x, http.StatusAccepted, compaction)
}

func serveCompaction(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	compaction, err := a.engine.Compaction(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, compaction)
}

func serveCovered(a *api, x *exchange) error {
	args := x.arguments()
	paging := args.paging()
	if args.err != nil {
		return args.err
	}
	id, err := x.pathID("message")
	if err != nil {
		return err
	}
	messages, err := a.engine.Covered(x.r.Context(), x.principal, id, paging)
	if err != nil {
		return err
	}
	return x.sendBytes(http.StatusOK, appendPage(nil, messages.Data, messages.Next, appendMessage))
}

func serveReviseSummary(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	var input engine.SummaryInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	revised, err := a.engine.ReviseSummary(x.r.Context(), x.principal, id, input)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusCreated, revised)
}
