package storetest

import (
	"strings"
	"testing"

	"example.org/parley"
)

func compactTakenOver(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	w.requestCompaction(t, session, parley.CompactMessages)
	dead := w.register(t)
	claims := w.claimCompactions(t, dead)
	begin := w.beginCompaction(t, claims[0].Fence, 2)
	if got := w.claimCompactions(t, w.process); len(got) != 0 {
		t.Fatalf("a compaction with a live holder was taken over: %+v", got)
	}
	_, err := w.store.RenewLease(w.ctx, dead, 0)
	must(t, "RenewLease", err)
	claim := w.claimCompaction(t, session)
	if claim.Compaction.Attempt != 2 || claim.Fence.Epoch <= claims[0].Fence.Epoch {
		t.Errorf("taken over, it is %+v", claim.Compaction)
	}
	refused(
		t,
		"a settle under the old claim",
		second(w.store.SettleCompaction(w.ctx, claims[0].Fence, w.summary(begin, "late"))),
		parley.CodeFenced,
	)
	refused(t, "a release of the old claim", w.store.ReleaseCompaction(w.ctx, claims[0].Fence), parley.CodeFenced)
	refused(
		t,
		"a beginning under the old claim",
		w.store.BeginCompaction(w.ctx, claims[0].Fence, begin),
		parley.CodeFenced,
	)
	w.settleCompaction(t, claim.Fence, w.summary(w.beginCompaction(t, claim.Fence, 2), "short"))
	s := w.check(t, session)
	if len(s.Record) != 3 || s.Calls[1].Outcome != parley.CallInterrupted ||
		s.Calls[2].Outcome != parley.CallCompleted {
		t.Errorf("the record has %d messages, the calls are %+v", len(s.Record), s.Calls)
	}
}

func compactCrashes(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	w.requestCompaction(t, session, parley.CompactMessages)
	for n := range parley.MaxCompactionAttempts {
		dead := w.register(t)
		claims := w.claimCompactions(t, dead)
		if len(claims) != 1 {
			t.Fatalf("attempt %d was not claimed", n+1)
		}
		w.beginCompaction(t, claims[0].Fence, 2)
		_, err := w.store.RenewLease(w.ctx, dead, 0)
		must(t, "RenewLease", err)
	}
	if claims := w.claimCompactions(t, w.process); len(claims) != 0 {
		t.Fatalf("it was begun once more: %+v", claims)
	}
	c := w.compactionIs(t, session, parley.CompactionFailed, parley.MaxCompactionAttempts)
	if c.Error == nil || c.Error.Class != parley.ClassInterrupted || c.RestsUntil == 0 {
		t.Errorf("given up, it is %+v", c)
	}
	s := w.check(t, session)
	if last := s.Events[len(s.Events)-1]; last.Type != parley.EventCompactionFailed ||
		!strings.HasSuffix(string(last.Data), `"again":false}`) {
		t.Errorf("the last event is %s %s", last.Type, last.Data)
	}
}

// compactLost: if the result of a claim was lost, the process that holds the claim but does not run it gets it again.
func compactLost(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	w.requestCompaction(t, session, parley.CompactMessages)
	lost := w.claimCompaction(t, session)
	again := w.claimCompaction(t, session)
	if again.Fence.Epoch <= lost.Fence.Epoch || again.Compaction.Attempt != 2 {
		t.Errorf("claimed again, it is %+v", again)
	}
}

func compactReleased(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	w.requestCompaction(t, session, parley.CompactMessages)
	for range parley.MaxCompactionAttempts + 1 {
		claim := w.claimCompaction(t, session)
		w.beginCompaction(t, claim.Fence, 2)
		must(t, "ReleaseCompaction", w.store.ReleaseCompaction(w.ctx, claim.Fence))
		w.compactionIs(t, session, parley.CompactionPending, 0)
	}
	for _, call := range w.check(t, session).Calls {
		if call.Purpose == parley.PurposeCompaction && call.Outcome != parley.CallInterrupted {
			t.Errorf("a released attempt left its call %s", call.Outcome)
		}
	}
}
