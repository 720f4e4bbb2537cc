package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

func inboxCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{
		Use: "inbox", Short: "Read and answer what agents that work on their own have for you",
	}
	command.AddCommand(
		inboxListCommand(shared, term),
		inboxShowCommand(shared, term),
		inboxReadCommand(shared, term),
		answerInboxCommand(shared, term),
	)
	return command
}

func answerInboxCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "answer ITEM TEXT",
		Short: "Answer a question: the agent that asked goes on with the answer",
		Args:  cobra.ExactArgs(2),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, args []string) error {
			answered, err := server.AnswerInboxItem(ctx, id, client.InboxAnswerInput{Text: args[1]})
			if err != nil {
				return err
			}
			return printOne(term, shared, &answered, asRow(inboxTable()))
		}),
	}
}

// inboxState says what has become of an item.
func inboxState(i *parley.InboxItem) string {
	switch {
	case i.AnsweredAt != 0:
		return "answered"
	case i.ClosedAt != 0:
		return "ended"
	case i.Waits():
		return "waits"
	case i.ReadAt != 0:
		return "read"
	}
	return "unread"
}

// inboxText is an item with the message that it stands for.
type inboxText struct {
	*parley.InboxItem
	Message *parley.Message `json:"message"`
}

func inboxTextOf(ctx context.Context, server *client.Client, item *parley.InboxItem) (inboxText, error) {
	whole := inboxText{InboxItem: item}
	if item.MessageID.IsZero() {
		return whole, nil
	}
	m, err := server.Message(ctx, item.MessageID)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return whole, nil
	}
	whole.Message = &m
	return whole, err
}

// printInboxItem prints an item: what it is, where the work behind it is, and its text.
func printInboxItem(t terminal, i *inboxText) error {
	fmt.Fprintf(t.out, "%s  %s, %s, %s\n%s\nfrom %s, who works in session %s\nin session %s\n", i.ID, i.Type,
		inboxState(i.InboxItem), i.CreatedAt, i.Title, i.AgentID, i.SourceSessionID, i.SessionID)
	if !i.ApprovalID.IsZero() {
		fmt.Fprintf(t.out, "decide with: parley approvals approve %s\n", i.ApprovalID)
	}
	if i.Summary != "" {
		fmt.Fprintf(t.out, "\n%s\n", i.Summary)
	}
	if i.Message == nil {
		return nil
	}
	fmt.Fprintln(t.out)
	text := markdownOn(t.out)
	text.print(body(*i.Message))
	text.pause()
	for n := range i.Citations {
		cited := &i.Citations[n]
		fmt.Fprintf(t.out, "%s is message %s\n", cited, cited.MessageID)
	}
	return nil
}
