package transfer

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"

	"example.org/parley"
	"example.org/parley/internal/tables"
)

// Value is one field of a row. The zero Value is NULL.
type Value struct {
	Kind  tables.Kind // 0: NULL
	Int   int64       // of an Integer or a Flag
	Bytes []byte      // of an ID, tables.Bytes or Text
}

// Row is one row, its values in the order of its table's columns.
type Row []Value

// append encodes a row so that different rows have different encodings.
func (r Row) append(to []byte) []byte {
	for _, v := range r {
		to = append(to, byte(v.Kind))
		switch v.Kind {
		case tables.Integer, tables.Flag:
			to = binary.BigEndian.AppendUint64(to, uint64(v.Int)) //nolint:gosec // the bits matter, not the sign
		case tables.ID, tables.Bytes, tables.Text:
			to = binary.BigEndian.AppendUint64(to, uint64(len(v.Bytes)))
			to = append(to, v.Bytes...)
		}
	}
	return to
}

// size returns approximately what a row takes in memory.
func (r Row) size() int {
	n := 40 * len(r)
	for _, v := range r {
		n += len(v.Bytes)
	}
	return n
}

// parseRow parses what append wrote.
func parseRow(from []byte) (Row, error) {
	var r Row
	for len(from) > 0 {
		v := Value{Kind: tables.Kind(from[0])}
		from = from[1:]
		if v.Kind == 0 {
			r = append(r, v)
			continue
		}
		if len(from) < 8 {
			return nil, errPlace()
		}
		n := binary.BigEndian.Uint64(from)
		from = from[8:]
		switch v.Kind {
		case tables.Integer, tables.Flag:
			v.Int = int64(n) //nolint:gosec // written by append
		case tables.ID, tables.Bytes, tables.Text:
			if n > uint64(len(from)) {
				return nil, errPlace()
			}
			v.Bytes, from = from[:n], from[n:]
		default:
			return nil, errPlace()
		}
		r = append(r, v)
	}
	return r, nil
}

func errPlace() error {
	return parley.Errorf(
		parley.CodeUnavailable,
		"the copy's position cannot be read: start over with an empty destination",
	)
}

// Digest summarises a set of rows: their number and the sum, modulo 2^256, of the SHA-256 of each. It does not depend
// on their order, which differs between databases.
type Digest struct {
	Rows int64
	sum  [4]uint64 // least significant first
	text []byte    // scratch
}

// Add adds a row to the digest.
func (d *Digest) Add(row Row) {
	d.text = row.append(d.text[:0])
	hash := parley.HashOf(d.text)
	d.Rows++
	var carry uint64
	for i := range d.sum {
		d.sum[i], carry = bits.Add64(d.sum[i], binary.LittleEndian.Uint64(hash[8*i:]), carry)
	}
}

// Same reports whether two digests are of the same set of rows.
func (d *Digest) Same(other *Digest) bool { return d.Rows == other.Rows && d.sum == other.sum }

// String returns the sum in hexadecimal.
func (d *Digest) String() string {
	var sum []byte
	for _, part := range d.sum {
		sum = binary.LittleEndian.AppendUint64(sum, part)
	}
	return hex.EncodeToString(sum)
}
