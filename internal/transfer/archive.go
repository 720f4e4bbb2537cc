package transfer

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/tables"
)

// Archive is a database that shows its rows as they are, of all workspaces.
type Archive interface {
	// Quiet is CodeConflict, with a sentence that names it, while a server works on
	// the database.
	Quiet(ctx context.Context) error

	// Key names the columns by which Each orders the rows of a table: no two rows
	// are equal in them.
	Key(table tables.Table) []string

	// Each visits the rows of a table in the order of its key, those behind after
	// (values of the key; nil: all). The visited row is the visitor's to keep.
	Each(ctx context.Context, table tables.Table, after Row, visit func(Row) error) error

	// Count counts the rows of a table.
	Count(ctx context.Context, table tables.Table) (int64, error)

	// Records feeds the records of all sessions that are not deleted.
	Records(ctx context.Context, records *Records) error
}

// Destination is a database that takes rows. Its methods that write are each one
// transaction.
type Destination interface {
	Archive

	// Progress is how far a copy into this database is; nil when none is under way.
	Progress(ctx context.Context) (*Progress, error)

	// Begin notes that a copy begins. From here on no server opens the database.
	Begin(ctx context.Context, progress Progress) error

	// Append inserts rows of a table together with the progress that they make.
	Append(ctx context.Context, table tables.Table, rows []Row, progress Progress) error

	// End forgets the progress: the copy is a database like any other.
	End(ctx context.Context) error
}

// Progress is how far a copy is.
type Progress struct {
	Source parley.Hash // fingerprint of what is copied
	Table  string      // that the copy is at; those before it are done
	Rows   int64       // of that table, so far
	Key    []byte      // of the last of them, encoded
}
