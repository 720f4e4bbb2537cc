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
