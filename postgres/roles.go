package postgres

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
)

// inheritOption is the first server version in which each membership says whether it is inherited.
const inheritOption = 160000

// loginRole describes the URL's role and its rights.
type loginRole struct {
	name, database string
	version        int // server_version_num
	superuser      bool
	bypassesRows   bool
	createsRoles   bool
	inherits       bool
	createsSchemas bool
	everybody      bool            // every role of the server may connect to the database
	made           map[string]bool // existing roles of Parley
	member         map[string]bool // those that it may become
}

func roleOf(ctx context.Context, conn *sql.Conn) (role loginRole, err error) {
	role.made, role.member = map[string]bool{}, map[string]bool{}
	if err := conn.QueryRowContext(ctx,
		`SELECT r.rolname, current_database(), current_setting('server_version_num')::int,
 r.rolsuper, r.rolbypassrls, r.rolcreaterole, r.rolinherit, has_database_privilege(session_user, current_database(),
  'CREATE'),
 EXISTS (SELECT FROM pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
  WHERE d.datname = current_database() AND a.grantee = 0 AND a.privilege_type = 'CONNECT')
 FROM pg_roles r WHERE r.rolname = session_user`).
		Scan(&role.name, &role.database, &role.version,
			&role.superuser, &role.bypassesRows, &role.createsRoles, &role.inherits, &role.createsSchemas,
			&role.everybody); err != nil {
		return role, err
	}
	become := "MEMBER"
	if role.version >= inheritOption {
		become = "SET"
	}
	rows, err := conn.QueryContext(
		ctx,
		"SELECT rolname, pg_has_role(session_user, oid, '"+become+"') FROM pg_roles WHERE rolname IN ('"+tenantRole+
			"', '"+systemRole+"')",
	)
	if err != nil {
		return role, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		var member bool
		if err := rows.Scan(&name, &member); err != nil {
			return role, err
		}
		role.made[name], role.member[name] = true, member
	}
	return role, rows.Err()
}

// needed returns the statements that give the role what it lacks of Parley's roles.
func (r *loginRole) needed() (statements []string) {
	for _, name := range []string{tenantRole, systemRole} {
		if !r.made[name] {
			statements = append(statements, "CREATE ROLE "+name+" NOLOGIN;")
		}
	}
	for _, name := range []string{tenantRole, systemRole} {
		switch {
		case r.member[name] && r.made[name]:
		case r.version >= inheritOption:
			statements = append(statements, "GRANT "+name+" TO "+quoted(r.name)+" WITH INHERIT FALSE, SET TRUE;")
		default:
			statements = append(statements, "GRANT "+name+" TO "+quoted(r.name)+";")
		}
	}
	return statements
}

// missing returns the statements that the role cannot run itself.
func (r *loginRole) missing(pending bool) (statements []string) {
	if needed := r.needed(); !r.superuser && !r.createsRoles && len(needed) > 0 {
		statements = needed
		if r.version < inheritOption && r.inherits {
			statements = append(statements, "ALTER ROLE "+quoted(r.name)+" NOINHERIT;")
		}
	}
	if pending && !r.createsSchemas {
		statements = append(statements, "GRANT CREATE ON DATABASE "+quoted(r.database)+" TO "+quoted(r.name)+";")
	}
	return statements
}

// closing returns the statements that keep other roles of the server out of the database, nil if they are out.
func (r *loginRole) closing() []string {
	if !r.everybody {
		return nil
	}
	return []string{
		"GRANT CONNECT ON DATABASE " + quoted(r.database) + " TO " + quoted(r.name) + ";", // it may not be the owner
		"REVOKE CONNECT ON DATABASE " + quoted(r.database) + " FROM PUBLIC;",
	}
}

// warn warns about roles that could see more than they should: Parley's own, and those of others that may connect.
// These need no other right to listen to notifications, send some, and take advisory locks.
func (r *loginRole) warn(log *slog.Logger) {
	if closing := r.closing(); len(closing) > 0 {
		log.Warn("every role of the database server may connect to this database, and read and forge the text that "+
			"people watch: run "+strings.Join(closing, " "), "database", r.database)
	}
	switch {
	case r.superuser || r.bypassesRows:
		log.Warn(
			"the role in PARLEY_DATABASE_URL is a superuser or bypasses row-level security: use one that is neither, "+
				"so that a mistake in a query cannot cross workspaces",
			"role",
			r.name,
		)
	case r.inherits && r.version < inheritOption:
		log.Warn(
			"the role in PARLEY_DATABASE_URL inherits the rights of its roles: run ALTER ROLE "+quoted(
				r.name,
			)+" NOINHERIT",
			"role",
			r.name,
		)
	}
}

// makeRoles creates Parley's roles and lets the URL's role become them, where necessary. Roles belong to the whole
// cluster: another database's Parley may create them at the same moment; then the rest is looked up again.
func makeRoles(ctx context.Context, conn *sql.Conn) error {
	for again := rolesRaces; ; again-- {
		role, err := roleOf(ctx, conn)
		if err != nil {
			return err
		}
		statements := role.needed()
		if len(statements) > 0 && role.version < inheritOption && role.inherits && !role.superuser {
			statements = append(statements, "ALTER ROLE "+quoted(role.name)+" NOINHERIT;")
		}
		for _, statement := range statements {
			if _, err = conn.ExecContext(ctx, statement); err != nil {
				break
			}
		}
		switch state := stateOf(err); {
		case err == nil:
			return nil
		case state == statePrivilege:
			return errMissing(role, statements)
		case again == 0 || state == "":
			return err
		}
	}
}

// rolesRaces bounds how often a migration of another database may interfere.
const rolesRaces = 5

// quoted returns a name quoted for a statement.
func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }
