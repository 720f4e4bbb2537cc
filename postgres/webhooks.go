package postgres

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// CreateWebhook implements store.Webhooks.
func (s *Store) CreateWebhook(ctx context.Context, webhook parley.Webhook) (parley.Webhook, error) {
	transition.BeginWebhook(&webhook, s.clock.Now())
	args, err := insertWebhookArgs(nil, &webhook)
	if err != nil {
		return parley.Webhook{}, err
	}
	audit := store.AuditFrom(ctx)
	push, most := transition.WebhookBound(&webhook)
	for range lookAgain {
		b := tenant(webhook.WorkspaceID)
		b.write(
			"SELECT pg_advisory_xact_lock(hashtextextended('webhooks ' || $1::uuid::text, 48))",
			webhook.WorkspaceID,
		)
		if push { // it replaces the one with its id
			b.write("WITH gone AS (DELETE FROM parley.webhooks WHERE workspace_id = $1 AND turn_id = $2 "+
				"AND owner_id = $3 AND push::jsonb->>'id' = $4 AND id <> $5 RETURNING id), lanes AS ("+
				"DELETE FROM parley.webhook_lanes WHERE workspace_id = $1 AND webhook_id IN (SELECT id FROM gone)) "+
				"DELETE FROM parley.webhook_deliveries WHERE workspace_id = $1 AND webhook_id IN (SELECT id FROM gone)",
				webhook.WorkspaceID, webhook.TurnID, webhook.Owner.ID, webhook.Push.ID, webhook.ID)
		}
		b.write("SELECT parley.stale() WHERE (SELECT count(*) FROM parley.webhooks WHERE workspace_id = $1 "+
			"AND (turn_id IS NOT NULL) = $3) >= $2", webhook.WorkspaceID, most, push)
		if push {
			b.write("SELECT parley.stale() WHERE (SELECT count(*) FROM parley.webhooks WHERE workspace_id = $1 "+
				"AND turn_id = $2 AND owner_id = $3) >= $4",
				webhook.WorkspaceID, webhook.TurnID, webhook.Owner.ID, parley.MaxPushesOfTurn)
			b.write("SELECT parley.stale() WHERE (SELECT count(*) FROM parley.webhooks WHERE workspace_id = $1 "+
				"AND turn_id IS NOT NULL AND owner_id = $2) >= $3",
				webhook.WorkspaceID, webhook.Owner.ID, parley.MaxPushesOfOwner)
		}
		b.write("INSERT INTO parley.webhooks ("+insertWebhookColumns+") VALUES ("+insertWebhookPlaces+")", args...)
		b.audit(audit.Entries(parley.ID{}, webhook.ID))
		err = s.send(ctx, b)
		switch {
		case err == nil, violated(err) == "webhooks_pkey": // by an attempt whose result was lost
			audit.Wrote()
			return webhook, nil
		case stateOf(err) == stateStale:
			return parley.Webhook{}, transition.TooManyWebhooks(push, most)
		case !unknown(err) || ctx.Err() != nil:
			return parley.Webhook{}, mapError(err)
		}
	}
	return parley.Webhook{}, mapError(err)
}

// UpdateWebhook implements store.Webhooks.
func (s *Store) UpdateWebhook(ctx context.Context, webhook parley.Webhook) (parley.Webhook, error) {
	next := webhook
	next.Revision, next.UpdatedAt = webhook.Revision+1, s.clock.Now()
	args, err := updateWebhookArgs([]arg{next.WorkspaceID, next.ID}, &next)
	if err != nil {
		return parley.Webhook{}, err
	}
	audit := store.AuditFrom(ctx)
	b := tenant(next.WorkspaceID)
	b.write("DELETE FROM parley.webhook_lanes l USING parley.webhooks w WHERE w.workspace_id = $1 AND w.id = $2 "+
		"AND w.starts_at <> $3 AND w.revision = $4 AND l.workspace_id = $1 AND l.webhook_id = $2",
		next.WorkspaceID, next.ID, next.StartsAt, webhook.Revision)
	b.write("WITH changed AS (UPDATE parley.webhooks SET "+updateWebhookSet+
		" WHERE workspace_id = $1 AND id = $2 AND revision = "+updateWebhookPlace1+
		" RETURNING 1) SELECT parley.stale() WHERE NOT EXISTS (SELECT FROM changed)",
		append(args, webhook.Revision)...)
	b.audit(audit.Entries(parley.ID{}, next.ID))
	err = s.send(ctx, b)
	if stateOf(err) == stateStale {
		if _, err := s.Webhook(ctx, next.WorkspaceID, next.ID); err != nil {
			return parley.Webhook{}, err
		}
		return parley.Webhook{}, transition.WebhookMovedOn()
	}
	if err != nil {
		return parley.Webhook{}, mapError(err)
	}
	audit.Wrote()
	return next, nil
}

