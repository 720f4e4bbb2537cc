package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// sent are the types of arguments, and the names of the server's types that they become where the driver does not ask
// the server: in the modes exec and simple_protocol. The driver would register all its types by itself, in more than a
// megabyte of code; the release is built without (ADR 0065).
var sent = []struct { //nolint:gochecknoglobals // never written
	value any
	name  string
}{
	{"", "text"}, {int64(0), "int8"}, {0, "int8"}, {false, "bool"}, {[]byte(nil), "bytea"}, {(*int64)(nil), "int8"},
	{pgtype.UUID{}, "uuid"}, {pgtype.Int8{}, "int8"}, {pgtype.Text{}, "text"}, {pgtype.Bool{}, "bool"},
	{[]string(nil), "_text"}, {[]*string(nil), "_text"}, {[]pgtype.Text(nil), "_text"},
	{[]int64(nil), "_int8"}, {[]*int64(nil), "_int8"}, {[]int(nil), "_int8"}, {[]pgtype.Int8(nil), "_int8"},
	{[]bool(nil), "_bool"}, {[]pgtype.Bool(nil), "_bool"}, {[][]byte(nil), "_bytea"}, {[]pgtype.UUID(nil), "_uuid"},
}

// connect opens a connection that can send the arguments of a batch in every mode.
func connect(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err == nil {
		register(conn)
	}
	return conn, err
}

// register tells a new connection's driver what is sent.
func register(conn *pgx.Conn) {
	types := conn.TypeMap()
	for _, s := range sent {
		types.RegisterDefaultPgType(s.value, s.name)
	}
}
