package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

func serveListDelegations(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.DelegationList{
		Paging:     args.paging(),
		Statuses:   words[parley.DelegationStatus](args, "status"),
		Kinds:      words[parley.DelegationKind](args, "kind"),
		Agents:     words[string](args, "agent"),
		SessionIDs: args.ids("session"),
		RootID:     args.id("root"),
	}
	if args.err != nil {
		return args.err
	}
	delegations, err := a.engine.Delegations(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, delegations)
}

func serveDelegation(a *api, x *exchange) error {
	id, err := x.pathID("delegation")
	if err != nil {
		return err
	}
	delegation, err := a.engine.Delegation(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, delegation)
}

func serveCancelDelegation(a *api, x *exchange) error {
	id, err := x.pathID("delegation")
	if err != nil {
		return err
	}
	delegation, err := a.engine.CancelDelegation(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, delegation)
}
