package parley

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"time"
)

// Webhook is a subscription: the events of sessions are posted to its URL, signed as Standard Webhooks says, each
// session's in order, each at least once.
type Webhook struct {
	ID          ID            `json:"id"`
	WorkspaceID ID            `json:"workspace_id"`
	Name        string        `json:"name,omitempty"`
	URL         string        `json:"url"`
	Events      []string      `json:"events"` // types, or patterns such as step.*; * is any
	Filter      WebhookFilter `json:"filter"`
	Status      WebhookStatus `json:"status"`
	// Reason is why the server paused it; null if it did not.
	Reason WebhookPause `json:"reason,omitempty"`
	// Owner made it: only events that they may read are sent.
	Owner Author `json:"owner"`
	// FailingSince is when its endpoint began to fail; null: the latest attempt succeeded.
	FailingSince Time `json:"failing_since"`
	// PreviousUntil is until when requests are also signed with the secret before the last rotation.
	PreviousUntil Time `json:"previous_secret_until"`
	// NewSecret is the signing secret, in the answers that make one; null in all others.
	NewSecret string `json:"secret,omitempty"`
	CreatedAt Time   `json:"created_at"`
	UpdatedAt Time   `json:"updated_at"` // by people

	// SessionID and TurnID are those of a push notification of another protocol, which ends with its turn; null for
	// subscriptions.
	SessionID ID `json:"session_id"`
	TurnID    ID `json:"turn_id"`

	// Push is how a push notification is sent; nil for subscriptions.
	Push *WebhookPush `json:"-"`
	// StartsAt is the time of the first event that is sent: its creation, or the end of the last time it was disabled.
	StartsAt Time `json:"-"`
	// Secret and Previous sign; Previous is empty without a rotation.
	Secret   []byte `json:"-"`
	Previous []byte `json:"-"`
	// Revision counts the changes by people.
	Revision int64 `json:"-"`
}

// MarshalJSON writes null for absent fields.
func (w Webhook) MarshalJSON() ([]byte, error) {
	type plain Webhook
	return EncodeJSON(struct {
		*plain
		Name   *string       `json:"name"`
		Reason *WebhookPause `json:"reason"`
		Secret *string       `json:"secret"`
	}{(*plain)(&w), OrNull(w.Name), OrNull(w.Reason), OrNull(w.NewSecret)})
}

// WebhookPush is what a client of another protocol asks for with its push notifications.
type WebhookPush struct {
	ID          string `json:"id"` // the client's, one of its turn
	Token       string `json:"token,omitempty"`
	Scheme      string `json:"scheme,omitempty"` // of the header Authorization
	Credentials string `json:"credentials,omitempty"`
}

// Serves reports whether the webhook is about a session at all; its filter may still leave it out.
func (w *Webhook) Serves(session ID) bool { return w.SessionID.IsZero() || w.SessionID == session }

// Size is about how many bytes the webhook holds.
func (w Webhook) Size() int {
	size := 512 + len(w.Name) + len(w.URL) + 16*len(w.Filter.AgentIDs) + 16*len(w.Filter.ProjectIDs)
	for _, texts := range [][]string{w.Events, w.Filter.Tags, w.Filter.Types} {
		for _, text := range texts {
			size += len(text)
		}
	}
	return size
}

// Wants reports whether events of a type are sent.
func (w *Webhook) Wants(kind EventType) bool {
	return slices.ContainsFunc(w.Events, func(pattern string) bool { return matchesEvent(pattern, kind) })
}

func matchesEvent(pattern string, kind EventType) bool {
	if family, whole := strings.CutSuffix(pattern, "*"); whole {
		return strings.HasPrefix(string(kind), family)
	}
	return pattern == string(kind)
}

// WebhookFilter selects sessions: each list that is not empty must contain what the session has, of tags one.
type WebhookFilter struct {
	SessionIDs []ID     `json:"session_ids"`
	AgentIDs   []ID     `json:"agent_ids"`
	ProjectIDs []ID     `json:"project_ids"`
	Tags       []string `json:"tags"`
	Types      []string `json:"types"`
}

// Empty reports whether the filter selects every session.
func (f *WebhookFilter) Empty() bool {
	return len(f.SessionIDs)+len(f.AgentIDs)+len(f.ProjectIDs)+len(f.Tags)+len(f.Types) == 0
}

