package postgres

import (
	"testing"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// TestLastStepTakesItsErrandWithIt says when the row of an errand goes in the transaction that does its last step: not
// before that step, and not if nothing is written, for then what the step has read is not confirmed with the removal.
func TestLastStepTakesItsErrandWithIt(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	talks := newTalker(t, db, 2)
	workspace := talks.scope.WorkspaceID
	conn := connected(t, url)
	if _, err := conn.Exec(t.Context(), "SET ROLE parley_system"); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		session             parley.ID
		again               bool
		wantRemoved, wantIn bool
	}{
		"the last step":             {session: talks.sessions[0], wantRemoved: true},
		"a step before":             {session: talks.sessions[1], again: true, wantIn: true},
		"a step that finds nothing": {session: parley.NewID(), wantIn: true},
	} {
		var did applied
		if err := conn.QueryRow(t.Context(),
			`INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at)
 VALUES ($1, 'test', $2, 0, parley.now_ms() + 3600000) RETURNING id`,
			workspace.String(), test.session.String()).
			Scan(&did.errand); err != nil {
			t.Fatal(err)
		}
		again, err := doer{t.Context(), db, &did}.LastStep(workspace, func(tx *transition.Tx) (bool, error) {
			return test.again, tx.Entomb(test.session)
		})
		if err != nil || again != test.again {
			t.Fatalf("%s: again %t, %v; want %t", name, again, err, test.again)
		}
		var in bool
		if err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM parley.outbox WHERE id = $1)", did.errand).
			Scan(&in); err != nil {
			t.Fatal(err)
		}
		if did.removed != test.wantRemoved || in != test.wantIn {
			t.Errorf(
				"%s: removed %t, the row is there %t; want %t, %t",
				name,
				did.removed,
				in,
				test.wantRemoved,
				test.wantIn,
			)
		}
		if did.removed && !did.left {
			t.Errorf("%s: the purge that it left is not reported", name)
		}
	}
}

// TestAnErrandThatFails: an errand that fails is put off, and the others that are due are applied at once.
func TestAnErrandThatFails(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	conn := connected(t, url)
	run(
		t,
		conn,
		"SET ROLE parley_system",
		`INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at)
 SELECT gen_random_uuid(), kind, gen_random_uuid(), 0, n
  FROM (VALUES (1, 'purge_blob'), (2, 'wake_session')) e (n, kind)`,
		"RESET ROLE",
		"ALTER TABLE parley.blobs RENAME TO away",
		"SET ROLE parley_system",
	)
	if _, more, err := db.ApplyOutbox(t.Context(), parley.ID{}); err == nil || !more {
		t.Fatalf("purging what cannot be read: more %t, %v; it fails, and another errand is due", more, err)
	}
	if _, more, err := db.ApplyOutbox(t.Context(), parley.ID{}); err != nil || more {
		t.Errorf("the other errand: more %t, %v", more, err)
	}
	var left string
	if err := conn.QueryRow(t.Context(), "SELECT string_agg(kind, ', ') FROM parley.outbox").Scan(&left); err != nil {
		t.Fatal(err)
	}
	if left != "purge_blob" {
		t.Errorf("%s are left, want the one that failed", left)
	}
}
