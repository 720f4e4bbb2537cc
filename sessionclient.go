package parley

import "time"

// ClientLease is how long a client counts as having a session open after its last report. Browsers let a hidden page
// report once a minute.
const ClientLease = 90 * time.Second

// MaxSessionClients bounds the listed clients of one session.
const MaxSessionClients = 100

// SessionClient is a client (window, tab) that has a session open.
type SessionClient struct {
	ClientID  string `json:"client_id"` // chosen by the client
	Principal Author `json:"principal"`
	SeenAt    Time   `json:"seen_at"`    // its last report
	ExpiresAt Time   `json:"expires_at"` // when it counts as gone unless it reports again
}
