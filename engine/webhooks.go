package engine

import (
	"context"
	"crypto/rand"
	"net/url"
	"regexp"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/internal/webhook"
	"example.org/parley/store"
)

// Bounds of the requests to webhooks that people ask for.
const (
	maxSends          = 64
	sendsPerPrincipal = 4
)

// WebhookInput is a webhook to create.
type WebhookInput struct {
	Name   string             `json:"name,omitempty" doc:"For people."`
	URL    string             `json:"url" required:"true" doc:"Where events are posted: http or https, without a user name. Addresses in private networks only if the operator allows them."`
	Events []string           `json:"events,omitempty" doc:"Types of events, or patterns that end with *, such as tool.*; all by default."`
	Filter WebhookFilterInput `json:"filter,omitzero" doc:"Which sessions; all that the webhook's owner may read by default."`
}

// WebhookFilterInput selects sessions.
type WebhookFilterInput struct {
	SessionIDs []parley.ID `json:"session_ids,omitempty" doc:"Only these."`
	AgentIDs   []parley.ID `json:"agent_ids,omitempty" doc:"Only those of these agents."`
	ProjectIDs []parley.ID `json:"project_ids,omitempty" doc:"Only those in these projects."`
	Tags       []string    `json:"tags,omitempty" doc:"Only those with one of these tags."`
	Types      []string    `json:"types,omitempty" doc:"Only those of these types."`
}

func (f *WebhookFilterInput) filter() parley.WebhookFilter {
	return parley.WebhookFilter{
		SessionIDs: listOf(f.SessionIDs), AgentIDs: listOf(f.AgentIDs), ProjectIDs: listOf(f.ProjectIDs),
		Tags: listOf(f.Tags), Types: listOf(f.Types),
	}
}

// listOf returns a list that is never null.
func listOf[T any](list []T) []T { return append([]T{}, list...) }

// WebhookPatch changes a webhook: absent fields stay.
type WebhookPatch struct {
	Name   parley.Change[string]               `json:"name,omitzero"`
	URL    parley.Change[string]               `json:"url,omitzero"`
	Events parley.Change[[]string]             `json:"events,omitzero"`
	Filter parley.Change[WebhookFilterInput]   `json:"filter,omitzero" doc:"Replaces the whole filter."`
	Status parley.Change[parley.WebhookStatus] `json:"status,omitzero" enum:"active,paused,disabled" doc:"paused: events wait. disabled: they are not sent, later neither."`
}

// WebhookRotationInput asks for a new secret.
type WebhookRotationInput struct {
	OverlapSeconds int `json:"overlap_seconds,omitempty" minimum:"0" maximum:"604800" doc:"For how long requests are signed with the previous secret too; 0 by default: it ends at once."`
}

// WebhookAnswer is what an endpoint made of a request that a person asked for.
type WebhookAnswer struct {
	Delivered      bool    `json:"delivered"`
	ResponseStatus *int    `json:"response_status" doc:"The answer's HTTP status; null: there was none."`
	Error          *string `json:"error" doc:"Why it was not delivered; null if it was."`
	TookMS         int64   `json:"took_ms"`
}

// DeliveryList selects deliveries, latest first by default.
type DeliveryList struct {
	Paging
	Status parley.DeliveryStatus // "": any
}

// CreateWebhook makes a webhook of the principal's. Its answer has the secret.
func (e *Engine) CreateWebhook(
	ctx context.Context,
	principal parley.Principal,
	input WebhookInput,
) (_ parley.Webhook, err error) {
	ctx, call, err := e.enter(ctx, principal, "createWebhook", WriteWebhooks)
	if err != nil {
		return parley.Webhook{}, err
	}
	defer call.end(ctx, &err)
	made := parley.Webhook{
		ID: parley.NewID(), WorkspaceID: call.Scope.WorkspaceID, Name: input.Name, URL: input.URL,
		Events: listOf(input.Events), Filter: input.Filter.filter(), Status: parley.WebhookActive,
		Owner: principal.Author(), Secret: newWebhookSecret(),
	}
	if len(made.Events) == 0 {
		made.Events = []string{"*"}
	}
	if err := checkWebhook(&made); err != nil {
		return parley.Webhook{}, err
	}
	if err := e.checkNamed(ctx, call.Scope, &made.Filter); err != nil {
		return parley.Webhook{}, err
	}
	made, err = e.store.CreateWebhook(ctx, made)
	if err == nil {
		call.about(on(made.ID))
		made.NewSecret = webhook.Secret(made.Secret)
	}
	return made, err
}

