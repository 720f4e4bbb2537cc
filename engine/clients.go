package engine

import (
	"context"

	"parley"
)

// SetClientSession notes what a client (window, tab) of the principal has open
// and tells the workspace feed.
func (e *Engine) SetClientSession(ctx context.Context, principal parley.Principal, client string, sessionID parley.ID) error {
	scope, err := e.client(principal, client)
	if err != nil {
		return err
	}
	return e.store.SetClientSession(ctx, scope, principal.ID, client, sessionID)
}

// ClientSession is what a client has open; CodeNotFound for nothing.
func (e *Engine) ClientSession(ctx context.Context, principal parley.Principal, client string) (parley.Session, error) {
	scope, err := e.client(principal, client)
	if err != nil {
		return parley.Session{}, err
	}
	return e.store.ClientSession(ctx, scope, principal.ID, client)
}

// ClearClientSession notes that a client has nothing open any more.
func (e *Engine) ClearClientSession(ctx context.Context, principal parley.Principal, client string) error {
	scope, err := e.client(principal, client)
	if err != nil {
		return err
	}
	return e.store.ClearClientSession(ctx, scope, principal.ID, client)
}

func (e *Engine) client(principal parley.Principal, client string) (parley.Scope, error) {
	scope, err := authorise(principal, SetClients)
	if err != nil {
		return parley.Scope{}, err
	}
	if client == "" {
		return parley.Scope{}, parley.InvalidField("client", "is empty; a client names itself")
	}
	return scope, parley.CheckText("client", client, parley.MaxNameBytes)
}

// SessionClientList is the clients that have a session open.
type SessionClientList struct {
	Data []parley.SessionClient `json:"data"`
}

// SessionClients lists the clients that have a session open and said so within
// ClientLease, by principal and name.
func (e *Engine) SessionClients(ctx context.Context, principal parley.Principal, sessionID parley.ID) (SessionClientList, error) {
	scope, err := authorise(principal, ReadSessions)
	if err != nil {
		return SessionClientList{}, err
	}
	lease := parley.Time(parley.ClientLease.Milliseconds())
	clients, err := e.store.SessionClients(ctx, scope, sessionID, parley.Now()-lease)
	for i := range clients {
		clients[i].ExpiresAt = clients[i].SeenAt + lease
	}
	return SessionClientList{Data: orEmpty(clients)}, err
}
