package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/internal/transfer"
	"example.org/parley/postgres"
	"example.org/parley/sqlite"
)

func copyCommand(shared *flags, term terminal) *cobra.Command {
	var from, to string
	command := &cobra.Command{
		Use:   "copy --from DATABASE --to DATABASE",
		Short: "Copy a whole database to another one: SQLite to PostgreSQL, and back",
		Long: "Copy every row of a database into an empty one, then read both and verify that they\nhold the same. A " +
			"database is sqlite:DIRECTORY or postgres://user@host/name (put\n" +
			"a password into PGPASSWORD or ~/.pgpass). " +
			"Stop the servers of both.\nTo continue an interrupted copy, run the same command again; until it is " +
			"finished no\nserver opens the destination. On a finished copy the command only verifies.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			summary, err := copyDatabase(cmd.Context(), from, to, term)
			if cmd.Context().Err() != nil {
				return parley.Errorf(
					parley.CodeUnavailable,
					"interrupted; run the same command again to continue",
				)
			}
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(summary)
			}
			return term.printSummary(summary)
		},
	}
	command.Flags().StringVar(&from, "from", "", "database to copy: sqlite:DIRECTORY or postgres://…")
	command.Flags().StringVar(&to, "to", "", "empty database to copy into: sqlite:DIRECTORY or postgres://…")
	for _, name := range []string{"from", "to"} {
		_ = command.MarkFlagRequired(name) // it is one of the flags above
	}
	return command
}

// copyDatabase opens both databases and copies one into the other.
func copyDatabase(ctx context.Context, from, to string, term terminal) (summary transfer.Summary, err error) {
	source, err := parseDatabase("from", from)
	if err != nil {
		return summary, err
	}
	target, err := parseDatabase("to", to)
	if err != nil {
		return summary, err
	}
	if source == target {
		return summary, parley.InvalidField("to", "is the database to copy; name another one")
	}
	if err := source.there(); err != nil {
		return summary, err
	}
	have, closeSource, err := source.open(ctx, false)
	if err != nil {
		return summary, inFlag("from", err)
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	wanted, closeTarget, err := target.open(ctx, true)
	if err != nil {
		return summary, inFlag("to", err)
	}
	defer func() { err = errors.Join(err, closeTarget()) }()
	return transfer.Copy(ctx, have, wanted, term.copyProgress())
}

// inFlag says which flag an error is about.
func inFlag(flag string, err error) error {
	var sentence *parley.Error
	if errors.As(err, &sentence) {
		return parley.WrapError(sentence.Code, err, "--"+flag+": "+sentence.Message)
	}
	return fmt.Errorf("--%s: %w", flag, err)
}

// database names one side of a copy.
type database struct {
	dir string // of SQLite
	url string // of PostgreSQL
}

func parseDatabase(flag, text string) (database, error) {
	if dir, ok := strings.CutPrefix(text, "sqlite:"); ok && dir != "" {
		dir, err := filepath.Abs(dir)
		return database{dir: dir}, err
	}
	if parsed, err := url.Parse(text); err == nil && (parsed.Scheme == "postgres" || parsed.Scheme == "postgresql") {
		return database{url: text}, nil
	}
	return database{}, parley.InvalidField(
		flag,
		"write sqlite:DIRECTORY or postgres://user@host/name",
	) // the text may hold a password
}

// there fails if a SQLite database does not exist.
func (d database) there() error {
	if d.dir == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(d.dir, sqlite.DatabaseFile)); errors.Is(err, fs.ErrNotExist) {
		return parley.Errorf(parley.CodeNotFound, "--from: %s contains no database", d.dir)
	}
	return nil
}

// open updates the schema, as a server would, and returns the database's archive.
func (d database) open(ctx context.Context, copying bool) (transfer.Destination, func() error, error) {
	if d.dir != "" {
		store, err := sqlite.Open(ctx, d.dir, sqlite.Options{Copying: copying})
		if err != nil {
			return nil, nil, err
		}
		archive, err := store.Archive(ctx)
		return shown(store, archive, err)
	}
	store, err := postgres.Open(ctx, d.url, postgres.Options{Copying: copying})
	if err != nil {
		return nil, nil, err
	}
	archive, err := store.Archive(ctx)
	return shown(store, archive, err)
}

// openArchive is the archive of a store of either kind.
type openArchive interface {
	transfer.Destination
	io.Closer
}

// shown is an archive with a function that closes it and its store; err is the error of opening it.
func shown(store io.Closer, archive openArchive, err error) (transfer.Destination, func() error, error) {
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return archive, func() error { return errors.Join(archive.Close(), store.Close()) }, nil
}

// copyProgress shows how far a copy is: continually on a terminal, otherwise one line for each finished table.
func (t terminal) copyProgress() func(transfer.State) {
	live := watched(t.err)
	var shown time.Time
	return func(s transfer.State) {
		done := s.Rows >= s.Total
		if !done && (!live || time.Since(shown) < progressEvery) {
			return
		}
		shown = time.Now()
		line := fmt.Sprintf("%-9s %-14s %d of %d rows", s.Stage, s.Table, s.Rows, s.Total)
		switch {
		case live && !done:
			steer(t.err, clearLine)
			fmt.Fprint(t.err, line)
		case live:
			steer(t.err, clearLine)
			fmt.Fprintln(t.err, line)
		default:
			fmt.Fprintln(t.err, line)
		}
	}
}

// digestShown is how much of a digest a person sees.
const digestShown = 16

func (t terminal) printSummary(s transfer.Summary) error {
	rows := make([][]string, len(s.Tables))
	for i, table := range s.Tables {
		rows[i] = []string{table.Table, strconv.FormatInt(table.Rows, 10), table.Digest[:digestShown]}
	}
	if err := t.printTable([]string{"TABLE", "ROWS", "DIGEST"}, rows); err != nil {
		return err
	}
	what := "Copied"
	switch {
	case s.Already:
		what = "The copy was already complete"
	case s.Resumed:
		what = "Copied, continuing an interrupted run"
	}
	_, err := fmt.Fprintf(
		t.out,
		"%s. Both databases hold the same rows, and the records of %d sessions, %d messages, match their hashes.\n",
		what,
		s.Sessions,
		s.Messages,
	)
	return err
}
