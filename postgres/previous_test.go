package postgres

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// previousDatabase returns a database filled by the release before migration 00020, restored from a pg_dump file.
func previousDatabase(t *testing.T) string {
	t.Helper()
	return oldDatabase(t, "previous.sql.gz")
}

// oldDatabase is previousDatabase for the database of any earlier release.
func oldDatabase(t *testing.T, name string) string {
	t.Helper()
	url := databases.Empty(t)
	packed, err := os.Open("testdata/" + name)
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

// intact requires that a verification of the whole store finds nothing once everything is linked.
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
	t.Fatal("the verification did not end")
	return parley.Anchor{}
}

// TestPreviousReleaseContinues: record, chain and audit verify, pending approvals can be decided, and old
// sessions continue in the second version of the chain.
func TestPreviousReleaseContinues(t *testing.T) {
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
		t.Fatal(err) // the question is old, and expires after a day
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
		t.Fatalf("pending: %+v, %v", asked, err)
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
		t.Errorf("the decision returned %+v, %v", decided, err)
	}
	accepted, err := db.Accepted(ctx, by.scope.WorkspaceID, asked[0].SessionID)
	if err != nil || !accepted.Before || len(accepted.Agents) != 1 {
		t.Errorf("an old session has accepted %+v, %v", accepted, err)
	}
	intact(t, db)
}

// TestDatabaseBeforePartsReadsAlike: what the release before content in parts wrote verifies and reads with the
// same contents and hashes as in that release; its sessions continue.
func TestDatabaseBeforePartsReadsAlike(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	raw, err := os.ReadFile("testdata/before_parts.json")
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Sequence    int64                `json:"sequence"`
		Role        parley.Role          `json:"role"`
		Status      parley.MessageStatus `json:"status"`
		ContentHash string               `json:"content_hash"`
		Content     json.RawMessage      `json:"content"`
	}
	var before map[string][]row
	if err := json.Unmarshal(raw, &before); err != nil {
		t.Fatal(err)
	}
	db := openedAt(t, oldDatabase(t, "before_parts.sql.gz"), Options{})
	intact(t, db)
	by := newTalker(t, db, 0)
	sessions, err := db.Sessions(ctx, by.scope, store.SessionQuery{Limit: parley.MaxPage})
	if err != nil || len(sessions) != len(before) {
		t.Fatalf("%d sessions, %v; want %d", len(sessions), err, len(before))
	}
	compare := func() {
		for i := range sessions {
			query := store.MessageQuery{Limit: parley.MaxPage}
			messages, err := db.Messages(ctx, by.scope, sessions[i].ID, query)
			if err != nil {
				t.Fatal(err)
			}
			rows := before[sessions[i].Title]
			now := make([]row, 0, len(rows))
			for j := range messages {
				if m := &messages[j]; m.Sequence != 0 && len(now) < len(rows) {
					now = append(now, row{m.Sequence, m.Role, m.Status, m.ContentHash.String(), m.Content})
				}
			}
			if diff := cmp.Diff(rows, now); diff != "" {
				t.Errorf("%s reads differently (-before +now):\n%s", sessions[i].Title, diff)
			}
		}
	}
	compare()
	for i := range sessions {
		if sessions[i].Status != parley.SessionWaiting {
			by.turn(sessions[i].ID, "It goes on.")
		}
	}
	compare()
	intact(t, db)
}
