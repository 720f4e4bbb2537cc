package httpapi

import (
	"net/http"

	"parley/engine"
)

func serveSendMessage(a *api, x *exchange) error {
	id, err := x.pathID("message")
	if err != nil {
		return err
	}
	var input engine.SendInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	posted, err := a.engine.SendMessage(x.r.Context(), x.principal, id, input)
	if err != nil {
		return err
	}
	x.tellPosted(&posted)
	return x.sendMessage(http.StatusOK, &posted.Message)
}

func serveMoveMessage(a *api, x *exchange) error {
	id, err := x.pathID("message")
	if err != nil {
		return err
	}
	var input engine.MoveInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	message, err := a.engine.MoveMessage(x.r.Context(), x.principal, id, input)
	if err != nil {
		return err
	}
	return x.sendMessage(http.StatusOK, &message)
}