// DeleteWebhook implements store.Webhooks.
func (s *Store) DeleteWebhook(ctx context.Context, workspaceID, id parley.ID) error {
	audit, gone := store.AuditFrom(ctx), int64(0)
	b := tenant(workspaceID)
	b.auditIf(
		audit.Entries(parley.ID{}, id),
		"SELECT FROM parley.webhooks WHERE workspace_id = $1 AND id = $10 FOR UPDATE",
		id,
	)
	b.counted(&gone, "DELETE FROM parley.webhooks WHERE workspace_id = $1 AND id = $2", workspaceID, id)
	b.write("DELETE FROM parley.webhook_lanes WHERE workspace_id = $1 AND webhook_id = $2", workspaceID, id)
	b.write("DELETE FROM parley.webhook_deliveries WHERE workspace_id = $1 AND webhook_id = $2", workspaceID, id)
	if err := s.send(ctx, b); err != nil {
		return mapError(err)
	}
	if gone == 0 {
		return transition.NotFound("webhook")
	}
	audit.Wrote()
	return nil
}

// Webhook finds a webhook by id.
func (s *Store) Webhook(ctx context.Context, workspaceID, id parley.ID) (parley.Webhook, error) {
	return one(ctx, s, tenant(workspaceID), "webhook", scanWebhook,
		"SELECT "+webhookColumns+" FROM parley.webhooks w WHERE w.workspace_id = $1 AND w.id = $2", workspaceID, id)
}

// Webhooks implements store.Webhooks.
func (s *Store) Webhooks(
	ctx context.Context,
	workspaceID parley.ID,
	query store.WebhookQuery,
) ([]parley.Webhook, error) {
	var l filter
	l.must("w.workspace_id = " + here)
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
	limit, rows := limited(query.Limit)
	return page(ctx, s, ordered(workspaceID), scanWebhook, "SELECT "+webhookColumns+" FROM parley.webhooks w WHERE "+
		l.where.String()+" ORDER BY w.id "+word+limit, rows, l.args...)
}

// WebhookDelivery finds a delivery by id.
func (s *Store) WebhookDelivery(ctx context.Context, workspaceID, id parley.ID) (parley.WebhookDelivery, error) {
	return one(ctx, s, tenant(workspaceID), "delivery", scanWebhookDelivery, "SELECT "+webhookDeliveryColumns+
		" FROM parley.webhook_deliveries d WHERE d.workspace_id = $1 AND d.id = $2", workspaceID, id)
}

// WebhookDeliveries implements store.Webhooks.
func (s *Store) WebhookDeliveries(
	ctx context.Context,
	workspaceID, webhookID parley.ID,
	query store.WebhookDeliveryQuery,
) ([]parley.WebhookDelivery, error) {
	var l filter
	l.must("d.workspace_id = "+here+" AND d.webhook_id = ?", webhookID)
	if query.Status != "" {
		l.must("d.status = ?", string(query.Status))
	}
	word, after := direction(query.Ascending)
	if !query.AfterID.IsZero() {
		l.must("d.id "+after+" ?", query.AfterID)
	}
	limit, rows := limited(query.Limit)
	return page(ctx, s, ordered(workspaceID), scanWebhookDelivery, "SELECT "+webhookDeliveryColumns+
		" FROM parley.webhook_deliveries d WHERE "+l.where.String()+" ORDER BY d.id "+word+limit, rows, l.args...)
}

