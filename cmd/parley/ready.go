package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// readyPatience bounds how long ready waits for an answer.
const readyPatience = 3 * time.Second

func readyCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "ready",
		Short: "Report whether the server is ready, for health checks without curl",
		Long: "Ask the server (--url, PARLEY_URL, else that of this data directory) whether it is ready\n" +
			"for requests. The " +
			"exit code is 0 if it says so within 3 seconds, else 1.",
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
