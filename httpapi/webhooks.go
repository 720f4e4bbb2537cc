package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

func serveCreateWebhook(a *api, x *exchange) error {
	var input engine.WebhookInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	made, err := a.engine.CreateWebhook(x.r.Context(), x.principal, input)
	if err != nil {
		return err
	}
	x.w.Header().Set("Location", "/v1/webhooks/"+made.ID.String())
	x.w.Header().Set("Cache-Control", "no-store")
	return sendJSON(x, http.StatusCreated, made)
}

func serveListWebhooks(a *api, x *exchange) error {
	args := x.arguments()
	paging := args.paging()
	if args.err != nil {
		return args.err
	}
	webhooks, err := a.engine.Webhooks(x.r.Context(), x.principal, paging)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, webhooks)
}

func serveWebhook(a *api, x *exchange) error {
	id, err := x.pathID("webhook")
	if err != nil {
		return err
	}
	found, err := a.engine.Webhook(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, found)
}

func serveUpdateWebhook(a *api, x *exchange) error {
	id, err := x.pathID("webhook")
	if err != nil {
		return err
	}
	var patch engine.WebhookPatch
	if err := checked(a, x, &patch); err != nil {
		return err
	}
	changed, err := a.engine.UpdateWebhook(x.r.Context(), x.principal, id, patch)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, changed)
}

func serveRotateWebhookSecret(a *api, x *exchange) error {
	id, err := x.pathID("webhook")
	if err != nil {
		return err
	}
	var rotation engine.WebhookRotationInput
	if err := checked(a, x, &rotation); err != nil {
		return err
	}
	changed, err := a.engine.RotateWebhookSecret(x.r.Context(), x.principal, id, rotation)
	if err != nil {
		return err
	}
	x.w.Header().Set("Cache-Control", "no-store")
	return sendJSON(x, http.StatusOK, changed)
}

func serveDeleteWebhook(a *api, x *exchange) error {
	id, err := x.pathID("webhook")
	if err != nil {
		return err
	}
	if err := a.engine.DeleteWebhook(x.r.Context(), x.principal, id); err != nil {
		return err
	}
	return x.sendNothing()
}

func servePingWebhook(a *api, x *exchange) error {
	id, err := x.pathID("webhook")
	if err != nil {
		return err
	}
	answer, err := a.engine.PingWebhook(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, answer)
}

func serveWebhookDeliveries(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.DeliveryList{Paging: args.paging(), Status: parley.DeliveryStatus(args.text("status"))}
	if args.err != nil {
		return args.err
	}
	id, err := x.pathID("webhook")
	if err != nil {
		return err
	}
	return sendPage(x, id, list, a.engine.WebhookDeliveries)
}

func serveResendDelivery(a *api, x *exchange) error {
	id, err := x.pathID("webhook")
	if err != nil {
		return err
	}
	delivery, err := x.pathID("delivery")
	if err != nil {
		return err
	}
	sent, err := a.engine.ResendDelivery(x.r.Context(), x.principal, id, delivery)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, sent)
}
