package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

// compactionLook is how often compact --wait asks for the state.
const compactionLook = 500 * time.Millisecond

func compactCommand(shared *flags, term terminal) *cobra.Command {
	var state, wait bool
	command := &cobra.Command{
		Use:   "compact SESSION",
		Short: "Summarise all of a session but the newest turn",
		Args:  cobra.ExactArgs(1),
		Long: "Summarise all of a session but the newest turn. In later contexts the summary replaces\n" +
			"what it covers; " +
			"nothing is deleted. With --state, only show the state of the compaction.",
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			ask := server.CompactSession
			if state {
				ask = server.Compaction
			}
			compaction, err := ask(ctx, id)
			for err == nil && wait && !compaction.State.Finished() {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(compactionLook):
				}
				compaction, err = server.Compaction(ctx, id)
			}
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(compaction)
			}
			return term.printCompaction(&compaction)
		}),
	}
	command.Flags().BoolVar(&state, "state", false, "only show the state")
	command.Flags().BoolVar(&wait, "wait", false, "wait until it has completed or failed")
	return command
}

func (t terminal) printCompaction(c *parley.Compaction) error {
	line := string(c.State)
	if c.CoversThrough > 0 {
		line += fmt.Sprintf(", messages %d to %d", c.CoversFrom, c.CoversThrough)
	}
	if !c.MessageID.IsZero() {
		line += ", summary " + c.MessageID.String()
	}
	if c.Error != nil {
		line += ": " + c.Error.Sentence
	}
	_, err := fmt.Fprintln(t.out, line)
	return err
}