func newWebhookSecret() []byte {
	secret := make([]byte, parley.WebhookSecretBytes)
	_, _ = rand.Read(secret) // it never fails
	return secret
}

// eventPattern is the form of a type of events, or of a pattern.
var eventPattern = regexp.MustCompile(`^([a-z_]+\.)*([a-z_]+|\*)$`)

// checkWebhook validates a webhook from outside.
func checkWebhook(w *parley.Webhook) error {
	if err := checkTexts(
		textBound{"name", w.Name, parley.MaxNameBytes},
		textBound{"url", w.URL, parley.MaxWebhookURLBytes},
	); err != nil {
		return err
	}
	target, err := url.Parse(w.URL)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Hostname() == "" ||
		target.User != nil || target.Fragment != "" {
		return parley.InvalidField("url", "is not an address; write https://host/path, without a user name and a #")
	}
	if n := len(w.Events); n == 0 || n > parley.MaxWebhookPatterns {
		return parley.InvalidField("events", "name between 1 and %d types or patterns", parley.MaxWebhookPatterns)
	}
	for _, pattern := range w.Events {
		if err := checkEventPattern(pattern); err != nil {
			return err
		}
	}
	f := &w.Filter
	for field, n := range map[string]int{
		"session_ids": len(f.SessionIDs), "agent_ids": len(f.AgentIDs), "project_ids": len(f.ProjectIDs),
		"tags": len(f.Tags), "types": len(f.Types),
	} {
		if n > parley.MaxWebhookFilterValues {
			return parley.InvalidField(
				"filter",
				"%s has %d values; at most %d",
				field,
				n,
				parley.MaxWebhookFilterValues,
			)
		}
	}
	return checkAll(
		textsBound{"filter", f.Tags, parley.MaxNameBytes},
		textsBound{"filter", f.Types, parley.MaxNameBytes},
	)
}

// checkEventPattern refuses what no event has.
func checkEventPattern(pattern string) error {
	if len(pattern) <= parley.MaxWebhookPatternBytes && eventPattern.MatchString(pattern) {
		probe := parley.Webhook{Events: []string{pattern}}
		if slices.ContainsFunc(event.Catalogue(), func(d event.Description) bool {
			return d.Durable && probe.Wants(d.Event)
		}) {
			return nil
		}
	}
	return parley.InvalidField(
		"events",
		"%q is neither the type of an event that is stored nor a pattern such as tool.*",
		parley.Clip(pattern, parley.MaxWebhookPatternBytes),
	)
}

// Webhook reads a webhook.
func (e *Engine) Webhook(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.Webhook, err error) {
	ctx, call, err := e.enter(ctx, principal, "getWebhook", ReadWebhooks, on(id))
	if err != nil {
		return parley.Webhook{}, err
	}
	defer call.end(ctx, &err)
	return e.ownWebhook(ctx, call, id)
}

// ownWebhook reads a webhook of the principal's; admins read all.
func (e *Engine) ownWebhook(ctx context.Context, call verbCall, id parley.ID) (parley.Webhook, error) {
	found, err := e.store.Webhook(ctx, call.Scope.WorkspaceID, id)
	if err == nil && call.Principal.Role != parley.RoleAdmin && found.Owner.ID != call.Principal.ID {
		err = parley.Errorf(parley.CodeNotFound, "there is no webhook with this id")
	}
	if err != nil {
		return parley.Webhook{}, err
	}
	return found, nil
}

