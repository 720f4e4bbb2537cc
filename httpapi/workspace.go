package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

func serveWorkspace(a *api, x *exchange) error {
	workspace, err := a.engine.Workspace(x.r.Context(), x.principal)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, workspace)
}

func serveUpdateWorkspace(a *api, x *exchange) error {
	var patch engine.WorkspacePatch
	if err := checked(a, x, &patch); err != nil {
		return err
	}
	patch.If = ifMatch(x, func(current parley.Workspace) ([]byte, error) { return parley.EncodeJSON(current) })
	workspace, err := a.engine.UpdateWorkspace(x.r.Context(), x.principal, patch)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, workspace)
}
