package postgres

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"example.org/parley"
)

// row reads the columns of one row from left to right: each method reads the next one, in the form in which the server
// sent it: binary, or text if the URL asks for a mode that does not know column types. A column of an unexpected type
// ends the query with an error.
type row struct {
	fields []pgconn.FieldDescription
	values [][]byte
	next   int
	err    error
}

// take returns the next column's bytes, nil for NULL; the driver owns them.
func (r *row) take() (value []byte, text bool) {
	if r.next >= len(r.values) {
		r.fail("columns")
		return nil, false
	}
	value, text = r.values[r.next], r.fields[r.next].Format == 0
	r.next++
	return value, text
}

func (r *row) fail(wanted string) {
	if r.err == nil {
		name := "beyond the last"
		if r.next > 0 && r.next <= len(r.fields) {
			name = r.fields[r.next-1].Name
		}
		r.err = fmt.Errorf("postgres: column %s is not a valid %s", name, wanted)
	}
}

// int64 returns 0 for NULL.
func (r *row) int64() int64 {
	value, text := r.take()
	switch {
	case value == nil:
		return 0
	case text:
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			r.fail("integer")
		}
		return n
	case len(value) == 8:
		return int64(binary.BigEndian.Uint64(value)) //nolint:gosec // the bits are those of a signed number
	case len(value) == 4:
		return int64(int32(binary.BigEndian.Uint32(value))) //nolint:gosec // the bits are those of a signed number
	}
	r.fail("integer")
	return 0
}

func (r *row) int() int { return int(r.int64()) }

func (r *row) time() parley.Time { return parley.Time(r.int64()) }

// bool returns false for NULL.
func (r *row) bool() bool {
	value, text := r.take()
	switch {
	case value == nil:
		return false
	case len(value) != 1:
		r.fail("boolean")
		return false
	case text:
		return value[0] == 't'
	}
	return value[0] != 0
}

// maybe returns nil for NULL.
func (r *row) maybe() *int64 {
	if r.next < len(r.values) && r.values[r.next] == nil {
		r.next++
		return nil
	}
	n := r.int64()
	return &n
}

func (r *row) money() *parley.Money { return (*parley.Money)(r.maybe()) }

// text returns "" for NULL.
func (r *row) text() string {
	value, _ := r.take()
	return string(value)
}

// json returns nil for NULL.
func (r *row) json() json.RawMessage {
	value, _ := r.take()
	return bytes.Clone(value)
}

// bytes returns nil for NULL and for the empty value.
func (r *row) bytes() []byte {
	value := r.raw()
	if len(value) == 0 {
		return nil
	}
	return bytes.Clone(value)
}

// raw returns a bytea that is valid until the next row.
func (r *row) raw() []byte {
	value, text := r.take()
	if !text || value == nil {
		return value
	}
	digits, ok := bytes.CutPrefix(value, []byte(`\x`))
	decoded := make([]byte, hex.DecodedLen(len(digits)))
	if _, err := hex.Decode(decoded, digits); err != nil || !ok {
		r.fail("bytea")
	}
	return decoded
}

func (r *row) id() (id parley.ID) {
	value, text := r.take()
	switch {
	case value == nil:
	case text:
		parsed, err := parley.ParseID(string(value))
		if err != nil {
			r.fail("uuid")
		}
		return parsed
	case copy(id[:], value) != len(id):
		r.fail("uuid")
	}
	return id
}

func (r *row) hash() (hash parley.Hash) {
	if value := r.raw(); value != nil && copy(hash[:], value) != len(hash) {
		r.fail("hash")
	}
	return hash
}
