package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"example.org/parley/client"
)

func cacheCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{
		Use:   "cache",
		Short: "Show or clear the response cache",
		Args:  cobra.NoArgs,
	}
	show := &cobra.Command{
		Use:   "show",
		Short: "Show what the response cache holds and saved",
		Args:  cobra.NoArgs,
		RunE: shared.asking(func(ctx context.Context, server *client.Client, _ []string) error {
			state, err := server.ResponseCache(ctx)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(state)
			}
			count := func(n int64) string { return strconv.FormatInt(n, 10) }
			return term.printTable(
				[]string{"ENTRIES", "BYTES", "HITS", "MISSES", "STORED", "EVICTED", "SAVED"},
				[][]string{
					{
						count(state.Entries),
						count(state.Bytes),
						count(
							state.Hits,
						),
						count(state.Misses),
						count(state.Stored),
						count(state.Evicted),
						"$" + state.Saved.String(),
					},
				},
			)
		}),
	}
	drop := &cobra.Command{
		Use:   "clear",
		Short: "Drop all cached answers of the workspace; for admins",
		Args:  cobra.NoArgs,
		RunE: shared.asking(func(ctx context.Context, server *client.Client, _ []string) error {
			return server.ClearResponseCache(ctx)
		}),
	}
	command.AddCommand(show, drop)
	return command
}
