package transfer

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/tables"
)

// Archive is a database that offers its raw rows, of all workspaces.
type Archive interface {
	// Quiet returns CodeConflict, naming the server, while a server works on the database.
	Quiet(ctx context.Context) error

	// Key returns the columns by which Each orders the rows of a table; they identify a row.
	Key(table tables.Table) []string

	// Each visits the rows of a table in key order, after the given key (nil: all). The visitor may keep the row.
	Each(ctx context.Context, table tables.Table, after Row, visit func(Row) error) error

	// Count counts the rows of a table.
	Count(ctx context.Context, table tables.Table) (int64, error)

	// Records feeds the records of all sessions that are not deleted.
	Records(ctx context.Context, records *Records) error
}

// Destination is a database that accepts rows. Each writing method is one transaction.
type Destination interface {
	Archive

	// Progress returns how far a copy into this database is; nil if none is under way.
	Progress(ctx context.Context) (*Progress, error)

	// Begin records that a copy begins. From then on no server opens the database.
	Begin(ctx context.Context, progress Progress) error

	// Append inserts rows of a table together with the resulting progress.
	Append(ctx context.Context, table tables.Table, rows []Row, progress Progress) error

	// End deletes the progress: the copy becomes an ordinary database.
	End(ctx context.Context) error
}

// Progress is how far a copy is.
type Progress struct {
	Source parley.Hash // fingerprint of the source database
	Table  string      // table being copied; those before it are done
	Rows   int64       // copied rows of that table
	Key    []byte      // key of the last of them, encoded
}