// Webhooks lists the principal's webhooks, oldest first by default; admins see all.
func (e *Engine) Webhooks(
	ctx context.Context,
	principal parley.Principal,
	paging Paging,
) (_ Page[parley.Webhook], err error) {
	ctx, call, err := e.enter(ctx, principal, "listWebhooks", ReadWebhooks)
	if err != nil {
		return Page[parley.Webhook]{}, err
	}
	defer call.end(ctx, &err)
	from, order, limit, err := paging.start("webhooks", Ascending)
	if err != nil {
		return Page[parley.Webhook]{}, err
	}
	rows, err := e.store.Webhooks(ctx, call.Scope.WorkspaceID, store.WebhookQuery{
		OwnerID: call.Scope.ViewerID, Descending: order == Descending, AfterID: from.ID, Limit: limit + 1,
	})
	if err != nil {
		return Page[parley.Webhook]{}, err
	}
	return largePageOf(rows, limit, func(last parley.Webhook) cursor {
		return cursor{List: "webhooks", Order: order, ID: last.ID}
	}), nil
}

// UpdateWebhook changes a webhook.
func (e *Engine) UpdateWebhook(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	patch WebhookPatch,
) (_ parley.Webhook, err error) {
	ctx, call, err := e.enter(ctx, principal, "updateWebhook", WriteWebhooks, on(id))
	if err != nil {
		return parley.Webhook{}, err
	}
	defer call.end(ctx, &err)
	return e.changeWebhook(ctx, call, id, func(w parley.Webhook, now parley.Time) (parley.Webhook, error) {
		changed, err := patch.over(w, now)
		if err == nil && patch.Filter.Set {
			err = e.checkNamed(ctx, call.Scope, &changed.Filter)
		}
		return changed, err
	})
}

// checkNamed refuses a filter that names what the principal does not see.
func (e *Engine) checkNamed(ctx context.Context, scope store.Scope, f *parley.WebhookFilter) error {
	for _, id := range f.SessionIDs {
		if _, err := e.store.Session(ctx, scope, id); err != nil {
			return err
		}
	}
	for _, id := range f.AgentIDs {
		if _, err := e.store.Agent(ctx, scope.WorkspaceID, id.String()); err != nil {
			return err
		}
	}
	for _, id := range f.ProjectIDs {
		if _, err := e.store.Project(ctx, scope.WorkspaceID, id); err != nil {
			return err
		}
	}
	return nil
}

// changeWebhook applies a change to a webhook of the principal's, again if somebody was faster.
func (e *Engine) changeWebhook(
	ctx context.Context,
	call verbCall,
	id parley.ID,
	over func(current parley.Webhook, now parley.Time) (parley.Webhook, error),
) (parley.Webhook, error) {
	for attempt := 1; ; attempt++ {
		current, err := e.ownWebhook(ctx, call, id)
		if err != nil {
			return parley.Webhook{}, err
		}
		changed, err := over(current, e.store.Now())
		if err != nil {
			return parley.Webhook{}, err
		}
		updated, err := e.store.UpdateWebhook(ctx, changed)
		if parley.ErrorCode(err) != parley.CodeConflict || attempt == patchAttempts {
			return updated, err
		}
	}
}

// over applies a patch to a webhook. One that is active again has not failed yet; one that was disabled begins anew.
func (p *WebhookPatch) over(current parley.Webhook, now parley.Time) (parley.Webhook, error) {
	w := current
	apply(p.Name, &w.Name)
	apply(p.URL, &w.URL)
	if p.Events.Set {
		w.Events = listOf(p.Events.Value)
	}
	if p.Filter.Set {
		w.Filter = p.Filter.Value.filter()
	}
	apply(p.Status, &w.Status)
	switch w.Status {
	case parley.WebhookActive:
		if current.Status != parley.WebhookActive {
			w.FailingSince = 0
		}
		if current.Status == parley.WebhookDisabled {
			w.StartsAt = now
		}
	case parley.WebhookPaused, parley.WebhookDisabled:
	default:
		return parley.Webhook{}, parley.InvalidField("status", "%q is not one of active, paused, disabled",
			parley.Clip(string(w.Status), 32))
	}
	if p.Status.Set {
		w.Reason = ""
	}
	return w, checkWebhook(&w)
}

