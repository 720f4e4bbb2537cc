package main

import "github.com/spf13/cobra"

func cacheCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "cache", Short: "Show or clear the response cache", Args: cobra.NoArgs}
	command.AddCommand(cacheShowCommand(shared, term), cacheClearCommand(shared))
	return command
}
