package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

func treeCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "tree SESSION",
		Short: "Show the tool sessions below a session, with the usage of each and the sum",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			tree, err := server.SessionTree(ctx, id)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(tree)
			}
			rows := make([][]string, 0, len(tree.Data)+1)
			for _, node := range tree.Data {
				s := node.Statistics
				rows = append(
					rows,
					usageRow(
						strings.Repeat("  ", node.Depth)+node.AgentSlug,
						node.ID.String(),
						string(node.Status),
						s.Tokens,
						s.Cost,
						s.Unpriced,
						node.Title,
					),
				)
			}
			said := ""
			if tree.Truncated {
				said = "of these; the tree has more sessions"
			}
			rows = append(
				rows,
				usageRow("total", "", "", tree.Total.Tokens, tree.Total.Cost, tree.Total.Unpriced, said),
			)
			return term.printTable([]string{"AGENT", "ID", "STATUS", "IN", "OUT", "COST", "TITLE"}, rows)
		}),
	}
}

// usageRow is a row of the tree's table. It marks a cost that is only partly known.
func usageRow(
	agent, id, status string,
	tokens parley.Tokens,
	cost parley.Money,
	unpriced int64,
	title string,
) []string {
	shown := "$" + cost.String()
	if unpriced > 0 {
		shown += " + " + strconv.FormatInt(unpriced, 10) + " unpriced"
	}
	return []string{
		agent,
		id,
		status,
		strconv.FormatInt(tokens.InputTokens, 10),
		strconv.FormatInt(tokens.OutputTokens, 10),
		shown,
		title,
	}
}
