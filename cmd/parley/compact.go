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
	var input client.CompactInput
	command := &cobra.Command{
		Use:   "compact SESSION",
		Short: "Summarise all of a session but the newest turn",
		Args:  cobra.ExactArgs(1),
		Long: "Summarise all of a session but the newest turn. In later contexts the summary replaces\n" +
			"what it covers; " +
			"nothing is deleted. With --state, only show the state of the compaction; with --preview,\n" +
			"what it would cover and cost.",
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			ask := func(ctx context.Context, id parley.ID, options ...client.Option) (parley.Compaction, error) {
				return server.CompactSession(ctx, id, input, options...)
			}
			if state {
				ask = server.Compaction
			}
			compaction, err := ask(ctx, id)
			if err == nil && wait && compaction.Preview == nil && !compaction.State.Finished() {
				compaction, err = awaitCompaction(ctx, server, term, id)
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
	command.Flags().Int64Var(&input.Through, "through", 0, "the last sequence that the summary may cover")
	command.Flags().
		StringVar(&input.Instructions, "instructions", "", "what this summary must contain besides the usual")
	command.Flags().StringVar((*string)(&input.From), "from", "",
		"originals: write it from the messages alone, earlier summaries apart")
	command.Flags().BoolVar(&input.Preview, "preview", false, "only show what it would cover and cost")
	command.Flags().BoolVar(&wait, "wait", false, "wait until it has completed or failed")
	return command
}

// awaitCompaction waits for the end of a compaction.
func awaitCompaction(
	ctx context.Context, server *client.Client, term terminal, id parley.ID,
) (compaction parley.Compaction, err error) {
	look, done := term.waiting("summarising")
	defer done()
	for {
		select {
		case <-ctx.Done():
			return compaction, context.Cause(ctx)
		case <-time.After(compactionLook):
		}
		look()
		compaction, err = server.Compaction(ctx, id)
		if err != nil || compaction.State.Finished() {
			return compaction, err
		}
	}
}

func reviseCommand(shared *flags, term terminal) *cobra.Command {
	var summary, text string
	command := &cobra.Command{
		Use:   "revise SESSION --summary SUMMARY --text TEXT",
		Short: "Replace the summary that the model sees by a version of your own",
		Args:  cobra.ExactArgs(1),
		Long: "Replace the summary that the model sees by a version of your own, which covers the same\n" +
			"messages. The earlier version stays in the record; set the new one aside to bring it back.",
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			of, err := parley.ParseID(summary)
			if err != nil {
				return err
			}
			revised, err := server.ReviseSummary(ctx, id, client.SummaryInput{MessageID: of, Text: text})
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(revised)
			}
			_, err = fmt.Fprintf(term.out, "revised, summary %s\n", revised.ID)
			return err
		}),
	}
	command.Flags().StringVar(&summary, "summary", "", "the summary's message, as compact --state shows it")
	command.Flags().StringVar(&text, "text", "", "the new text")
	for _, name := range []string{"summary", "text"} {
		if err := command.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return command
}

// inRequests says that a summary takes several requests; "" for one.
func inRequests(parts int) string {
	if parts <= 1 {
		return ""
	}
	return fmt.Sprintf(" in %d requests", parts)
}

func (t terminal) printCompaction(c *parley.Compaction) error {
	if p := c.Preview; p != nil {
		_, err := fmt.Fprintf(
			t.out,
			"would cover messages %d to %d (%d, about %d tokens)\n%s reads about %d tokens%s, %d of them "+
				"cached perhaps: at most %s, %s if cached\n",
			c.CoversFrom,
			c.CoversThrough,
			p.Messages,
			p.Tokens,
			p.Model,
			p.RequestTokens,
			inRequests(p.Parts),
			p.CachedTokens,
			price(p.Cost),
			price(p.CachedCost),
		)
		if err == nil && p.Refused != nil {
			_, err = fmt.Fprintln(t.out, *p.Refused)
		}
		return err
	}
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
