package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// readyPatience bounds the question whether a server is ready.
const readyPatience = 3 * time.Second

func readyCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "ready",
		Short: "Report whether the server is ready, for health checks without curl",
		Long: "Ask the server (--url, PARLEY_URL, else the one of this data directory) whether it is\nready for " +
			"requests. The exit code is 0 when it is, within 3 seconds, else 1.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := shared.connect(getenv)
			if err != nil {
				return err
			}
			defer server.Close()
			ctx, stop := context.WithTimeout(cmd.Context(), readyPatience)
			defer stop()
			if err := server.Ready(ctx); err != nil {
				return err
			}
			_, err = fmt.Fprintln(term.out, "ready")
			return err
		},
	}
}
