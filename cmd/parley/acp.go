package main

import (
	"github.com/spf13/cobra"

	"example.org/parley/internal/editor"
)

func acpCommand(shared *flags, term terminal) *cobra.Command {
	var agent string
	command := &cobra.Command{
		Use:   "acp",
		Short: "Be the agent of an editor that speaks the Agent Client Protocol",
		Long: "Speak the Agent Client Protocol on standard input and output, as the agent that an editor\n" +
			"starts. It passes on to a running server (--url and --key, or that of this data directory):\n" +
			"the editor's sessions are sessions there, and its modes are the agents.",
		Example: "  parley acp --url http://127.0.0.1:7878 --key pk_… --agent ada",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := shared.connect(getenv)
			if err != nil {
				return err
			}
			defer server.Close()
			return editor.Serve(cmd.Context(), editor.Options{
				Client: server, Agent: agent, Version: version, In: term.in, Out: term.exact,
			})
		},
	}
	command.Flags().StringVar(&agent, "agent", "", "agent of new sessions, by id or slug")
	return command
}
