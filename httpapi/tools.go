package httpapi

import (
	"net/http"

	"example.org/parley/engine"
)

func serveTools(a *api, x *exchange) error {
	args := x.arguments()
	paging := args.paging()
	if args.err != nil {
		return args.err
	}
	tools, err := a.engine.Tools(x.r.Context(), x.principal, paging)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, page[engine.ToolInfo](tools))
}
