package sqlite

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// CreateWebhook implements store.Webhooks.
func (s *Store) CreateWebhook(ctx context.Context, webhook parley.Webhook) (parley.Webhook, error) {
	return transact(ctx, s, func(tx *txn) (parley.Webhook, error) {
		made := webhook // the closure may run again
		push, most := transition.WebhookBound(&made)
		if push {
			if err := tx.replacePush(&made); err != nil {
				return parley.Webhook{}, err
			}
		}
		full, err := tx.has(
			"SELECT 1 FROM webhooks WHERE workspace_id = ? AND (turn_id IS NOT NULL) = ? LIMIT 1 OFFSET ?",
			made.WorkspaceID, push, most-1)
		if err != nil {
			return parley.Webhook{}, err
		}
		if push && !full {
			full, err = tx.has(
				"SELECT 1 FROM webhooks WHERE workspace_id = ? AND turn_id = ? AND owner_id = ? LIMIT 1 OFFSET ?",
				made.WorkspaceID, made.TurnID, made.Owner.ID, parley.MaxPushesOfTurn-1)
			if err != nil {
				return parley.Webhook{}, err
			}
		}
		if push && !full {
			full, err = tx.has(
				"SELECT 1 FROM webhooks WHERE workspace_id = ? AND turn_id IS NOT NULL AND owner_id = ? "+
					"LIMIT 1 OFFSET ?",
				made.WorkspaceID,
				made.Owner.ID,
				parley.MaxPushesOfOwner-1,
			)
			if err != nil {
				return parley.Webhook{}, err
			}
		}
		if full {
			return parley.Webhook{}, transition.TooManyWebhooks(push, most)
		}
		transition.BeginWebhook(&made, tx.now)
		tx.means = made.ID
		args, err := insertWebhookArgs(nil, &made)
		if err != nil {
			return parley.Webhook{}, err
		}
		_, err = tx.exec(
			"INSERT INTO webhooks ("+insertWebhookColumns+") VALUES ("+insertWebhookPlaces+")", args...)
		return made, err
	})
}

// replacePush deletes the push notification that a new one replaces.
func (t *txn) replacePush(push *parley.Webhook) error {
	rows, err := t.webhooks(push.WorkspaceID, store.WebhookQuery{
		OwnerID: push.Owner.ID, TurnID: push.TurnID, Limit: parley.MaxPushesOfTurn,
	})
	if err != nil {
		return err
	}
	for i := range rows {
		if rows[i].Push.ID != push.Push.ID {
			continue
		}
		if _, err := t.deleteWebhook(push.WorkspaceID, rows[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// UpdateWebhook implements store.Webhooks.
func (s *Store) UpdateWebhook(ctx context.Context, webhook parley.Webhook) (parley.Webhook, error) {
	return transact(ctx, s, func(tx *txn) (parley.Webhook, error) {
		current, err := tx.webhook(webhook.WorkspaceID, webhook.ID)
		switch {
		case err != nil:
			return parley.Webhook{}, err
		case current == nil:
			return parley.Webhook{}, transition.NotFound("webhook")
		case current.Revision != webhook.Revision:
			return parley.Webhook{}, transition.WebhookMovedOn()
		}
		next := webhook
		next.Revision, next.UpdatedAt = next.Revision+1, tx.now
		tx.means = next.ID
		args, err := updateWebhookArgs(nil, &next)
		if err != nil {
			return parley.Webhook{}, err
		}
		if _, err := tx.exec("UPDATE webhooks SET "+updateWebhookSet+" WHERE id = ? AND workspace_id = ?",
			append(args, next.ID, next.WorkspaceID)...); err != nil || current.StartsAt == next.StartsAt {
			return next, err
		}
		_, err = tx.exec("DELETE FROM webhook_lanes WHERE webhook_id = ?", next.ID)
		return next, err
	})
}

// DeleteWebhook implements store.Webhooks.
func (s *Store) DeleteWebhook(ctx context.Context, workspaceID, id parley.ID) error {
	return s.write(ctx, func(tx *txn) error {
		gone, err := tx.deleteWebhook(workspaceID, id)
		if err == nil && !gone {
			tx.wrote = false
			err = transition.NotFound("webhook")
		}
		if err == nil {
			tx.means = id
		}
		return err
	})
}

// deleteWebhook deletes a webhook with its lanes and deliveries, and reports whether there was one.
func (t *txn) deleteWebhook(workspaceID, id parley.ID) (bool, error) {
	gone, err := t.exec("DELETE FROM webhooks WHERE id = ? AND workspace_id = ?", id, workspaceID)
	if err != nil || gone == 0 {
		return false, err
	}
	if _, err := t.exec("DELETE FROM webhook_lanes WHERE webhook_id = ?", id); err != nil {
		return false, err
	}
	_, err = t.exec("DELETE FROM webhook_deliveries WHERE webhook_id = ?", id)
	return true, err
}

// Webhook finds a webhook by id.
func (s *Store) Webhook(ctx context.Context, workspaceID, id parley.ID) (webhook parley.Webhook, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.webhook(workspaceID, id)
		if err == nil && found == nil {
			return transition.NotFound("webhook")
		}
		if found != nil {
			webhook = *found
		}
		return err
	})
	return webhook, err
}

func (c *conn) webhook(workspaceID, id parley.ID) (webhook *parley.Webhook, err error) {
	_, err = c.one("SELECT "+webhookColumns+" FROM webhooks w WHERE w.id = ? AND w.workspace_id = ?",
		func(r *row) error {
			found, err := scanWebhook(r)
			webhook = &found
			return err
		}, id, workspaceID)
	return webhook, err
}

// Webhooks implements store.Webhooks.
func (s *Store) Webhooks(
	ctx context.Context,
	workspaceID parley.ID,
	query store.WebhookQuery,
) (webhooks []parley.Webhook, err error) {
	err = s.read(ctx, func(c *conn) error {
		webhooks, err = c.webhooks(workspaceID, query)
		return err
	})
	return webhooks, err
}

func (c *conn) webhooks(workspaceID parley.ID, query store.WebhookQuery) ([]parley.Webhook, error) {
	var l list
	l.must("w.workspace_id = ?", workspaceID)
	if !query.OwnerID.IsZero() {
		l.must("w.owner_id = ?", query.OwnerID)
	}
	if !query.TurnID.IsZero() {
		l.must("w.turn_id = ?", query.TurnID)
	}
	word, after := direction(!query.Descending)
	if !query.AfterID.IsZero() {
		l.must("w.id "+after+" ?", query.AfterID)
	}
	webhooks := []parley.Webhook{}
	err := eachListed(c, &webhooks, scanWebhook,
		"SELECT "+webhookColumns+" FROM webhooks w INDEXED BY webhooks_workspace WHERE "+l.where.String()+
			" ORDER BY w.id "+word+" LIMIT ?", append(l.args, limited(query.Limit))...)
	return webhooks, err
}

// WebhookDelivery finds a delivery by id.
func (s *Store) WebhookDelivery(
	ctx context.Context,
	workspaceID, id parley.ID,
) (delivery parley.WebhookDelivery, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one(
			"SELECT "+webhookDeliveryColumns+" FROM webhook_deliveries d WHERE d.id = ? AND d.workspace_id = ?",
			func(r *row) (err error) {
				delivery, err = scanWebhookDelivery(r)
				return err
			}, id, workspaceID)
		if err == nil && !found {
			err = transition.NotFound("delivery")
		}
		return err
	})
	return delivery, err
}

