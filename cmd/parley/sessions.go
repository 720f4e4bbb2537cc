package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

func sessionsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{
		Use:   "sessions",
		Short: "List, make, change, show, fork, archive, export, share and delete sessions",
	}
	command.AddCommand(contextCommand(shared, term), previewCommand(shared, term), compactCommand(shared, term))

	show := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show a session's conversation",
		Args:  cobra.ExactArgs(1),
		RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
			export, err := exportSession(ctx, server, args[0])
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(struct {
					Session  parley.Session   `json:"session"`
					Messages []parley.Message `json:"messages"`
				}{export.Session, export.Messages})
			}
			fmt.Fprintf(term.out, "%s  %s  %s\n", export.Session.ID, export.Session.Status, export.Session.Title)
			for _, m := range export.Messages {
				fmt.Fprintf(term.out, "\n%s\n%s\n", headline(m), body(m))
			}
			return nil
		}),
	}

	var output string
	var markdown bool
	export := &cobra.Command{
		Use:   "export SESSION",
		Short: "Write a session as one file: with its messages, turns and calls as JSON, or to be read as Markdown",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			format := "json"
			if markdown {
				format = "markdown"
			}
			file, err := server.ExportSession(ctx, id, client.ExportSessionQuery{Format: format})
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }()
			return writeExport(term, file, output)
		}),
	}
	export.Flags().StringVarP(&output, "output", "o", "", "file to write; standard output when not given")
	export.Flags().BoolVar(&markdown, "markdown", false, "the conversation to be read, instead of JSON")

	forget := &cobra.Command{
		Use:   "clear SESSION",
		Short: "Clear what the model sees of a session: it begins with the next message",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			session, err := server.ClearContext(ctx, id)
			if err != nil || !shared.json {
				return err
			}
			return term.printJSON(session)
		}),
	}
	command.AddCommand(
		sessionsListCommand(shared, term),
		sessionsCreateCommand(shared, term),
		sessionsUpdateCommand(shared, term),
		sessionsArchiveCommand(shared, term),
		sessionsReopenCommand(shared, term),
		sessionsDeleteCommand(shared),
		show,
		treeCommand(shared, term),
		forkCommand(shared, term),
		export,
		forget,
		recordCommand(shared, term),
	)
	command.AddCommand(shareCommands(shared, term)...)
	return command
}

// writeExport writes what the server sends. A file that broke off is taken away.
func writeExport(term terminal, from io.Reader, output string) error {
	if output == "" || output == "-" {
		_, err := io.Copy(term.out, from)
		return err
	}
	file, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(output))
	}
	return nil
}

// sessionExport is a whole session.
type sessionExport struct {
	Session  parley.Session   `json:"session"`
	Agent    parley.Agent     `json:"agent"`
	Messages []parley.Message `json:"messages"`
	Turns    []parley.Turn    `json:"turns"`
	Calls    []parley.Call    `json:"calls"`
}

func exportSession(ctx context.Context, server *client.Client, idText string) (sessionExport, error) {
	var export sessionExport
	id, err := parley.ParseID(idText)
	if err != nil {
		return export, err
	}
	if export.Session, err = server.Session(ctx, id); err != nil {
		return export, err
	}
	if export.Agent, err = server.Agent(ctx, export.Session.AgentID.String()); err != nil {
		return export, err
	}
	export.Messages, err = everyRow(server.AllMessages(ctx, id, client.MessagesQuery{Limit: parley.MaxPage}))
	if err != nil {
		return export, err
	}
	export.Turns, err = everyRow(server.AllTurns(ctx, id, client.TurnsQuery{Limit: parley.MaxPage, Order: "asc"}))
	if err != nil {
		return export, err
	}
	export.Calls, err = everyRow(server.AllCalls(ctx, id, client.CallsQuery{Limit: parley.MaxPage, Order: "asc"}))
	return export, err
}

func headline(m parley.Message) string {
	place := "queued"
	if m.Sequence > 0 {
		place = "#" + strconv.FormatInt(m.Sequence, 10)
	}
	parts := []string{place, string(m.Role)}
	if m.Author.Name != "" {
		parts = append(parts, "by "+m.Author.Name)
	}
	if m.Model != "" {
		parts = append(parts, modelLabel(m.Model))
	}
	if m.Status != parley.MessageCompleted {
		parts = append(parts, string(m.Status))
	}
	return strings.Join(parts, "  ")
}

// modelLabel says of the simulator that it is one.
func modelLabel(id parley.ModelID) string {
	if id.Provider() == "sim" {
		return string(id) + " (simulator)"
	}
	return string(id)
}

func body(m parley.Message) string {
	switch m.Role {
	case parley.RoleToolCall:
		var call parley.ToolCallContent
		if json.Unmarshal(m.Content, &call) == nil {
			return call.Name + " " + string(call.Arguments) + call.ArgumentsText
		}
	case parley.RoleToolResult:
		return string(m.Content)
	}
	var text parley.AssistantContent
	if json.Unmarshal(m.Content, &text) != nil {
		return string(m.Content)
	}
	out := text.Text
	if text.Reasoning != "" {
		out = "(reasoning) " + text.Reasoning + "\n" + out
	}
	if text.Refusal != "" {
		out += "(refused) " + text.Refusal
	}
	if m.Error != nil {
		out += "\n! " + m.Error.Sentence
	}
	return out
}
