package storetest

import (
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testWebhooks(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"StoredAsCreated":                webhookCreated,
		"AWorkspaceHasAFewAtMost":        webhooksBounded,
		"ListsAndWorkspaces":             webhookLists,
		"AChangeNamesItsRevision":        webhookChanged,
		"ALaneIsHeldByOne":               laneHeld,
		"ALaneBeginsWithTheWebhook":      laneBegins,
		"AHoldEnds":                      laneExpires,
		"ARetryIsDueLater":               laneRetries,
		"WhatIsBehindIsFound":            lanesFound,
		"AnInactiveWebhookHasNoLanes":    lanesInactive,
		"ARevokedKeySubscribesToNothing": webhookRevoked,
		"ADeadDeliveryIsSentAgainOnce":   deliveryResent,
		"TheLatestDeliveriesAreKept":     deliveriesBounded,
		"ADayOfFailuresPauses":           webhookPauses,
		"DisabledAndEnabledBeginsAnew":   webhookBeginsAnew,
		"ChangesAreAudited":              webhookAudited,
		"APushIsOfOneTurn":               pushOfOneTurn,
	})
}

func (w *world) newWebhook(changes ...func(*parley.Webhook)) parley.Webhook {
	webhook := parley.Webhook{
		ID: parley.NewID(), WorkspaceID: w.scope.WorkspaceID, Name: "tickets", URL: "https://example.com/hook",
		Events: []string{"session.*"}, Filter: parley.WebhookFilter{
			SessionIDs: []parley.ID{}, AgentIDs: []parley.ID{parley.NewID()}, ProjectIDs: []parley.ID{},
			Tags: []string{"é"}, Types: []string{},
		},
		Status: parley.WebhookActive, Owner: w.owner.Author(), Secret: []byte("a secret of thirty-two bytes\x00\xff"),
	}
	for _, change := range changes {
		change(&webhook)
	}
	return webhook
}

func (w *world) webhook(t reporter, changes ...func(*parley.Webhook)) parley.Webhook {
	t.Helper()
	made, err := w.store.CreateWebhook(w.ctx, w.newWebhook(changes...))
	must(t, "CreateWebhook", err)
	return made
}

func (w *world) webhookNow(t reporter, id parley.ID) parley.Webhook {
	t.Helper()
	found, err := w.store.Webhook(w.ctx, w.scope.WorkspaceID, id)
	must(t, "Webhook", err)
	return found
}

// lane is a webhook's lane of a session.
func laneOf(webhook *parley.Webhook, session parley.ID) store.Lane {
	return store.Lane{WorkspaceID: webhook.WorkspaceID, WebhookID: webhook.ID, SessionID: session}
}

// hold holds a lane that must be free.
func (w *world) hold(t reporter, lane store.Lane) store.HeldLane {
	t.Helper()
	held, ok, err := w.store.HoldLane(w.ctx, lane, time.Hour)
	must(t, "HoldLane", err)
	if !ok || held.Lane != lane {
		t.Fatalf("the lane is held: %+v, %t", held, ok)
	}
	return held
}

// taken requires that nobody may hold a lane.
func (w *world) taken(t reporter, lane store.Lane) {
	t.Helper()
	if held, ok, err := w.store.HoldLane(w.ctx, lane, time.Hour); err != nil || ok {
		t.Fatalf("the lane was free: %+v, %v", held, err)
	}
}

func (w *world) move(t reporter, move store.LaneMove) bool {
	t.Helper()
	more, err := w.store.MoveLane(w.ctx, move)
	must(t, "MoveLane", err)
	return more
}

func (w *world) dueLanes(t reporter) []store.Lane {
	t.Helper()
	due, err := w.store.DueLanes(w.ctx, 10)
	must(t, "DueLanes", err)
	return due
}

