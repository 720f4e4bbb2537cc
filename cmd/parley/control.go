package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

func queueCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "queue", Short: "List, edit, move, remove and send queued messages"}

	edit := &cobra.Command{
		Use:   "edit MESSAGE TEXT",
		Short: "Replace the text of a queued message",
		Args:  cobra.ExactArgs(2),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, args []string) error {
			content, err := parley.EncodeContent(parley.UserContent{Text: args[1]})
			if err != nil {
				return err
			}
			_, err = server.UpdateMessage(ctx, id, client.MessagePatch{Content: content})
			return err
		}),
	}
	remove := &cobra.Command{
		Use:   "remove MESSAGE",
		Short: "Take a message out of the queue",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			return server.RemoveMessage(ctx, id)
		}),
	}
	var interrupt bool
	send := &cobra.Command{
		Use:   "send MESSAGE",
		Short: "Show a queued message to the running turn, or interrupt the turn for it",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			how := parley.DuringSteer
			if interrupt {
				how = parley.DuringInterrupt
			}
			_, err := server.SendMessage(ctx, id, client.SendInput{How: how})
			return err
		}),
	}
	send.Flags().BoolVar(&interrupt, "interrupt", false, "cancel the running turn and run the message")
	var before parley.ID
	move := &cobra.Command{
		Use:   "move MESSAGE",
		Short: "Move a queued message",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			_, err := server.MoveMessage(ctx, id, client.MoveInput{Before: before})
			return err
		}),
	}
	addReference(move, &before, "before", "move it before this message; to the end by default")
	command.AddCommand(listQueueCommand(shared, term), edit, remove, send, move)
	return command
}

// listQueueCommand lists the messages of a session that are queued.
func listQueueCommand(shared *flags, term terminal) *cobra.Command {
	list := queueListCommand(shared, term)
	_ = list.Flags().MarkHidden("status") // it is one of the list's flags
	list.PreRunE = func(*cobra.Command, []string) error {
		return list.Flags().Set("status", string(parley.MessageQueued))
	}
	return list
}

func turnsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "turns", Short: "List and show turns, cancel, retry and continue them"}

	var queued bool
	cancel := &cobra.Command{
		Use:   "cancel SESSION",
		Short: "Stop a session's running turn; its text so far is kept",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			cancelled, err := server.CancelTurn(ctx, id, client.CancelInput{Queued: queued})
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(cancelled)
			}
			fmt.Fprintf(term.out, "turn %s is cancelled\n", cancelled.Turn.ID)
			return nil
		}),
	}
	cancel.Flags().BoolVar(&queued, "queued", false, "cancel the queued turns too")

	retry := shared.resuming(term, retryTurn, "Try a failed or cancelled turn again and print its answer")
	goOn := shared.resuming(term, continueTurn, "Continue a turn that stopped at a limit, and print its answer")
	command.AddCommand(turnsListCommand(shared, term), turnsShowCommand(shared, term), cancel, retry, goOn)
	return command
}

// resuming makes the command that continues a turn.
func (f *flags) resuming(term terminal, how resumption, short string) *cobra.Command {
	return &cobra.Command{
		Use:   string(how) + " TURN",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: f.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			turn, err := server.Turn(ctx, id)
			if err != nil {
				return err
			}
			c := &chat{server: server, term: term, json: f.json, session: parley.Session{ID: turn.SessionID}}
			return c.turn(
				context.WithoutCancel(ctx),
				func(ctx context.Context) frames { return how.stream(ctx, server, id) },
			) // Ctrl-C cancels the turn
		}),
	}
}
