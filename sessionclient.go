package parley

import "time"

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