func (w *world) lastEvent(t reporter, session parley.ID) int64 {
	t.Helper()
	heads, err := w.store.Heads(w.ctx, []parley.ID{session})
	must(t, "Heads", err)
	return heads[0].LastEvent
}

func webhookCreated(t *testing.T, w *world) {
	made := w.webhook(t)
	if diff := cmp.Diff(made, w.webhookNow(t, made.ID)); diff != "" {
		t.Errorf("as created and as read (-created +read):\n%s", diff)
	}
	if made.CreatedAt == 0 || made.StartsAt != made.CreatedAt || made.Revision != 1 {
		t.Errorf("created: %+v", made)
	}
	must(t, "DeleteWebhook", w.store.DeleteWebhook(w.ctx, w.scope.WorkspaceID, made.ID))
	refused(
		t,
		"a second DeleteWebhook",
		w.store.DeleteWebhook(w.ctx, w.scope.WorkspaceID, made.ID),
		parley.CodeNotFound,
	)
}

func webhooksBounded(t *testing.T, w *world) {
	for range parley.MaxWebhooksOfWorkspace {
		w.webhook(t)
	}
	_, err := w.store.CreateWebhook(w.ctx, w.newWebhook())
	refused(t, "one too many", err, parley.CodeConflict)
}

func webhookLists(t *testing.T, w *world) {
	first, second := w.webhook(t), w.webhook(t, func(h *parley.Webhook) { h.Owner.ID = parley.NewID() })
	ids := func(query store.WebhookQuery) (ids []parley.ID) {
		query.Limit = 10
		rows, err := w.store.Webhooks(w.ctx, w.scope.WorkspaceID, query)
		must(t, "Webhooks", err)
		for i := range rows {
			ids = append(ids, rows[i].ID)
		}
		return ids
	}
	for name, c := range map[string]struct {
		query store.WebhookQuery
		want  []parley.ID
	}{
		"all":        {store.WebhookQuery{}, []parley.ID{first.ID, second.ID}},
		"descending": {store.WebhookQuery{Descending: true}, []parley.ID{second.ID, first.ID}},
		"after":      {store.WebhookQuery{AfterID: first.ID}, []parley.ID{second.ID}},
		"of one":     {store.WebhookQuery{OwnerID: w.owner.ID}, []parley.ID{first.ID}},
	} {
		if got := ids(c.query); !cmp.Equal(got, c.want) {
			t.Errorf("%s: %v; want %v", name, got, c.want)
		}
	}
	there, err := w.store.Workspace(w.ctx, "elsewhere")
	must(t, "Workspace", err)
	_, err = w.store.Webhook(w.ctx, there, first.ID)
	refused(t, "Webhook of another workspace", err, parley.CodeNotFound)
	refused(t, "DeleteWebhook there", w.store.DeleteWebhook(w.ctx, there, first.ID), parley.CodeNotFound)
}

// pushOf changes a webhook into a push notification of a session's turn.
func pushOf(session, turn parley.ID) func(*parley.Webhook) {
	return func(h *parley.Webhook) {
		h.SessionID, h.TurnID, h.StartsAt = session, turn, 1_700_000_000_000
		h.Push = &parley.WebhookPush{ID: "ü" + h.ID.String(), Token: "t", Scheme: "Bearer", Credentials: "c"}
	}
}

