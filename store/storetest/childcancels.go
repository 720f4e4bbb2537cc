package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// below returns a turn that waits for a child that waits for a grandchild.
func (w *world) below(t reporter) (parent, child, grandchild store.Claim) {
	t.Helper()
	parent, _ = w.asking(t, 1)
	child = w.claim(t)
	w.openChild(t, child.Fence, w.callAgents(t, child.Fence, 1, 1)[0])
	_, err := w.store.ParkTurn(w.ctx, child.Fence, parley.WaitChild)
	must(t, "ParkTurn", err)
	return parent, child, w.claim(t)
}

func childTreeCancelled(t *testing.T, w *world) {
	parent, child, grandchild := w.below(t)
	_, err := w.store.RequestCancel(w.ctx, w.scope, parent.Fence.SessionID, parley.ID{}, false)
	must(t, "RequestCancel", err)
	w.errands(t)
	if turn := w.turn(t, child.Turn.ID); turn.Status != parley.TurnCancelled {
		t.Errorf("the child's turn is %s", turn.Status)
	}
	cancels, err := w.store.RenewLease(w.ctx, w.process, longLease)
	must(t, "RenewLease", err)
	if !slices.Contains(cancels, grandchild.Turn.ID) { // its holder learns of the cancel
		t.Errorf("asked to stop are %v; want the grandchild's turn", cancels)
	}
	_, err = w.store.FinishTurn(w.ctx, grandchild.Fence, store.TurnEnd{Status: parley.TurnCancelled})
	must(t, "FinishTurn", err)
	w.errands(t)
	w.claimsNothing(t)
	for _, claim := range []store.Claim{parent, child, grandchild} {
		s := w.check(t, claim.Fence.SessionID)
		if s.Session.Status != parley.SessionCancelled {
			t.Errorf("a session of the tree is %s", s.Session.Status)
		}
		if results, _ := w.results(t, claim.Fence.SessionID); len(results) > 1 {
			t.Errorf("a call has %d results", len(results))
		}
	}
}

// childTaken: a holder that is told and does not stop loses the turn.
func childTaken(t *testing.T, w *world) {
	parent, _ := w.asking(t, 1)
	child := w.claim(t)
	_, err := w.store.RequestCancel(w.ctx, w.scope, parent.Fence.SessionID, parley.ID{}, false)
	must(t, "RequestCancel", err)
	for deadline := time.Now().Add(patience); w.turn(t, child.Turn.ID).Status != parley.TurnCancelled; w.errands(t) {
		if time.Now().After(deadline) {
			t.Fatalf("the child's turn is still %s", w.turn(t, child.Turn.ID).Status)
		}
	}
	_, err = w.store.BeginStep(w.ctx, child.Fence, w.stepBegin(1, 1))
	refused(t, "the old claim", err, parley.CodeFenced)
	w.check(t, child.Fence.SessionID)
}

func childCalledOff(t *testing.T, w *world) {
	parent := w.started(t, "go")
	call := w.callAgents(t, parent.Fence, 1, 1)[0]
	child := w.openChild(t, parent.Fence, call)
	_, err := w.store.SettleTool(w.ctx, parent.Fence, w.toolSettle(1, call.id))
	must(t, "SettleTool", err)
	w.errands(t)
	if turn := w.turn(t, child.TurnID); turn.Status != parley.TurnCancelled {
		t.Errorf("the child's turn is %s", turn.Status)
	}
	w.claimsNothing(t)
	w.check(t, child.ID)
	if results, _ := w.results(t, parent.Fence.SessionID); len(results) != 1 {
		t.Errorf("the call has %d results", len(results))
	}
}

func childDeletedParent(t *testing.T, w *world) {
	parent, child, grandchild := w.below(t)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, parent.Fence.SessionID))
	_, err := w.store.FinishTurn(w.ctx, grandchild.Fence, *completed())
	refused(t, "the end of a turn below", err, parley.CodeFenced)
	w.errands(t)
	for _, claim := range []store.Claim{parent, child, grandchild} {
		_, err := w.store.Session(w.ctx, w.scope, claim.Fence.SessionID)
		refused(t, "a session of the tree", err, parley.CodeNotFound)
	}
	w.claimsNothing(t)
}

// childCancelRaces: in any order of events, the call has one result and nothing runs after a cancel.
func childCancelRaces(t *testing.T, w *world) {
	for range 20 {
		parent, calls := w.asking(t, 2)
		claims := w.claimAll(t)
		errs := make([]error, 5)
		atOnce(len(errs), func(i int) {
			switch i {
			case 0, 1:
				_, errs[i] = w.store.FinishTurn(w.ctx, claims[parley.ChildID(calls[i].message)].Fence, *completed())
			case 2:
				_, errs[i] = w.store.RequestCancel(w.ctx, w.scope, parent.Fence.SessionID, parley.ID{}, false)
			default:
				_, _, errs[i] = w.store.ApplyOutbox(w.ctx, parley.ID{})
			}
		})
		for i, err := range errs {
			must(t, fmt.Sprint("racer ", i), err)
		}
		w.errands(t)
		s := w.check(t, parent.Fence.SessionID)
		if results, _ := w.results(
			t,
			parent.Fence.SessionID,
		); len(results) != 2 ||
			s.Session.Status != parley.SessionCancelled {
			t.Fatalf("%d results for 2 calls, the parent is %s", len(results), s.Session.Status)
		}
		w.claimsNothing(t)
	}
}
