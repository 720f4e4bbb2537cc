package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.org/parley"
	"example.org/parley/internal/pgtest"
)

// table is a table of the schema, according to the catalogue.
type table struct {
	name      string
	workspace string // the column that names the workspace
	forced    bool   // row-level security applies to the owner, too
	columns   []column
}

type column struct{ name, kind string }

// unguarded tables have no rows of any workspace, and tenants have no rights to them.
var unguarded = map[string]bool{"goose_db_version": true, "compatibility": true, "search_pass": true,
	"audit_unlinked": true, "audit_links": true, "linked_heads": true, "audit_linker": true, "deaths": true}

// shared tables are readable in every workspace, but only these columns.
var shared = map[string]string{"processes": "id, slots, lease_until"}

// catalogued reads the catalogue, so it includes every table that a migration adds.
func catalogued(t *testing.T, conn *pgx.Conn) (found []table) {
	t.Helper()
	rows, err := conn.Query(
		t.Context(),
		`SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity, a.attname, format_type(a.atttypid, a.atttypmod)
 FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = 'parley'::regnamespace
  AND c.relkind IN ('r', 'p')
 AND a.attnum > 0 AND NOT a.attisdropped AND a.attidentity = ''
  AND (a.attnotnull AND NOT a.atthasdef OR a.attname = 'workspace_id') ORDER BY c.relname, a.attnum`,
	)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var name string
		var forced bool
		var c column
		if err := rows.Scan(&name, &forced, &c.name, &c.kind); err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 || found[len(found)-1].name != name {
			found = append(found, table{name: name, forced: forced})
		}
		last := &found[len(found)-1]
		last.columns = append(last.columns, c)
		if c.name == "workspace_id" || name == "workspaces" && c.name == "id" {
			last.workspace = c.name
		}
	}
	if rows.Err() != nil || len(found) < 15 {
		t.Fatalf("the catalogue shows %d tables: %v", len(found), rows.Err())
	}
	return found
}

// row returns a statement that inserts a row of a workspace with the columns that have no default.
func (table *table) row(workspace parley.ID) string {
	names, values := make([]string, 0, len(table.columns)), make([]string, 0, len(table.columns))
	for _, c := range table.columns {
		value := map[string]string{"uuid": "gen_random_uuid()", "text": "gen_random_uuid()::text", "bigint": "1",
			"integer": "1", "boolean": "false",
			"bytea": "decode(md5(random()::text), 'hex')"}[c.kind]
		if c.name == table.workspace {
			value = "'" + workspace.String() + "'"
		}
		names, values = append(names, quoted(c.name)), append(values, value)
	}
	return "INSERT INTO parley." + quoted(
		table.name,
	) + " (" + strings.Join(
		names,
		", ",
	) + ") VALUES (" + strings.Join(
		values,
		", ",
	) + ")"
}

