package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

func webhooksCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "webhooks", Short: "Post the events of sessions to other programs"}
	command.AddCommand(
		webhooksListCommand(shared, term),
		webhooksShowCommand(shared, term),
		webhooksCreateCommand(shared, term),
		webhooksUpdateCommand(shared, term),
		webhooksRotateCommand(shared, term),
		webhooksPingCommand(shared, term),
		webhooksDeliveriesCommand(shared, term),
		webhooksResendCommand(shared, term),
		webhooksDeleteCommand(shared),
	)
	return command
}

// webhooksResendCommand makes parley webhooks resend, the one command with two ids.
func webhooksResendCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use: "resend WEBHOOK DELIVERY", Short: "Send a dead delivery again", Args: cobra.ExactArgs(2),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, args []string) error {
			delivery, err := parley.ParseID(args[1])
			if err != nil {
				return err
			}
			sent, err := server.ResendWebhookDelivery(ctx, id, delivery)
			if err != nil {
				return err
			}
			return printOne(term, shared, &sent, func(t terminal, d *parley.WebhookDelivery) error {
				_, err := fmt.Fprintln(t.out, strings.TrimSpace(string(d.Status)+" "+d.Error))
				return err
			})
		}),
	}
}

func webhookEvents(w *parley.Webhook) string { return strings.Join(w.Events, ", ") }

func webhookState(w *parley.Webhook) string {
	switch {
	case w.Reason != "":
		return string(w.Status) + ": " + string(w.Reason)
	case w.FailingSince != 0:
		return string(w.Status) + ", failing since " + w.FailingSince.String()
	}
	return string(w.Status)
}

// printWebhookSecret prints a webhook's id and its new secret.
func printWebhookSecret(t terminal, w *parley.Webhook) error {
	_, err := fmt.Fprintf(t.out, "webhook %s\n%s\n", w.ID, w.NewSecret)
	return err
}

// printWebhookAnswer says what an endpoint made of a request.
func printWebhookAnswer(t terminal, a *client.WebhookAnswer) error {
	text := "delivered"
	if !a.Delivered && a.Error != nil {
		text = *a.Error
	}
	_, err := fmt.Fprintf(t.out, "%s (%d ms)\n", text, a.TookMS)
	return err
}
