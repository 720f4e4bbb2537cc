package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"example.org/parley"
)

// arg is an argument of a statement: parley.ID, parley.Hash and parley.Time (zero is NULL), string, int, int64, bool,
// []byte, json.RawMessage (nil is NULL), *int64, *parley.Money, or nil. The caller converts named string types.
// Pointers to the first three and to a json.RawMessage bind what they point to: passing them needs no allocation.
type arg = driver.Value

// conn is one connection to the database with its prepared statements. It is not safe for concurrent use. It talks to
// the driver directly: the pool, the locks and the reflection of database/sql cost more than the statements.
type conn struct {
	raw        driver.Conn
	statements map[string]statement
	named      []driver.NamedValue      // scratch for arguments
	ids, sums  boundBytes               // scratch for their ids and hashes
	before     func(query string) error // called before each statement; set in tests, on the writer
	agents     bool                     // of the writer: agents may have changed since the last commit

	since   atomic.Int64 // of a reader: start of its read, Unix nanoseconds; 0 between reads
	evicted atomic.Bool  // of a reader: its read must end
}

// statement is a prepared statement with the columns of its rows.
type statement struct {
	exec   driver.StmtExecContext
	query  driver.StmtQueryContext
	close  func() error
	agents bool // it may change agents
}

func newConn(raw driver.Conn) *conn {
	return &conn{raw: raw, statements: map[string]statement{}}
}

// maxStatements bounds a connection's prepared statements. Transitions need about a hundred. Only a client that keeps
// combining list filters in new ways comes near, and then each new combination costs a preparation.
const maxStatements = 512

// prepared returns the statement of a query text, prepared on first use.
func (c *conn) prepared(query string) (statement, error) {
	if found, ok := c.statements[query]; ok {
		return found, nil
	}
	preparer, ok := c.raw.(driver.ConnPrepareContext)
	if !ok {
		return statement{}, errors.New("sqlite: the driver cannot prepare statements")
	}
	stmt, err := preparer.PrepareContext(context.Background(), query)
	if err != nil {
		return statement{}, fmt.Errorf("sqlite: preparing %q: %w", parley.Clip(query, 120), err)
	}
	exec, okExec := stmt.(driver.StmtExecContext)
	rows, okQuery := stmt.(driver.StmtQueryContext)
	if !okExec || !okQuery {
		return statement{}, errors.New("sqlite: the driver's statements lack contexts")
	}
	made := statement{exec: exec, query: rows, close: stmt.Close, agents: strings.Contains(query, "agents")}
	if len(c.statements) >= maxStatements {
		for text, old := range c.statements { // any will do: none is in use while another is prepared
			delete(c.statements, text)
			if err := old.close(); err != nil {
				return statement{}, fmt.Errorf("sqlite: closing a statement: %w", err)
			}
			break
		}
	}
	c.statements[query] = made
	return made, nil
}

// boundBytes hold the bytes of a statement's ids or hashes. The driver copies what it binds, so each statement uses the
// same ones again: an id would otherwise cost an allocation for its bytes and one for the slice.
type boundBytes struct {
	bytes [][]byte
	args  []arg // the same slices, as arguments
	used  int
}

// put copies a value to the next slice and returns that as an argument.
func (p *boundBytes) put(value []byte) arg {
	if p.used == len(p.bytes) {
		fresh := make([]byte, len(value))
		p.bytes, p.args = append(p.bytes, fresh), append(p.args, fresh)
	}
	copy(p.bytes[p.used], value)
	p.used++
	return p.args[p.used-1]
}

// bind returns the arguments as the driver takes them, until the next call.
func (c *conn) bind(args []arg) ([]driver.NamedValue, error) {
	named := c.named[:0]
	c.ids.used, c.sums.used = 0, 0
	for i, value := range args {
		switch v := value.(type) {
		case nil, string, []byte, int64, bool, float64:
		case int:
			value = int64(v)
		case parley.ID:
			value = nil
			if !v.IsZero() {
				value = c.ids.put(v[:])
			}
		case *parley.ID:
			value = nil
			if !v.IsZero() {
				value = c.ids.put(v[:])
			}
		case parley.Time:
			value = nil
			if v != 0 {
				value = int64(v)
			}
		case *parley.Time:
			value = nil
			if *v != 0 {
				value = int64(*v)
			}
		case parley.Hash:
			value = nil
			if !v.IsZero() {
				value = c.sums.put(v[:])
			}
		case *parley.Hash:
			value = nil
			if !v.IsZero() {
				value = c.sums.put(v[:])
			}
		case json.RawMessage:
			value = nil
			if v != nil {
				value = string(v)
			}
		case *json.RawMessage:
			value = nil
			if *v != nil {
				value = string(*v)
			}
		case *int64:
			value = nil
			if v != nil {
				value = *v
			}
		case *parley.Money:
			value = nil
			if v != nil {
				value = int64(*v)
			}
		default:
			return nil, fmt.Errorf("sqlite: no column takes a %T", value)
		}
		named = append(named, driver.NamedValue{Ordinal: i + 1, Value: value})
	}
	c.named = named
	return named, nil
}

