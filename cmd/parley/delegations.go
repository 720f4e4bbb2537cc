package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

func delegationsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "delegations", Short: "See what the agents of teams hand to each other, and stop it"}
	command.AddCommand(
		delegationsListCommand(shared, term),
		delegationsShowCommand(shared, term),
		cancelDelegationCommand(shared, term),
	)
	return command
}

func cancelDelegationCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel DELEGATION",
		Short: "Cancel a delegation and the work for it",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			cancelled, err := server.CancelDelegation(ctx, id)
			if err != nil {
				return err
			}
			return printOne(term, shared, &cancelled, printDelegation)
		}),
	}
}

// aPerson stands for the person to whom something goes. No agent's slug has a space.
const aPerson = "a person"

// delegationReceiver is the agent, or the person, to whom a delegation goes.
func delegationReceiver(d *parley.Delegation) string {
	if !d.ToPrincipalID.IsZero() {
		return aPerson
	}
	return d.ToAgentID.String()
}

// delegationTitle is the first line of a delegation's text.
func delegationTitle(d *parley.Delegation) string { return d.Title() }

// printDelegation prints a delegation: who sent what to whom, what became of it, and its text.
func printDelegation(t terminal, d *parley.Delegation) error {
	fmt.Fprintf(t.out, "%s  %s, %s\nfrom %s in session %s\nto %s", d.ID, d.Kind, d.Status, d.FromAgentID,
		d.FromSessionID, delegationReceiver(d))
	if !d.ToSessionID.IsZero() {
		fmt.Fprintf(t.out, " in session %s", d.ToSessionID)
	}
	fmt.Fprintf(t.out, "\nsent %s", d.CreatedAt)
	if d.DeadlineAt != 0 && d.FinishedAt == 0 {
		fmt.Fprintf(t.out, ", expires %s", d.DeadlineAt)
	}
	if d.FinishedAt != 0 {
		fmt.Fprintf(t.out, ", ended %s", d.FinishedAt)
	}
	if !d.AnswerMessageID.IsZero() {
		fmt.Fprintf(t.out, "\nanswered by message %s", d.AnswerMessageID)
	}
	if d.Reason != "" {
		fmt.Fprintf(t.out, "\n%s", d.Reason)
	}
	_, err := fmt.Fprintf(t.out, "\n\n%s\n", d.Text)
	return err
}

// printDelegationDetail prints a delegation, and what its chain may spend.
func printDelegationDetail(t terminal, d *client.DelegationDetail) error {
	if err := printDelegation(t, &d.Delegation); err != nil || d.Chain == nil {
		return err
	}
	fmt.Fprintln(t.out)
	return printChain(t, d.Chain)
}
