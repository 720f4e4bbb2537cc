package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/postgres"
	"example.org/parley/sqlite"
)

// clockNote is the difference of two clocks from which on doctor mentions it. Nothing depends on it.
const clockNote = time.Second

// checkStore checks the database of the settings. While a server runs on a SQLite database, it leaves it alone.
func checkStore(ctx context.Context, s settings, running bool) []finding {
	switch {
	case s.DatabaseURL != "":
		return checkPostgres(ctx, s)
	case running:
		return []finding{{Check: "database", State: "ok", Says: "in use by the running server"}}
	}
	return []finding{checkSQLite(ctx, s.DataDir)}
}

func checkSQLite(ctx context.Context, dir string) finding {
	f := finding{Check: "database"}
	if _, err := os.Stat(filepath.Join(dir, sqlite.DatabaseFile)); errors.Is(err, fs.ErrNotExist) {
		f.State, f.Says = "note", "does not exist yet; parley serve creates it"
		return f
	}
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		f.State, f.Says = "problem", err.Error()
		return f
	}
	err = errors.Join(store.Ping(ctx), store.Close())
	if err != nil {
		f.State, f.Says = "problem", err.Error()
		return f
	}
	f.State, f.Says = "ok", "opens, and its schema is this version's"
	return f
}

func checkPostgres(ctx context.Context, s settings) []finding {
	name := databaseName(s.DatabaseURL)
	c, err := postgres.Diagnose(ctx, s.DatabaseURL, postgres.Options{ListenURL: s.ListenURL})
	if err != nil {
		return []finding{
			{
				"database",
				"problem",
				name + ": " + sentence(err),
				"correct PARLEY_DATABASE_URL, or make sure that the database server answers",
			},
		}
	}
	server := finding{Check: "database", State: "ok", Says: name + ", version " + c.Server}
	if c.TooOld {
		server.State, server.Do = "problem", "use PostgreSQL 15 or later"
	}
	return []finding{server, checkRole(c), checkSchema(c), checkClock(c), checkListen(c, s)}
}

func checkRole(c postgres.Condition) finding {
	f := finding{
		Check: "database role",
		State: "ok",
		Says:  c.Role + " is not a superuser and does not bypass row-level security",
	}
	switch {
	case c.Superuser, c.BypassesRows:
		f.State, f.Says = "note", c.Role+
			" is a superuser or bypasses row-level security: only Parley's own queries keep workspaces apart"
		f.Do = "use a role that does neither and owns the database"
	case c.Inherits:
		f.State, f.Says, f.Do = "note", c.Role+" inherits the rights of Parley's roles",
			"ALTER ROLE "+c.Role+" NOINHERIT"
	case len(c.Open) > 0:
		f.State, f.Says, f.Do = "note",
			"every role of the server may connect, and so read and forge the text that people watch",
			strings.Join(c.Open, " ")
	}
	return f
}

func checkSchema(c postgres.Condition) finding {
	f := finding{Check: "schema", State: "ok", Says: fmt.Sprintf("version %d, this program's", c.Schema.Version)}
	pending := len(c.Schema.Pending())
	switch {
	case c.Schema.CompatibleFrom > c.Schema.Known:
		f.State, f.Says, f.Do = "problem", fmt.Sprintf(
			"version %d, of a newer Parley; this one knows %d",
			c.Schema.Version,
			c.Schema.Known,
		), "install that version of Parley or a later one"
	case c.Schema.Version > c.Schema.Known:
		f.State, f.Says = "note", fmt.Sprintf("version %d, of a newer Parley; this one works with it", c.Schema.Version)
	case len(c.Schema.Missing) > 0:
		f.State, f.Says, f.Do = "problem", "the role may not create what is missing",
			"ask somebody with the right to run: "+strings.Join(
				c.Schema.Missing,
				" ",
			)
	case pending > 0:
		f.State, f.Says = "note", fmt.Sprintf(
			"%d migrations are pending; parley serve or parley migrate up applies them",
			pending,
		)
	}
	return f
}

func checkClock(c postgres.Condition) finding {
	f := finding{Check: "clock", State: "ok", Says: "the database's is this machine's"}
	if c.ClockOffset.Abs() >= clockNote {
		f.State, f.Says = "note", fmt.Sprintf(
			"the database's is %s off this machine's; Parley goes by the database's",
			c.ClockOffset,
		)
	}
	return f
}

func checkListen(c postgres.Condition, s settings) finding {
	f := finding{Check: "notifications", State: "ok", Says: "arrive"}
	if c.Unheard != nil {
		f.State, f.Says, f.Do = "problem", sentence(
			c.Unheard,
		), "set PARLEY_LISTEN_URL to the database's own address, past the pooler"
		if s.ListenURL != "" {
			f.Do = "make sure that PARLEY_LISTEN_URL names the same database, past the pooler"
		}
	}
	return f
}

// sentence is an error's message for people.
func sentence(err error) string {
	var known *parley.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return parley.Clip(err.Error(), 300)
}
