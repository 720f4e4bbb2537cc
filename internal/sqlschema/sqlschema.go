// Package sqlschema describes the schema of a SQLite database so that two can be compared: as a sorted list of objects,
// whose text does not depend on comments, white space or the order in which columns were added. The store compares a
// file with what the migrations create; make generate writes down the hash of that.
package sqlschema

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strings"

	"example.org/parley"
)

// Query reads the objects of a database: type, name, table and text of each. It omits tables that come from elsewhere:
// SQLite, FTS5 (for search_words), goose (the versions), a copy under way (its table is the parameter), and Litestream
// if somebody replicates the file. Their text depends on the program that made them. Triggers on them are not omitted,
// nor are virtual tables of their names.
const Query = `SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema
 WHERE NOT (type = 'table' AND rootpage > 0 AND (name IN ('goose_db_version', ?, 'search_words_data',
  'search_words_idx', 'search_words_content', 'search_words_docsize', 'search_words_config') OR name GLOB 'sqlite_*'
  	OR name GLOB '_litestream_*'))
 AND NOT (type = 'index' AND sql IS NULL)`

// Object is a table, index, trigger or view.
type Object struct {
	kind, name, table string
	sql               string // normalised by plain
}

// ObjectOf returns an object with normalised text.
func ObjectOf(kind, name, table, sql string) Object { return Object{kind, name, table, plain(sql)} }

// String names an object in a sentence. The name comes from the file and may contain anything.
func (o Object) String() string {
	name := fmt.Sprintf("the %s %q", o.kind, parley.Clip(o.name, maxNameShown))
	if o.table == o.name {
		return name
	}
	return name + fmt.Sprintf(" on %q", parley.Clip(o.table, maxNameShown))
}

// maxNameShown bounds a name in a sentence, in bytes.
const maxNameShown = 100

// Compare orders objects by kind and name.
func Compare(a, b Object) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
}

// Sort puts a schema in order.
func Sort(objects []Object) {
	sort.Slice(objects, func(i, j int) bool { return Compare(objects[i], objects[j]) < 0 })
}

// Hash returns the hash of a sorted schema.
func Hash(objects []Object) string {
	sum := sha256.New()
	for _, o := range objects {
		fmt.Fprintf(sum, "%q %q %q %q\n", o.kind, o.name, o.table, o.sql)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// plain normalises the text of an object: it drops comments and space between tokens, and sorts a table's columns.
// Added columns are in the order in which migrations were applied, which differs where one came late.
func plain(text string) string {
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
