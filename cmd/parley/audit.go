package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

func auditCommand(shared *flags, term terminal) *cobra.Command {
	command := auditListCommand(shared, term)
	anchor := command.Flags().Bool("anchor", false,
		"print the end of the audit's chain instead, to keep elsewhere for parley verify --anchor")
	list := command.RunE
	command.RunE = func(command *cobra.Command, args []string) error {
		if !*anchor {
			return list(command, args)
		}
		return shared.asking(func(ctx context.Context, server *client.Client, _ []string) error {
			return printAnchor(ctx, server, shared, term)
		})(command, args)
	}
	return command
}

// printAnchor prints the end of the audit's chain in the form that parley verify takes.
func printAnchor(ctx context.Context, server *client.Client, shared *flags, term terminal) error {
	anchor, err := server.Anchor(ctx)
	if err != nil {
		return err
	}
	if shared.json {
		return term.printJSON(anchor)
	}
	if anchor.Number == 0 {
		return parley.Errorf(
			parley.CodeNotFound,
			"the audit's chain has no link yet; the first one follows the first entry within seconds, so try again",
		)
	}
	_, err = fmt.Fprintln(term.out, anchor)
	return err
}

func orDash(id parley.ID) string {
	if id.IsZero() {
		return "-"
	}
	return id.String()
}
