package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

// shownAudit is how many entries are listed when no number is given.
const shownAudit = 50

func auditCommand(shared *flags, term terminal) *cobra.Command {
	var session, principal string
	var limit int
	var changes, anchor bool
	command := &cobra.Command{
		Use:   "audit",
		Short: "List who did what, newest first",
		Args:  cobra.NoArgs,
		RunE: shared.asking(func(ctx context.Context, server *client.Client, _ []string) error {
			if anchor {
				return printAnchor(ctx, server, shared, term)
			}
			query := client.AuditQuery{Limit: limit}
			var err error
			if query.SessionID, err = idIfGiven(session); err != nil {
				return err
			}
			if query.PrincipalID, err = idIfGiven(principal); err != nil {
				return err
			}
			if changes {
				query.Changes = &changes
			}
			entries, err := server.Audit(ctx, query)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(entries.Data)
			}
			rows := make([][]string, len(entries.Data))
			for i, e := range entries.Data {
				rows[i] = []string{e.At.String(), e.PrincipalName, e.Action, orDash(e.SessionID), orDash(e.TargetID)}
			}
			return term.printTable([]string{"AT", "WHO", "ACTION", "SESSION", "TARGET"}, rows)
		}),
	}
	command.Flags().StringVar(&session, "session", "", "only what concerns this session, though it be deleted")
	command.Flags().StringVar(&principal, "principal", "", "only what this principal did")
	command.Flags().BoolVar(&changes, "changes", false, "without what only reads or watches")
	command.Flags().IntVar(&limit, "limit", shownAudit, "how many at most")
	command.Flags().
		BoolVar(&anchor, "anchor", false,
			"print the end of the audit's chain instead, to keep elsewhere for parley verify --anchor")
	return command
}

// printAnchor prints the end of the audit's chain as parley verify takes it.
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
			"the audit's chain has no link yet: it gets its first within seconds of the first entry; ask again",
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