// Selects reports whether a session passes the filter.
func (f *WebhookFilter) Selects(s *Session) bool {
	return admits(f.SessionIDs, s.ID) && admits(f.AgentIDs, s.AgentID) && admits(f.ProjectIDs, s.ProjectID) &&
		admits(f.Types, s.Type) &&
		(len(f.Tags) == 0 || slices.ContainsFunc(s.Tags, func(tag string) bool { return slices.Contains(f.Tags, tag) }))
}

func admits[T comparable](list []T, one T) bool { return len(list) == 0 || slices.Contains(list, one) }

// WebhookStatus says whether events are sent.
type WebhookStatus string

// The states. Events of the time while a webhook was paused are sent once it is active again; those of the time while
// it was disabled are not.
const (
	WebhookActive   WebhookStatus = "active"
	WebhookPaused   WebhookStatus = "paused"
	WebhookDisabled WebhookStatus = "disabled"
)

// WebhookPause is why the server paused a webhook.
type WebhookPause string

// PausedFailing means that every attempt of a whole day failed.
const PausedFailing WebhookPause = "failing"

// WebhookDelivery is an event whose first attempt failed, and what came of it. Events that were delivered at once leave
// no row.
type WebhookDelivery struct {
	ID            ID             `json:"id"` // webhook-id is msg_ with it
	WorkspaceID   ID             `json:"-"`
	WebhookID     ID             `json:"webhook_id"`
	SessionID     ID             `json:"session_id"`
	EventSequence int64          `json:"event_sequence"`
	EventType     EventType      `json:"event_type"`
	Status        DeliveryStatus `json:"status"`
	Attempts      int            `json:"attempts"`
	// ResponseStatus is the last answer's HTTP status; null without an answer.
	ResponseStatus *int `json:"response_status"`
	// Error says why the last attempt failed; null if it did not.
	Error     string `json:"error,omitempty"`
	NextAt    Time   `json:"next_at"` // of the next attempt; null: none
	CreatedAt Time   `json:"created_at"`
	UpdatedAt Time   `json:"updated_at"`
}

// MarshalJSON writes null for absent fields.
func (d WebhookDelivery) MarshalJSON() ([]byte, error) {
	type plain WebhookDelivery
	return EncodeJSON(struct {
		*plain
		Error *string `json:"error"`
	}{(*plain)(&d), OrNull(d.Error)})
}

// Size is about how many bytes the delivery holds.
func (d WebhookDelivery) Size() int { return 256 + len(d.Error) }

// DeliveryStatus is what came of a delivery.
type DeliveryStatus string

// The states.
const (
	DeliveryRetrying  DeliveryStatus = "retrying"  // later events of the session wait for it
	DeliveryDead      DeliveryStatus = "dead"      // given up; it can be sent again
	DeliveryDelivered DeliveryStatus = "delivered" // in the end
)

// The bounds of webhooks.
const (
	MaxWebhooksOfWorkspace  = 64
	MaxPushesOfWorkspace    = 1000
	MaxPushesOfOwner        = 256
	MaxPushesOfTurn         = 16   // of one owner
	MaxPushTokenBytes       = 4096 // and credentials
	MaxWebhookURLBytes      = 2048
	MaxWebhookPatterns      = 64
	MaxWebhookPatternBytes  = 64
	MaxWebhookFilterValues  = 64 // of each list
	MaxWebhookDeliveries    = 1000
	MaxWebhookSecretOverlap = 7 * 24 * time.Hour

	// WebhookSecretBytes is the length of secrets, WebhookSecretPrefix begins them as texts.
	WebhookSecretBytes  = 32
	WebhookSecretPrefix = "whsec_"

	// WebhookPauseAfter is for how long an endpoint may only fail.
	WebhookPauseAfter = 24 * time.Hour
)

// WebhookBackoff returns how long to wait after a number of failed attempts; 0: it was the last one. The waits add up
// to a day.
func WebhookBackoff(attempts int) time.Duration {
	waits := [...]time.Duration{
		time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 20 * time.Minute, time.Hour, 2 * time.Hour,
		4 * time.Hour, 6 * time.Hour, 11 * time.Hour,
	}
	if attempts < 1 || attempts > len(waits) {
		return 0
	}
	return waits[attempts-1]
}

// WebhookDeliveryID returns the id of the delivery of an event, the same for every attempt. It orders by the event's
// time.
func WebhookDeliveryID(webhookID ID, e *Event) ID {
	hashed := append([]byte("parley webhook delivery "), webhookID[:]...)
	hashed = binary.BigEndian.AppendUint64(append(hashed, e.SessionID[:]...), uint64(e.Sequence))
	sum := sha256.Sum256(hashed)
	id := FirstID(e.CreatedAt)
	copy(id[6:], sum[:])
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}