// as runs a statement in a transaction of a role, in a workspace if given, and rolls it back.
func as(t *testing.T, conn *pgx.Conn, role string, workspace parley.ID, statement string) (pgconn.CommandTag, error) {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tx.Rollback(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if role != "" {
		if _, err := tx.Exec(t.Context(), "SET LOCAL ROLE "+role); err != nil {
			t.Fatal(err)
		}
	}
	if !workspace.IsZero() {
		if _, err := tx.Exec(
			t.Context(),
			"SELECT set_config('parley.workspace', $1, true)",
			workspace.String(),
		); err != nil {
			t.Fatal(err)
		}
	}
	return tx.Exec(t.Context(), statement)
}

// denied reports that the server refused for lack of a right, or because of a row policy.
func denied(err error) bool { return stateOf(err) == statePrivilege }

// TestTheWallRefuses: even a query that forgets its term sees, changes and adds nothing of another workspace, in any
// table.
func TestTheWallRefuses(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	conn := connected(t, url)
	mine, theirs := parley.NewID(), parley.NewID()
	for _, table := range catalogued(t, conn) {
		name := "parley." + quoted(table.name)
		if unguarded[table.name] {
			for _, statement := range []string{"SELECT * FROM " + name, "DELETE FROM " + name} {
				if _, err := as(t, conn, tenantRole, mine, statement); !denied(err) {
					t.Errorf("a tenant may run %s: %v", statement, err)
				}
			}
			continue
		}
		if !table.forced {
			t.Errorf(
				"%s has no row-level security, or its owner is exempt: its migration has to enable and force it",
				table.name,
			)
			continue
		}
		if columns := shared[table.name]; columns != "" {
			if _, err := as(t, conn, tenantRole, mine, "SELECT "+columns+" FROM "+name); err != nil {
				t.Error(err)
			}
			for _, statement := range []string{"SELECT * FROM " + name, table.row(mine), "DELETE FROM " + name,
				"UPDATE " + name + " SET slots = 0"} {
				if _, err := as(t, conn, tenantRole, mine, statement); !denied(err) {
					t.Errorf("a tenant may run %s: %v", statement, err)
				}
			}
			continue
		}
		if table.workspace == "" {
			t.Errorf("%s does not name its workspace", table.name)
			continue
		}
		t.Run(table.name, func(t *testing.T) { table.walled(t, conn, name, mine, theirs) })
	}
}

// walled puts rows of two workspaces into a table and looks from one at the other.
func (table *table) walled(t *testing.T, conn *pgx.Conn, name string, mine, theirs parley.ID) {
	for _, workspace := range []parley.ID{mine, theirs} {
		run(t, conn, "BEGIN; SET LOCAL ROLE "+systemRole+"; "+table.row(workspace)+"; COMMIT")
	}
	other := fmt.Sprintf(" WHERE %s = '%s'", table.workspace, theirs)
	for statement, want := range map[string]int64{
		"SELECT FROM " + name:         1, // without a term: only ours
		"SELECT FROM " + name + other: 0,
	} {
		if tag, err := as(t, conn, tenantRole, mine, statement); err != nil || tag.RowsAffected() != want {
			t.Errorf("%s finds %d rows, want %d: %v", statement, tag.RowsAffected(), want, err)
		}
		if tag, err := as(t, conn, "", mine, statement); err != nil || tag.RowsAffected() != 0 {
			t.Errorf("without a role %s finds %d rows: %v", statement, tag.RowsAffected(), err)
		}
		if _, err := as(t, conn, tenantRole, parley.ID{}, statement); err == nil {
			t.Errorf("without a workspace %s succeeds", statement)
		}
	}
	for _, statement := range []string{
		"DELETE FROM " + name + other,
		fmt.Sprintf("UPDATE %s SET %s = %s%s", name, table.workspace, table.workspace, other),
	} {
		if tag, err := as(
			t,
			conn,
			tenantRole,
			mine,
			statement,
		); err == nil && tag.RowsAffected() != 0 ||
			err != nil && !denied(err) {
			t.Errorf("%s changes %d rows of another workspace: %v", statement, tag.RowsAffected(), err)
		}
	}
	for _, statement := range []string{ // into the other workspace
		table.row(theirs),
		fmt.Sprintf("UPDATE %s SET %s = '%s'", name, table.workspace, theirs),
	} {
		if _, err := as(t, conn, tenantRole, mine, statement); !denied(err) {
			t.Errorf("a tenant may run %s: %v", statement, err)
		}
	}
	if tag, err := as(t, conn, systemRole, parley.ID{}, "SELECT FROM "+name); err != nil || tag.RowsAffected() < 2 {
		t.Errorf("the system sees %d rows of %s: %v", tag.RowsAffected(), name, err)
	}
}

// TestNoRightsBeyondTheRoles: nobody else has any right to a table, and neither role may change the schema or become
// another role.
func TestNoRightsBeyondTheRoles(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	conn := connected(t, url)
	var others int
	if err := conn.QueryRow(t.Context(),
		`SELECT count(*) FROM pg_class c, aclexplode(c.relacl) a WHERE c.relnamespace = 'parley'::regnamespace
 AND a.grantee NOT IN (c.relowner, 'parley_tenant'::regrole, 'parley_system'::regrole)`).
		Scan(&others); err != nil ||
		others != 0 {
		t.Errorf("%d rights belong to others: %v", others, err)
	}
	for _, role := range []string{tenantRole, systemRole} {
		for _, statement := range []string{"CREATE TABLE parley.mine (n int)",
			"ALTER TABLE parley.keys DISABLE ROW LEVEL SECURITY", "DROP TABLE parley.keys",
			"CREATE POLICY open ON parley.keys USING (true)", "TRUNCATE parley.events", "CREATE ROLE another"} {
			if _, err := as(t, conn, role, parley.NewID(), statement); !denied(err) {
				t.Errorf("%s may run %s: %v", role, statement, err)
			}
		}
	}
	cluster := databases.Cluster(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Run(t.Context(), pgtest.Superuser, "postgres", "CREATE ROLE stranger LOGIN",
		"GRANT CONNECT ON DATABASE "+config.Database+" TO stranger"); err != nil {
		t.Fatal(err)
	}
	stranger := connected(t, strings.Replace(url, pgtest.Owner+"@", "stranger@", 1))
	for _, table := range catalogued(t, conn) {
		if _, err := as(t, stranger, "", parley.ID{}, "SELECT FROM parley."+quoted(table.name)); !denied(err) {
			t.Errorf("a stranger may read %s: %v", table.name, err)
		}
	}
}

// TestPasswordsStayInside: an invalid address never shows its password in an error, in any spelling.
func TestPasswordsStayInside(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-p/w%rd"
	for _, url := range []string{
		"postgres://user:s3cr3t-p%2Fw%25rd@127.0.0.1:1/db?connect_timeout=2",
		"postgres://user:s3cr3t-p/w%rd@127.0.0.1:1/db",
		"postgres://user:s3cr3t-p%2Fw%25rd@127.0.0.1:port/db",
		"postgres://127.0.0.1:1/db?password=s3cr3t-p%2Fw%25rd&sslmode=maybe",
		"user=user password='s3cr3t-p/w%rd' host=127.0.0.1 port=x",
		"s3cr3t-p/w%rd",
	} {
		for _, listen := range []string{"", url} {
			_, err := Open(t.Context(), url, Options{ListenURL: listen})
			if err == nil {
				t.Errorf("%s was opened", url)
				continue
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				for _, spelled := range []string{secret, "s3cr3t"} {
					if strings.Contains(e.Error(), spelled) {
						t.Errorf("the error of %s contains the password: %v", url, e)
					}
				}
			}
		}
	}
}
