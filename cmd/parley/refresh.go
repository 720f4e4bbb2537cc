package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

func refreshArtifactCommand(shared *flags, term terminal) *cobra.Command {
	var yes bool
	command := &cobra.Command{
		Use:   "refresh ARTIFACT",
		Short: "Show what would make a document again from the newest versions, and run it with --yes",
		Long: "Show the transforms behind a document whose inputs have newer versions, in order, and what running " +
			"them again\nwould cost. With --yes they run, and how far they are is printed. Ctrl-C leaves them " +
			"running; parley pipelines\ncancel ends them.",
		Args: cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			if yes {
				run, err := server.RefreshArtifact(ctx, id, client.RefreshInput{})
				return followRun(ctx, server, shared, term, run, err)
			}
			shown, err := server.PreviewRefresh(ctx, id)
			if err != nil {
				return err
			}
			return printOne(term, shared, &shown, printRefresh)
		}),
	}
	command.Flags().BoolVar(&yes, "yes", false, "run it")
	return command
}

// printRefresh prints what a refresh would run: a row for each transform.
func printRefresh(t terminal, shown *client.Refresh) error {
	if len(shown.Nodes) == 0 {
		_, err := fmt.Fprintln(t.out, "Nothing is stale.")
		return err
	}
	rows := make([][]string, 0, len(shown.Nodes))
	for i := range shown.Nodes {
		n := &shown.Nodes[i]
		writes := make([]string, len(n.Writes))
		for at, ref := range n.Writes {
			writes[at] = ref.ArtifactID.String()
		}
		rows = append(rows, []string{
			n.Name, cmp.Or(strings.Join(n.After, ", "), "-"), strings.Join(writes, ", "), string(n.Model),
			strconv.Itoa(n.Tokens), price(n.Cost.Input), price(n.Cost.Output),
		})
	}
	header := []string{"NODE", "AFTER", "WRITES", "MODEL", "IN", "COST IN", "COST OUT AT MOST"}
	if err := t.printTable(header, rows); err != nil {
		return err
	}
	more := ""
	if shown.Truncated {
		more = " More is stale than one run may hold: refresh again after it."
	}
	_, err := fmt.Fprintf(t.out, "\nabout %d tokens in: %s; out: %s at most. Run it with --yes.%s\n", shown.Tokens,
		price(shown.Input), price(shown.Output), more)
	return err
}
