package main

import "github.com/spf13/cobra"

func projectsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "projects", Short: "List, choose, show and delete projects"}
	command.AddCommand(
		projectsListCommand(shared, term),
		projectsShowCommand(shared, term),
		projectsCreateCommand(shared, term),
		projectsDeleteCommand(shared),
	)
	return command
}