// NoteResent implements store.Webhooks.
func (s *Store) NoteResent(ctx context.Context, d parley.WebhookDelivery) error {
	audit := store.AuditFrom(ctx)
	noted := int64(0)
	b := tenant(d.WorkspaceID)
	b.auditIf(audit.Entries(parley.ID{}, d.ID), "SELECT FROM parley.webhook_deliveries WHERE workspace_id = $1 "+
		"AND id = $10 AND status = 'dead' AND attempts = $11 FOR UPDATE", d.ID, d.Attempts-1)
	b.counted(&noted, "UPDATE parley.webhook_deliveries SET status = $3, attempts = $4, response_status = $5, "+
		"error = $6, updated_at = $7 WHERE workspace_id = $1 AND id = $2 AND status = 'dead' AND attempts = $8",
		d.WorkspaceID, d.ID, string(d.Status), d.Attempts, limitOf(d.ResponseStatus), d.Error, s.clock.Now(),
		d.Attempts-1)
	if err := s.send(ctx, b); err != nil {
		return mapError(err)
	}
	if noted > 0 {
		audit.Wrote()
	}
	return nil
}

// subscribed is whether the webhook w is active and its owner p may act.
const subscribed = "w.status = 'active' AND (p.local_owner OR EXISTS (SELECT FROM parley.keys k " +
	"WHERE k.workspace_id = w.workspace_id AND k.principal_id = p.id AND k.revoked_at IS NULL))"

// SubscribedWebhooks implements store.WebhookLanes.
func (s *Store) SubscribedWebhooks(ctx context.Context, limit int) ([]store.SubscribedWebhook, error) {
	return all(ctx, s, system(), func(r *row) (store.SubscribedWebhook, error) {
		webhook, err := scanWebhook(r)
		return store.SubscribedWebhook{Webhook: webhook, OwnerRole: parley.PrincipalRole(r.text())}, err
	}, "SELECT "+webhookColumns+", p.role FROM parley.webhooks w JOIN parley.principals p "+
		"ON p.workspace_id = w.workspace_id AND p.id = w.owner_id WHERE "+subscribed+
		" ORDER BY w.id LIMIT $1", limit, limit)
}

const lanesBehind = "SELECT w.workspace_id, w.id, s.id FROM parley.webhooks w " +
	"JOIN parley.sessions s ON s.workspace_id = w.workspace_id AND s.deleted_at IS NULL " +
	"AND s.updated_at >= greatest(w.starts_at, $1::bigint) AND (w.session_id IS NULL OR w.session_id = s.id) " +
	"JOIN parley.heads h ON h.workspace_id = s.workspace_id AND h.session_id = s.id " +
	"LEFT JOIN parley.webhook_lanes l ON l.workspace_id = w.workspace_id AND l.webhook_id = w.id " +
	"AND l.session_id = s.id " +
	"WHERE w.status = 'active' AND h.next_event - 1 > coalesce(l.through, 0) AND l.due_at IS NULL " +
	"AND ($2::uuid IS NULL OR (s.id, w.id) > ($2::uuid, $3::uuid)) ORDER BY s.id, w.id LIMIT $4"

// LanesBehind implements store.WebhookLanes.
func (s *Store) LanesBehind(
	ctx context.Context,
	since parley.Time,
	after store.Lane,
	limit int,
) ([]store.Lane, error) {
	return s.lanes(ctx, lanesBehind, limit, int64(since), after.SessionID, after.WebhookID, limit)
}

