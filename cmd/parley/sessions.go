package main

import (
	"bytes"
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
	command.AddCommand(contextCommand(shared, term), previewCommand(shared, term), compactCommand(shared, term),
		reviseCommand(shared, term))

	var output string
	var markdown bool
	export := &cobra.Command{
		Use:   "export SESSION",
		Short: "Write a session as one file: as JSON with its messages, turns and calls, or as Markdown for people",
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
			return writeExport(term, term.counted(file, "exporting"), output)
		}),
	}
	export.Flags().StringVarP(&output, "output", "o", "", "file to write; standard output by default")
	export.Flags().BoolVar(&markdown, "markdown", false, "the conversation for people, instead of JSON")

	forget := &cobra.Command{
		Use:   "clear SESSION",
		Short: "Clear a session's context: the model sees only messages from the next one on",
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
		sessionsRenameCommand(shared, term),
		sessionsPinCommand(shared, term),
		sessionsUnpinCommand(shared, term),
		sessionsTagCommand(shared, term),
		sessionsMoveCommand(shared, term),
		sessionsWatchCommand(shared, term),
		sessionsArchiveCommand(shared, term),
		sessionsReopenCommand(shared, term),
		sessionsDeleteCommand(shared),
		sessionsShowCommand(shared, term),
		treeCommand(shared, term),
		forkCommand(shared, term),
		export,
		forget,
		recordCommand(shared, term),
	)
	command.AddCommand(shareCommands(shared, term)...)
	return command
}

// writeExport writes what the server sends. It removes a file that broke off.
func writeExport(term terminal, from io.Reader, output string) error {
	if output == "" || output == "-" {
		_, err := io.Copy(term.exact, from)
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

// conversation is a session with its messages.
type conversation struct {
	Session  *parley.Session  `json:"session"`
	Messages []parley.Message `json:"messages"`
}

// conversationOf reads the messages of a session.
func conversationOf(ctx context.Context, server *client.Client, session *parley.Session) (conversation, error) {
	messages, err := everyRow(server.AllMessages(ctx, session.ID, client.MessagesQuery{Limit: parley.MaxPage}))
	return conversation{session, messages}, err
}

func printConversation(t terminal, c *conversation) error {
	fmt.Fprintf(t.out, "%s  %s  %s\n", c.Session.ID, c.Session.Status, c.Session.Title)
	for _, m := range c.Messages {
		fmt.Fprintf(t.out, "\n%s\n", headline(m))
		text, isObject := objectBody(m)
		if !isObject && (m.Role == parley.RoleAssistant || m.Role == parley.RoleSummary) {
			answer := markdownOn(t.out)
			answer.print(text)
			answer.pause()
		} else {
			fmt.Fprint(t.out, text)
		}
		fmt.Fprintln(t.out)
	}
	return nil
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

// modelLabel is a model's name, marked if it is the simulator.
func modelLabel(id parley.ModelID) string {
	if id.Provider() == "sim" {
		return string(id) + " (simulator)"
	}
	return string(id)
}

// resultText is a tool's result for people: its text, the names of its files, and why it failed.
func resultText(result *parley.ToolResultContent) string {
	text := result.Plain()
	if result.Error == nil {
		return text
	}
	if text != "" {
		text += "\n"
	}
	return text + "! " + *result.Error
}

// objectBody is the body of a message, with the object of a structured answer indented in place of its text. The bool
// reports one.
func objectBody(m parley.Message) (string, bool) {
	text := body(m)
	var answer parley.AssistantContent
	if m.Role != parley.RoleAssistant || json.Unmarshal(m.Content, &answer) != nil || len(answer.Object) == 0 {
		return text, false
	}
	var indented bytes.Buffer
	if json.Indent(&indented, answer.Object, "", "  ") != nil {
		return text, false
	}
	return strings.Replace(text, answer.Text, indented.String(), 1), true
}

func body(m parley.Message) string {
	switch m.Role {
	case parley.RoleToolCall:
		var call parley.ToolCallContent
		if json.Unmarshal(m.Content, &call) == nil {
			return call.Name + " " + string(call.Arguments) + call.ArgumentsText
		}
	case parley.RoleToolResult:
		var result parley.ToolResultContent
		if json.Unmarshal(m.Content, &result) == nil {
			return resultText(&result)
		}
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
