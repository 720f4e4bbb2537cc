package parley_test

import (
	"testing"

	"example.org/parley"
)

func TestEveryMoveOfEveryDelegationStatus(t *testing.T) {
	t.Parallel()
	type moves = map[parley.DelegationMove]parley.DelegationStatus
	ends := func(more moves) moves {
		more[parley.DelegationFail] = parley.DelegationFailed
		more[parley.DelegationCancel] = parley.DelegationCancelled
		more[parley.DelegationExpire] = parley.DelegationExpired
		return more
	}
	sent := ends(moves{parley.DelegationDeliver: parley.DelegationDelivered})
	asking := map[parley.DelegationStatus]moves{
		parley.DelegationSent: sent,
		parley.DelegationDelivered: ends(moves{
			parley.DelegationBegin: parley.DelegationRunning, parley.DelegationAnswer: parley.DelegationAnswered,
		}),
		parley.DelegationRunning: ends(moves{parley.DelegationAnswer: parley.DelegationAnswered}),
	}
	telling := map[parley.DelegationStatus]moves{parley.DelegationSent: sent}
	all := []parley.DelegationMove{
		parley.DelegationDeliver, parley.DelegationBegin, parley.DelegationAnswer, parley.DelegationFail,
		parley.DelegationCancel, parley.DelegationExpire, "explode",
	}
	for _, kind := range parley.DelegationKinds() {
		legal := telling
		if kind.Asks() {
			legal = asking
		}
		for _, from := range append(parley.DelegationStatuses(), "", "paused") {
			if finished := from.Finished(kind); finished != (len(legal[from]) == 0) {
				t.Errorf("a %s that is %s: finished %v", kind, from, finished)
			}
			for _, move := range all {
				want, ok := legal[from][move]
				got, err := from.After(kind, move)
				switch {
				case ok && (err != nil || got != want):
					t.Errorf(
						"a %s that is %s and moves by %s becomes %s, %v; want %s",
						kind,
						from,
						move,
						got,
						err,
						want,
					)
				case !ok && (parley.ErrorCode(err) != parley.CodeConflict || got != from):
					t.Errorf("a %s that is %s may %s: %s, %v", kind, from, move, got, err)
				}
			}
		}
	}
}

func TestIDsOfADelegationDerive(t *testing.T) {
	t.Parallel()
	call := parley.NewID()
	id := parley.DelegationID(call)
	seen := map[parley.ID]bool{call: true}
	for _, one := range []parley.ID{
		id, parley.DelegationMessageID(id), parley.DelegationReturnID(id), parley.ChildID(call), parley.ChildID(id),
	} {
		if seen[one] {
			t.Errorf("the id %s is used twice", one)
		}
		seen[one] = true
		if again, err := parley.ParseID(one.String()); err != nil || again != one {
			t.Errorf("the id %s reads as %s, %v", one, again, err)
		}
	}
	if id != parley.DelegationID(call) {
		t.Error("a repeated call sends another delegation")
	}
}
