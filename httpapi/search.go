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
		Query: args.text(
			"q",
		),
		ToolName:    args.text("tool_name"),
		Agent:       args.text("agent_id"),
		ProjectID:   args.id("project_id"),
		SessionID:   args.id("session_id"),
		CreatedFrom: args.since("created_from"),
		CreatedTo:   args.until("created_to"),
		Archived:    engine.ArchivedFilter(args.text("archived")),
		Cursor:      args.text("cursor"),
	}
	for _, role := range args.values["role"] {
		list.Roles = append(list.Roles, parley.Role(role))
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
