package httpapi

import (
	"net/http"

	"example.org/parley/engine"
)

// unaudited lists the routes that reveal nobody's data.
func (r *route) unaudited() bool {
	return !r.signs &&
		(r.open || r.verb == "" || r.verb == engine.ReadMetrics || r.verb == engine.ReadModels ||
			r.verb == engine.ReadTools)
}

// readings lists the actions that change nothing lasting: those that read, watch, or report which session a window has
// open.
func readings() []string {
	actions := []string{"read_session"} // the tool by which one session reads another
	list := routes()
	for i := range list {
		if r := &list[i]; r.method == http.MethodGet && !r.signs || r.verb == engine.SetClients {
			actions = append(actions, r.name)
		}
	}
	return actions
}

func serveAudit(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.AuditList{
		Paging:       args.paging(),
		SessionIDs:   args.ids("session"),
		PrincipalIDs: args.ids("principal"),
	}
	if changes := args.flag("changes"); changes != nil && *changes {
		list.Without = readings()
	}
	if args.err != nil {
		return args.err
	}
	entries, err := a.engine.Audit(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, entries)
}
