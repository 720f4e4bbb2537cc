package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"example.org/parley"
	"example.org/parley/sqlite"
	"example.org/parley/store"
)

// TestSweepRepairsHiddenTurns breaks rows as no transition does: a turn hidden from all claimers becomes ready
// again.
func TestSweepRepairsHiddenTurns(t *testing.T) {
	t.Parallel()
	made := newTemplate(t)
	for name, damage := range map[string]string{
		"not ready":          "DELETE FROM ready",
		"running for nobody": "UPDATE heads SET holder = NULL",
		"held by a ghost":    "UPDATE heads SET holder = x'00112233445566778899aabbccddeeff'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			moves := []move{create(), beginStep(1, false), versions()}
			if name == "not ready" {
				moves = append(
					moves,
					simple("release", func(a *actor) error { return a.store.ReleaseTurn(a.ctx, a.claim.Fence) }),
				)
			}
			dir, a := made.play(t, moves, nil)
			file, err := sql.Open("sqlite", filepath.Join(dir, sqlite.DatabaseFile))
			if err != nil {
				t.Fatal(err)
			}
			if err := a.store.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := file.Exec(damage); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := sqlite.Open(t.Context(), dir, sqlite.Options{Readers: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}()
			process := parley.NewID()
			if err := db.RegisterProcess(t.Context(), store.Process{ID: process}, longLease); err != nil {
				t.Fatal(err)
			}
			claims, err := db.Claim(t.Context(), process, 5, store.Occupancy{Slots: 10})
			if err != nil || len(claims) != 1 || claims[0].Turn.ID != a.claim.Turn.ID ||
				claims[0].Fence.Epoch <= a.claim.Fence.Epoch {
				t.Fatalf("after the repair Claim takes %+v, %v", claims, err)
			}
			if _, err := db.RecoverTurn(t.Context(), claims[0].Fence); err != nil {
				t.Fatal(err)
			}
			tell(t, db, made.scope, a.session)
		})
	}
}
