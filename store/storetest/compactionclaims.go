package storetest

import (
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func compactOnce(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	first := w.requestCompaction(t, session, parley.CompactAsked)
	for _, state := range []parley.CompactionState{parley.CompactionPending, parley.CompactionRunning} {
		for _, reason := range []parley.CompactionReason{parley.CompactMessages, parley.CompactTokens,
			parley.CompactOverflow} {
			c, err := w.store.RequestCompaction(
				w.ctx,
				w.scope,
				session,
				store.NewCompaction{ID: parley.NewID(), Reason: reason},
			)
			if err != nil || c.ID != first.ID || c.State != state {
				t.Errorf("another one by %s is %+v, %v", reason, c, err)
			}
		}
		_, err := w.store.RequestCompaction(
			w.ctx,
			w.scope,
			session,
			store.NewCompaction{ID: parley.NewID(), Reason: parley.CompactAsked},
		)
		refused(t, "asking for another one", err, parley.CodeConflict)
		if state == parley.CompactionPending {
			w.claimCompaction(t, session)
		}
	}
	if claims := w.claimCompactions(t, w.process, first.ID); len(claims) != 0 {
		t.Errorf("a compaction that runs was claimed again: %+v", claims)
	}
	if claims := w.claimCompactions(t, w.register(t)); len(claims) != 0 {
		t.Errorf("a compaction that runs elsewhere was claimed: %+v", claims)
	}
}

func compactUnleased(t *testing.T, w *world) {
	session := w.session(t)
	w.requestCompaction(t, session, parley.CompactMessages)
	_, err := w.store.ClaimCompactions(w.ctx, parley.NewID(), nil, roomy())
	refused(t, "a claim without a lease", err, parley.CodeFenced)
	w.compactionIs(t, session, parley.CompactionPending, 0)
}

// sharedCompaction: of two processes that look at once, one takes it.
func sharedCompaction(t *testing.T, w, other *world) {
	session := w.session(t)
	for range 5 {
		w.exchange(t, session, "q", "a")
		w.requestCompaction(t, session, parley.CompactMessages)
		var wait sync.WaitGroup
		taken := make([][]store.CompactionClaim, 2)
		for i, who := range []*world{w, other} {
			wait.Go(func() { taken[i], _ = who.store.ClaimCompactions(who.ctx, who.process, nil, roomy()) })
		}
		wait.Wait()
		claims := append(taken[0], taken[1]...)
		if len(claims) != 1 {
			t.Fatalf("two processes took %d claims of one compaction: %+v", len(claims), claims)
		}
		by := w
		if len(taken[1]) == 1 {
			by = other
		}
		begin := by.beginCompaction(t, claims[0].Fence, 2)
		other.post(t, session, other.say("meanwhile"))
		by.settleCompaction(t, claims[0].Fence, by.summary(begin, "short"))
		w.answer(t, w.claim(t), "answered")
		other.check(t, session)
	}
}

// awaitCompaction says that a turn waits for a summary of a session.
func (w *world) awaitCompaction(t reporter, session parley.ID) {
	t.Helper()
	c, err := w.store.RequestCompaction(w.ctx, w.scope, session,
		store.NewCompaction{ID: parley.NewID(), Reason: parley.CompactTokens, Awaited: true})
	must(t, "RequestCompaction", err)
	if !c.Awaited {
		t.Fatalf("an awaited compaction is %+v", c)
	}
}

// compactAwaited: those that a turn waits for come before all others, also one that began without; and find a place
// where work that nobody waits for finds none.
func compactAwaited(t *testing.T, w *world) {
	var sessions []parley.ID
	for range 4 {
		session := w.session(t)
		w.exchange(t, session, "q", "a")
		w.requestCompaction(t, session, parley.CompactMessages)
		sessions = append(sessions, session)
	}
	w.awaitCompaction(t, sessions[3]) // its compaction is pending
	occupancy := store.Occupancy{Slots: 2}
	occupancy.Take(parley.NewID(), parley.ModeBackground)
	claims, err := w.store.ClaimCompactions(w.ctx, w.process, nil, occupancy)
	must(t, "ClaimCompactions", err)
	if len(claims) != 1 || claims[0].Session.ID != sessions[3] || !claims[0].Compaction.Awaited {
		t.Fatalf("beside background work %+v was claimed; want the one that is awaited", claims)
	}
	if rest := w.claimCompactions(t, w.process, claims[0].Compaction.ID); len(rest) != 3 {
		t.Fatalf("with places for all %d more were claimed; want 3", len(rest))
	}
}

// compactFair: among those that are awaited the workspaces take turns, one that holds many places gets none of those
// that are kept, and what it has under way counts.
func compactFair(t *testing.T, w *world) {
	other := w.neighbour(t, "other")
	for range 5 {
		session := w.session(t)
		w.exchange(t, session, "q", "a")
		w.awaitCompaction(t, session)
	}
	claim := func(occupancy store.Occupancy, running ...parley.ID) []store.CompactionClaim {
		t.Helper()
		claims, err := w.store.ClaimCompactions(w.ctx, w.process, running, occupancy)
		must(t, "ClaimCompactions", err)
		return claims
	}
	first := claim(store.Occupancy{Slots: 2})
	var running []parley.ID
	kept := store.Occupancy{Slots: 2, Reserve: 2}
	for i := range first {
		running = append(running, first[i].Compaction.ID)
		kept.Take(w.scope.WorkspaceID, parley.ModeForeground)
	}
	if len(first) != 2 {
		t.Fatalf("of two places one workspace alone took %d", len(first))
	}
	if more := claim(kept.Clone(), running...); len(more) != 0 {
		t.Fatalf("a workspace that holds two of four places took %d more; want none", len(more))
	}
	session := other.session(t)
	other.exchange(t, session, "q", "a")
	other.awaitCompaction(t, session)
	if claims := claim(kept, running...); len(claims) != 1 || claims[0].Session.ID != session {
		t.Fatalf("the kept places went to %+v; want the other workspace's", claims)
	}
}
