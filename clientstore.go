package parley

import (
	"context"
	"time"
)

// ClientLease is how long a client counts as having a session open after it last
// said so. A browser lets a page that nobody sees speak once a minute.
const ClientLease = 90 * time.Second

// MaxSessionClients bounds the clients of one session that are listed.
const MaxSessionClients = 100

// SessionClient is a client (window, tab) that has a session open.
type SessionClient struct {
	ClientID  string `json:"client_id"` // as the client names itself
	Principal Author `json:"principal"`
	SeenAt    Time   `json:"seen_at"`    // when it last said so
	ExpiresAt Time   `json:"expires_at"` // when it counts as gone unless it says so again
}

// ClientStore keeps what each client (window, tab) of a principal has open.
type ClientStore interface {
	// SetClientSession notes that a client has a session open, instead of another
	// one. Said again it keeps it open, and the feed is not told.
	SetClientSession(ctx context.Context, scope Scope, principalID ID, client string, sessionID ID) error
	// ClientSession is what a client has open; CodeNotFound for nothing.
	ClientSession(ctx context.Context, scope Scope, principalID ID, client string) (Session, error)
	ClearClientSession(ctx context.Context, scope Scope, principalID ID, client string) error
	// SessionClients lists the clients that have a session open and said so since a
	// time: at most MaxSessionClients, by principal and name. ExpiresAt is not set.
	SessionClients(ctx context.Context, scope Scope, sessionID ID, since Time) ([]SessionClient, error)
}

// ClientSweep ends what clients have open that went without a word.
type ClientSweep interface {
	// ExpireClients forgets clients that last spoke before a time, and tells the feed
	// as ClearClientSession does: at most PurgeBatch of them. It reports whether there
	// may be more. Several may run at once.
	ExpireClients(ctx context.Context, before Time) (more bool, err error)
}
