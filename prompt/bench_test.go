package prompt_test

import (
	"strconv"
	"testing"

	"example.org/parley"
	"example.org/parley/prompt"
)

// BenchmarkWindowAndBuild measures a call before it is encoded.
func BenchmarkWindowAndBuild(b *testing.B) {
	for _, turns := range []int{1, 5000, 50_000} {
		r := plain(turns)
		r.add(user(turnID(turns+1), "now"))
		n := len(r.rows)
		session, turn := r.session(n), parley.Turn{ID: turnID(turns + 1)}
		for _, policy := range []parley.Policy{{Kind: parley.PolicyAll}, {Kind: parley.PolicyRecent, Limit: 10}} {
			b.Run(policy.String()+"/"+strconv.Itoa(n), func(b *testing.B) {
				for b.Loop() {
					selection := mustWindow(b, policy, session, turn, r.tail(n))
					mustBuild(b, prompt.Settings{Model: modelA}, selection)
				}
			})
		}
	}
}