func pushOfOneTurn(t *testing.T, w *world) {
	session, other, turn := w.session(t), w.session(t), parley.NewID()
	w.exchange(t, session, "one", "1")
	w.exchange(t, other, "two", "2")
	push := w.webhook(t, pushOf(session, turn))
	if diff := cmp.Diff(push, w.webhookNow(t, push.ID)); diff != "" || push.StartsAt != 1_700_000_000_000 {
		t.Errorf("starts at %d, as created and as read:\n%s", push.StartsAt, diff)
	}
	w.webhook(t, pushOf(session, parley.NewID()))
	rows, err := w.store.Webhooks(w.ctx, w.scope.WorkspaceID, store.WebhookQuery{TurnID: turn, Limit: 10})
	must(t, "Webhooks", err)
	if len(rows) != 1 || rows[0].ID != push.ID {
		t.Errorf("the turn has %+v", rows)
	}
	lanes, err := w.store.LanesBehind(w.ctx, 0, store.Lane{}, 10)
	must(t, "LanesBehind", err)
	for _, lane := range lanes {
		if lane.SessionID != session {
			t.Errorf("a push is behind in another session: %+v", lane)
		}
	}
	if len(lanes) != 2 {
		t.Errorf("behind are %+v; want one lane of each push", lanes)
	}
	webhooksBounded(t, w) // pushes do not count
	for range parley.MaxPushesOfTurn - 1 {
		w.webhook(t, pushOf(session, turn))
	}
	again := push
	again.ID, again.URL = parley.NewID(), "https://example.com/again"
	_, err = w.store.CreateWebhook(w.ctx, again)
	must(t, "a push with the id of one", err)
	_, err = w.store.Webhook(w.ctx, w.scope.WorkspaceID, push.ID)
	refused(t, "the push that it replaced", err, parley.CodeNotFound)
	push = again
	more := w.newWebhook(pushOf(session, turn))
	_, err = w.store.CreateWebhook(w.ctx, more)
	refused(t, "one push more of a turn", err, parley.CodeConflict)
	for range parley.MaxPushesOfOwner - parley.MaxPushesOfTurn - 1 { // one is of another turn
		w.webhook(t, pushOf(session, parley.NewID()))
	}
	_, err = w.store.CreateWebhook(w.ctx, w.newWebhook(pushOf(session, parley.NewID())))
	refused(t, "one push more of an owner", err, parley.CodeConflict)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	w.drainOutbox(t)
	_, err = w.store.Webhook(w.ctx, w.scope.WorkspaceID, push.ID)
	refused(t, "a push of a deleted session", err, parley.CodeNotFound)
}

func webhookChanged(t *testing.T, w *world) {
	made := w.webhook(t)
	change := made
	change.URL, change.Previous, change.PreviousUntil = "https://example.com/new", made.Secret, 1_900_000_000_000
	changed, err := w.store.UpdateWebhook(w.ctx, change)
	must(t, "UpdateWebhook", err)
	if diff := cmp.Diff(changed, w.webhookNow(t, made.ID)); diff != "" || changed.Revision != 2 {
		t.Errorf("revision %d, as changed and as read:\n%s", changed.Revision, diff)
	}
	_, err = w.store.UpdateWebhook(w.ctx, change)
	refused(t, "a change of an old revision", err, parley.CodeConflict)
	change.ID = parley.NewID()
	_, err = w.store.UpdateWebhook(w.ctx, change)
	refused(t, "a change of no webhook", err, parley.CodeNotFound)
}

func laneHeld(t *testing.T, w *world) {
	hook, session := w.webhook(t), w.session(t)
	lane := laneOf(&hook, session)
	held := w.hold(t, lane)
	w.taken(t, lane)
	w.exchange(t, session, "one", "1")
	last := w.lastEvent(t, session)
	if !w.move(t, store.LaneMove{HeldLane: held, Seen: held.Through}) {
		t.Error("events that were not seen are nothing to send")
	}
	if due := w.dueLanes(t); !cmp.Equal(due, []store.Lane{lane}) {
		t.Errorf("due are %+v; want the lane with events that were not seen, for the process may die", due)
	}
	again := w.hold(t, lane)
	again.Through = last
	if w.move(t, store.LaneMove{HeldLane: again, Seen: last}) {
		t.Error("a lane that saw everything has more to send")
	}
	if due := w.dueLanes(t); len(due) != 0 {
		t.Errorf("due are %+v, although everything was sent", due)
	}
	_, err := w.store.MoveLane(w.ctx, store.LaneMove{HeldLane: held})
	refused(t, "the move of an old hold", err, parley.CodeFenced)
	if got := w.hold(t, lane); got.Through != last {
		t.Errorf("the lane is through %d; want %d", got.Through, last)
	}
}