// RotateWebhookSecret gives a webhook another secret, which the answer has.
func (e *Engine) RotateWebhookSecret(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	rotation WebhookRotationInput,
) (_ parley.Webhook, err error) {
	ctx, call, err := e.enter(ctx, principal, "rotateWebhookSecret", WriteWebhooks, on(id))
	if err != nil {
		return parley.Webhook{}, err
	}
	defer call.end(ctx, &err)
	overlap := time.Duration(rotation.OverlapSeconds) * time.Second
	if overlap < 0 || overlap > parley.MaxWebhookSecretOverlap {
		return parley.Webhook{}, parley.InvalidField("overlap_seconds", "must lie between 0 and %d",
			int(parley.MaxWebhookSecretOverlap.Seconds()))
	}
	changed, err := e.changeWebhook(ctx, call, id, func(w parley.Webhook, now parley.Time) (parley.Webhook, error) {
		w.Previous, w.PreviousUntil = nil, 0
		if overlap > 0 {
			w.Previous, w.PreviousUntil = w.Secret, now+parley.Time(overlap.Milliseconds())
		}
		w.Secret = newWebhookSecret()
		return w, nil
	})
	if err == nil {
		changed.NewSecret = webhook.Secret(changed.Secret)
	}
	return changed, err
}

// DeleteWebhook deletes a webhook with its deliveries.
func (e *Engine) DeleteWebhook(ctx context.Context, principal parley.Principal, id parley.ID) (err error) {
	ctx, call, err := e.enter(ctx, principal, "deleteWebhook", WriteWebhooks, on(id))
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	if _, err := e.ownWebhook(ctx, call, id); err != nil {
		return err
	}
	return e.store.DeleteWebhook(ctx, call.Scope.WorkspaceID, id)
}

// PingWebhook sends a webhook a signed request of type webhook.ping, and returns what came of it. Nothing is stored.
func (e *Engine) PingWebhook(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ WebhookAnswer, err error) {
	ctx, call, err := e.enter(ctx, principal, "pingWebhook", WriteWebhooks, on(id))
	if err != nil {
		return WebhookAnswer{}, err
	}
	defer call.end(ctx, &err)
	target, err := e.ownWebhook(ctx, call, id)
	if err != nil {
		return WebhookAnswer{}, err
	}
	leave, err := e.sends.enter(principal)
	if err != nil {
		return WebhookAnswer{}, err
	}
	defer leave()
	body := append([]byte(`{"type":"webhook.ping","created_at":`), e.store.Now().AppendJSON(nil)...)
	body = append(body, `,"data":{"webhook_id":"`+target.ID.String()+`"}}`...)
	outcome := e.webhooks.Send(ctx, &target, webhook.MessageID(parley.NewID()), body)
	return answerOf(&outcome), nil
}

func answerOf(outcome *webhook.Outcome) WebhookAnswer {
	answer := WebhookAnswer{Delivered: outcome.OK(), TookMS: outcome.Took.Milliseconds()}
	if outcome.Status != 0 {
		answer.ResponseStatus = &outcome.Status
	}
	if !outcome.OK() {
		answer.Error = &outcome.Error
	}
	return answer
}

