package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

func serveSearch(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.SearchList{
		Query:       args.text("q"),
		Roles:       words[parley.Role](args, "role"),
		ToolNames:   words[string](args, "tool"),
		Agents:      words[string](args, "agent"),
		ProjectIDs:  args.ids("project"),
		SessionID:   args.id("session"),
		CreatedFrom: args.since("created_from"),
		CreatedTo:   args.until("created_to"),
		Archived:    engine.ArchivedFilter(args.text("archived")),
		Cursor:      args.text("cursor"),
	}
	if limit := args.number("limit", 1, store.MaxHits); limit != nil {
		list.Limit = *limit
	}
	if args.err != nil {
		return args.err
	}
	results, err := a.engine.Search(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, results)
}
