package httpapi

import (
	"net/http"

	"example.org/parley/engine"
)

func serveAppendMessage(a *api, x *exchange) error {
	id, err := x.pathID("message")
	if err != nil {
		return err
	}
	var input engine.AppendInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	grown, err := a.engine.AppendMessage(x.r.Context(), x.principal, id, input)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, grown)
}

func serveSettleMessage(a *api, x *exchange) error {
	id, err := x.pathID("message")
	if err != nil {
		return err
	}
	var input engine.SettleInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	settled, err := a.engine.SettleMessage(x.r.Context(), x.principal, id, input)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, settled)
}
