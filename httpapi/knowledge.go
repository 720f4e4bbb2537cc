package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

func serveCreateKnowledge(a *api, x *exchange) error {
	var input engine.KnowledgeInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	idempotency, err := x.idempotency("")
	if err != nil {
		return err
	}
	item, _, err := a.engine.CreateKnowledge(x.r.Context(), x.principal, input, idempotency)
	if err != nil {
		return err
	}
	x.w.Header().Set("Location", "/v1/knowledge/"+item.ID.String())
	return sendJSON(x, http.StatusCreated, item)
}

func serveListKnowledge(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.KnowledgeList{
		Paging: args.paging(), Agent: args.text("agent"), Team: args.text("team"),
		Kind: parley.KnowledgeKind(args.text("kind")), Status: parley.KnowledgeStatus(args.text("status")),
	}
	if args.err != nil {
		return args.err
	}
	items, err := a.engine.Knowledge(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, items)
}

func serveKnowledge(a *api, x *exchange) error {
	id, err := x.pathID("knowledge")
	if err != nil {
		return err
	}
	item, err := a.engine.KnowledgeItem(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, item)
}

func serveUpdateKnowledge(a *api, x *exchange) error {
	id, err := x.pathID("knowledge")
	if err != nil {
		return err
	}
	var patch engine.KnowledgePatch
	if err := checked(a, x, &patch); err != nil {
		return err
	}
	item, err := a.engine.UpdateKnowledge(x.r.Context(), x.principal, id, patch)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, item)
}

func serveForgetKnowledge(a *api, x *exchange) error {
	id, err := x.pathID("knowledge")
	if err != nil {
		return err
	}
	if err := a.engine.ForgetKnowledge(x.r.Context(), x.principal, id); err != nil {
		return err
	}
	return x.sendNothing()
}
