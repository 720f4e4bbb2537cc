package tables

import (
	"reflect"
	"slices"
	"strings"
)

// Kind is what a column contains, whatever its type in a database.
type Kind int

// Kinds of columns. Times, money and counters are integers everywhere; JSON is text, because its bytes are hashed.
const (
	ID      Kind = iota + 1 // 16 bytes
	Bytes                   // hashes, provider data
	Text                    // UTF-8
	Integer                 // 64 bits
	Flag                    // 0 or 1
)

// Database is one of the two databases.
type Database int

// The two databases.
const (
	SQLite Database = iota + 1
	Postgres
)

// Codec says how to convert between a column and its field, where the field's type alone does not tell.
type Codec int

// Codecs. Without one, a zero id, hash or time is NULL, and so is a nil pointer.
const (
	Plain           Codec = iota
	JSON                  // the field's JSON; NULL for a nil pointer
	NullJSON              // the field's JSON; NULL for its zero value
	Object                // a JSON object; anything else reads as {}
	Null                  // NULL for the zero value
	NotNull               // never NULL, not even for the zero value
	Counter               // the column is the field plus one
	Limit                 // the field is nil for 0
	Usage                 // *parley.Usage as JSON; unreadable JSON reads as nil
	Failure               // *parley.Failure as JSON; unreadable JSON reads as a failure that says so
	MessageSettings       // NULL without settings; unreadable JSON reads as none
	SessionSettings       // {} without settings
	ChainVersion          // at least 1
)

// Column is a column of a table, or a column of a joined table that is read with it.
type Column struct {
	Name  string
	Kind  Kind
	Field string // path of the field in the Go type of each of its lists
	In    string // names of these lists
	Codec Codec
	From  string // SQL that reads it; empty: the column itself

	Only    Database // 0: both. A column of one database does not move with a copy
	Derived string   // SQL for the value on SQLite, which has no such column
	Joined  bool     // a column of another table
	Purged  bool     // of ids: the row is deleted with the session that it names
}

// ListKind is the use of a list.
type ListKind int

// Kinds of lists.
const (
	Reads ListKind = iota + 1
	Inserts
	Updates
)

// List is a list of columns in statements, with the Go type that they are read into or written from.
type List struct {
	Name   string
	Kind   ListKind
	Of     reflect.Type
	Part   bool   // of Reads: only part of a value; the store completes it
	Upsert bool   // of Inserts: with the assignments of ON CONFLICT … DO UPDATE SET
	After  string // of Updates: the list whose placeholders it continues
	Behind int    // of Updates: number of PostgreSQL's placeholders before it; 0: two, for the workspace and the id
	Spare  int    // of Inserts and Updates: number of PostgreSQL's placeholders after it that get names
}

// Table is a table with all its columns.
type Table struct {
	Name    string
	Go      string // name of its row in generated code
	Alias   string // alias in statements
	Keys    keys   // primary keys, in column order
	Stays   bool   // rows are not copied, because they mean nothing elsewhere
	Lists   []List
	Columns []Column
}

type keys map[Database][]string

func of[T any]() reflect.Type { return reflect.TypeFor[T]() }

// Moving returns the tables whose rows a copy moves, in copying order, with the columns that move.
func Moving() (moving []Table) {
	for _, t := range All {
		if t.Stays {
			continue
		}
		t.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return c.Joined || c.Only != 0 })
		moving = append(moving, t)
	}
	return moving
}

// In returns the columns of a list in a database, in order.
func (t *Table) In(list string, db Database) (columns []Column) {
	for _, c := range t.Columns {
		if slices.Contains(c.Lists(), list) && (c.Only == 0 || c.Only == db) {
			columns = append(columns, c)
		}
	}
	return columns
}

// Schema returns the names of the columns that a table has in a database.
func (t *Table) Schema(db Database) (names []string) {
	for _, c := range t.Columns {
		if !c.Joined && (c.Only == 0 || c.Only == db) && (c.Derived == "" || db != SQLite) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Lists returns the names of the lists that contain a column.
func (c *Column) Lists() []string { return strings.Fields(c.In) }

// List returns a table's list by name.
func (t *Table) List(name string) *List {
	for i := range t.Lists {
		if t.Lists[i].Name == name {
			return &t.Lists[i]
		}
	}
	return nil
}
