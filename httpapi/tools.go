package httpapi

import (
	"net/http"

	"example.org/parley/engine"
)

func serveTools(a *api, x *exchange) error {
	tools, err := a.engine.Tools(x.r.Context(), x.principal)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, page[engine.ToolInfo]{Data: tools})
}
