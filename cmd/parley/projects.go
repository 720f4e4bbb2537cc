package main

import "github.com/spf13/cobra"

func projectsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "projects", Short: "List, choose, show, change and delete projects"}
	command.AddCommand(
		projectsListCommand(shared, term),
		projectsShowCommand(shared, term),
		projectsCreateCommand(shared, term),
		projectsUpdateCommand(shared, term),
		projectsRenameCommand(shared, term),
		projectsDeleteCommand(shared),
	)
	return command
}
