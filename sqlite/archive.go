package sqlite

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/tables"
	"example.org/parley/internal/transfer"
)

// copyingTable exists while a copy into the database is under way.
const copyingTable = "copying"

// errUnfinishedCopy keeps servers from opening a half-copied database.
func errUnfinishedCopy(name string) error {
	return parley.Errorf(
		parley.CodeConflict,
		"%s holds an unfinished copy: run the same `parley copy` again to finish it, or start over with an empty "+
			"directory",
		name,
	)
}

// Archive reads and writes the raw rows of a store, to move a database (internal/transfer) while the store does nothing
// else. It is not safe for concurrent use.
type Archive struct {
	store *Store
	conn  *conn
}

var _ transfer.Destination = (*Archive)(nil)

// Archive opens the rows of a store. Close it before the store.
func (s *Store) Archive(ctx context.Context) (*Archive, error) {
	c, err := s.connect(ctx, cacheKiB)
	if err != nil {
		return nil, mapError(s.path, err)
	}
	return &Archive{store: s, conn: c}, nil
}

// Close ends the archive; the store stays open.
func (a *Archive) Close() error { return a.conn.close() }

// Quiet implements transfer.Archive: the lock on the directory excludes other servers.
func (a *Archive) Quiet(context.Context) error { return nil }

// Key implements transfer.Archive.
func (a *Archive) Key(table tables.Table) []string { return table.Keys[tables.SQLite] }

// Each implements transfer.Archive.
func (a *Archive) Each(
	ctx context.Context,
	table tables.Table,
	after transfer.Row,
	visit func(transfer.Row) error,
) error {
	columns := make([]string, len(table.Columns))
	for i, column := range table.Columns {
		columns[i] = quoted(column.Name)
		if column.Derived != "" {
			columns[i] = column.Derived
		}
	}
	key := quotedList(a.Key(table))
	query := "SELECT " + strings.Join(columns, ", ") + " FROM " + table.Name
	var args []arg
	if len(after) > 0 {
		query += " WHERE (" + key + ") > (" + questionMarks(len(after)) + ")"
		for _, value := range after {
			args = append(args, bound(value))
		}
	}
	err := a.conn.each(query+" ORDER BY "+key, func(r *row) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		out := make(transfer.Row, len(table.Columns))
		for i, column := range table.Columns {
			out[i] = r.value(column.Kind)
		}
		if r.err != nil {
			return fmt.Errorf("sqlite: %s: %w", table.Name, r.err)
		}
		return visit(out)
	}, args...)
	return mapError(a.store.path, err)
}

// value reads the next column as stored. A column of bytes may hold text.
func (r *row) value(kind tables.Kind) transfer.Value {
	number := kind == tables.Integer || kind == tables.Flag
	switch v := r.take().(type) {
	case nil:
		return transfer.Value{}
	case int64:
		if number {
			return transfer.Value{Kind: kind, Int: v}
		}
		r.fail(v)
	case string:
		if !number {
			return transfer.Value{Kind: kind, Bytes: []byte(v)}
		}
		r.fail(v)
	case []byte:
		if !number {
			return transfer.Value{Kind: kind, Bytes: v}
		}
		r.fail(v)
	default:
		r.fail(v)
	}
	return transfer.Value{}
}

// bound converts a value to a statement's argument.
func bound(v transfer.Value) arg {
	switch v.Kind {
	case tables.Integer, tables.Flag:
		return v.Int
	case tables.Text:
		return string(v.Bytes)
	case tables.ID, tables.Bytes:
		if v.Bytes == nil {
			return []byte{}
		}
		return v.Bytes
	default:
		return nil
	}
}

func quoted(name string) string { return strconv.Quote(name) }

func quotedList(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = quoted(name)
	}
	return strings.Join(all, ", ")
}

func questionMarks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// Count implements transfer.Archive.
func (a *Archive) Count(_ context.Context, table tables.Table) (n int64, err error) {
	_, err = a.conn.one("SELECT count(*) FROM "+table.Name, func(r *row) error {
		n = r.int64()
		return nil
	})
	return n, mapError(a.store.path, err)
}

// Records implements transfer.Archive.
func (a *Archive) Records(ctx context.Context, records *transfer.Records) error {
	return mapError(a.store.path, feedRecords(ctx, a.conn, records))
}

// isCopying reports whether a copy into the database is under way.
func isCopying(c *conn) (bool, error) {
	return c.has("SELECT 1 FROM sqlite_schema WHERE name = ?", copyingTable)
}

// Progress implements transfer.Destination.
func (a *Archive) Progress(context.Context) (*transfer.Progress, error) {
	found, err := isCopying(a.conn)
	if err != nil || !found {
		return nil, mapError(a.store.path, err)
	}
	var p transfer.Progress
	_, err = a.conn.one("SELECT source, at_table, at_rows, at_key FROM "+copyingTable, func(r *row) error {
		p = transfer.Progress{Source: r.hash(), Table: r.text(), Rows: r.int64(), Key: r.bytes()}
		return nil
	})
	return &p, mapError(a.store.path, err)
}

// Begin implements transfer.Destination.
func (a *Archive) Begin(ctx context.Context, progress transfer.Progress) error {
	return a.store.write(ctx, func(tx *txn) error {
		if _, err := tx.exec(
			"CREATE TABLE " + copyingTable + " (source BLOB, at_table TEXT, at_rows INTEGER, at_key BLOB)",
		); err != nil {
			return err
		}
		_, err := tx.exec("INSERT INTO "+copyingTable+" VALUES (?, ?, 0, NULL)", progress.Source, progress.Table)
		return err
	})
}

// Append implements transfer.Destination.
func (a *Archive) Append(
	ctx context.Context,
	table tables.Table,
	rows []transfer.Row,
	progress transfer.Progress,
) error {
	var names []string
	var kept []int // their indexes in a row
	for i, column := range table.Columns {
		if column.Derived == "" {
			names, kept = append(names, column.Name), append(kept, i)
		}
	}
	insert := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table.Name, quotedList(names), questionMarks(len(names)))
	return a.store.write(ctx, func(tx *txn) error {
		args := make([]arg, len(kept))
		for _, row := range rows {
			for i, column := range kept {
				args[i] = bound(row[column])
			}
			if _, err := tx.exec(insert, args...); err != nil {
				return err
			}
		}
		_, err := tx.exec(
			"UPDATE "+copyingTable+" SET at_table = ?, at_rows = ?, at_key = ?",
			progress.Table,
			progress.Rows,
			progress.Key,
		)
		return err
	})
}

// End implements transfer.Destination.
func (a *Archive) End(ctx context.Context) error {
	return a.store.write(ctx, func(tx *txn) error {
		_, err := tx.exec("DROP TABLE " + copyingTable)
		return err
	})
}
