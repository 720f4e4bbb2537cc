package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/sqlite"
)

// progressEvery is how often a long command shows its progress.
const progressEvery = 200 * time.Millisecond

func backupCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE|-",
		Short: "Copy the database to a new file, even while the server runs",
		Long: "Copy the SQLite database of the data directory to a new file, or with - to\nstandard output. The " +
			"server may keep running: the copy shows one consistent moment,\nand nothing waits for it. The command " +
			"checks the copy (every page, the schema's version,\nevery record against its hashes) before the file " +
			"gets its name, and overwrites\nnothing. For PostgreSQL see docs/backup.md.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := shared.ownDatabase()
			if err != nil {
				return err
			}
			if args[0] == "-" && watched(term.out) {
				return parley.Errorf(
					parley.CodeInvalid,
					"a backup is not text; redirect it, as in parley backup - | gzip > parley.db.gz",
				)
			}
			if args[0] == "-" {
				return backupTo(cmd.Context(), dir, term)
			}
			contents, err := sqlite.Backup(cmd.Context(), dir, args[0], term.progress("copying"))
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(contents)
			}
			_, err = fmt.Fprintf(
				term.out,
				"%s: %s. Every page and every record was checked.\n",
				args[0],
				contentsLine(contents),
			)
			return err
		},
	}
}

// ownDatabase is the directory of the SQLite database. It fails if the settings name another database.
func (f *flags) ownDatabase() (string, error) {
	s, err := loadSettings(f, getenv)
	if err != nil {
		return "", err
	}
	if s.DatabaseURL != "" {
		return "", parley.Errorf(
			parley.CodeUnsupported,
			"this command is for SQLite, but the settings name a PostgreSQL database; use pg_dump and pg_restore as "+
				"docs/backup.md says, or remove PARLEY_DATABASE_URL from the settings",
		)
	}
	return s.DataDir, nil
}

// backupTo makes a checked backup in the directory for temporary files and
// writes it to standard output.
func backupTo(ctx context.Context, dir string, term terminal) (err error) {
	scratch, err := os.MkdirTemp("", "parley-backup-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	path := filepath.Join(scratch, sqlite.DatabaseFile)
	contents, err := sqlite.Backup(ctx, dir, path, term.progress("copying"))
	if err != nil {
		return err
	}
	file, err := os.Open(path) //nolint:gosec // created above
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := io.Copy(term.exact, file); err != nil {
		return err
	}
	_, err = fmt.Fprintln(term.err, contentsLine(contents))
	return err
}

func restoreCommand(shared *flags, term terminal) *cobra.Command {
	var replace bool
	command := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup into the data directory",
		Long: "Put a backup made by `parley backup` into the data directory. Stop the server first.\nThe " +
			"command checks the whole backup before it puts it in place, in one step. It does\nnot touch an existing " +
			"database, or with --replace renames it.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := shared.ownDatabase()
			if err != nil {
				return err
			}
			restored, err := sqlite.Restore(
				cmd.Context(),
				args[0],
				dir,
				sqlite.RestoreOptions{Replace: replace, Progress: term.progress("copying")},
			)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(restored)
			}
			if restored.Kept != "" {
				if _, err := fmt.Fprintf(
					term.out,
					"The previous database is now %s; remove it when you no longer need it.\n",
					restored.Kept,
				); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(
				term.out,
				"%s holds %s. Every page and every record was checked.\n",
				dir,
				contentsLine(restored.Contents),
			)
			return err
		},
	}
	command.Flags().
		BoolVar(&replace, "replace", false,
			"replace an existing database, which is renamed and kept")
	return command
}

func contentsLine(c sqlite.Contents) string {
	return fmt.Sprintf(
		"%d sessions with %d messages in %d workspaces, %d KiB",
		c.Sessions,
		c.Messages,
		c.Workspaces,
		(c.Bytes+1023)>>10,
	)
}

// counted shows how much of a file of unknown length was read, on a terminal only.
func (t terminal) counted(file io.Reader, what string) io.Reader {
	if !watched(t.err) {
		return file
	}
	return &counter{Reader: file, term: t, what: what}
}

type counter struct {
	io.Reader
	term  terminal
	what  string
	read  int64
	shown time.Time
}

func (c *counter) Read(into []byte) (int, error) {
	n, err := c.Reader.Read(into)
	c.read += int64(n)
	if err != nil && !c.shown.IsZero() {
		steer(c.term.err, clearLine)
	} else if err == nil && time.Since(c.shown) >= progressEvery {
		c.shown = time.Now()
		steer(c.term.err, clearLine)
		fmt.Fprintf(c.term.err, "%s %d KiB", c.what, c.read>>10)
	}
	return n, err
}

// waiting shows what a command waits for and how long already, on a terminal only: each look brings it up to date, and
// done takes it away.
func (t terminal) waiting(what string) (look, done func()) {
	if !watched(t.err) {
		return func() {}, func() {}
	}
	began := time.Now()
	look = func() {
		steer(t.err, clearLine)
		fmt.Fprintf(t.err, "%s, %d s", what, int(time.Since(began).Seconds()))
	}
	look()
	return look, func() { steer(t.err, clearLine) }
}

// counting shows a number that grows, on a terminal only; done takes it away.
func (t terminal) counting(what string) (count func(int), done func()) {
	if !watched(t.err) {
		return func(int) {}, func() {}
	}
	var shown time.Time
	count = func(n int) {
		if time.Since(shown) >= progressEvery {
			shown = time.Now()
			steer(t.err, clearLine)
			fmt.Fprintf(t.err, "%d %s", n, what)
		}
	}
	return count, func() { steer(t.err, clearLine) }
}

// progress shows how far something is, on a terminal only.
func (t terminal) progress(what string) func(done, total int) {
	if !watched(t.err) {
		return nil
	}
	var shown time.Time
	return func(done, total int) {
		if done < total && time.Since(shown) < progressEvery {
			return
		}
		shown = time.Now()
		steer(t.err, clearLine)
		fmt.Fprintf(t.err, "%s %3d %%", what, 100*done/max(total, 1))
		if done >= total {
			fmt.Fprintln(t.err)
		}
	}
}
