package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/postgres"
)

func migrateCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the schema of a PostgreSQL database up to date, or see what that would do",
		Long: `Bring the schema of the PostgreSQL database in PARLEY_DATABASE_URL up to date, or see what
that would do. parley serve does it by itself at its start; by hand it is done ahead of a
rolling upgrade, or by a role with more rights. It goes past a pooler, through
PARLEY_LISTEN_URL, when that is set. SQLite needs none of this.`,
	}
	command.AddCommand(
		&cobra.Command{
			Use:   "up",
			Short: "Apply pending migrations; safe while servers of the previous version run",
			Args:  cobra.NoArgs,
			RunE: shared.migrating(func(ctx context.Context, url string, s settings) error {
				log, err := newLog(s, term.err)
				if err != nil {
					return err
				}
				applied, err := postgres.Migrate(ctx, url, log)
				if err != nil {
					return err
				}
				if shared.json {
					return term.printJSON(migrationRows(applied))
				}
				if len(applied) == 0 {
					_, err = fmt.Fprintln(term.out, "nothing to do")
					return err
				}
				return term.printTable(migrationHeader(), migrationTable(applied))
			}),
		},
		&cobra.Command{
			Use:   "status",
			Short: "Show the schema's version and pending migrations",
			Args:  cobra.NoArgs,
			RunE: shared.migrating(func(ctx context.Context, url string, _ settings) error {
				schema, err := postgres.Migrations(ctx, url)
				if err != nil {
					return err
				}
				if shared.json {
					return term.printJSON(
						schemaStatus{
							schema.Version,
							schema.Known,
							schema.CompatibleFrom,
							migrationRows(schema.Migrations),
							schema.Missing,
						},
					)
				}
				fmt.Fprintf(term.out, "schema %d, this program knows %d\n", schema.Version, schema.Known)
				if err := term.printTable(migrationHeader(), migrationTable(schema.Migrations)); err != nil {
					return err
				}
				return term.printMissing(schema.Missing)
			}),
		},
		&cobra.Command{
			Use:   "plan",
			Short: "Print the SQL that up would run",
			Args:  cobra.NoArgs,
			RunE: shared.migrating(func(ctx context.Context, url string, _ settings) error {
				schema, err := postgres.Migrations(ctx, url)
				if err != nil {
					return err
				}
				pending := schema.Pending()
				if len(pending) == 0 {
					_, err = fmt.Fprintln(term.out, "-- nothing to do")
				}
				for _, m := range pending {
					_, err = fmt.Fprintf(term.out, "-- %s\n%s\n", m.Name, m.SQL)
				}
				if err != nil {
					return err
				}
				return term.printMissing(schema.Missing)
			}),
		},
	)
	return command
}

// migrating makes a command's RunE of a function that works on the database of the settings.
func (f *flags) migrating(
	run func(ctx context.Context, url string, s settings) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		s, err := loadSettings(f, getenv)
		if err == nil {
			err = s.check()
		}
		if err != nil {
			return err
		}
		url := s.ListenURL
		if url == "" {
			url = s.DatabaseURL
		}
		if url == "" {
			return parley.InvalidField(
				"database_url",
				"is not set: set PARLEY_DATABASE_URL to a PostgreSQL database. "+
					"A SQLite database is migrated when it is "+
					"opened",
			)
		}
		return run(cmd.Context(), url, s)
	}
}

// schemaStatus is the JSON of migrate status.
type schemaStatus struct {
	Version        int64          `json:"version"`
	Known          int64          `json:"known"`
	CompatibleFrom int64          `json:"compatible_from"`
	Migrations     []migrationRow `json:"migrations"`
	Missing        []string       `json:"missing"`
}

type migrationRow struct {
	Version   int64       `json:"version"`
	Name      string      `json:"name"`
	AppliedAt parley.Time `json:"applied_at"`
}

func migrationRows(migrations []postgres.Migration) []migrationRow {
	rows := make([]migrationRow, len(migrations))
	for i, m := range migrations {
		rows[i] = migrationRow{Version: m.Version, Name: m.Name}
		if !m.AppliedAt.IsZero() {
			rows[i].AppliedAt = parley.TimeOf(m.AppliedAt)
		}
	}
	return rows
}

func migrationHeader() []string { return []string{"VERSION", "NAME", "APPLIED"} }

func migrationTable(migrations []postgres.Migration) [][]string {
	table := make([][]string, len(migrations))
	for i, row := range migrationRows(migrations) {
		applied := "pending"
		if row.AppliedAt != 0 {
			applied = row.AppliedAt.String()
		}
		table[i] = []string{strconv.FormatInt(row.Version, 10), row.Name, applied}
	}
	return table
}

// printMissing prints what somebody with more rights must run first.
func (t terminal) printMissing(statements []string) error {
	if len(statements) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(t.out, "\n-- first, by a role with the right to:")
	for _, statement := range statements {
		if err == nil {
			_, err = fmt.Fprintln(t.out, statement)
		}
	}
	return err
}