// asked runs the hook before a statement.
func (c *conn) asked(query string) error {
	if c.before != nil {
		return c.before(query)
	}
	if c.evicted.Load() {
		return errEvicted()
	}
	return nil
}

// run executes a statement without result rows and returns how many rows it changed.
func (c *conn) run(query string, args ...arg) (int64, error) {
	if err := c.asked(query); err != nil {
		return 0, err
	}
	stmt, err := c.prepared(query)
	if err != nil {
		return 0, err
	}
	c.agents = c.agents || stmt.agents
	named, err := c.bind(args)
	if err != nil {
		return 0, err
	}
	result, err := stmt.exec.ExecContext(context.Background(), named)
	if err != nil {
		return 0, fmt.Errorf("sqlite: %q: %w", parley.Clip(query, 80), err)
	}
	return result.RowsAffected()
}

// each visits the rows of a query in order. The row is valid during the visit;
// visit must not use the connection.
func (c *conn) each(query string, visit func(*row) error, args ...arg) (err error) {
	return c.eachUntil(context.Background(), query, visit, args...)
}

// eachUntil is each for a statement that may take long: it stops when ctx ends.
func (c *conn) eachUntil(ctx context.Context, query string, visit func(*row) error, args ...arg) (err error) {
	if err := c.asked(query); err != nil {
		return err
	}
	stmt, err := c.prepared(query)
	if err != nil {
		return err
	}
	named, err := c.bind(args)
	if err != nil {
		return err
	}
	rows, err := stmt.query.QueryContext(ctx, named)
	if err != nil {
		return fmt.Errorf("sqlite: %q: %w", parley.Clip(query, 80), err)
	}
	defer func() {
		if closeErr := rows.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("sqlite: %q: %w", parley.Clip(query, 80), closeErr)
		}
	}()
	current := row{values: make([]driver.Value, len(rows.Columns()))}
	for {
		switch err := rows.Next(current.values); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("sqlite: %q: %w", parley.Clip(query, 80), err)
		}
		if c.evicted.Load() {
			return errEvicted()
		}
		current.next = 0
		if err := visit(&current); err != nil {
			return err
		}
		if current.err != nil {
			return fmt.Errorf("sqlite: %q: %w", parley.Clip(query, 80), current.err)
		}
	}
}

// one visits the first row of a query and reports whether it exists.
func (c *conn) one(query string, visit func(*row) error, args ...arg) (found bool, err error) {
	err = c.each(query, func(r *row) error {
		if found {
			return nil
		}
		found = true
		return visit(r)
	}, args...)
	return found, err
}

// has reports whether a query has a row.
func (c *conn) has(query string, args ...arg) (bool, error) {
	return c.one(query, func(*row) error { return nil }, args...)
}

func (c *conn) close() error {
	var first error
	for _, stmt := range c.statements {
		if err := stmt.close(); err != nil && first == nil {
			first = err
		}
	}
	if err := c.raw.Close(); err != nil && first == nil {
		first = err
	}
	return first
}

// row reads the columns of one row from left to right: each method reads the next one. A column of an unexpected type
// ends the query with an error.
type row struct {
	values []driver.Value
	next   int
	err    error
}

func (r *row) take() driver.Value {
	if r.next >= len(r.values) {
		r.fail(nil)
		return nil
	}
	value := r.values[r.next]
	r.next++
	return value
}

func (r *row) fail(value driver.Value) {
	if r.err == nil {
		r.err = fmt.Errorf("column %d holds a %T", r.next, value)
	}
}

// int64 returns 0 for NULL.
func (r *row) int64() int64 {
	switch v := r.take().(type) {
	case int64:
		return v
	case nil:
		return 0
	default:
		r.fail(v)
		return 0
	}
}

func (r *row) int() int { return int(r.int64()) }

func (r *row) bool() bool { return r.int64() != 0 }

func (r *row) time() parley.Time { return parley.Time(r.int64()) }

// maybe returns nil for NULL.
func (r *row) maybe() *int64 {
	switch v := r.take().(type) {
	case int64:
		return &v
	case nil:
		return nil
	default:
		r.fail(v)
		return nil
	}
}

func (r *row) money() *parley.Money { return (*parley.Money)(r.maybe()) }

// text returns "" for NULL.
func (r *row) text() string {
	switch v := r.take().(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case nil:
		return ""
	default:
		r.fail(v)
		return ""
	}
}

// json returns nil for NULL.
func (r *row) json() json.RawMessage {
	switch v := r.take().(type) {
	case string:
		return json.RawMessage(v)
	case []byte:
		return v
	case nil:
		return nil
	default:
		r.fail(v)
		return nil
	}
}

// bytes returns nil for NULL and for the empty blob.
func (r *row) bytes() []byte {
	switch v := r.take().(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	case nil:
		return nil
	default:
		r.fail(v)
		return nil
	}
}

func (r *row) id() (id parley.ID) {
	if raw := r.bytes(); raw != nil && copy(id[:], raw) != len(id) {
		r.fail(raw)
	}
	return id
}

func (r *row) hash() (hash parley.Hash) {
	if raw := r.bytes(); raw != nil && copy(hash[:], raw) != len(hash) {
		r.fail(raw)
	}
	return hash
}
