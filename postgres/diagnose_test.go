package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/internal/pgtest"
)

func TestDiagnose(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	c, err := Diagnose(t.Context(), url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Role != pgtest.Owner || c.Superuser || c.BypassesRows || c.Inherits || c.TooOld || c.Server == "" ||
		c.Unheard != nil {
		t.Errorf("a healthy database: %+v", c)
	}
	if len(c.Schema.Pending()) != 0 || len(c.Schema.Missing) != 0 || c.Schema.Version == 0 {
		t.Errorf("a migrated schema: %+v", c.Schema)
	}
	if c.ClockOffset.Abs() > 10*time.Second {
		t.Errorf("the database of this machine is %s off", c.ClockOffset)
	}

	super, err := Diagnose(t.Context(), databases.Cluster(t).URL(pgtest.Superuser, "postgres"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !super.Superuser || len(super.Schema.Pending()) == 0 {
		t.Errorf("a superuser on an empty database: %+v", super)
	}
	// Notifications do not cross databases, so listening in another database is like listening through a pooler.
	deaf, err := Diagnose(t.Context(), url, Options{ListenURL: databases.New(t)})
	if err != nil || parley.ErrorCode(deaf.Unheard) != parley.CodeUnavailable {
		t.Errorf("listening elsewhere: %v, %v", deaf.Unheard, err)
	}
	elsewhere := databases.Cluster(t).URL(pgtest.Owner, "postgres")
	if _, err := Open(
		t.Context(),
		url,
		Options{ListenURL: elsewhere},
	); parley.ErrorCode(err) != parley.CodeInvalid ||
		!strings.Contains(err.Error(), "PARLEY_LISTEN_URL") {
		t.Errorf("opening with a different database to listen to: %v", err)
	}
	if _, err := Open(
		t.Context(),
		url,
		Options{ListenURL: "postgres:///none?host=/nowhere&user=x"},
	); parley.ErrorCode(err) != parley.CodeUnavailable ||
		!strings.Contains(err.Error(), "PARLEY_LISTEN_URL") {
		t.Errorf("opening with nothing to listen to: %v", err)
	}
	if _, err := Diagnose(
		context.Background(),
		"postgres:///none?host=/nowhere&user=x",
		Options{},
	); parley.ErrorCode(
		err,
	) != parley.CodeUnavailable {
		t.Errorf("no server: %v", err)
	}
}
