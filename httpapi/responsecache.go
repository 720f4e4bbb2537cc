package httpapi

import "net/http"

func serveResponseCache(a *api, x *exchange) error {
	state, err := a.engine.ResponseCache(x.r.Context(), x.principal)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, state)
}

func serveClearResponseCache(a *api, x *exchange) error {
	if err := a.engine.ClearResponseCache(x.r.Context(), x.principal); err != nil {
		return err
	}
	return x.sendNothing()
}
