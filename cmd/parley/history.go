package main

import (
	"context"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/setting"
)

// branchFlags adds the flags of what a fork may change: title, agent, settings.
func branchFlags(command *cobra.Command, input *client.BranchInput) *settingFlags {
	command.Flags().StringVar(&input.Title, "title", "", "title of the new session")
	addAgentReference(command, &input.AgentID, "agent", "agent of the new session, by id or slug")
	return addSettings(command, setting.Fork)
}

func forkCommand(shared *flags, term terminal) *cobra.Command {
	var input client.ForkInput
	var settings *settingFlags
	command := &cobra.Command{
		Use:   "fork SESSION",
		Short: "Make a session that shares this one's history up to a message",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			var err error
			if input.Settings, err = settings.settings(); err != nil {
				return err
			}
			session, err := server.ForkSession(ctx, id, input)
			if err != nil {
				return err
			}
			return printBranch(term, shared, session)
		}),
	}
	addReference(command, &input.At, "at", "message to fork after; the last one by default")
	command.Flags().Int64Var(&input.Sequence, "sequence", 0, "its sequence, instead of --at")
	settings = branchFlags(command, &input.BranchInput)
	return command
}

func messagesCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{
		Use:   "messages",
		Short: "List, show, pin and set aside messages, edit them and ask again in a branch",
	}

	var edited, again client.BranchInput
	var ofEdited, ofAgain *settingFlags
	edit := &cobra.Command{
		Use:   "edit MESSAGE TEXT",
		Short: "Ask again with an edited message, in a fork that begins before it",
		Args:  cobra.ExactArgs(2),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, args []string) error {
			var err error
			if edited.Settings, err = ofEdited.settings(); err != nil {
				return err
			}
			content, err := parley.EncodeContent(parley.UserContent{Text: args[1]})
			if err != nil {
				return err
			}
			session, err := server.EditMessage(ctx, id, client.EditInput{Content: content, BranchInput: edited})
			if err != nil {
				return err
			}
			return printBranch(term, shared, session)
		}),
	}
	ofEdited = branchFlags(edit, &edited)
	regenerate := &cobra.Command{
		Use:   "regenerate MESSAGE",
		Short: "Ask a message, or an answer's question, again, in a fork that begins before it",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			var err error
			if again.Settings, err = ofAgain.settings(); err != nil {
				return err
			}
			session, err := server.RegenerateMessage(ctx, id, client.RegenerateInput{BranchInput: again})
			if err != nil {
				return err
			}
			return printBranch(term, shared, session)
		}),
	}
	ofAgain = branchFlags(regenerate, &again)
	command.AddCommand(
		messagesListCommand(shared, term),
		messagesShowCommand(shared, term),
		edit,
		regenerate,
		messagesBranchesCommand(shared, term),
		messagesVersionsCommand(shared, term),
		messagesPinCommand(shared, term),
		messagesUnpinCommand(shared, term),
		messagesSetAsideCommand(shared, term),
		messagesBringBackCommand(shared, term),
	)
	return command
}

// printBranch prints a new fork as the list of branches does.
func printBranch(t terminal, shared *flags, session parley.Session) error {
	return printOne(t, shared, &session, asRow(messagesBranchesTable()))
}