// WebhookDeliveries lists the deliveries of a webhook whose first attempt failed.
func (e *Engine) WebhookDeliveries(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	list DeliveryList,
) (_ Page[parley.WebhookDelivery], err error) {
	ctx, call, err := e.enter(ctx, principal, "listWebhookDeliveries", ReadWebhooks, on(id))
	if err != nil {
		return Page[parley.WebhookDelivery]{}, err
	}
	defer call.end(ctx, &err)
	switch list.Status {
	case "", parley.DeliveryRetrying, parley.DeliveryDead, parley.DeliveryDelivered:
	default:
		return Page[parley.WebhookDelivery]{}, parley.InvalidField("status",
			"%q is not one of retrying, dead, delivered", parley.Clip(string(list.Status), 32))
	}
	from, order, limit, err := list.start("webhook_deliveries", Descending)
	if err != nil {
		return Page[parley.WebhookDelivery]{}, err
	}
	if _, err := e.ownWebhook(ctx, call, id); err != nil {
		return Page[parley.WebhookDelivery]{}, err
	}
	rows, err := e.store.WebhookDeliveries(ctx, call.Scope.WorkspaceID, id, store.WebhookDeliveryQuery{
		Status: list.Status, Ascending: order == Ascending, AfterID: from.ID, Limit: limit + 1,
	})
	if err != nil {
		return Page[parley.WebhookDelivery]{}, err
	}
	return largePageOf(rows, limit, func(last parley.WebhookDelivery) cursor {
		return cursor{List: "webhook_deliveries", Order: order, ID: last.ID}
	}), nil
}

// ResendDelivery sends the event of a dead delivery again, at once, and returns the delivery as it is then. Its owner
// must still be allowed to read the session.
func (e *Engine) ResendDelivery(
	ctx context.Context,
	principal parley.Principal,
	id, deliveryID parley.ID,
) (_ parley.WebhookDelivery, err error) {
	ctx, call, err := e.enter(ctx, principal, "resendWebhookDelivery", WriteWebhooks, on(deliveryID))
	if err != nil {
		return parley.WebhookDelivery{}, err
	}
	defer call.end(ctx, &err)
	target, err := e.ownWebhook(ctx, call, id)
	if err != nil {
		return parley.WebhookDelivery{}, err
	}
	delivery, err := e.store.WebhookDelivery(ctx, call.Scope.WorkspaceID, deliveryID)
	switch {
	case err != nil:
		return parley.WebhookDelivery{}, err
	case delivery.WebhookID != id:
		return parley.WebhookDelivery{}, parley.Errorf(parley.CodeNotFound, "there is no delivery with this id")
	case delivery.Status != parley.DeliveryDead:
		return parley.WebhookDelivery{}, parley.Errorf(parley.CodeConflict,
			"this delivery is %s; only dead ones are sent again", delivery.Status)
	}
	leave, err := e.sends.enter(principal)
	if err != nil {
		return parley.WebhookDelivery{}, err
	}
	defer leave()
	owner, err := e.store.Principal(ctx, target.WorkspaceID, target.Owner.ID)
	if err != nil {
		return parley.WebhookDelivery{}, err
	}
	scope, err := authorise(owner, ReadSessions)
	if err != nil {
		return parley.WebhookDelivery{}, err
	}
	events, err := e.store.Events(ctx, scope, delivery.SessionID, delivery.EventSequence-1, 1)
	if err != nil {
		return parley.WebhookDelivery{}, err
	}
	if len(events) == 0 || events[0].Sequence != delivery.EventSequence {
		return parley.WebhookDelivery{}, parley.Errorf(parley.CodeNotFound, "the event of this delivery is gone")
	}
	ctx = context.WithoutCancel(ctx) // what was sent is noted, although nobody waits for it
	outcome := e.webhooks.Send(ctx, &target, webhook.MessageID(delivery.ID), e.webhooks.Body(&target, &events[0]))
	delivery.Attempts++
	delivery.UpdatedAt = e.store.Now()
	delivery.ResponseStatus, delivery.Error = nil, outcome.Error
	if outcome.Status != 0 {
		delivery.ResponseStatus = &outcome.Status
	}
	if outcome.OK() {
		delivery.Status = parley.DeliveryDelivered
	}
	return delivery, e.store.NoteResent(ctx, delivery)
}