// WebhookDeliveries implements store.Webhooks.
func (s *Store) WebhookDeliveries(
	ctx context.Context,
	workspaceID, webhookID parley.ID,
	query store.WebhookDeliveryQuery,
) (deliveries []parley.WebhookDelivery, err error) {
	var l list
	index := "webhook_deliveries_webhook"
	l.must("d.webhook_id = ? AND d.workspace_id = ?", webhookID, workspaceID)
	if query.Status != "" {
		index = "webhook_deliveries_status"
		l.must("d.status = ?", string(query.Status))
	}
	word, after := direction(query.Ascending)
	if !query.AfterID.IsZero() {
		l.must("d.id "+after+" ?", query.AfterID)
	}
	err = s.read(ctx, func(c *conn) error {
		deliveries = []parley.WebhookDelivery{}
		return eachListed(c, &deliveries, scanWebhookDelivery,
			"SELECT "+webhookDeliveryColumns+" FROM webhook_deliveries d INDEXED BY "+index+" WHERE "+l.where.String()+
				" ORDER BY d.id "+word+" LIMIT ?", append(l.args, limited(query.Limit))...)
	})
	return deliveries, err
}

// NoteResent implements store.Webhooks.
func (s *Store) NoteResent(ctx context.Context, d parley.WebhookDelivery) error {
	return s.write(ctx, func(tx *txn) error {
		noted, err := tx.exec(
			"UPDATE webhook_deliveries SET status = ?, attempts = ?, response_status = ?, error = ?, updated_at = ? "+
				"WHERE id = ? AND workspace_id = ? AND status = ? AND attempts = ?",
			string(d.Status), d.Attempts, limitOf(d.ResponseStatus), d.Error, tx.now, d.ID, d.WorkspaceID,
			string(parley.DeliveryDead), d.Attempts-1)
		tx.wrote = noted > 0
		tx.means = d.ID
		return err
	})
}

// subscribed is whether the webhook w is active and its owner p may act.
const subscribed = "w.status = 'active' AND (p.local_owner OR EXISTS (SELECT 1 FROM keys k " +
	"WHERE k.workspace_id = w.workspace_id AND k.principal_id = p.id AND k.revoked_at IS NULL))"

