package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

const (
	webhookExample = webhookFields + `"secret":null,"created_at":"` + timeExample +
		`","updated_at":"` + timeExample + `"}`
	newWebhookExample = webhookFields + `"secret":"whsec_ZXhhbXBsZS1zaG93bi1vbmNl","created_at":"` + timeExample +
		`","updated_at":"` + timeExample + `"}`
	webhookFields = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample + `","name":"Tickets",` +
		`"url":"https://example.com/hooks/parley","events":["session.*"],"filter":{"session_ids":[],"agent_ids":[],` +
		`"project_ids":[],"tags":["support"],"types":[]},"status":"active","reason":null,"owner":{"kind":"person",` +
		`"id":"` + otherIDExample + `","name":"ada"},"failing_since":null,"previous_secret_until":null,` +
		`"session_id":null,"turn_id":null,`
	webhookAnswerExample   = `{"delivered":true,"response_status":200,"error":null,"took_ms":41}`
	webhookDeliveryExample = `{"id":"` + otherIDExample + `","webhook_id":"` + otherIDExample + `","session_id":"` +
		sessionIDExample + `","event_sequence":7,"event_type":"session.completed","status":"dead","attempts":11,` +
		`"response_status":503,"error":"the endpoint answered 503","next_at":null,"created_at":"` + timeExample +
		`","updated_at":"` + timeExample + `"}`
)

// webhookRoutes returns the routes of the subscriptions that post events to addresses.
func webhookRoutes() []route {
	return []route{
		{
			method: http.MethodPost,
			paths:  []string{"/v1/webhooks"},
			name:   "createWebhook",
			tag:    "webhooks",
			verb:   engine.WriteWebhooks,
			says:   "Create a webhook",
			about: "From now on the events of the sessions that filter selects, and that you may read, are posted to " +
				"url: each session's in order, each at least once, signed as Standard Webhooks says. Only this " +
				"answer has the secret. 409 if the workspace has too many.",
			input: inputOf[engine.WebhookInput](
				`{"name":"Tickets","url":"https://example.com/hooks/parley","events":["session.*"],` +
					`"filter":{"tags":["support"]}}`,
			),
			serve:   serveCreateWebhook,
			answers: created[parley.Webhook]("The webhook, with its secret.", newWebhookExample),
			fails:   conflicting(),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/webhooks"},
			name:    "listWebhooks",
			tag:     "webhooks",
			verb:    engine.ReadWebhooks,
			says:    "List webhooks",
			about:   "One's own, admins all, in the order of their creation unless order says otherwise.",
			query:   paging(),
			serve:   serveListWebhooks,
			answers: listed[parley.Webhook](webhookExample),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/webhooks/{webhook}"},
			name:    "getWebhook",
			tag:     "webhooks",
			verb:    engine.ReadWebhooks,
			says:    "Read a webhook",
			about:   "Without its secret. failing_since says since when its endpoint fails.",
			serve:   serveWebhook,
			answers: found[parley.Webhook]("The webhook.", webhookExample),
		},
		{
			method: http.MethodPatch,
			paths:  []string{"/v1/webhooks/{webhook}"},
			name:   "updateWebhook",
			tag:    "webhooks",
			verb:   engine.WriteWebhooks,
			says:   "Change a webhook",
			about: "Fields that are left out keep their values. While a webhook is paused its events wait; those of " +
				"the time while it was disabled are never sent. Servers notice within a second.",
			input:   inputOf[engine.WebhookPatch](`{"status":"active"}`),
			serve:   serveUpdateWebhook,
			answers: found[parley.Webhook]("The changed webhook.", webhookExample),
			fails:   conflicting(),
		},
		{
			method:  http.MethodDelete,
			paths:   []string{"/v1/webhooks/{webhook}"},
			name:    "deleteWebhook",
			tag:     "webhooks",
			verb:    engine.WriteWebhooks,
			says:    "Delete a webhook",
			about:   "With its deliveries. A request under way may still arrive.",
			serve:   serveDeleteWebhook,
			answers: nothing("Deleted."),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/webhooks/{webhook}/secret"},
			name:   "rotateWebhookSecret",
			tag:    "webhooks",
			verb:   engine.WriteWebhooks,
			says:   "Give a webhook a new secret",
			about: "Only this answer has it. With overlap_seconds, requests carry a signature of the previous secret " +
				"too, for that long.",
			input:   inputOf[engine.WebhookRotationInput](`{"overlap_seconds":86400}`),
			serve:   serveRotateWebhookSecret,
			answers: found[parley.Webhook]("The webhook, with its new secret.", newWebhookExample),
			fails:   conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/webhooks/{webhook}/ping"},
			name:   "pingWebhook",
			tag:    "webhooks",
			verb:   engine.WriteWebhooks,
			says:   "Test a webhook",
			about: "Posts a signed request of type webhook.ping now, whatever the webhook's status, and returns what " +
				"came of it. Nothing is stored.",
			serve:   servePingWebhook,
			answers: found[engine.WebhookAnswer]("What came of it.", webhookAnswerExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/webhooks/{webhook}/deliveries"},
			name:   "listWebhookDeliveries",
			tag:    "webhooks",
			verb:   engine.ReadWebhooks,
			says:   "List a webhook's deliveries",
			about: "Those whose first attempt failed, latest events first: retrying, dead after a day, or delivered " +
				"in the end. The latest 1,000 are kept. What is delivered at once is not listed.",
			query: with(paging(), listOf[parley.DeliveryStatus]("status", "Only deliveries in this state.")),
			serve: serveWebhookDeliveries, answers: listed[parley.WebhookDelivery](webhookDeliveryExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/webhooks/{webhook}/deliveries/{delivery}/resend"},
			name:   "resendWebhookDelivery",
			tag:    "webhooks",
			verb:   engine.WriteWebhooks,
			says:   "Send a dead delivery again",
			about: "Posts its event now, with the same webhook-id, and returns the delivery as it is then. 409 " +
				"unless it is dead.",
			serve:   serveResendDelivery,
			answers: found[parley.WebhookDelivery]("The delivery.", webhookDeliveryExample),
			fails:   conflicting(),
		},
	}
}
