package store

import (
	"context"

	"example.org/parley"
)

// Clients keeps what each client (window, tab) of a principal has open.
type Clients interface {
	// SetClientSession notes that a client has a session open, instead of another
	// one. Said again it keeps it open, and the feed is not told.
	SetClientSession(ctx context.Context, scope Scope, principalID parley.ID, client string, sessionID parley.ID) error
	// ClientSession is what a client has open; CodeNotFound for nothing.
	ClientSession(ctx context.Context, scope Scope, principalID parley.ID, client string) (parley.Session, error)
	ClearClientSession(ctx context.Context, scope Scope, principalID parley.ID, client string) error
	// SessionClients lists the clients that have a session open and said so since a
	// time: at most MaxSessionClients, by principal and name. ExpiresAt is not set.
	SessionClients(
		ctx context.Context,
		scope Scope,
		sessionID parley.ID,
		since parley.Time,
	) ([]parley.SessionClient, error)
}

// ClientSweep ends what clients have open that went without a word.
type ClientSweep interface {
	// ExpireClients forgets clients that last spoke before a time, and tells the feed
	// as ClearClientSession does: at most PurgeBatch of them. It reports whether there
	// may be more. Several may run at once.
	ExpireClients(ctx context.Context, before parley.Time) (more bool, err error)
}
