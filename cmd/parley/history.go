package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/setting"
)

// branchFlags are what a fork is to have other: a title, an agent, settings.
func branchFlags(command *cobra.Command, input *client.BranchInput) *settingFlags {
	command.Flags().StringVar(&input.Title, "title", "", "title of the new session")
	command.Flags().StringVar(&input.AgentID, "agent", "", "agent of the new session, by id or slug")
	return addSettings(command, setting.Fork)
}

func forkCommand(shared *flags, term terminal) *cobra.Command {
	var input client.ForkInput
	var at string
	var settings *settingFlags
	command := &cobra.Command{
		Use:   "fork SESSION",
		Short: "Make a session that shares this one's history up to a message",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			var err error
			if input.At, err = idIfGiven(at); err != nil {
				return err
			}
			if input.Settings, err = settings.settings(); err != nil {
				return err
			}
			session, err := server.ForkSession(ctx, id, input)
			if err != nil {
				return err
			}
			return term.printBranches([]parley.Session{session}, shared.json)
		}),
	}
	command.Flags().StringVar(&at, "at", "", "message to fork after; the last one by default")
	command.Flags().Int64Var(&input.Sequence, "sequence", 0, "its sequence, instead of --at")
	settings = branchFlags(command, &input.BranchInput)
	return command
}

func messagesCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{
		Use:   "messages",
		Short: "List and show messages, edit them and ask again in a branch, list branches and versions",
	}

	var edited, again client.BranchInput
	var ofEdited, ofAgain *settingFlags
	edit := &cobra.Command{
		Use:   "edit MESSAGE TEXT",
		Short: "Ask a message in other words, in a new session that begins before it",
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
			return term.printBranches([]parley.Session{session}, shared.json)
		}),
	}
	ofEdited = branchFlags(edit, &edited)
	regenerate := &cobra.Command{
		Use:   "regenerate MESSAGE",
		Short: "Ask a message, or that of an answer, again, in a new session that begins before it",
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
			return term.printBranches([]parley.Session{session}, shared.json)
		}),
	}
	ofAgain = branchFlags(regenerate, &again)
	branches := &cobra.Command{
		Use:   "branches MESSAGE",
		Short: "List the sessions that were forked at a message or regenerate its answer",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			sessions, err := everyRow(server.AllBranches(ctx, id, client.BranchesQuery{Limit: parley.MaxPage}))
			if err != nil {
				return err
			}
			return term.printBranches(sessions, shared.json)
		}),
	}
	versions := &cobra.Command{
		Use:   "versions MESSAGE",
		Short: "List the pieces in which a message was streamed",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			page, err := server.Versions(ctx, id)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(page.Data)
			}
			rows := make([][]string, len(page.Data))
			for i, v := range page.Data {
				rows[i] = []string{
					strconv.Itoa(v.N),
					string(v.Kind),
					fmt.Sprintf("%d-%d", v.Offset, v.End),
					strconv.Itoa(v.Chunks),
					v.CreatedAt.String(),
					parley.Clip(strings.ReplaceAll(v.Text, "\n", " "), 60),
				}
			}
			return term.printTable([]string{"N", "KIND", "BYTES", "CHUNKS", "AT", "TEXT"}, rows)
		}),
	}
	command.AddCommand(
		messagesListCommand(shared, term),
		messagesShowCommand(shared, term),
		edit,
		regenerate,
		branches,
		versions,
	)
	return command
}

func (t terminal) printBranches(sessions []parley.Session, asJSON bool) error {
	if asJSON {
		return t.printJSON(sessions)
	}
	rows := make([][]string, len(sessions))
	for i, s := range sessions {
		shares := "-"
		if s.ForkedThrough != nil {
			shares = strconv.FormatInt(*s.ForkedThrough, 10)
		}
		rows[i] = []string{s.ID.String(), s.ParentSessionID.String(), shares, string(s.Status), s.Title}
	}
	return t.printTable([]string{"SESSION", "FORKED FROM", "SHARES", "STATUS", "TITLE"}, rows)
}
