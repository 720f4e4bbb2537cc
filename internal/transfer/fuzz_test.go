package transfer

import (
	"bytes"
	"testing"

	"example.org/parley/internal/tables"
)

// FuzzRow: the bytes of a copied row either parse to a row that encodes the same, or are an error.
func FuzzRow(f *testing.F) {
	f.Add(Row{{Kind: tables.Integer, Int: -1}, {Kind: tables.Text, Bytes: []byte("a")}, {}}.append(nil))
	f.Add([]byte{byte(tables.Bytes), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		row, err := parseRow(raw)
		if err != nil {
			return
		}
		if again, err := parseRow(row.append(nil)); err != nil || !bytes.Equal(again.append(nil), row.append(nil)) {
			t.Errorf("%q parses to %v and then %v, %v", raw, row, again, err)
		}
	})
}
