package transition

import (
	"fmt"

	"example.org/parley"
)

// BeginWebhook sets what a new webhook gets from the store.
func BeginWebhook(w *parley.Webhook, now parley.Time) {
	w.Revision, w.CreatedAt, w.UpdatedAt = 1, now, now
	if w.StartsAt == 0 {
		w.StartsAt = now
	}
}

// NoteDelivery sets the times of a delivery that a move of a lane notes; due is the time of the lane's next attempt.
func NoteDelivery(d *parley.WebhookDelivery, now, due parley.Time) {
	d.CreatedAt, d.UpdatedAt, d.NextAt = now, now, 0
	if d.Status == parley.DeliveryRetrying {
		d.NextAt = due
	}
}

// PausesWebhook reports whether a webhook is to be paused now that a delivery was given up.
func PausesWebhook(w *parley.Webhook, now parley.Time) bool {
	return w.Status == parley.WebhookActive && w.FailingSince != 0 &&
		now-w.FailingSince >= parley.Time(parley.WebhookPauseAfter.Milliseconds())
}

// TooManyWebhooks is the error for a webhook beyond a bound: of its workspace or, of push notifications, of their owner
// or turn.
func TooManyWebhooks(push bool, most int) error {
	if push {
		return parley.Errorf(parley.CodeConflict,
			"no more push notifications are allowed: at most %d of a turn, %d of one principal and %d of a workspace; "+
				"delete one first", parley.MaxPushesOfTurn, parley.MaxPushesOfOwner, most)
	}
	return parley.Errorf(parley.CodeConflict,
		"this workspace has %d webhooks, and no more are allowed; delete one first", most)
}

// WebhookBound returns whether a webhook is a push notification, and how many such a workspace may have.
func WebhookBound(w *parley.Webhook) (push bool, most int) {
	if w.TurnID.IsZero() {
		return false, parley.MaxWebhooksOfWorkspace
	}
	return true, parley.MaxPushesOfWorkspace
}

// WebhookMovedOn is the error for a change of a webhook that somebody changed meanwhile.
func WebhookMovedOn() error {
	return parley.Errorf(parley.CodeConflict, "the webhook was changed meanwhile; read it again")
}

// LaneLost is the error for the end of a hold that was lost.
func LaneLost() error {
	return parley.Errorf(parley.CodeFenced, "another process sends the events of this session by now")
}

// TellOwner tells the owner of a webhook in the inbox that it was paused. The item stands in the session whose event
// was given up.
type TellOwner struct {
	WebhookID   parley.ID `json:"-"`
	SessionID   parley.ID `json:"session_id"`
	PrincipalID parley.ID `json:"principal_id"`
	Name        string    `json:"name"`
}

// WebhookPaused returns the errand's work for a webhook that is paused when an event of a session was given up.
func WebhookPaused(w *parley.Webhook, sessionID parley.ID) Work {
	name := w.Name
	if name == "" {
		name = w.URL
	}
	return TellOwner{
		WebhookID: w.ID, SessionID: sessionID, PrincipalID: w.Owner.ID,
		Name: parley.Clip(name, parley.MaxInboxTitleBytes),
	}
}

// Kind implements Work.
func (TellOwner) Kind() string { return "webhook_paused" }

// Target implements Work.
func (w TellOwner) Target() parley.ID { return w.WebhookID }

// do raises the alert; a repetition brings the same item up to date.
func (w TellOwner) do(workspaceID parley.ID, by Doer) (bool, error) {
	return once(by, workspaceID, func(t *Tx) error {
		h, err := t.load(w.SessionID)
		if err != nil || h == nil || h.DeletedAt != 0 {
			return err
		}
		return t.raiseTo(h, w.PrincipalID, &Alert{
			Cause: parley.AlertWebhook, SubjectID: w.WebhookID, SourceIn: h.ID,
			Title: "A webhook was paused: " + w.Name,
			Summary: fmt.Sprintf("Every attempt to deliver events to it failed for %s. Repair the endpoint, then set "+
				"the webhook's status to active: the events since then are sent.", parley.WebhookPauseAfter),
		})
	})
}
