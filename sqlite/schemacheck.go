package sqlite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/parley"
)

// A database file may come from somebody else, as a backup or a copied directory. Hashes protect its rows, but its
// schema runs code: a trigger changes rows behind the transitions, and a view or a generated column shows rows that are
// not stored. So before anything of the file is served, its schema must equal the one that the migrations create.

// schemaHash is the hash of the schema that all migrations create; a test compares it with them. It saves creating that
// schema at every start.
const schemaHash = "7954ef398ed0e6c3b5612be12567c14d435142c7caa73d179be15bbfec948b55"

// schemaObject is a table, index, trigger or view.
type schemaObject struct {
	kind, name, table string
	sql               string // normalised by plainSQL
}

// String names an object in a sentence. The name comes from the file and may contain anything.
func (o schemaObject) String() string {
	name := fmt.Sprintf("the %s %q", o.kind, parley.Clip(o.name, maxNameShown))
	if o.table == o.name {
		return name
	}
	return name + fmt.Sprintf(" on %q", parley.Clip(o.table, maxNameShown))
}

// maxNameShown bounds a name in a sentence, in bytes.
const maxNameShown = 100

// checkSchema requires that the schema of a database equals the one that its applied migrations create; otherwise
// CodeUnavailable. Errors call the database name.
func checkSchema(ctx context.Context, c *conn, name string) error {
	differences, err := schemaDifferences(ctx, c)
	if err != nil || len(differences) == 0 {
		return err
	}
	return changedOutside(name, differences[0])
}

func changedOutside(name, difference string) error {
	return parley.Errorf(parley.CodeUnavailable,
		"%s was changed outside Parley: %s; do not use it until you know who did that: "+
			"put another backup back, or undo the change with sqlite3",
		name, difference)
}

// versionsTable reports whether a database has goose's table, whose text schemaObjects does not compare. Whatever else
// has its name is an error, and is not read: a view and a virtual table run what somebody wrote into them. Errors call
// the database name.
func versionsTable(c *conn, name string) (found bool, err error) {
	found, foreign, err := foreignVersions(c)
	if err == nil && foreign != "" {
		err = changedOutside(name, foreign)
	}
	return found, err
}

// foreignVersions reports whether something has the name of goose's table, and describes it in a sentence if it is not
// a plain table.
func foreignVersions(c *conn) (found bool, foreign string, err error) {
	if err := c.each("SELECT type, rootpage FROM sqlite_schema WHERE name = 'goose_db_version' COLLATE NOCASE "+
		"AND type <> 'trigger'", func(r *row) error {
		kind, page := r.text(), r.int64()
		if found = true; kind != "table" || page == 0 {
			foreign = schemaObject{kind: kind, name: "goose_db_version", table: "goose_db_version"}.String() +
				" was not made by Parley"
		}
		return nil
	}); err != nil || !found || foreign != "" {
		return found, foreign, err
	}
	computes, err := c.has("SELECT 1 FROM pragma_table_xinfo('goose_db_version') WHERE hidden <> 0")
	if computes {
		foreign = `the table "goose_db_version" is not as Parley made it`
	}
	return true, foreign, err
}

// schemaDifferences describes, in sentences, what differs from the schema that the applied migrations create.
func schemaDifferences(ctx context.Context, c *conn) ([]string, error) {
	if _, foreign, err := foreignVersions(c); err != nil || foreign != "" {
		return []string{foreign}, err
	}
	found, err := schemaObjects(c)
	if err != nil || hashOf(found) == schemaHash {
		return nil, err
	}
	applied, err := appliedMigrations(c)
	if err != nil {
		return nil, err
	}
	want, err := migratedSchema(ctx, func(version int64) bool { return applied[version] })
	if err != nil {
		return nil, err
	}
	return compareSchemas(found, want), nil
}

// compareSchemas describes the differences between two sorted schemas.
func compareSchemas(found, want []schemaObject) (differences []string) {
	for len(found) > 0 || len(want) > 0 {
		var order int
		switch {
		case len(found) == 0:
			order = 1
		case len(want) == 0:
			order = -1
		default:
			order = byKindAndName(found[0], want[0])
		}
		switch {
		case order < 0:
			differences, found = append(differences, found[0].String()+" was not made by Parley"), found[1:]
		case order > 0:
			differences, want = append(differences, want[0].String()+" is missing"), want[1:]
		default:
			if found[0] != want[0] {
				differences = append(differences, found[0].String()+" is not as Parley made it")
			}
			found, want = found[1:], want[1:]
		}
	}
	return differences
}

func byKindAndName(a, b schemaObject) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
}

