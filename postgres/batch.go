package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.org/parley"
)

// Roles that statements run as.
const (
	tenantRole = "parley_tenant" // sees the rows of one workspace
	systemRole = "parley_system" // sees all: claims, sweep, outbox, keys by hash
)

// arg is an argument of a statement: parley.ID, parley.Hash and parley.Time (zero is NULL), string, int, int64, bool,
// []byte, json.RawMessage (nil is NULL), *int64, *parley.Money, nil, or for an array []parley.ID, []string, []int64,
// []int, []bool, [][]byte, []*string or []*int64. The caller converts named string types.
type arg = any

// statement is one of a batch's statements; visit reads its rows.
type statement struct {
	query string
	args  []arg
	visit func(*row) error
	count *int64
}

// batch is one round trip: statements that form one transaction, all or nothing. It may be sent again; then its visits
// see the rows again.
type batch struct {
	role       string
	workspace  parley.ID // of a tenant's
	statements []statement
	snapshot   bool    // read-only; all statements see the same state
	inOrder    bool    // read pages along an index in their order, without sorting
	grouped    bool    // writes several sessions, and waits only briefly for locks
	shared     []int64 // advisory locks that a tenant's batch shares until the commit

	// of a transition: what else its head's fence checks
	claims []arg    // process, agent and version
	texts  [][]byte // hashes of texts assumed to be stored
}

// tenant begins a batch in one workspace, system one that sees all.
func tenant(workspaceID parley.ID) *batch {
	return &batch{role: tenantRole, workspace: workspaceID}
}

// ordered is tenant for lists.
func ordered(workspaceID parley.ID) *batch {
	return &batch{role: tenantRole, workspace: workspaceID, inOrder: true}
}

func system() *batch { return &batch{role: systemRole} }

// read adds a statement and visits its rows in order.
func (b *batch) read(query string, visit func(*row) error, args ...arg) {
	b.statements = append(b.statements, statement{query: query, args: args, visit: visit})
}

// write adds a statement that changes rows.
func (b *batch) write(query string, args ...arg) {
	b.statements = append(b.statements, statement{query: query, args: args})
}

// counted is write that returns how many rows changed.
func (b *batch) counted(count *int64, query string, args ...arg) {
	b.statements = append(b.statements, statement{query: query, args: args, count: count})
}

// enter is the first statement of each batch.
const (
	enterTenant = "SELECT set_config('role', '" + tenantRole + "', true), set_config('parley.workspace', $1, true)"
	enterShared = "SELECT set_config('role', '" + tenantRole + "', true), set_config('parley.workspace', $1, true), " +
		"(SELECT count(pg_advisory_xact_lock_shared(lock)) FROM unnest($2::bigint[]) lock)"
	enterSystem = "SELECT set_config('role', '" + systemRole + "', true), set_config('jit', 'off', true)"
	// Without sorting, the planner reads a page along an index in its order. Left alone, it sometimes prefers to read
	// and sort everything that a filter admits: the terms that make a partial index usable follow from the others, and
	// make it expect far fewer rows than exist. Where it must sort anyway, it considers that so expensive that it would
	// compile the query; hence no jit.
	enterOrdered = "SELECT set_config('role', '" + tenantRole +
		"', true), set_config('parley.workspace', $1, true), set_config('jit', 'off', true), " + alongIndexes
	enterSystemOrdered = enterSystem + ", " + alongIndexes
	alongIndexes       = "set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true)"
	// A group waits only briefly for a lock; then each member waits for its own.
	enterGroup = "SELECT set_config('role', '" + tenantRole +
		"', true), set_config('parley.workspace', $1, true), set_config('lock_timeout', '" + groupWait + "', true), " +
		"(SELECT count(pg_advisory_xact_lock_shared(lock)) FROM unnest($2::bigint[]) lock)"
	beginReads = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
)

// queued returns the batch in the driver's form, between the statements that begin and end a transaction of several
// batches.
func (b *batch) queued(before, after string) *pgx.Batch {
	q := &pgx.Batch{}
	if b.snapshot {
		before, after = beginReads, "COMMIT"
	}
	if before != "" {
		q.Queue(before)
	}
	switch {
	case b.role != tenantRole && b.inOrder:
		q.Queue(enterSystemOrdered)
	case b.role != tenantRole:
		q.Queue(enterSystem)
	case b.grouped:
		q.Queue(enterGroup, b.workspace.String(), b.shared)
	case len(b.shared) > 0:
		q.Queue(enterShared, b.workspace.String(), b.shared)
	case b.inOrder:
		q.Queue(enterOrdered, b.workspace.String())
	default:
		q.Queue(enterTenant, b.workspace.String())
	}
	for i := range b.statements {
		s := &b.statements[i]
		made := q.Queue(s.query, bind(s.args)...)
		switch {
		case s.visit != nil:
			made.Query(func(rows pgx.Rows) error { return eachRow(rows, s.visit) })
		case s.count != nil:
			made.Fn = func(results pgx.BatchResults) error {
				tag, err := results.Exec()
				*s.count = tag.RowsAffected()
				return err
			}
		}
	}
	if after != "" {
		q.Queue(after)
	}
	return q
}

// run sends the batch on a connection and reads all results. It returns an error of a visit although the batch is
// committed, so visits of writing batches must not fail.
func (b *batch) run(ctx context.Context, c *pgxpool.Conn, before, after string) error {
	results := c.SendBatch(ctx, b.queued(before, after))
	return results.Close()
}

func eachRow(rows pgx.Rows, visit func(*row) error) error {
	var r row
	var failed error
	for rows.Next() {
		if r.fields == nil { // a failed query has none
			r.fields = rows.FieldDescriptions()
		}
		if failed != nil {
			continue
		}
		r.values, r.next = rows.RawValues(), 0
		if failed = visit(&r); failed == nil && r.err != nil {
			failed = r.err
		}
	}
	if failed != nil && !errors.Is(failed, errPageFull) {
		return failed
	}
	return rows.Err()
}

// errPageFull ends the visits of a query whose rows reach the page's bytes.
var errPageFull = errors.New("postgres: the page is full")

// bind converts arguments to types that the driver sends without reflection.
func bind(args []arg) []any {
	bound := make([]any, len(args))
	for i, value := range args {
		bound[i] = bindOne(value)
	}
	return bound
}

func bindOne(value arg) any {
	switch v := value.(type) {
	case parley.ID:
		return pgtype.UUID{Bytes: v, Valid: !v.IsZero()}
	case []parley.ID:
		ids := make([]pgtype.UUID, len(v))
		for i, id := range v {
			ids[i] = pgtype.UUID{Bytes: id, Valid: !id.IsZero()}
		}
		return ids
	case parley.Time:
		return pgtype.Int8{Int64: int64(v), Valid: v != 0}
	case parley.Hash:
		if v.IsZero() {
			return []byte(nil)
		}
		return v[:]
	case json.RawMessage:
		if v == nil {
			return nil
		}
		return string(v)
	case *parley.Money:
		return (*int64)(v)
	case nil, string, int, int64, bool, []byte, *int64, []string, []int64, []int, []bool, [][]byte, []*string, []*int64:
		return value
	default:
		return unsendable{fmt.Sprintf("%T", value)}
	}
}

// unsendable is an argument of an unsupported type; sending it is a driver error that names the type.
type unsendable struct{ kind string }
