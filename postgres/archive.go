package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"example.org/parley"
	"example.org/parley/internal/tables"
	"example.org/parley/internal/transfer"
)

// copyingTable exists while a copy into the database is under way.
const copyingTable = "parley.copying"

// headPage is how many records are read at a time.
const headPage = 500

// errUnfinishedCopy keeps servers from opening a half-copied database.
func errUnfinishedCopy() error {
	return parley.Errorf(
		parley.CodeConflict,
		"this database holds an unfinished copy: run the same `parley copy` again to finish it, or start over with "+
			"an empty database",
	)
}

// Archive reads and writes the raw rows of a store, to move a database (internal/transfer) while nothing else uses it.
// It has its own connection and is not safe for concurrent use.
type Archive struct {
	conn *pgx.Conn
	name string // of the database, for messages
}

var _ transfer.Destination = (*Archive)(nil)

// Archive opens the rows of a store. Close it before the store.
func (s *Store) Archive(ctx context.Context) (*Archive, error) {
	config := s.pool.Config().ConnConfig
	conn, err := connect(ctx, config)
	if err != nil {
		return nil, mapError(err)
	}
	return &Archive{conn: conn, name: config.Database}, nil
}

// Close ends the archive; the store stays open.
func (a *Archive) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), cancelBound)
	defer cancel()
	return a.conn.Close(ctx)
}

// asSystem runs statements in one transaction, as the role that sees all rows.
func (a *Archive) asSystem(ctx context.Context, run func() error) error {
	return a.asOwner(ctx, func() error {
		if err := a.exec(ctx, enterSystem); err != nil {
			return err
		}
		return run()
	})
}

// asOwner runs statements in one transaction, as the URL's own role, which owns the schema.
func (a *Archive) asOwner(ctx context.Context, run func() error) error {
	return mapError(pgx.BeginFunc(ctx, a.conn, func(pgx.Tx) error { return run() }))
}

func (a *Archive) exec(ctx context.Context, query string, args ...any) error {
	_, err := a.conn.Exec(ctx, query, args...)
	return err
}

