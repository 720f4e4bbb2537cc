package worker

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// An answer's metadata holds its time and cost, as canonical JSON.
func TestAnswersRecordTimeAndCost(t *testing.T) {
	t.Parallel()
	cost, none, saved, total := parley.Money(1_250_000), parley.Money(0), parley.Money(40_000_000), int64(12)
	asked := &claimed{}
	asked.settings.Model = "sim/echo"
	for name, of := range map[string]struct {
		answer answer
		want   string
	}{
		"a price": {answer{call: store.CallSettled{Cost: &cost, Saved: &none, TotalMS: &total}},
			`{"cost":0.00125,"provider":"sim","total_ms":12}`},
		"a third try": {answer{attempt: 3, question: &question{}}, `{"attempt":3,"provider":"sim"}`},
		"cut off":     {answer{finish: parley.FinishLength}, `{"finish":"length","provider":"sim"}`},
		"a kept answer": {answer{question: &question{served: &served{}},
			call: store.CallSettled{Cost: &none, Saved: &saved}},
			`{"cached_response":true,"cost":0,"provider":"sim","saved":0.04}`},
		"nothing priced": {answer{question: &question{}}, `{"provider":"sim"}`},
	} {
		of.answer.turn = asked
		got := string(of.answer.metadata())
		if canonical, err := parley.CanonicalJSON(
			[]byte(got),
		); got != of.want || err != nil ||
			string(canonical) != got {
			t.Errorf("%s: %s (canonical %s, %v), want %s", name, got, canonical, err, of.want)
		}
	}
}