func laneBegins(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "one", "1")
	last := w.lastEvent(t, session)
	w.later()
	hook := w.webhook(t)
	if held := w.hold(t, laneOf(&hook, session)); held.Through != last {
		t.Errorf("the lane begins after event %d; want %d, which came before the webhook", held.Through, last)
	}
	if held := w.hold(t, laneOf(&hook, w.session(t))); held.Through != 0 {
		t.Errorf("the lane of a later session begins after event %d", held.Through)
	}
	if _, ok, err := w.store.HoldLane(w.ctx, laneOf(&hook, parley.NewID()), time.Hour); ok || err != nil {
		t.Errorf("a lane of no session: %t, %v", ok, err)
	}
}

func laneExpires(t *testing.T, w *world) {
	hook, session := w.webhook(t), w.session(t)
	lane := laneOf(&hook, session)
	lost, ok, err := w.store.HoldLane(w.ctx, lane, -time.Second)
	if err != nil || !ok {
		t.Fatalf("HoldLane: %t, %v", ok, err)
	}
	if due := w.dueLanes(t); !cmp.Equal(due, []store.Lane{lane}) {
		t.Errorf("due are %+v; want the lane whose hold has ended", due)
	}
	w.hold(t, lane)
	_, err = w.store.MoveLane(w.ctx, store.LaneMove{HeldLane: lost})
	refused(t, "the move of a hold that ended", err, parley.CodeFenced)
}

// failedDelivery is a delivery of a lane after an attempt.
func failedDelivery(lane store.Lane, attempts int, status parley.DeliveryStatus) parley.WebhookDelivery {
	code := 503
	return parley.WebhookDelivery{
		ID: parley.NewID(), WorkspaceID: lane.WorkspaceID, WebhookID: lane.WebhookID, SessionID: lane.SessionID,
		EventSequence: 1, EventType: parley.EventSessionCompleted, Status: status, Attempts: attempts,
		ResponseStatus: &code, Error: "the endpoint answered 503",
	}
}

func (w *world) deliveries(t reporter, webhook parley.ID, status parley.DeliveryStatus) []parley.WebhookDelivery {
	t.Helper()
	rows, err := w.store.WebhookDeliveries(w.ctx, w.scope.WorkspaceID, webhook, store.WebhookDeliveryQuery{
		Status: status, Limit: parley.MaxPage,
	})
	must(t, "WebhookDeliveries", err)
	return rows
}

func laneRetries(t *testing.T, w *world) {
	hook, session := w.webhook(t), w.session(t)
	lane := laneOf(&hook, session)
	w.exchange(t, session, "one", "1")
	failed := failedDelivery(lane, 1, parley.DeliveryRetrying)
	held := w.hold(t, lane)
	held.Attempts = 1
	if w.move(t, store.LaneMove{
		HeldLane: held, Wait: time.Hour, Noted: []parley.WebhookDelivery{failed}, Failing: store.FailingNow,
	}) {
		t.Error("a lane that waits for a retry has more to send at once")
	}
	w.taken(t, lane)
	rows := w.deliveries(t, hook.ID, parley.DeliveryRetrying)
	if len(rows) != 1 || rows[0].ID != failed.ID || rows[0].NextAt < rows[0].CreatedAt+3_500_000 ||
		*rows[0].ResponseStatus != 503 || w.webhookNow(t, hook.ID).FailingSince == 0 {
		t.Fatalf("noted: %+v; want one whose next attempt is in an hour", rows)
	}
	created := rows[0].CreatedAt
	other := laneOf(&hook, w.session(t))
	failed.Status, failed.Attempts, failed.Error, failed.ResponseStatus = parley.DeliveryDelivered, 2, "", nil
	w.move(t, store.LaneMove{
		HeldLane: w.hold(t, other), Noted: []parley.WebhookDelivery{failed}, Failing: store.FailingNoMore,
	})
	got, err := w.store.WebhookDelivery(w.ctx, w.scope.WorkspaceID, failed.ID)
	must(t, "WebhookDelivery", err)
	if got.Status != parley.DeliveryDelivered || got.Attempts != 2 || got.NextAt != 0 || got.ResponseStatus != nil ||
		got.CreatedAt != created || w.webhookNow(t, hook.ID).FailingSince != 0 {
		t.Errorf("after its success: %+v", got)
	}
}

