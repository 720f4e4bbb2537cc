package engine

import (
	"context"
	"strings"

	"example.org/parley"
	"example.org/parley/store"
)

// PushInput is a push notification of another protocol to create: a webhook for one turn, which ends with it.
type PushInput struct {
	TurnID parley.ID
	URL    string
	Events []string
	Push   parley.WebhookPush
	Since  parley.Time // of the first event to send
}

// CreatePush creates a push notification for the principal, in place of theirs with the same turn and id. CodeConflict
// if the turn is over.
func (e *Engine) CreatePush(
	ctx context.Context,
	principal parley.Principal,
	input PushInput,
) (_ parley.Webhook, err error) {
	ctx, call, err := e.enter(ctx, principal, "createWebhook", WriteWebhooks)
	if err != nil {
		return parley.Webhook{}, err
	}
	defer call.end(ctx, &err)
	push := input.Push
	made := parley.Webhook{
		ID: parley.NewID(), WorkspaceID: call.Scope.WorkspaceID, URL: input.URL, Events: listOf(input.Events),
		Status: parley.WebhookActive, Owner: principal.Author(), Secret: newWebhookSecret(), TurnID: input.TurnID,
		Push: &push, StartsAt: input.Since,
	}
	if err := checkTexts(
		textBound{"id", push.ID, parley.MaxNameBytes},
		textBound{"token", push.Token, parley.MaxPushTokenBytes},
		textBound{"authentication.scheme", push.Scheme, parley.MaxNameBytes},
		textBound{"authentication.credentials", push.Credentials, parley.MaxPushTokenBytes},
	); err != nil {
		return parley.Webhook{}, err
	}
	for field, text := range map[string]string{
		"token": push.Token, "authentication.scheme": push.Scheme, "authentication.credentials": push.Credentials,
	} {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			return parley.Webhook{}, parley.InvalidField(
				field,
				"must be of printable characters: it is sent in a header",
			)
		}
	}
	turn, err := e.store.Turn(ctx, call.Scope, input.TurnID)
	if err != nil {
		return parley.Webhook{}, err
	}
	if turn.Status.Finished() && input.Since == 0 {
		return parley.Webhook{}, parley.Errorf(parley.CodeConflict, "the turn is over: nothing more happens to it")
	}
	made.SessionID = turn.SessionID
	made.Filter = (&WebhookFilterInput{SessionIDs: []parley.ID{turn.SessionID}}).filter()
	if err := checkWebhook(&made); err != nil {
		return parley.Webhook{}, err
	}
	made, err = e.store.CreateWebhook(ctx, made)
	if err == nil {
		call.about(in(made.SessionID, made.ID))
	}
	return made, err
}

// Pushes lists a turn's push notifications of the principal's, oldest first; admins see all.
func (e *Engine) Pushes(
	ctx context.Context,
	principal parley.Principal,
	turnID parley.ID,
) (_ []parley.Webhook, err error) {
	ctx, call, err := e.enter(ctx, principal, "listWebhooks", ReadWebhooks, on(turnID))
	if err != nil {
		return nil, err
	}
	defer call.end(ctx, &err)
	return e.pushes(ctx, call, turnID)
}

func (e *Engine) pushes(ctx context.Context, call verbCall, turnID parley.ID) ([]parley.Webhook, error) {
	return e.store.Webhooks(ctx, call.Scope.WorkspaceID, store.WebhookQuery{
		OwnerID: call.Scope.ViewerID, TurnID: turnID, Limit: parley.MaxPushesOfTurn + 1,
	})
}
