package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

func serveUsage(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.UsageList{
		Group:      parley.UsageGroup(args.text("group")),
		From:       args.since("created_from"),
		To:         args.until("created_to"),
		Agents:     words[string](args, "agent"),
		ProjectIDs: args.ids("project"),
		SessionIDs: args.ids("session"),
	}
	if daily := args.flag("daily"); daily != nil {
		list.Daily = *daily
	}
	if limit := args.number("limit", 1, parley.MaxPage); limit != nil {
		list.Limit = *limit
	}
	if args.err != nil {
		return args.err
	}
	report, err := a.engine.Usage(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, report)
}