// schemaObjects reads the schema, sorted. It omits tables that come from elsewhere: SQLite, FTS5 (for search_words),
// goose, a copy under way, and Litestream if somebody replicates the file. Their text depends on the program that made
// them. Triggers on them are not omitted, nor are virtual tables of their names.
func schemaObjects(c *conn) (objects []schemaObject, err error) {
	err = c.each(`SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema
 WHERE NOT (type = 'table' AND rootpage > 0 AND (name IN ('goose_db_version', ?, 'search_words_data',
  'search_words_idx', 'search_words_content', 'search_words_docsize', 'search_words_config') OR name GLOB 'sqlite_*'
  	OR name GLOB '_litestream_*'))
 AND NOT (type = 'index' AND sql IS NULL)`, func(r *row) error {
		objects = append(
			objects,
			schemaObject{kind: r.text(), name: r.text(), table: r.text(), sql: plainSQL(r.text())},
		)
		return nil
	}, copyingTable)
	slices.SortFunc(objects, byKindAndName)
	return objects, err
}

// hashOf returns the hash of a sorted schema.
func hashOf(objects []schemaObject) string {
	sum := sha256.New()
	for _, o := range objects {
		fmt.Fprintf(sum, "%q %q %q %q\n", o.kind, o.name, o.table, o.sql)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// appliedMigrations returns the versions of the migrations that a database records as applied.
func appliedMigrations(c *conn) (map[int64]bool, error) {
	applied := map[int64]bool{}
	found, err := versionsTable(c, "this database")
	if err != nil || !found {
		return applied, err
	}
	return applied, c.each("SELECT version_id FROM goose_db_version WHERE is_applied = 1", func(r *row) error {
		applied[r.int64()] = true
		return nil
	})
}

// migratedSchema returns the schema that the chosen migrations create in an empty database.
func migratedSchema(ctx context.Context, applied func(version int64) bool) (objects []schemaObject, err error) {
	steps, err := migrationTexts()
	if err != nil {
		return nil, err
	}
	c, err := openConn(ctx, ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for _, step := range steps {
		if !applied(step.version) {
			continue
		}
		if _, err := c.run(step.up); err != nil {
			return nil, fmt.Errorf("sqlite: migration %d in an empty database: %w", step.version, err)
		}
	}
	return schemaObjects(c)
}

// plainSQL normalises the text of an object: it drops comments and space between tokens, and sorts a table's columns.
// Added columns are in the order in which migrations were applied, which differs where one came late.
func plainSQL(text string) string {
	tokens := sqlTokens(text)
	if len(tokens) < 2 || !strings.EqualFold(tokens[1], "TABLE") {
		return strings.Join(tokens, " ")
	}
	parts, depth := [][]string{nil}, 0
	for _, token := range tokens {
		switch token {
		case "(":
			depth++
		case ")":
			depth--
		}
		ends := (token == "(" && depth == 1) || (token == ")" && depth == 0) || (token == "," && depth == 1)
		if ends {
			parts = append(parts, nil)
			continue
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], token)
	}
	lines := make([]string, len(parts))
	for i, part := range parts {
		lines[i] = strings.Join(part, " ")
	}
	if len(lines) > 2 { // the first precedes the columns, the last follows them
		slices.Sort(lines[1 : len(lines)-1])
	}
	return strings.Join(lines, "\n")
}

// sqlTokens splits SQL into words, quoted pieces and single characters, without comments.
func sqlTokens(text string) (tokens []string) {
	for len(text) > 0 {
		n := 1
		switch {
		case strings.HasPrefix(text, "--"):
			text = after(text, "\n")
			continue
		case strings.HasPrefix(text, "/*"):
			text = after(text[2:], "*/")
			continue
		case strings.ContainsRune(" \t\r\n\f", rune(text[0])):
			text = text[1:]
			continue
		case strings.ContainsRune("'\"`", rune(text[0])):
			n = 2 + len(before(text[1:], text[:1])) // a doubled quote yields two pieces
		case text[0] == '[':
			n = 2 + len(before(text[1:], "]"))
		default:
			for n < len(text) && isWord(text[0]) && isWord(text[n]) {
				n++
			}
		}
		n = min(n, len(text))
		tokens, text = append(tokens, text[:n]), text[n:]
	}
	return tokens
}

func isWord(b byte) bool {
	return b == '_' || b >= 0x80 || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func after(text, mark string) string  { _, rest, _ := strings.Cut(text, mark); return rest }
func before(text, mark string) string { first, _, _ := strings.Cut(text, mark); return first }