func lanesFound(t *testing.T, w *world) {
	w.webhook(t)
	for range 3 {
		w.exchange(t, w.session(t), "one", "1")
	}
	behind := func(after store.Lane, limit int) []store.Lane {
		lanes, err := w.store.LanesBehind(w.ctx, 0, after, limit)
		must(t, "LanesBehind", err)
		return lanes
	}
	all := behind(store.Lane{}, 10)
	if len(all) != 3 {
		t.Fatalf("behind are %+v; want three", all)
	}
	if paged := append(behind(store.Lane{}, 2), behind(all[1], 2)...); !cmp.Equal(paged, all) {
		t.Errorf("in pages %+v; want %+v", paged, all)
	}
	held := w.hold(t, all[0])
	if left := behind(store.Lane{}, 10); !cmp.Equal(left, all[1:]) {
		t.Errorf("behind and free are %+v; want %+v", left, all[1:])
	}
	held.Through = w.lastEvent(t, all[0].SessionID)
	w.move(t, store.LaneMove{HeldLane: held, Seen: held.Through})
	if left := behind(store.Lane{}, 10); !cmp.Equal(left, all[1:]) {
		t.Errorf("after everything was sent on one, %+v are behind; want %+v", left, all[1:])
	}
	if late, err := w.store.LanesBehind(w.ctx, parley.Now()+3_600_000, store.Lane{}, 10); err != nil || len(late) != 0 {
		t.Errorf("behind among sessions active in an hour: %+v, %v", late, err)
	}
}

func lanesInactive(t *testing.T, w *world) {
	hook, session := w.webhook(t), w.session(t)
	w.exchange(t, session, "one", "1")
	hook.Status = parley.WebhookPaused
	paused, err := w.store.UpdateWebhook(w.ctx, hook)
	must(t, "UpdateWebhook", err)
	w.taken(t, laneOf(&hook, session))
	if lanes, err := w.store.LanesBehind(w.ctx, 0, store.Lane{}, 10); err != nil || len(lanes) != 0 {
		t.Errorf("a paused webhook has lanes: %+v, %v", lanes, err)
	}
	paused.Status = parley.WebhookActive
	_, err = w.store.UpdateWebhook(w.ctx, paused)
	must(t, "UpdateWebhook", err)
	if held := w.hold(t, laneOf(&hook, session)); held.Through != 0 {
		t.Errorf("the events of the pause are skipped: %+v", held)
	}
}

