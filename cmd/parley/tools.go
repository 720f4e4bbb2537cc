package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

func toolsCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "tools",
		Short: "List the tools that agents may use",
		Args:  cobra.NoArgs,
		RunE: shared.asking(func(ctx context.Context, server *client.Client, _ []string) error {
			tools, err := server.Tools(ctx)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(tools.Data)
			}
			rows := make([][]string, len(tools.Data))
			for i, tool := range tools.Data {
				first, _, _ := strings.Cut(tool.Description, "\n")
				rows[i] = []string{tool.Name, tool.Source, effectOf(tool.Annotations), parley.Clip(first, 80)}
			}
			return term.printTable([]string{"TOOL", "FROM", "EFFECT", "DESCRIPTION"}, rows)
		}),
	}
}

// effectOf says in a word what a tool does to the world.
func effectOf(a parley.ToolAnnotations) string {
	switch {
	case a.ReadOnly:
		return "reads"
	case a.Destructive:
		return "changes, may destroy"
	}
	return "changes"
}
