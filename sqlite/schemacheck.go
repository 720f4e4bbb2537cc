package sqlite

import (
	"context"
	"errors"
	"fmt"

	"example.org/parley"
	"example.org/parley/internal/sqlschema"
)

// A database file may come from somebody else, as a backup or a copied directory. Hashes protect its rows, but its
// schema runs code: a trigger changes rows behind the transitions, and a view or a generated column shows rows that are
// not stored. So before anything of the file is served, its schema must equal the one that the migrations create.

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
			foreign = sqlschema.ObjectOf(kind, "goose_db_version", "goose_db_version", "").String() +
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
	if err != nil || sqlschema.Hash(found) == schemaHash {
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
func compareSchemas(found, want []sqlschema.Object) (differences []string) {
	for len(found) > 0 || len(want) > 0 {
		var order int
		switch {
		case len(found) == 0:
			order = 1
		case len(want) == 0:
			order = -1
		default:
			order = sqlschema.Compare(found[0], want[0])
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

// schemaObjects reads the schema, sorted.
func schemaObjects(c *conn) (objects []sqlschema.Object, err error) {
	err = c.each(sqlschema.Query, func(r *row) error {
		objects = append(objects, sqlschema.ObjectOf(r.text(), r.text(), r.text(), r.text()))
		return nil
	}, copyingTable)
	sqlschema.Sort(objects)
	return objects, err
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
func migratedSchema(ctx context.Context, applied func(version int64) bool) (objects []sqlschema.Object, err error) {
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
