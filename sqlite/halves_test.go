package sqlite

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// TestHalvesAreThePage reads large pages at many positions, some of them beyond the record's end, both concurrently and
// by one query.
func TestHalvesAreThePage(t *testing.T) {
	t.Parallel()
	db := opened(t)
	const n = 1300
	scope, session := filled(t, db, n)
	split := 0
	for _, descending := range []bool{false, true} {
		for _, after := range []int64{0, 1, 249, 250, 251, 299, 300, 500, 799, 800, 801, n - 1, n, n + 1, n + 400} {
			for _, limit := range []int{499, 500, 501, 1000, 1001} {
				for _, bytes := range []int{0, 1, 40_000, 100_000} {
					query := store.MessageQuery{
						AfterSequence: after,
						Descending:    descending,
						Limit:         limit,
						MaxBytes:      bytes,
					}
					if _, _, ok := halves(query); ok {
						split++
					}
					got, err := db.Messages(t.Context(), scope, session, query)
					if err != nil {
						t.Fatal(err)
					}
					want, err := db.page(t.Context(), scope, session, query)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(places(want), places(got)); diff != "" {
						t.Fatalf("%+v (-one query +halves):\n%s", query, diff)
					}
				}
			}
		}
	}
	if split < 100 {
		t.Errorf("only %d of the pages were read in halves", split)
	}
	if _, _, ok := halves(store.MessageQuery{Limit: 1000, Roles: []parley.Role{parley.RoleUser}}); ok {
		t.Error("a filtered page has gaps and cannot be split by sequence")
	}
}

func places(messages []parley.Message) (sequences []int64) {
	for i := range messages {
		sequences = append(sequences, messages[i].Sequence)
	}
	return sequences
}
