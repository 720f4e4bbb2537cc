package postgres

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// previousDatabase is a database that the release before migration 00020 filled, as
// pg_dump wrote it down.
func previousDatabase(t *testing.T) string {
	t.Helper()
	url := databases.Empty(t)
	packed, err := os.Open("testdata/previous.sql.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	dump, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	conn := connected(t, url)
	if _, err := conn.PgConn().Exec(t.Context(), string(dump)).ReadAll(); err != nil {
		t.Fatal(err)
	}
	if _, err := Migrate(t.Context(), url, quiet()); err != nil {
		t.Fatal(err)
	}
	return url
}

// intact wants nothing found by a verification of the whole store, once all is linked.
func intact(t *testing.T, store *Store) parley.Anchor {
	t.Helper()
	linker, pass := parley.NewID(), &parley.ID{}
	for range 1000 {
		step, err := store.LinkAudit(t.Context(), linker, time.Minute, nil, pass)
		if err != nil {
			t.Fatal(err)
		}
		if !step.More && step.Last.IsZero() {
			break
		}
		if !step.More {
			pass = &step.Last
		}
	}
	place := parley.VerifyPlace{}
	for range 1000 {
		step, err := engine.Verify(t.Context(), store, place, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(step.Findings) > 0 {
			t.Fatalf("found: %+v", step.Findings)
		}
		if step.Done {
			return step.Anchor
		}
		place = step.Next
	}
	t.Fatal("the verification does not end")
	return parley.Anchor{}
}

// TestADatabaseOfThePreviousReleaseGoesOn: the record, the chain and the audit hold, what
// waits can be answered, and old sessions go on in the second version of the chain.
func TestADatabaseOfThePreviousReleaseGoesOn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := previousDatabase(t)
	db := openedAt(t, url, Options{})
	var before int64
	conn := connected(t, url)
	if _, err := conn.Exec(ctx, "SET ROLE "+systemRole); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM parley.audit").Scan(&before); err != nil || before < 100 {
		t.Fatalf("%d entries, %v", before, err)
	}
	if _, err := conn.Exec(
		ctx,
		"UPDATE parley.approvals SET expires_at = $1 WHERE state = 'pending'",
		time.Now().Add(time.Hour).UnixMilli(),
	); err != nil {
		t.Fatal(err) // the question has waited since, and has a day
	}
	if anchor := intact(t, db); anchor.Number < before {
		t.Errorf("%d of %d entries are linked", anchor.Number, before)
	}
	by := newTalker(t, db, 0)
	sessions, err := db.Sessions(ctx, by.scope, store.SessionQuery{Limit: parley.MaxPage})
	if err != nil || len(sessions) < 4 {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	for i := range sessions {
		if sessions[i].Status == parley.SessionWaiting || sessions[i].Kind == parley.KindTool {
			continue
		}
		by.turn(sessions[i].ID, "It goes on.")
		_, rows, _, err := db.RecordRows(ctx, by.scope.WorkspaceID, sessions[i].ID, 0, parley.MaxPage)
		if err != nil || len(rows) < 3 || rows[0].Input.Version != 1 ||
			rows[len(rows)-1].Input.Version != parley.ChainVersion {
			t.Errorf("%s: %d rows, %v", sessions[i].Title, len(rows), err)
		}
	}
	asked, err := db.Approvals(ctx, by.scope, store.ApprovalQuery{State: parley.ApprovalPending, Limit: 2})
	if err != nil || len(asked) != 1 || asked[0].StillMissing() != 1 || asked[0].Changed() {
		t.Fatalf("what waits is %+v, %v", asked, err)
	}
	owner, err := db.LocalOwner(ctx, by.scope.WorkspaceID)
	if err != nil {
		t.Fatal(err)
	}
	decided, err := db.DecideApproval(
		ctx,
		by.scope,
		asked[0].ID,
		parley.Decision{Decision: parley.DecideApprove, By: owner.Author()},
		by.process,
	)
	if err != nil || decided.Claim == nil || decided.Approval.State != parley.ApprovalApproved {
		t.Errorf("the answer gives %+v, %v", decided, err)
	}
	accepted, err := db.Accepted(ctx, by.scope.WorkspaceID, asked[0].SessionID)
	if err != nil || !accepted.Before || len(accepted.Agents) != 1 {
		t.Errorf("a session of before has accepted %+v, %v", accepted, err)
	}
	intact(t, db)
}
