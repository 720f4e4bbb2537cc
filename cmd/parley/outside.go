package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

// The pace of a message that is recorded from standard input.
const (
	recordPause = 100 * time.Millisecond // input of this long goes into one append
	recordPiece = 64 << 10               // bytes of one append at most
)

func recordCommand(shared *flags, term terminal) *cobra.Command {
	input := client.MessageInput{Role: parley.RoleAssistant, Status: parley.MessageStreaming}
	record := &cobra.Command{
		Use:   "record SESSION",
		Short: "Stream standard input into a session, as the message of an agent that runs outside",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			m, err := server.PostMessage(ctx, id, input)
			if err != nil {
				return err
			}
			end := client.SettleInput{Status: parley.MessageCompleted}
			copied := appendAll(ctx, server, m.ID, term.in)
			if copied != nil {
				end = client.SettleInput{
					Status: parley.MessageFailed,
					Error:  &client.FailureInput{Class: parley.ClassInterrupted},
				}
			}
			if ctx.Err() != nil {
				end = client.SettleInput{Status: parley.MessageCancelled}
			}
			settled, err := server.SettleMessage(context.WithoutCancel(ctx), m.ID, end)
			if err := errors.Join(copied, err); err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(settled.Message)
			}
			fmt.Fprintln(term.out, settled.Message.ID)
			return nil
		}),
	}
	record.Flags().StringVar((*string)(&input.Model), "model", "", "the model that writes it")
	record.Flags().
		StringVar(&input.AgentType, "agent-type", "", "the type of agent that writes it; lists can filter by it")
	record.Flags().
		IntVar(&input.Timeout, "timeout", 0, "seconds without input until the message counts as failed (default 300)")
	return record
}

// appendAll appends what comes, merged over a short while.
func appendAll(ctx context.Context, server *client.Client, message parley.ID, in io.Reader) error {
	pieces, failed := make(chan []byte), make(chan error, 1)
	go func() { // ends with the input, or at the next input after ctx has ended
		defer close(pieces)
		for {
			piece := make([]byte, recordPiece)
			n, err := in.Read(piece)
			select {
			case pieces <- piece[:n]:
			case <-ctx.Done():
				return
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					failed <- err
				}
				return
			}
		}
	}()
	tick := time.NewTicker(recordPause)
	defer tick.Stop()
	var waiting []byte
	offset := 0
	send := func(last bool) error {
		for cut := wholeRunes(waiting, last); cut > 0; cut = wholeRunes(waiting, last) {
			text := strings.ToValidUTF8(strings.ReplaceAll(string(waiting[:cut]), "\x00", "\uFFFD"), "\uFFFD")
			if _, err := server.AppendMessage(
				ctx,
				message,
				client.AppendInput{Offset: offset, Text: &text},
			); err != nil {
				return err
			}
			offset, waiting = offset+len(text), waiting[cut:] // bytes that were sent
		}
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			if err := send(false); err != nil {
				return err
			}
		case piece, more := <-pieces:
			if waiting = append(waiting, piece...); more && len(waiting) < recordPiece {
				continue
			}
			if err := send(!more); err != nil {
				return err
			}
			if !more {
				select {
				case err := <-failed:
					return err
				default:
					return nil
				}
			}
		}
	}
}

// wholeRunes is how many bytes can be sent at once: whole runes, and no more than an append takes. The last piece may
// end anywhere.
func wholeRunes(text []byte, last bool) int {
	n := min(len(text), recordPiece)
	if last && n == len(text) {
		return n
	}
	for back := 1; back <= min(n, utf8.UTFMax-1); back++ {
		if start := n - back; utf8.RuneStart(text[start]) {
			if !utf8.FullRune(text[start:n]) {
				return start
			}
			break
		}
	}
	return n
}

func shareCommands(shared *flags, term terminal) []*cobra.Command {
	share := &cobra.Command{
		Use:   "share SESSION READER",
		Short: "Let the session READER read SESSION",
		Args:  cobra.ExactArgs(2),
		RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
			session, reader, err := twoSessions(ctx, server, args)
			if err != nil {
				return err
			}
			made, err := server.ShareSession(ctx, session, reader)
			if err == nil && shared.json {
				err = term.printJSON(made)
			}
			return err
		}),
	}
	unshare := &cobra.Command{
		Use:   "unshare SESSION READER",
		Short: "End a share",
		Args:  cobra.ExactArgs(2),
		RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
			session, reader, err := twoSessions(ctx, server, args)
			if err != nil {
				return err
			}
			return server.UnshareSession(ctx, session, reader)
		}),
	}
	return []*cobra.Command{share, unshare, listSharesCommand(shared, term)}
}

// listSharesCommand lists the sessions that may read a session or, with --in, those that it may read.
func listSharesCommand(shared *flags, term terminal) *cobra.Command {
	list := sessionsSharesCommand(shared, term)
	in := list.Flags().Bool("in", false, "list the sessions that SESSION may read: --direction in")
	list.PreRunE = func(*cobra.Command, []string) error {
		if !*in {
			return nil
		}
		return list.Flags().Set("direction", "in")
	}
	return list
}

func twoSessions(ctx context.Context, server *client.Client, args []string) (one, other parley.ID, err error) {
	if one, err = refer(ctx, server, "SESSION", args[0]); err == nil {
		other, err = refer(ctx, server, "READER", args[1])
	}
	return one, other, err
}
