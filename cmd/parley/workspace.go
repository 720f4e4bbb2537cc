package main

import "github.com/spf13/cobra"

func workspaceCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "workspace", Short: "Show the workspace, and change who sees its new sessions"}
	command.AddCommand(
		workspaceShowCommand(shared, term),
		workspaceUpdateCommand(shared, term),
	)
	return command
}
