package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// approvalFilters are the parameters of a list of approvals.
func approvalFilters() []parameter {
	return with(
		paging(),
		many(listOf[parley.ApprovalState]("status", "Only approvals in this state.")),
		many(text("agent", "Only those of this agent's turns, by id or slug.")),
	)
}

func approvalList(args *arguments) engine.ApprovalList {
	return engine.ApprovalList{
		Paging: args.paging(),
		States: words[parley.ApprovalState](args, "status"),
		Agents: words[string](args, "agent"),
	}
}

func serveListApprovals(a *api, x *exchange) error {
	args := x.arguments()
	list := approvalList(args)
	list.SessionIDs = args.ids("session")
	if args.err != nil {
		return args.err
	}
	approvals, err := a.engine.Approvals(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, approvals)
}

func serveSessionApprovals(a *api, x *exchange) error {
	args := x.arguments()
	list := approvalList(args)
	if args.err != nil {
		return args.err
	}
	id, err := a.session(x)
	if err != nil {
		return err
	}
	return sendPage(x, id, list, a.engine.SessionApprovals)
}

func serveApproval(a *api, x *exchange) error {
	id, err := x.pathID("approval")
	if err != nil {
		return err
	}
	approval, err := a.engine.Approval(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, approval)
}

func serveDecide(a *api, x *exchange) error {
	id, err := x.pathID("approval")
	if err != nil {
		return err
	}
	var input engine.DecisionInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	approval, err := a.engine.Decide(x.r.Context(), x.principal, id, input)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, approval)
}
