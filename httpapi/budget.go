package httpapi

import "net/http"

func serveBudget(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	budget, err := a.engine.Budget(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, budget)
}