// dueLanes reads lanes that are due: webhooks take turns.
const dueLanes = "SELECT f.workspace_id, f.webhook_id, f.session_id FROM (" +
	"SELECT l.workspace_id, l.webhook_id, l.session_id, l.due_at, " +
	"row_number() OVER (PARTITION BY l.webhook_id ORDER BY l.due_at) AS round " +
	"FROM parley.webhook_lanes l JOIN parley.webhooks w ON w.workspace_id = l.workspace_id " +
	"AND w.id = l.webhook_id JOIN parley.principals p ON p.workspace_id = w.workspace_id AND p.id = w.owner_id " +
	"WHERE l.due_at IS NOT NULL AND l.due_at <= parley.now_ms() AND " + subscribed +
	") f ORDER BY f.round, f.due_at LIMIT $1"

// DueLanes implements store.WebhookLanes.
func (s *Store) DueLanes(ctx context.Context, limit int) ([]store.Lane, error) {
	return s.lanes(ctx, dueLanes, limit, limit)
}

func (s *Store) lanes(ctx context.Context, query string, limit int, args ...arg) ([]store.Lane, error) {
	return all(ctx, s, system(), func(r *row) (store.Lane, error) {
		return store.Lane{WorkspaceID: r.id(), WebhookID: r.id(), SessionID: r.id()}, nil
	}, query, limit, args...)
}

// holdLane takes a lane if it is free, or makes its row.
const holdLane = "INSERT INTO parley.webhook_lanes AS l " +
	"(webhook_id, session_id, workspace_id, through, attempts, due_at, revision) " +
	"SELECT w.id, h.session_id, w.workspace_id, CASE WHEN s.created_at >= w.starts_at THEN 0 ELSE " +
	"(SELECT coalesce(max(e.sequence), 0) FROM parley.events e WHERE e.workspace_id = $1 " +
	"AND e.session_id = h.session_id AND e.created_at < w.starts_at AND NOT EXISTS (SELECT FROM " +
	"parley.webhook_lanes o WHERE o.workspace_id = $1 AND o.webhook_id = $2 AND o.session_id = $3)) END, " +
	"0, parley.now_ms() + $4::bigint, 1 FROM parley.webhooks w " +
	"JOIN parley.heads h ON h.workspace_id = $1 AND h.session_id = $3 AND h.deleted_at IS NULL " +
	"JOIN parley.sessions s ON s.workspace_id = $1 AND s.id = $3 " +
	"WHERE w.workspace_id = $1 AND w.id = $2 AND w.status = 'active' " +
	"ON CONFLICT (workspace_id, webhook_id, session_id) DO UPDATE SET due_at = excluded.due_at, " +
	"revision = l.revision + 1 WHERE l.due_at IS NULL OR l.due_at <= parley.now_ms() " +
	"RETURNING through, attempts, revision"

// HoldLane implements store.WebhookLanes.
func (s *Store) HoldLane(
	ctx context.Context,
	lane store.Lane,
	hold time.Duration,
) (held store.HeldLane, ok bool, err error) {
	held.Lane = lane
	b := tenant(lane.WorkspaceID)
	b.read(holdLane, func(r *row) error {
		held.Through, held.Attempts, held.Revision, ok = r.int64(), r.int(), r.int64(), true
		return nil
	}, lane.WorkspaceID, lane.WebhookID, lane.SessionID, hold.Milliseconds())
	err = s.send(ctx, b)
	return held, ok && err == nil, mapError(err)
}

// laneHasMore is whether the session $3 has events after $8.
const laneHasMore = "coalesce((SELECT h.next_event - 1 > $8::bigint FROM parley.heads h " +
	"WHERE h.workspace_id = $1 AND h.session_id = $3), false)"

// moveLane ends a hold, and voids the batch if it was lost.
const moveLane = "WITH moved AS (UPDATE parley.webhook_lanes SET through = $4, attempts = $5, " +
	"due_at = CASE WHEN $6::bigint > 0 THEN parley.now_ms() + $6::bigint " +
	"WHEN " + laneHasMore + " THEN parley.now_ms() END, revision = revision + 1 " +
	"WHERE workspace_id = $1 AND webhook_id = $2 AND session_id = $3 AND revision = $7 RETURNING 1) " +
	"SELECT CASE WHEN EXISTS (SELECT FROM moved) THEN 0 ELSE parley.stale() END = 0 AND " + laneHasMore