// SubscribedWebhooks implements store.WebhookLanes.
func (s *Store) SubscribedWebhooks(ctx context.Context, limit int) (webhooks []store.SubscribedWebhook, err error) {
	err = s.read(ctx, func(c *conn) error {
		webhooks = nil
		return c.each(
			"SELECT "+webhookColumns+", p.role FROM webhooks w INDEXED BY webhooks_active "+
				"JOIN principals p ON p.id = w.owner_id WHERE "+subscribed+" ORDER BY w.id LIMIT ?",
			func(r *row) error {
				webhook, err := scanWebhook(r)
				webhooks = append(webhooks, store.SubscribedWebhook{
					Webhook: webhook, OwnerRole: parley.PrincipalRole(r.text()),
				})
				return err
			},
			limit,
		)
	})
	return webhooks, err
}

// lanesBehind reads lanes by session and webhook; ?2 and ?3 are the lane after which it begins.
const lanesBehind = "SELECT w.workspace_id, w.id, s.id FROM webhooks w INDEXED BY webhooks_active " +
	"JOIN sessions s INDEXED BY sessions_recent ON s.workspace_id = w.workspace_id AND s.deleted_at IS NULL " +
	"AND s.updated_at >= max(w.starts_at, ?1) AND (w.session_id IS NULL OR w.session_id = s.id) " +
	"JOIN heads h ON h.session_id = s.id " +
	"LEFT JOIN webhook_lanes l ON l.webhook_id = w.id AND l.session_id = s.id " +
	"WHERE w.status = 'active' AND h.next_event - 1 > coalesce(l.through, 0) AND l.due_at IS NULL " +
	"AND (s.id, w.id) > (?2, ?3) ORDER BY s.id, w.id LIMIT ?4"

// LanesBehind implements store.WebhookLanes.
func (s *Store) LanesBehind(
	ctx context.Context,
	since parley.Time,
	after store.Lane,
	limit int,
) ([]store.Lane, error) {
	return s.lanes(ctx, lanesBehind, int64(since), after.SessionID[:], after.WebhookID[:], limit)
}

// dueLanes reads lanes that are due: webhooks take turns.
const dueLanes = "SELECT f.workspace_id, f.webhook_id, f.session_id FROM (" +
	"SELECT l.workspace_id, l.webhook_id, l.session_id, l.due_at, " +
	"row_number() OVER (PARTITION BY l.webhook_id ORDER BY l.due_at) AS round " +
	"FROM webhook_lanes l INDEXED BY webhook_lanes_due JOIN webhooks w ON w.id = l.webhook_id " +
	"JOIN principals p ON p.id = w.owner_id WHERE l.due_at IS NOT NULL AND l.due_at <= ? AND " + subscribed +
	") f ORDER BY f.round, f.due_at LIMIT ?"

// DueLanes implements store.WebhookLanes.
func (s *Store) DueLanes(ctx context.Context, limit int) ([]store.Lane, error) {
	return s.lanes(ctx, dueLanes, parley.Now(), limit)
}

func (s *Store) lanes(ctx context.Context, query string, args ...arg) (lanes []store.Lane, err error) {
	err = s.read(ctx, func(c *conn) error {
		lanes = nil
		return c.each(query, func(r *row) error {
			lanes = append(lanes, store.Lane{WorkspaceID: r.id(), WebhookID: r.id(), SessionID: r.id()})
			return nil
		}, args...)
	})
	return lanes, err
}

// HoldLane implements store.WebhookLanes.
func (s *Store) HoldLane(
	ctx context.Context,
	lane store.Lane,
	hold time.Duration,
) (held store.HeldLane, ok bool, err error) {
	type answer struct {
		held store.HeldLane
		ok   bool
	}
	found, err := transact(ctx, s, func(tx *txn) (answer, error) {
		until := tx.now + parley.Time(hold.Milliseconds())
		held := store.HeldLane{Lane: lane}
		ok, err := tx.one(
			"UPDATE webhook_lanes SET due_at = ?1, revision = revision + 1 WHERE webhook_id = ?2 AND session_id = ?3 "+
				"AND workspace_id = ?4 AND (due_at IS NULL OR due_at <= ?5) "+
				"AND EXISTS (SELECT 1 FROM webhooks WHERE id = ?2 AND status = 'active') "+
				"RETURNING through, attempts, revision",
			func(r *row) error {
				held.Through, held.Attempts, held.Revision = r.int64(), r.int(), r.int64()
				return nil
			},
			until, lane.WebhookID, lane.SessionID, lane.WorkspaceID, tx.now)
		if err != nil || ok {
			tx.wrote = true
			return answer{held, ok}, err
		}
		ok, err = tx.one(
			"INSERT INTO webhook_lanes (webhook_id, session_id, workspace_id, through, attempts, due_at, revision) "+
				"SELECT w.id, h.session_id, w.workspace_id, CASE WHEN s.created_at >= w.starts_at THEN 0 ELSE "+
				"(SELECT coalesce(max(e.sequence), 0) FROM events e WHERE e.session_id = h.session_id "+
				"AND e.created_at < w.starts_at) END, 0, ?1, 1 FROM webhooks w JOIN heads h ON h.session_id = ?3 "+
				"JOIN sessions s ON s.id = h.session_id "+
				"WHERE w.id = ?2 AND w.workspace_id = ?4 AND w.status = 'active' AND h.workspace_id = ?4 "+
				"AND h.deleted_at IS NULL ON CONFLICT DO NOTHING RETURNING through, attempts, revision",
			func(r *row) error {
				held.Through, held.Attempts, held.Revision = r.int64(), r.int(), r.int64()
				return nil
			},
			until, lane.WebhookID, lane.SessionID, lane.WorkspaceID)
		tx.wrote = ok
		return answer{held, ok}, err
	})
	return found.held, found.ok, err
}