func webhookRevoked(t *testing.T, w *world) {
	key, err := w.store.CreateKey(w.ctx, store.NewKey{
		Key:  parley.Key{WorkspaceID: w.scope.WorkspaceID, Name: "hooks", Role: parley.RoleMember},
		Hash: parley.HashOf([]byte("hooks")),
	})
	must(t, "CreateKey", err)
	mine := w.webhook(t)
	theirs := w.webhook(t, func(h *parley.Webhook) { h.Owner.ID = key.PrincipalID })
	subscribed := func() map[parley.ID]parley.PrincipalRole {
		roles := map[parley.ID]parley.PrincipalRole{}
		hooks, err := w.store.SubscribedWebhooks(w.ctx, 10)
		must(t, "SubscribedWebhooks", err)
		for i := range hooks {
			roles[hooks[i].ID] = hooks[i].OwnerRole
		}
		return roles
	}
	session := w.session(t)
	for _, hook := range []parley.Webhook{theirs, mine} { // in the order in which they become due
		if _, ok, err := w.store.HoldLane(w.ctx, laneOf(&hook, session), -time.Second); err != nil || !ok {
			t.Fatalf("HoldLane: %t, %v", ok, err)
		}
		w.later()
	}
	if due := w.dueLanes(t); len(due) != 2 {
		t.Errorf("due are %+v; want both lanes", due)
	}
	want := map[parley.ID]parley.PrincipalRole{mine.ID: parley.RoleAdmin, theirs.ID: parley.RoleMember}
	if got := subscribed(); !cmp.Equal(got, want) {
		t.Errorf("subscribed are %v; want %v", got, want)
	}
	_, err = w.store.RevokeKey(w.ctx, w.scope.WorkspaceID, key.ID)
	must(t, "RevokeKey", err)
	delete(want, theirs.ID)
	if got := subscribed(); !cmp.Equal(got, want) {
		t.Errorf("after the key was revoked, subscribed are %v; want %v", got, want)
	}
	if due := w.dueLanes(t); !cmp.Equal(due, []store.Lane{laneOf(&mine, session)}) {
		t.Errorf("after the key was revoked, due are %+v; want only the lane of the owner with a key", due)
	}
}

func deliveryResent(t *testing.T, w *world) {
	hook, session := w.webhook(t), w.session(t)
	lane := laneOf(&hook, session)
	dead := failedDelivery(lane, 11, parley.DeliveryDead)
	w.move(t, store.LaneMove{HeldLane: w.hold(t, lane), Noted: []parley.WebhookDelivery{dead}})
	if got := w.deliveries(t, hook.ID, parley.DeliveryDead); len(got) != 1 || got[0].NextAt != 0 {
		t.Fatalf("dead are %+v", got)
	}
	dead.Status, dead.Attempts, dead.Error = parley.DeliveryDelivered, 12, ""
	must(t, "NoteResent", w.store.NoteResent(w.ctx, dead))
	late := dead
	late.Status, late.Error = parley.DeliveryDead, "the endpoint answered 500"
	must(t, "a second NoteResent", w.store.NoteResent(w.ctx, late))
	if got := w.deliveries(t, hook.ID, ""); len(got) != 1 || got[0].Status != parley.DeliveryDelivered ||
		got[0].Attempts != 12 || got[0].Error != "" {
		t.Errorf("after it was sent again: %+v", got)
	}
}

func deliveriesBounded(t *testing.T, w *world) {
	hook, session := w.webhook(t), w.session(t)
	lane := laneOf(&hook, session)
	const more = 3
	var noted []parley.WebhookDelivery
	for range parley.MaxWebhookDeliveries + more {
		noted = append(noted, failedDelivery(lane, 11, parley.DeliveryDead))
	}
	w.move(t, store.LaneMove{HeldLane: w.hold(t, lane), Noted: noted})
	kept := 0
	for after := (parley.ID{}); ; {
		rows, err := w.store.WebhookDeliveries(w.ctx, w.scope.WorkspaceID, hook.ID, store.WebhookDeliveryQuery{
			Ascending: true, AfterID: after, Limit: parley.MaxPage,
		})
		must(t, "WebhookDeliveries", err)
		if len(rows) == 0 {
			break
		}
		if after.IsZero() && rows[0].ID != noted[more].ID {
			t.Error("the oldest deliveries were kept")
		}
		kept, after = kept+len(rows), rows[len(rows)-1].ID
	}
	if kept != parley.MaxWebhookDeliveries {
		t.Errorf("%d deliveries are kept; want %d", kept, parley.MaxWebhookDeliveries)
	}
}

