package store

import (
	"context"
	"time"

	"example.org/parley"
)

// WebhookQuery lists webhooks by id, oldest first unless Descending.
type WebhookQuery struct {
	OwnerID    parley.ID // zero: of anybody
	TurnID     parley.ID // zero: of any turn, or of none
	Descending bool
	AfterID    parley.ID
	Limit      int
}

// WebhookDeliveryQuery lists the deliveries of a webhook by id, latest first unless Ascending.
type WebhookDeliveryQuery struct {
	Status    parley.DeliveryStatus // "": any
	Ascending bool
	AfterID   parley.ID
	Limit     int
}

// Webhooks stores subscriptions, and what came of the deliveries that failed.
type Webhooks interface {
	// CreateWebhook stores a webhook. CodeConflict if the workspace has MaxWebhooksOfWorkspace or, of those with a
	// turn, MaxPushesOfWorkspace, or its owner MaxPushesOfOwner in all or MaxPushesOfTurn of that turn. One with a turn
	// replaces an existing one with the same owner, turn and Push.ID. It sets StartsAt unless it is set.
	CreateWebhook(ctx context.Context, webhook parley.Webhook) (parley.Webhook, error)
	// UpdateWebhook stores a changed webhook. CodeConflict unless its Revision is the current one, which goes up by
	// one; CodeNotFound. If StartsAt differs, its lanes begin anew there.
	UpdateWebhook(ctx context.Context, webhook parley.Webhook) (parley.Webhook, error)
	// DeleteWebhook removes a webhook with its lanes and deliveries.
	DeleteWebhook(ctx context.Context, workspaceID, id parley.ID) error
	Webhook(ctx context.Context, workspaceID, id parley.ID) (parley.Webhook, error)
	Webhooks(ctx context.Context, workspaceID parley.ID, query WebhookQuery) ([]parley.Webhook, error)
	WebhookDelivery(ctx context.Context, workspaceID, id parley.ID) (parley.WebhookDelivery, error)
	WebhookDeliveries(
		ctx context.Context,
		workspaceID, webhookID parley.ID,
		query WebhookDeliveryQuery,
	) ([]parley.WebhookDelivery, error)
	// NoteResent stores what came of sending a dead delivery again. It changes nothing unless the delivery is dead and
	// has the attempts that it had, less one.
	NoteResent(ctx context.Context, delivery parley.WebhookDelivery) error
}

// Lane is the way of one session's events to one webhook.
type Lane struct {
	WorkspaceID parley.ID
	WebhookID   parley.ID
	SessionID   parley.ID
}

// HeldLane is a lane that this process may send on until its hold ends.
type HeldLane struct {
	Lane
	Through  int64 // the last event that is done with
	Attempts int   // at the event after it
	Revision int64 // counts the holds; a move names its own
}

// LaneMove ends a hold. Everything in it is one transaction.
type LaneMove struct {
	HeldLane // Through and Attempts as they are now
	// Seen is the last event that was read; if the session has later ones, the lane is due at once.
	Seen int64
	// Wait is until the next attempt at the event after Through; 0 unless it failed.
	Wait time.Duration
	// Noted are deliveries that failed, or succeeded after they had failed, in order.
	Noted []parley.WebhookDelivery
	// Failing says how the latest attempt ended, if that may be news to the webhook's row.
	Failing Failing
	// Died: a delivery was given up. If the endpoint has failed throughout parley.WebhookPauseAfter, the webhook is
	// paused and its owner is told in the inbox.
	Died bool
}

// Failing is whether an endpoint fails.
type Failing int

// What is known about an endpoint.
const (
	FailingUnknown Failing = iota
	FailingNow
	FailingNoMore
)

// SubscribedWebhook is an active webhook whose owner may still act in its workspace.
type SubscribedWebhook struct {
	parley.Webhook
	OwnerRole parley.PrincipalRole
}

// WebhookLanes is what processes need to send events. A lane is a row once something was sent on it, or tried; it is
// held by compare-and-set until a time by the database's clock, so that any process may go on after a crash.
type WebhookLanes interface {
	// SubscribedWebhooks reads active webhooks of all workspaces, by id, whose owner has a key that is not revoked, or
	// is the local owner.
	SubscribedWebhooks(ctx context.Context, limit int) ([]SubscribedWebhook, error)
	// LanesBehind reads lanes of active webhooks of all workspaces whose session has events that were not sent, among
	// sessions active since a time, by session and webhook, after a lane; for processes that may have missed commits.
	// It returns each lane only if nobody holds it and no retry is waited for.
	LanesBehind(ctx context.Context, since parley.Time, after Lane, limit int) ([]Lane, error)
	// DueLanes reads lanes of active webhooks whose retry is due, or whose holder is gone: webhooks take turns, the
	// longest due first.
	DueLanes(ctx context.Context, limit int) ([]Lane, error)
	// HoldLane holds a lane for a time; false if somebody else holds it, a retry is waited for, or the webhook is not
	// active.
	HoldLane(ctx context.Context, lane Lane, hold time.Duration) (held HeldLane, ok bool, err error)
	// MoveLane ends a hold. It returns whether the session has later events than were seen; CodeFenced if the hold was
	// lost.
	MoveLane(ctx context.Context, move LaneMove) (more bool, err error)
}