// MoveLane implements store.WebhookLanes.
func (s *Store) MoveLane(ctx context.Context, move store.LaneMove) (more bool, err error) {
	b := tenant(move.WorkspaceID)
	b.read(moveLane, func(r *row) error {
		more = r.bool()
		return nil
	}, move.WorkspaceID, move.WebhookID, move.SessionID, move.Through, move.Attempts, move.Wait.Milliseconds(),
		move.Revision, move.Seen)
	if err := b.noteDeliveries(&move, s.clock.Now()); err != nil {
		return false, err
	}
	err = s.send(ctx, b)
	if stateOf(err) == stateStale {
		return false, transition.LaneLost()
	}
	if err != nil || !move.Died {
		return more && move.Wait == 0 && err == nil, mapError(err)
	}
	return more && move.Wait == 0, s.pauseFailing(ctx, &move)
}

// noteDeliveries writes what a move says beyond the lane.
func (b *batch) noteDeliveries(move *store.LaneMove, now parley.Time) error {
	for i := range move.Noted {
		noted := move.Noted[i]
		transition.NoteDelivery(&noted, now, now+parley.Time(move.Wait.Milliseconds()))
		b.write("INSERT INTO parley.webhook_deliveries ("+insertWebhookDeliveryColumns+") VALUES ("+
			insertWebhookDeliveryPlaces+") ON CONFLICT (workspace_id, id) DO UPDATE SET status = excluded.status, "+
			"attempts = excluded.attempts, response_status = excluded.response_status, error = excluded.error, "+
			"next_at = excluded.next_at, updated_at = excluded.updated_at",
			insertWebhookDeliveryArgs(nil, &noted)...)
		b.write("DELETE FROM parley.webhook_deliveries WHERE workspace_id = $1 AND webhook_id = $2 AND id <= "+
			"(SELECT id FROM parley.webhook_deliveries WHERE workspace_id = $1 AND webhook_id = $2 "+
			"ORDER BY id DESC LIMIT 1 OFFSET $3)", move.WorkspaceID, move.WebhookID, parley.MaxWebhookDeliveries)
	}
	switch move.Failing {
	case store.FailingNow:
		b.write("UPDATE parley.webhooks SET failing_since = $3 WHERE workspace_id = $1 AND id = $2 "+
			"AND failing_since IS NULL", move.WorkspaceID, move.WebhookID, now)
	case store.FailingNoMore:
		b.write("UPDATE parley.webhooks SET failing_since = NULL WHERE workspace_id = $1 AND id = $2 "+
			"AND failing_since IS NOT NULL", move.WorkspaceID, move.WebhookID)
	case store.FailingUnknown:
	}
	return nil
}

// pauseFailing pauses a webhook if it has failed long enough, and leaves word for its owner in the same transaction.
func (s *Store) pauseFailing(ctx context.Context, move *store.LaneMove) error {
	webhook, err := s.Webhook(ctx, move.WorkspaceID, move.WebhookID)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return nil
	}
	if err != nil || !transition.PausesWebhook(&webhook, s.clock.Now()) {
		return err
	}
	errand := transition.Errand{
		WorkspaceID: webhook.WorkspaceID, Work: transition.WebhookPaused(&webhook, move.SessionID),
	}
	payload, err := errand.Payload()
	if err != nil {
		return err
	}
	b := tenant(webhook.WorkspaceID)
	b.write("WITH paused AS (UPDATE parley.webhooks SET status = $3, reason = $4 WHERE workspace_id = $1 AND id = $2 "+
		"AND status = 'active' AND failing_since = $5 RETURNING 1) INSERT INTO parley.outbox "+
		"(workspace_id, kind, target_id, payload, created_at, due_at) SELECT $1, $6, $7, $8, parley.now_ms(), "+
		"parley.now_ms() FROM paused", webhook.WorkspaceID, webhook.ID, string(parley.WebhookPaused),
		string(parley.PausedFailing), webhook.FailingSince, errand.Work.Kind(), errand.Work.Target(), payload)
	return mapError(s.send(ctx, b))
}
