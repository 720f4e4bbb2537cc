package store

import (
	"context"

	"example.org/parley"
)

// Clients stores which session each client (window, tab) of a principal has open.
type Clients interface {
	// SetClientSession records that a client has a session open, replacing any other. A repeat keeps it open and sends
	// nothing to the feed.
	SetClientSession(ctx context.Context, scope Scope, principalID parley.ID, client string, sessionID parley.ID) error
	// ClientSession returns the session that a client has open; CodeNotFound if it has none.
	ClientSession(ctx context.Context, scope Scope, principalID parley.ID, client string) (parley.Session, error)
	ClearClientSession(ctx context.Context, scope Scope, principalID parley.ID, client string) error
	// SessionClients lists the clients that have a session open and reported it since a time: at most
	// MaxSessionClients, by principal and name. ExpiresAt is not set.
	SessionClients(
		ctx context.Context,
		scope Scope,
		sessionID parley.ID,
		since parley.Time,
	) ([]parley.SessionClient, error)
}

// ClientSweep expires clients that stopped reporting.
type ClientSweep interface {
	// ExpireClients forgets clients whose last report is before a time, at most PurgeBatch of them, and tells the feed
	// as ClearClientSession does. It reports whether more may remain. Several may run at once.
	ExpireClients(ctx context.Context, before parley.Time) (more bool, err error)
}
