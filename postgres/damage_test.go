package postgres

import (
	"testing"

	"example.org/parley"
)

// TestDamageThatPostgreSQLReportsMarksTheStore: any read or write may meet it.
func TestDamageThatPostgreSQLReportsMarksTheStore(t *testing.T) {
	for _, state := range []string{stateBadData, stateBadIndex} {
		t.Run(state, func(t *testing.T) {
			store, _ := opened(t)
			for table, done := "", false; !done; {
				next, findings, err := store.CheckPages(t.Context(), table)
				if err != nil || len(findings) > 0 {
					t.Fatalf("%s: %+v, %v", next, findings, err)
				}
				table, done = next, next == ""
			}
			if d := store.Stats().Damage; d != nil {
				t.Fatalf("damage noted too early: %s", d.Says)
			}
			err := store.read(t.Context(), func() *batch {
				b := system()
				b.write(
					"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '" + state +
						"', MESSAGE = 'invalid page in block 0'; END $$",
				)
				return b
			})
			if parley.ErrorCode(err) != parley.CodeUnavailable {
				t.Errorf("the read returned %v", err)
			}
			if store.Stats().Damage == nil {
				t.Error("no damage was noted")
			}
		})
	}
}

// TestOldChecksumFailuresAreNotDamage: the count outlives a repair; only a rise during the process's life marks
// the store.
func TestOldChecksumFailuresAreNotDamage(t *testing.T) {
	var count checksumCount
	for i, step := range []struct {
		counted int64
		rose    bool
	}{{3, false}, {3, false}, {4, true}, {4, true}, {0, false}, {0, false}, {1, true}} { // 0: the statistics were reset
		if rose := count.rose(step.counted); rose != step.rose {
			t.Errorf("reading %d, %d: rose is %v", i, step.counted, rose)
		}
	}
}