func webhookPauses(t *testing.T, w *world) {
	session := w.session(t)
	const day = parley.Time(24 * 3_600_000)
	pauses := func(since parley.Time) parley.Webhook {
		hook := w.webhook(t)
		hook.FailingSince = since
		hook, err := w.store.UpdateWebhook(w.ctx, hook)
		must(t, "UpdateWebhook", err)
		lane := laneOf(&hook, session)
		w.move(t, store.LaneMove{
			HeldLane: w.hold(t, lane), Died: true, Failing: store.FailingNow,
			Noted: []parley.WebhookDelivery{failedDelivery(lane, 11, parley.DeliveryDead)},
		})
		w.drainOutbox(t)
		return w.webhookNow(t, hook.ID)
	}
	items := func() []parley.InboxItem {
		items, err := w.store.InboxItems(w.ctx, w.scope.WorkspaceID, store.InboxQuery{
			PrincipalID: w.owner.ID, Limit: 10,
		})
		must(t, "InboxItems", err)
		return items
	}
	if hook := pauses(parley.Now() - day/2); hook.Status != parley.WebhookActive || len(items()) != 0 {
		t.Errorf("after half a day: %+v, %+v", hook, items())
	}
	hook := pauses(parley.Now() - day - 1000)
	got := items()
	if hook.Status != parley.WebhookPaused || hook.Reason != parley.PausedFailing || len(got) != 1 ||
		got[0].Type != parley.InboxAlert || got[0].SessionID != session ||
		got[0].ID != parley.InboxAlertID(parley.AlertWebhook, hook.ID) {
		t.Errorf("after a day: %+v, %+v", hook, got)
	}
}

func webhookBeginsAnew(t *testing.T, w *world) {
	hook, session := w.webhook(t), w.session(t)
	lane := laneOf(&hook, session)
	w.move(t, store.LaneMove{HeldLane: w.hold(t, lane)})
	w.exchange(t, session, "one", "1")
	w.later()
	hook.StartsAt = w.store.Now()
	_, err := w.store.UpdateWebhook(w.ctx, hook)
	must(t, "UpdateWebhook", err)
	if held := w.hold(t, lane); held.Through != w.lastEvent(t, session) {
		t.Errorf("the lane goes on after event %d; want it to begin anew", held.Through)
	}
}

func webhookAudited(t *testing.T, w *world) {
	creating := w.newWebhook()
	ctx, _ := w.calls("create")
	made, err := w.store.CreateWebhook(ctx, creating)
	must(t, "CreateWebhook", err)
	w.tells(t, "create", concern{Target: made.ID})
	ctx, _ = w.calls("update")
	_, err = w.store.UpdateWebhook(ctx, made)
	must(t, "UpdateWebhook", err)
	w.tells(t, "update", concern{Target: made.ID})
	ctx, _ = w.calls("stale")
	_, err = w.store.UpdateWebhook(ctx, made)
	refused(t, "an older revision", err, parley.CodeConflict)
	w.tells(t, "stale")
	dead := failedDelivery(laneOf(&made, w.session(t)), 11, parley.DeliveryDead)
	w.move(t, store.LaneMove{
		HeldLane: w.hold(t, laneOf(&made, dead.SessionID)), Noted: []parley.WebhookDelivery{dead},
	})
	dead.Attempts++
	ctx, _ = w.calls("resend")
	must(t, "NoteResent", w.store.NoteResent(ctx, dead))
	w.tells(t, "resend", concern{Target: dead.ID})
	ctx, _ = w.calls("delete")
	must(t, "DeleteWebhook", w.store.DeleteWebhook(ctx, w.scope.WorkspaceID, made.ID))
	refused(t, "again", w.store.DeleteWebhook(ctx, w.scope.WorkspaceID, made.ID), parley.CodeNotFound)
	w.tells(t, "delete", concern{Target: made.ID})
}

// later returns when the database's clock has moved on.
func (w *world) later() {
	for now := w.store.Now(); w.store.Now() <= now; {
		runtime.Gosched()
	}
}
