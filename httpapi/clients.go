package httpapi

import (
	"net/http"

	"example.org/parley"
)

// clientInput names the session that a client has open.
type clientInput struct {
	SessionID parley.ID `json:"session_id" required:"true"`
}

func serveSetClient(a *api, x *exchange) error {
	var input clientInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	if input.SessionID.IsZero() {
		return parley.InvalidField("session_id", "is missing; use DELETE to clear it")
	}
	if err := a.engine.SetClientSession(
		x.r.Context(),
		x.principal,
		x.r.PathValue("client"),
		input.SessionID,
	); err != nil {
		return err
	}
	return serveClient(a, x)
}

func serveClient(a *api, x *exchange) error {
	session, err := a.engine.ClientSession(x.r.Context(), x.principal, x.r.PathValue("client"))
	if err != nil {
		return err
	}
	return x.sendSession(http.StatusOK, &session)
}

func serveClearClient(a *api, x *exchange) error {
	if err := a.engine.ClearClientSession(x.r.Context(), x.principal, x.r.PathValue("client")); err != nil {
		return err
	}
	return x.sendNothing()
}

func serveSessionClients(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	clients, err := a.engine.SessionClients(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, page[parley.SessionClient]{Data: clients.Data})
}
