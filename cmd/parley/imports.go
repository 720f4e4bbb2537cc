package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley/client"
	"example.org/parley/engine"
)

func importCommand(shared *flags, term terminal) *cobra.Command {
	var input client.ImportInput
	command := &cobra.Command{
		Use:   "import FILE…",
		Short: "Import sessions: an export as JSON, chat.json, session.json",
		Long: "Import sessions from files: a session's export as JSON, the chat.json of a planning\nagent, the " +
			"session.json of a task, or a conversation file. Importing a file again\nchanges nothing. " +
			"Give older files with their path, which names the feature.",
		Args: cobra.MinimumNArgs(1),
	}
	command.RunE = shared.asking(func(ctx context.Context, server *client.Client, paths []string) error {
		reports := make([]client.Imported, 0, len(paths))
		for n, path := range paths {
			text, err := readImport(path)
			if err != nil {
				return err
			}
			input.Name, input.Text = path, text
			done := term.importing(path, n+1, len(paths))
			report, err := server.ImportSessions(ctx, input)
			done()
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if reports = append(reports, report); !shared.json {
				printImport(term, path, &report)
			}
		}
		if shared.json {
			return term.printJSON(reports)
		}
		return nil
	})
	command.Flags().BoolVar(&input.DryRun, "dry-run", false, "say what would happen, and change nothing")
	command.Flags().StringVar(&input.Agent, "agent", "", "agent of the sessions, by id or slug")
	return command
}

// importing shows which file is imported, on a terminal only; done takes it away.
func (t terminal) importing(path string, n, of int) (done func()) {
	if !watched(t.err) {
		return func() {}
	}
	fmt.Fprintf(t.err, "importing %s (%d of %d)", plainLine(path), n, of)
	return func() { steer(t.err, clearLine) }
}

// readImport reads a file, but no more of it than an import takes.
func readImport(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // only read
	var text strings.Builder
	n, err := io.Copy(&text, io.LimitReader(file, engine.MaxImportBytes+1))
	if err == nil && n > engine.MaxImportBytes {
		err = fmt.Errorf(
			"%s is larger than %d bytes, the most that can be imported at once",
			path,
			engine.MaxImportBytes,
		)
	}
	return text.String(), err
}

func printImport(term terminal, path string, report *client.Imported) {
	for i := range report.Sessions {
		s := &report.Sessions[i]
		id := "new session"
		if !s.SessionID.IsZero() {
			id = s.SessionID.String()
		}
		outcome := s.Outcome
		if report.DryRun {
			outcome = "would be " + outcome
		}
		_, _ = fmt.Fprintf(term.out, "%s: %s, %s, %d messages, %s\n", plainLine(path), outcome, id, s.Messages,
			plainLine(s.Title))
		for _, left := range s.Left {
			_, _ = fmt.Fprintf(term.out, "  not carried over: %s %s\n", plainLine(left.Pointer), plainLine(left.Text))
		}
	}
}
