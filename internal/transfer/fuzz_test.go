package transfer

import (
	"bytes"
	"testing"

	"example.org/parley/internal/tables"
)

// FuzzRow: the bytes of a copied row are a row, which reads back the same, or an error.
func FuzzRow(f *testing.F) {
	f.Add(Row{{Kind: tables.Integer, Int: -1}, {Kind: tables.Text, Bytes: []byte("a")}, {}}.append(nil))
	f.Add([]byte{byte(tables.Bytes), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		row, err := parseRow(raw)
		if err != nil {
			return
		}
		if again, err := parseRow(row.append(nil)); err != nil || !bytes.Equal(again.append(nil), row.append(nil)) {
			t.Errorf("%q is %v and then %v, %v", raw, row, again, err)
		}
	})
}
