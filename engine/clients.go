package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// SetClientSession records what a client (window, tab) of the principal has open, and tells the workspace feed.
func (e *Engine) SetClientSession(
	ctx context.Context,
	principal parley.Principal,
	client string,
	sessionID parley.ID,
) (err error) {
	ctx, call, err := e.enter(ctx, principal, "setClientSession", SetClients, of(sessionID))
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	if err := checkClient(client); err != nil {
		return err
	}
	if before, err := e.store.ClientSession(
		ctx,
		call.Scope,
		principal.ID,
		client,
	); err == nil &&
		before.ID == sessionID {
		call.Unaudited() // a sign of life: the entry of its arrival is enough
		ctx = store.WithAudit(ctx, nil)
	}
	return e.store.SetClientSession(ctx, call.Scope, principal.ID, client, sessionID)
}

// ClientSession returns what a client has open; CodeNotFound if nothing.
func (e *Engine) ClientSession(
	ctx context.Context,
	principal parley.Principal,
	client string,
) (session parley.Session, err error) {
	ctx, call, err := e.enter(ctx, principal, "getClientSession", SetClients)
	if err != nil {
		return parley.Session{}, err
	}
	defer call.end(ctx, &err)
	if err := checkClient(client); err != nil {
		return parley.Session{}, err
	}
	if session, err = e.store.ClientSession(ctx, call.Scope, principal.ID, client); err == nil {
		call.about(of(session.ID))
	}
	return session, err
}

// ClearClientSession records that a client has nothing open any more.
func (e *Engine) ClearClientSession(ctx context.Context, principal parley.Principal, client string) (err error) {
	ctx, call, err := e.enter(ctx, principal, "clearClientSession", SetClients)
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	if err := checkClient(client); err != nil {
		return err
	}
	return e.store.ClearClientSession(ctx, call.Scope, principal.ID, client)
}

func checkClient(client string) error {
	if client == "" {
		return parley.InvalidField("client", "is empty; give the client's name")
	}
	return parley.CheckText("client", client, parley.MaxNameBytes)
}

// SessionClientList lists the clients that have a session open.
type SessionClientList struct {
	Data []parley.SessionClient `json:"data"`
}

// SessionClients lists the clients that have a session open and reported so within ClientLease, by principal and name.
func (e *Engine) SessionClients(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
) (_ SessionClientList, err error) {
	ctx, call, err := e.enter(ctx, principal, "listSessionClients", ReadSessions, of(sessionID))
	if err != nil {
		return SessionClientList{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	lease := parley.Time(parley.ClientLease.Milliseconds())
	clients, err := e.store.SessionClients(ctx, scope, sessionID, parley.Now()-lease)
	for i := range clients {
		clients[i].ExpiresAt = clients[i].SeenAt + lease
	}
	return SessionClientList{Data: orEmpty(clients)}, err
}
