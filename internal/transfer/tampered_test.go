package transfer_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/postgres"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/store/storetest"
)

// hold opens a place like a server, until the test ends.
func (p place) hold(t *testing.T) store.Store {
	t.Helper()
	if p.kind == "sqlite" {
		store, err := sqlite.Open(t.Context(), p.at, sqlite.Options{})
		must(t, err)
		t.Cleanup(func() { must(t, store.Close()) })
		return store
	}
	store, err := postgres.Open(t.Context(), p.at, postgres.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	return store
}

// tamper runs statements like somebody with access to the database.
func (p place) tamper(t *testing.T, statements ...string) {
	t.Helper()
	if p.kind == "sqlite" {
		raw, err := sql.Open("sqlite", filepath.Join(p.at, sqlite.DatabaseFile))
		must(t, err)
		var again []string
		for _, trigger := range []string{"audit_stays", "audit_holds", "audit_links_stay", "audit_links_hold"} {
			var text string
			must(
				t,
				raw.QueryRowContext(t.Context(), "SELECT sql FROM sqlite_schema WHERE name = ?", trigger).Scan(&text),
			)
			_, err = raw.ExecContext(t.Context(), "DROP TRIGGER "+trigger)
			must(t, err)
			again = append(again, text)
		}
		for _, statement := range append(statements, again...) {
			_, err = raw.ExecContext(t.Context(), statement)
			must(t, err)
		}
		must(t, raw.Close())
		return
	}
	connection, err := pgx.Connect(t.Context(), p.at)
	must(t, err)
	_, err = connection.Exec(
		t.Context(),
		`DO $$ DECLARE name text; BEGIN FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'parley' LOOP
 EXECUTE format('ALTER TABLE parley.%I NO FORCE ROW LEVEL SECURITY', name); END LOOP; END $$;
 SET search_path TO parley`,
	)
	must(t, err)
	for _, statement := range statements {
		_, err = connection.Exec(t.Context(), statement)
		must(t, err)
	}
	must(t, connection.Close(t.Context()))
}

// literal returns an id for use in a statement.
func (p place) literal(id parley.ID) string {
	if p.kind == "sqlite" {
		return fmt.Sprintf("x'%x'", id[:])
	}
	return "'" + id.String() + "'"
}

// yes returns true for use in a statement.
func (p place) yes() string {
	if p.kind == "sqlite" {
		return "1"
	}
	return "true"
}

// verified runs a whole verification, which must end.
func verified(
	t *testing.T,
	store store.Verifiable,
	anchor *parley.Anchor,
) (findings []parley.Finding, end parley.Anchor) {
	t.Helper()
	var place parley.VerifyPlace
	for range 10_000 {
		step, err := engine.Verify(t.Context(), store, place, anchor)
		must(t, err)
		findings, place = append(findings, step.Findings...), step.Next
		if place.Stage == parley.VerifyDone {
			return findings, step.Anchor
		}
	}
	t.Fatal("the verification did not end")
	return nil, end
}

// TestVerifyFindsForeignCode: verification finds triggers and rules that no migration creates, and a Parley trigger
// that is missing or was replaced.
func TestVerifyFindsForeignCode(t *testing.T) {
	both(t, func(t *testing.T, empty func() place) {
		p := empty()
		store := p.hold(t)
		want := []string{`"fires" on "audit" was not made by Parley`, `the trigger "audit_waits" on "audit" is`}
		if p.kind == "sqlite" {
			p.tamper(
				t,
				"CREATE TRIGGER fires AFTER INSERT ON audit BEGIN UPDATE principals SET role = 'admin'; END",
				"DROP TRIGGER audit_waits",
				"CREATE VIEW shown AS SELECT * FROM keys",
			)
			want = append(want, `the view "shown" was not made by Parley`)
		} else {
			p.tamper(
				t,
				"CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
				"CREATE TRIGGER fires AFTER INSERT ON audit EXECUTE FUNCTION fires()",
				"ALTER TABLE audit DISABLE TRIGGER audit_waits",
				"CREATE RULE rules AS ON INSERT TO keys DO ALSO NOTHING",
			)
			want = append(want, `the rule "rules" on "keys" was not made by Parley`)
		}
		findings, _ := verified(t, store, nil)
		for _, words := range want {
			findings = finds(t, findings, "schema", words)
		}
		if len(findings) > 0 {
			t.Errorf("also found: %+v", findings)
		}
	})
}

// finds requires a finding with all the given words, and removes it.
func finds(t *testing.T, findings []parley.Finding, words ...string) []parley.Finding {
	t.Helper()
	at := slices.IndexFunc(findings, func(f parley.Finding) bool {
		return !slices.ContainsFunc(
			words,
			func(word string) bool { return !strings.Contains(f.Where+": "+f.Says, word) },
		)
	})
	if at < 0 {
		t.Errorf("no finding has %q", words)
		return findings
	}
	return slices.Delete(findings, at, at+1)
}

// TestVerifyFindsSQLChanges: verification finds each change at its place, and nothing else.
func TestVerifyFindsSQLChanges(t *testing.T) {
	both(t, func(t *testing.T, empty func() place) {
		p := empty()
		store := p.hold(t)
		filled := storetest.Fill(t, store, 4)
		entries := audited(t, store, filled, 6)
		link(t, store)
		if findings, _ := verified(t, store, nil); len(findings) > 0 {
			t.Fatalf("before any change: %+v", findings)
		}
		early := audited(t, store, filled, 7)[6] // not linked yet
		plain, cut, gone := filled.Sessions[0], filled.Sessions[6], filled.Sessions[5]
		marked, buried, unlisted, hidden := filled.Sessions[4], filled.Sessions[8], filled.Sessions[7],
			filled.Sessions[3]
		change := func(sequence int, what string) string {
			return fmt.Sprintf(
				"UPDATE messages SET %s WHERE session_id = %s AND sequence = %d",
				what,
				p.literal(plain),
				sequence,
			)
		}
		of := func(e parley.AuditEntry) string { return " WHERE id = " + p.literal(e.ID) }
		p.tamper(
			t,
			change(
				3,
				"author_name = 'Eve'",
			),
			change(4, "model = 'sim/other'"),
			change(5, "created_at = created_at + 1"),
			change(
				6,
				`metadata = '{"a":1}'`,
			),
			change(7, "author_kind = 'service'"),
			change(8, "content = replace(content, 'answer', 'lie')"),
			change(2, "internal = "+p.yes()),
			"DELETE FROM sessions WHERE id = "+p.literal(unlisted),
			"UPDATE sessions SET deleted_at = 1 WHERE id = "+p.literal(hidden),
			"DELETE FROM messages WHERE session_id = "+p.literal(
				cut,
			)+" AND sequence = (SELECT next_sequence - 1 FROM heads WHERE session_id = "+p.literal(
				cut,
			)+")",
			"UPDATE heads SET next_sequence = next_sequence - 1, last_hash = (SELECT content_hash FROM messages "+
				"WHERE log_id = heads.log_id AND sequence = heads.next_sequence - 2) WHERE session_id = "+p.literal(
				cut,
			),
			"DELETE FROM heads WHERE session_id = "+p.literal(
				gone,
			),
			"DELETE FROM messages WHERE session_id = "+p.literal(gone),
			"UPDATE heads SET deleted_at = 1 WHERE session_id = "+p.literal(marked),
			"DELETE FROM heads WHERE session_id = "+p.literal(
				buried,
			),
			"DELETE FROM messages WHERE session_id = "+p.literal(buried),
			fmt.Sprintf(
				"INSERT INTO graves (workspace_id, session_id, deleted_at) VALUES (%s, %s, 1)",
				p.literal(filled.Scope.WorkspaceID),
				p.literal(buried),
			),
			"DELETE FROM audit"+of(early),
			"UPDATE audit SET principal_name = 'Eve'"+of(
				entries[0],
			),
			"DELETE FROM audit"+of(entries[1]),
			"UPDATE audit SET at = at + 1"+of(entries[2]),
			"UPDATE audit SET action = 'renamed'"+of(entries[3]),
			"UPDATE blob_chunks SET data = substr(data, 1, 1) || data "+
				"WHERE n = 0 AND blob_id IN (SELECT id FROM blobs WHERE state = 'whole')",
		)
		link(t, store)
		findings, _ := verified(t, store, nil)
		for _, sequence := range []int{2, 3, 4, 5, 6, 7, 8} {
			findings = finds(
				t,
				findings,
				"session "+plain.String(),
				fmt.Sprintf("message %d is not what its hash says", sequence),
			)
		}
		findings = finds(t, findings, "session "+cut.String(), "the end of the record was removed")
		findings = finds(t, findings, "session "+gone.String(), "was not deleted by Parley")
		findings = finds(t, findings, "session "+unlisted.String(), "its row among the sessions is missing")
		findings = finds(t, findings, "session "+hidden.String(), "its row among the sessions is marked as deleted")
		for _, forged := range []parley.ID{marked, buried} {
			findings = finds(t, findings, "session "+forged.String(), "no entry of the audit says by whom")
		}
		findings = finds(t, findings, "entry "+early.ID.String(), "is missing")
		findings = finds(t, findings, "entry "+entries[0].ID.String(), "was changed")
		findings = finds(t, findings, "entry "+entries[1].ID.String(), "is missing")
		findings = finds(t, findings, "entry "+entries[2].ID.String(), "is missing")
		findings = finds(t, findings, "entry "+entries[2].ID.String(), "is not linked")
		findings = finds(t, findings, "entry "+entries[3].ID.String(), "was changed")
		findings = finds(t, findings, "bytes ", "were changed")
		if len(findings) > 0 {
			t.Errorf("also found: %+v", findings)
		}
	})
}

// TestAnchorRevealsARemovedEnd: removing the last entries with their links leaves a valid chain, but an older anchor
// does not match it, nor does it match a rebuilt chain.
func TestAnchorRevealsARemovedEnd(t *testing.T) {
	both(t, func(t *testing.T, empty func() place) {
		p := empty()
		store := p.hold(t)
		filled := storetest.Fill(t, store, 1)
		entries := audited(t, store, filled, 3)
		link(t, store)
		_, anchor := verified(t, store, nil)
		last := entries[len(entries)-1]
		p.tamper(
			t,
			"DELETE FROM audit WHERE id = "+p.literal(last.ID),
			fmt.Sprintf("DELETE FROM audit_links WHERE number = %d", anchor.Number),
		)
		if findings, _ := verified(t, store, nil); len(findings) > 0 {
			t.Errorf("the chain without its end is not valid: %+v", findings)
		}
		if findings, _ := verified(
			t,
			store,
			&anchor,
		); len(findings) != 1 ||
			!strings.Contains(findings[0].Says, "were removed") {
			t.Errorf("with the anchor: %+v", findings)
		}
		audited(t, store, filled, 1)
		link(t, store)
		if findings, _ := verified(
			t,
			store,
			&anchor,
		); len(findings) != 1 ||
			!strings.Contains(findings[0].Says, "was rebuilt") {
			t.Errorf("with the anchor of a chain that continued differently: %+v", findings)
		}
	})
}

func audited(t *testing.T, store store.Store, filled storetest.Filled, n int) (entries []parley.AuditEntry) {
	t.Helper()
	for i := range n {
		entries = append(
			entries,
			parley.AuditEntry{
				ID:            parley.NewID(),
				WorkspaceID:   filled.Scope.WorkspaceID,
				At:            parley.Time(1000 + 10*i),
				PrincipalID:   parley.NewID(),
				PrincipalName: "ada",
				Action:        "getSession",
				SessionID:     filled.Sessions[0],
				RequestID:     parley.NewID(),
			},
		)
	}
	must(t, store.AppendAudit(t.Context(), entries))
	return entries
}

func link(t *testing.T, store store.Store) {
	t.Helper()
	linker := parley.NewID()
	for range 1000 {
		step, err := store.LinkAudit(context.WithoutCancel(t.Context()), linker, 1, nil, &parley.ID{})
		must(t, err)
		if step.Held && !step.More {
			return
		}
	}
	must(t, errors.New("linking the audit did not end"))
}