// each visits the rows of a query as they arrive.
func (a *Archive) each(ctx context.Context, query string, visit func(*row) error, args ...any) error {
	rows, err := a.conn.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	r := row{fields: rows.FieldDescriptions()}
	for rows.Next() {
		r.values, r.next = rows.RawValues(), 0
		if err := errors.Join(visit(&r), r.err); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Quiet implements transfer.Archive: it requires that no process has a lease.
func (a *Archive) Quiet(ctx context.Context) error {
	return a.asSystem(ctx, func() error {
		return a.each(
			ctx,
			"SELECT name, lease_until - parley.now_ms() FROM parley.processes WHERE lease_until > parley.now_ms() "+
				"ORDER BY lease_until DESC LIMIT 1",
			func(r *row) error {
				return parley.Errorf(
					parley.CodeConflict,
					"the server %s works on the database %s: stop every server there first (if it died, its lease "+
						"ends in %d s)",
					r.text(),
					a.name,
					r.int64()/1000+1,
				)
			},
		)
	})
}

// Key implements transfer.Archive.
func (a *Archive) Key(table tables.Table) []string { return table.Keys[tables.Postgres] }

// Each implements transfer.Archive.
func (a *Archive) Each(
	ctx context.Context,
	table tables.Table,
	after transfer.Row,
	visit func(transfer.Row) error,
) error {
	names := make([]string, len(table.Columns))
	for i, column := range table.Columns {
		names[i] = column.Name
	}
	key := a.Key(table)
	query := "SELECT " + list(names) + " FROM parley." + table.Name
	var args []any
	if len(after) > 0 {
		places := make([]string, len(after))
		for i, value := range after {
			places[i] = "$" + strconv.Itoa(i+1)
			args = append(args, bound(value))
		}
		query += " WHERE (" + list(key) + ") > (" + strings.Join(places, ", ") + ")"
	}
	return a.asSystem(ctx, func() error {
		return a.each(ctx, query+" ORDER BY "+list(key), func(r *row) error {
			out := make(transfer.Row, len(table.Columns))
			for i, column := range table.Columns {
				out[i] = r.value(column.Kind)
			}
			if r.err != nil {
				return r.err
			}
			return visit(out)
		}, args...)
	})
}

func list(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = quoted(name)
	}
	return strings.Join(all, ", ")
}

// value reads the next column as stored.
func (r *row) value(kind tables.Kind) transfer.Value {
	if r.next < len(r.values) && r.values[r.next] == nil {
		r.next++
		return transfer.Value{}
	}
	v := transfer.Value{Kind: kind}
	switch kind {
	case tables.Integer:
		v.Int = r.int64()
	case tables.Flag:
		if r.bool() {
			v.Int = 1
		}
	case tables.ID:
		id := r.id()
		v.Bytes = id[:]
	case tables.Text:
		text, _ := r.take()
		v.Bytes = bytes.Clone(text)
	case tables.Bytes:
		v.Bytes = bytes.Clone(r.raw())
	}
	return v
}

// bound converts a value to a statement's argument.
func bound(v transfer.Value) any {
	switch v.Kind {
	case tables.Integer:
		return v.Int
	case tables.Flag:
		return v.Int != 0
	case tables.ID:
		return asUUID(v)
	case tables.Text:
		return string(v.Bytes)
	case tables.Bytes:
		return v.Bytes
	default:
		return nil
	}
}

// asUUID returns NULL for a value without an id.
func asUUID(v transfer.Value) (id pgtype.UUID) {
	id.Valid = copy(id.Bytes[:], v.Bytes) == len(id.Bytes)
	return id
}

// Count implements transfer.Archive.
func (a *Archive) Count(ctx context.Context, table tables.Table) (n int64, err error) {
	err = a.asSystem(ctx, func() error {
		return a.each(ctx, "SELECT count(*) FROM parley."+table.Name, func(r *row) error {
			n = r.int64()
			return nil
		})
	})
	return n, err
}

// Records implements transfer.Archive.
func (a *Archive) Records(ctx context.Context, records *transfer.Records) error {
	var after placed
	for more := true; more; {
		var heads []placed
		err := a.asSystem(ctx, func() error {
			heads = heads[:0]
			if err := a.each(
				ctx,
				`SELECT session_id, workspace_id, log_id, next_sequence - 1, last_hash FROM parley.heads
 WHERE (session_id, workspace_id) > ($1, $2) AND deleted_at IS NULL ORDER BY session_id, workspace_id LIMIT $3`,
				func(r *row) error {
					var h placed
					h.SessionID, h.workspaceID = r.id(), r.id()
					h.LogID, h.LastSequence, h.LastHash = r.id(), r.int64(), r.hash()
					heads = append(heads, h)
					return nil
				},
				pgtype.UUID{Bytes: after.SessionID, Valid: true},
				pgtype.UUID{Bytes: after.workspaceID, Valid: true},
				headPage,
			); err != nil {
				return err
			}
			return a.feed(ctx, heads, records)
		})
		if err != nil {
			return err
		}
		if more = len(heads) == headPage; more {
			after = heads[len(heads)-1]
		}
	}
	return records.End()
}

// placed is a head with the place of its record.
type placed struct {
	transfer.Head
	workspaceID parley.ID
}

// feed feeds the records of some sessions, read in one round trip.
func (a *Archive) feed(ctx context.Context, heads []placed, records *transfer.Records) error {
	if len(heads) == 0 {
		return nil
	}
	var batch pgx.Batch
	for _, head := range heads {
		batch.Queue(`SELECT m.sequence, m.role, m.status, m.content, m.context_note, m.call_ordinal, m.provider_data,
			m.covers_through, m.chain_version,
 m.author_kind, m.author_name, m.model, m.created_at, m.metadata, m.internal, m.content_hash FROM
 (SELECT log_id, through FROM parley.session_logs WHERE workspace_id = $1 AND session_id = $2 UNION ALL
  SELECT $3, 9223372036854775807 ORDER BY through) g
 CROSS JOIN LATERAL (SELECT * FROM parley.messages m WHERE m.workspace_id = $1 AND m.log_id = g.log_id
  AND m.sequence IS NOT NULL AND m.sequence <= g.through
 ORDER BY m.sequence) m`, bindOne(head.workspaceID), bindOne(head.SessionID), bindOne(head.LogID)).
			Query(func(rows pgx.Rows) error {
				defer rows.Close()
				if err := records.Begin(head.Head); err != nil {
					return err
				}
				r := row{fields: rows.FieldDescriptions()}
				for rows.Next() {
					r.values, r.next = rows.RawValues(), 0
					link := transfer.Link{Sequence: r.int64(), Input: parley.ChainInput{
						Role: parley.Role(
							r.text(),
						),
						Status:        parley.MessageStatus(r.text()),
						Content:       r.json(),
						ContextNote:   r.text(),
						CallOrdinal:   r.int64(),
						ProviderData:  r.bytes(),
						CoversThrough: r.maybe(),
						Version:       r.int(),
						AuthorKind: parley.AuthorKind(
							r.text(),
						),
						AuthorName: r.text(),
						Model:      parley.ModelID(r.text()),
						CreatedAt:  r.time(),
						Metadata:   r.json(),
						Internal:   r.bool(),
					}, ContentHash: r.hash()}
					if r.err != nil {
						return r.err
					}
					if err := records.Add(link); err != nil {
						return err
					}
				}
				return rows.Err()
			})
	}
	return a.conn.SendBatch(ctx, &batch).Close()
}

// isCopying reports whether a copy into the database is under way.
const isCopying = "SELECT to_regclass('" + copyingTable + "') IS NOT NULL"

// refuseCopy returns CodeConflict while a copy into the database is under way.
func (s *Store) refuseCopy(ctx context.Context) error {
	var found bool
	if err := s.pool.QueryRow(ctx, isCopying).Scan(&found); err != nil {
		return err
	}
	if found {
		return errUnfinishedCopy()
	}
	return nil
}

// Progress implements transfer.Destination.
func (a *Archive) Progress(ctx context.Context) (progress *transfer.Progress, err error) {
	err = a.asOwner(ctx, func() error {
		found := false
		if err := a.each(ctx, isCopying, func(r *row) error {
			found = r.bool()
			return nil
		}); err != nil || !found {
			return err
		}
		return a.each(ctx, "SELECT source, at_table, at_rows, at_key FROM "+copyingTable, func(r *row) error {
			progress = &transfer.Progress{Source: r.hash(), Table: r.text(), Rows: r.int64(), Key: r.bytes()}
			return nil
		})
	})
	return progress, err
}

// Begin implements transfer.Destination.
func (a *Archive) Begin(ctx context.Context, progress transfer.Progress) error {
	err := a.asOwner(ctx, func() error {
		if err := a.exec(
			ctx,
			"CREATE TABLE "+copyingTable+" (source bytea, at_table text, at_rows bigint, at_key bytea)",
		); err != nil {
			return err
		}
		return a.exec(ctx, "INSERT INTO "+copyingTable+" VALUES ($1, $2, 0, NULL)", progress.Source[:], progress.Table)
	})
	if stateOf(err) == statePrivilege {
		return parley.WrapError(
			parley.CodeForbidden,
			err,
			"this role may not copy into the database "+a.name+": give the URL of the role that owns the schema parley",
		)
	}
	return err
}

// Append implements transfer.Destination.
func (a *Archive) Append(
	ctx context.Context,
	table tables.Table,
	rows []transfer.Row,
	progress transfer.Progress,
) error {
	names, arrays := make([]string, len(table.Columns)), make([]string, len(table.Columns))
	args := make([]any, len(table.Columns))
	for i, column := range table.Columns {
		names[i] = column.Name
		var kind string
		kind, args[i] = array(column.Kind, rows, i)
		arrays[i] = fmt.Sprintf("$%d::%s[]", i+1, kind)
	}
	insert := fmt.Sprintf(
		"INSERT INTO parley.%s (%s) SELECT * FROM unnest(%s)",
		table.Name,
		list(names),
		strings.Join(arrays, ", "),
	)
	return a.asOwner(ctx, func() error {
		if err := a.exec(
			ctx,
			"UPDATE "+copyingTable+" SET at_table = $1, at_rows = $2, at_key = $3",
			progress.Table,
			progress.Rows,
			progress.Key,
		); err != nil {
			return err
		}
		if err := a.exec(ctx, enterSystem); err != nil {
			return err
		}
		return a.exec(ctx, insert, args...)
	})
}

// array returns one column of many rows, and the type of its elements.
func array(kind tables.Kind, rows []transfer.Row, at int) (element string, values any) {
	switch kind {
	case tables.ID:
		return "uuid", gathered(rows, at, asUUID)
	case tables.Bytes:
		return "bytea", gathered(rows, at, func(v transfer.Value) []byte {
			if v.Kind != 0 && v.Bytes == nil {
				return []byte{}
			}
			return v.Bytes
		})
	case tables.Text:
		return "text", gathered(rows, at, func(v transfer.Value) pgtype.Text {
			return pgtype.Text{String: string(v.Bytes), Valid: v.Kind != 0}
		})
	case tables.Flag:
		return "boolean", gathered(rows, at, func(v transfer.Value) pgtype.Bool {
			return pgtype.Bool{Bool: v.Int != 0, Valid: v.Kind != 0}
		})
	default:
		return "bigint", gathered(rows, at, func(v transfer.Value) pgtype.Int8 {
			return pgtype.Int8{Int64: v.Int, Valid: v.Kind != 0}
		})
	}
}

func gathered[T any](rows []transfer.Row, at int, as func(transfer.Value) T) []T {
	column := make([]T, len(rows))
	for i, row := range rows {
		column[i] = as(row[at])
	}
	return column
}

// End implements transfer.Destination. It updates the planner's statistics, and continues the outbox's ids after the
// copied ones.
func (a *Archive) End(ctx context.Context) error {
	var last int64
	if err := a.asSystem(ctx, func() error {
		return a.each(ctx, "SELECT coalesce(max(id), 0) FROM parley.outbox", func(r *row) error {
			last = r.int64()
			return nil
		})
	}); err != nil {
		return err
	}
	for _, table := range transfer.Tables {
		if err := a.exec(ctx, "ANALYZE parley."+table.Name); err != nil {
			return mapError(err)
		}
	}
	return a.asOwner(ctx, func() error {
		if err := a.exec(
			ctx,
			"SELECT setval(pg_get_serial_sequence('parley.outbox', 'id'), $1, $2)",
			max(last, 1),
			last > 0,
		); err != nil {
			return err
		}
		return a.exec(ctx, "DROP TABLE "+copyingTable)
	})
}
