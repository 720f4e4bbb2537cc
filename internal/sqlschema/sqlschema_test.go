package sqlschema

import "testing"

// TestPlain: plain drops only what makes no difference.
func TestPlain(t *testing.T) {
	t.Parallel()
	same := "CREATE TABLE t (a TEXT, -- one, two\n b INTEGER DEFAULT (1)) WITHOUT ROWID"
	for text, equal := range map[string]bool{
		"CREATE TABLE t(a TEXT, b INTEGER DEFAULT (1)) WITHOUT ROWID":                   true,
		"CREATE TABLE t (b INTEGER /* , */ DEFAULT ( 1 ),\n a TEXT)\nWITHOUT ROWID":     true,
		"CREATE TABLE t (a TEXT, b INTEGER DEFAULT (1))":                                false,
		"CREATE TABLE t (a TEXT, b INTEGER DEFAULT (2)) WITHOUT ROWID":                  false,
		"CREATE TABLE t (a TEXT DEFAULT '-- ', b INTEGER DEFAULT (1)) WITHOUT ROWID":    false,
		"CREATE TABLE t (a TEXT, b INTEGER DEFAULT (1), c AS (a)) WITHOUT ROWID":        false,
		"CREATE TABLE t (\"a TEXT, b INTEGER DEFAULT (1)\") WITHOUT ROWID":              false,
		"CREATE TABLE t (a TEXT CHECK (a <> ','), b INTEGER DEFAULT (1)) WITHOUT ROWID": false,
	} {
		if got := plain(text) == plain(same); got != equal {
			t.Errorf("%s: the same as %s: %v", text, same, got)
		}
	}
}