// laneHasMore is whether the session ?5 has events after ?8.
const laneHasMore = "(SELECT h.next_event - 1 > ?8 FROM heads h WHERE h.session_id = ?5)"

// MoveLane implements store.WebhookLanes.
func (s *Store) MoveLane(ctx context.Context, move store.LaneMove) (more bool, err error) {
	return transact(ctx, s, func(tx *txn) (bool, error) {
		var due parley.Time
		if move.Wait > 0 {
			due = tx.now + parley.Time(move.Wait.Milliseconds())
		}
		more := false
		held, err := tx.one(
			"UPDATE webhook_lanes SET through = ?1, attempts = ?2, revision = revision + 1, "+
				"due_at = coalesce(?3, CASE WHEN "+laneHasMore+" THEN ?9 END) "+
				"WHERE webhook_id = ?4 AND session_id = ?5 AND workspace_id = ?6 AND revision = ?7 "+
				"RETURNING "+laneHasMore,
			func(r *row) error {
				more = r.bool()
				return nil
			},
			move.Through,
			move.Attempts,
			due,
			move.WebhookID,
			move.SessionID,
			move.WorkspaceID,
			move.Revision,
			move.Seen,
			tx.now,
		)
		if err == nil && !held {
			err = transition.LaneLost()
		}
		if err != nil {
			return false, err
		}
		tx.wrote = true
		return more && move.Wait == 0, tx.noteDeliveries(&move, due)
	})
}

// noteDeliveries writes what a move says beyond the lane.
func (t *txn) noteDeliveries(move *store.LaneMove, due parley.Time) error {
	for i := range move.Noted {
		noted := move.Noted[i] // the closure may run again
		transition.NoteDelivery(&noted, t.now, due)
		if _, err := t.exec(
			"INSERT INTO webhook_deliveries ("+insertWebhookDeliveryColumns+") VALUES ("+
				insertWebhookDeliveryPlaces+") ON CONFLICT (id) DO UPDATE SET status = excluded.status, "+
				"attempts = excluded.attempts, response_status = excluded.response_status, error = excluded.error, "+
				"next_at = excluded.next_at, updated_at = excluded.updated_at",
			insertWebhookDeliveryArgs(nil, &noted)...); err != nil {
			return err
		}
		if _, err := t.exec(
			"DELETE FROM webhook_deliveries WHERE webhook_id = ?1 AND id <= "+
				"(SELECT id FROM webhook_deliveries WHERE webhook_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
			move.WebhookID, parley.MaxWebhookDeliveries); err != nil {
			return err
		}
	}
	switch move.Failing {
	case store.FailingNow:
		if _, err := t.exec("UPDATE webhooks SET failing_since = ? WHERE id = ? AND failing_since IS NULL",
			t.now, move.WebhookID); err != nil {
			return err
		}
	case store.FailingNoMore:
		if _, err := t.exec("UPDATE webhooks SET failing_since = NULL WHERE id = ? AND failing_since IS NOT NULL",
			move.WebhookID); err != nil {
			return err
		}
	case store.FailingUnknown:
	}
	if !move.Died {
		return nil
	}
	webhook, err := t.webhook(move.WorkspaceID, move.WebhookID)
	if err != nil || webhook == nil || !transition.PausesWebhook(webhook, t.now) {
		return err
	}
	if _, err := t.exec("UPDATE webhooks SET status = ?, reason = ? WHERE id = ?",
		string(parley.WebhookPaused), string(parley.PausedFailing), webhook.ID); err != nil {
		return err
	}
	return t.leaveFor(transition.Errand{
		WorkspaceID: webhook.WorkspaceID, Work: transition.WebhookPaused(webhook, move.SessionID),
	})
}
