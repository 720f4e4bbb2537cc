package transfer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/parley/internal/tables"
)

var anyValue = rapid.Custom(func(t *rapid.T) Value {
	switch kind := tables.Kind(rapid.IntRange(0, int(tables.Flag)).Draw(t, "kind")); kind {
	case tables.Integer, tables.Flag:
		return Value{Kind: kind, Int: rapid.Int64().Draw(t, "int")}
	case tables.ID, tables.Bytes, tables.Text:
		return Value{Kind: kind, Bytes: rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")}
	default:
		return Value{}
	}
})

func TestRowsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		row := Row(rapid.SliceOfN(anyValue, 1, 6).Draw(t, "row"))
		encoded := row.append(nil)
		read, err := parseRow(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row, read); diff != "" {
			t.Fatalf("(-written +read):\n%s", diff)
		}
		if cut := rapid.IntRange(1, len(encoded)).Draw(t, "cut"); cut < len(encoded) {
			if read, err := parseRow(encoded[:cut]); err == nil && len(read) >= len(row) {
				t.Fatalf("a truncated row parses to %v", read)
			}
		}
	})
}

func TestDigestTellsRowsApart(t *testing.T) {
	t.Parallel()
	text := func(s string) Value { return Value{Kind: tables.Text, Bytes: []byte(s)} }
	sets := map[string][]Row{
		"nothing":         {},
		"null":            {{{}}},
		"two nulls":       {{{}, {}}},
		"an empty text":   {{text("")}},
		"empty bytes":     {{{Kind: tables.Bytes}}},
		"zero":            {{{Kind: tables.Integer}}},
		"false":           {{{Kind: tables.Flag}}},
		"one":             {{{Kind: tables.Integer, Int: 1}}},
		"minus one":       {{{Kind: tables.Integer, Int: -1}}},
		"ab, c":           {{text("ab"), text("c")}},
		"a, bc":           {{text("a"), text("bc")}},
		"a twice":         {{text("a")}, {text("a")}},
		"b twice":         {{text("b")}, {text("b")}},
		"a and b":         {{text("a")}, {text("b")}},
		"a and b in one":  {{text("a"), text("b")}},
		"a and b, a, a":   {{text("a")}, {text("b")}, {text("a")}, {text("a")}},
		"a and b, b, b":   {{text("a")}, {text("b")}, {text("b")}, {text("b")}},
		"a null, a, b":    {{{}}, {text("a")}, {text("b")}},
		"a, then nothing": {{text("a"), {}}},
	}
	digests := map[string]*Digest{}
	for name, rows := range sets {
		var d, back Digest
		for i := range rows {
			d.Add(rows[i])
			back.Add(rows[len(rows)-1-i])
		}
		if !d.Same(&back) || d.String() != back.String() {
			t.Errorf("%s: the digest depends on the order", name)
		}
		digests[name] = &d
	}
	for a := range digests {
		for b := range digests {
			if a != b && digests[a].String() == digests[b].String() {
				t.Errorf("%s and %s have the same digest", a, b)
			}
		}
	}
}
