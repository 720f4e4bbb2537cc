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
	recordPause = 100 * time.Millisecond // what comes in it is sent at once
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
	record.Flags().StringVar((*string)(&input.Model), "model", "", "what writes it")
	record.Flags().
		StringVar(&input.AgentType, "agent-type", "", "what kind of agent writes it; lists can be filtered by it")
	record.Flags().
		IntVar(&input.Timeout, "timeout", 0, "seconds without input until the message counts as failed (default 300)")
	return record
}

// appendAll appends what comes, merged over a short while.
func appendAll(ctx context.Context, server *client.Client, message parley.ID, in io.Reader) error {
	pieces, failed := make(chan []byte), make(chan error, 1)
	go func() { // ends with the input, or when ctx does and more comes
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
			offset, waiting = offset+len(text), waiting[cut:] // of what was sent
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

// wholeRunes is how many bytes can be sent at once: no rune is cut, and no more
// than an append takes. At the end everything goes, whatever it is.
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
			session, reader, err := twoIDs(args)
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
		Short: "End what share began",
		Args:  cobra.ExactArgs(2),
		RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
			session, reader, err := twoIDs(args)
			if err != nil {
				return err
			}
			return server.UnshareSession(ctx, session, reader)
		}),
	}
	var in bool
	list := &cobra.Command{
		Use:   "shares SESSION",
		Short: "List the sessions that may read SESSION",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			var query client.SharesQuery
			if in {
				query.Direction = "in"
			}
			page, err := server.Shares(ctx, id, query)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(page.Data)
			}
			rows := make([][]string, len(page.Data))
			for i, s := range page.Data {
				rows[i] = []string{s.SessionID.String(), s.ReaderID.String(), s.SharedBy.Name, s.CreatedAt.String()}
			}
			return term.printTable([]string{"SESSION", "READ BY", "SHARED BY", "SINCE"}, rows)
		}),
	}
	list.Flags().BoolVar(&in, "in", false, "the sessions that SESSION may read instead")
	return []*cobra.Command{share, unshare, list}
}

func twoIDs(args []string) (one, other parley.ID, err error) {
	if one, err = parley.ParseID(args[0]); err == nil {
		other, err = parley.ParseID(args[1])
	}
	return one, other, err
}
