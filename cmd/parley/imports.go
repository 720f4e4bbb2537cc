package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"example.org/parley"
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
			report, err := importFile(ctx, server, term, input, path, fmt.Sprintf("%d of %d", n+1, len(paths)))
			if err != nil {
				return err
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

// importFile imports one file. A large one is uploaded for that, and the upload is deleted afterwards.
func importFile(
	ctx context.Context,
	server *client.Client,
	term terminal,
	input client.ImportInput,
	path, count string,
) (report client.Imported, err error) {
	text, large, err := readImport(path)
	if err != nil {
		return client.Imported{}, err
	}
	input.Name, input.Text = path, text
	if large {
		name := "import " + parley.NewID().String() + ".json" // of its own: the same bytes may be a file already
		file, failed := uploadFileAs(ctx, server, term, path, name)
		if failed != nil {
			return client.Imported{}, fmt.Errorf("%s: %w", path, failed)
		}
		defer func() { err = errors.Join(err, server.DeleteFile(context.WithoutCancel(ctx), file.ID)) }()
		input.FileID = file.ID
	}
	done := term.importing(path, count)
	defer done()
	if report, err = server.ImportSessions(ctx, input); err != nil {
		return client.Imported{}, fmt.Errorf("%s: %w", path, err)
	}
	return report, nil
}

// importing shows which file is imported, on a terminal only; done takes it away.
func (t terminal) importing(path, count string) (done func()) {
	if !watched(t.err) {
		return func() {}
	}
	fmt.Fprintf(t.err, "importing %s (%s)", plainLine(path), count)
	return func() { steer(t.err, clearLine) }
}

// readImport reads a file that fits into the request; large says that it must be uploaded before.
func readImport(path string) (text string, large bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", false, err
	}
	defer file.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(io.LimitReader(file, engine.MaxImportText+1))
	if err != nil || len(raw) <= engine.MaxImportText {
		return string(raw), false, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() > engine.MaxImportBytes {
		err = fmt.Errorf("%s is larger than %d bytes, the most that can be imported at once", path,
			engine.MaxImportBytes)
	}
	return "", true, err
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
