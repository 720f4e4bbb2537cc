package storetest

import (
	"maps"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

func testGauges(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"TheQueueIsCountedByPriority":    queueCounted,
		"TheOldestOfAllWorkspacesCounts": queueOldest,
		"TheWayInIsTold":                 gaugesOfTheWayIn,
		"WhatWaitsIsCountedByReason":     parkedCounted,
	})
}

func (w *world) queue(t reporter) store.QueueStats {
	t.Helper()
	stats, err := w.store.Queue(w.ctx)
	must(t, "Queue", err)
	return stats
}

// nothing reports whether nothing waits.
func nothing(stats store.QueueStats) bool {
	return stats.Foreground == (store.ReadyTurns{}) && stats.Background == (store.ReadyTurns{}) &&
		len(stats.Parked) == 0 &&
		stats.Approvals == 0
}

func queueCounted(t *testing.T, w *world) {
	if stats := w.queue(t); !nothing(stats) {
		t.Fatalf("an empty queue is %+v", stats)
	}
	other := w.neighbour(t, "other")
	background := func(s *parley.Session) { s.Mode = parley.ModeBackground }
	for range 3 {
		w.post(t, w.session(t), w.say("now"))
	}
	other.post(t, other.session(t), other.say("now"))
	busy := w.session(t, background)
	w.post(t, busy, w.say("some time"))
	w.post(t, busy, w.say("behind it")) // its session is ready only once
	if stats := w.queue(t); stats.Foreground.Waiting != 4 || stats.Background.Waiting != 1 {
		t.Fatalf("the queue is %+v; want 4 and 1 waiting", stats)
	}
	claims, err := w.store.Claim(w.ctx, w.process, 3, roomy())
	must(t, "Claim", err)
	if stats := w.queue(t); stats.Foreground.Waiting != 4-len(claims) || stats.Background.Waiting != 1 {
		t.Fatalf("after %d claims the queue is %+v", len(claims), stats)
	}
}

func queueOldest(t *testing.T, w *world) {
	other := w.neighbour(t, "other")
	began := time.Now()
	w.post(t, w.session(t), w.say("first"))
	const aged = 20 * time.Millisecond
	for w.queue(t).Foreground.Oldest < aged {
		if time.Since(began) > 10*time.Second {
			t.Fatal("a waiting turn does not age")
		}
	}
	other.post(t, other.session(t), other.say("second"))
	stats := w.queue(t)
	if stats.Foreground.Oldest < aged || stats.Foreground.Oldest > time.Since(began)+time.Second {
		t.Errorf("the oldest waits %s; it was posted %s ago", stats.Foreground.Oldest, time.Since(began))
	}
	if stats.Background.Oldest != 0 {
		t.Errorf("an empty priority has an age: %s", stats.Background.Oldest)
	}
	claims, err := w.store.Claim(w.ctx, w.process, 2, roomy())
	must(t, "Claim", err)
	if stats := w.queue(t); len(claims) != 2 || !nothing(stats) {
		t.Errorf("after %d claims the queue is %+v", len(claims), stats)
	}
}

func gaugesOfTheWayIn(t *testing.T, w *world) {
	before := w.store.Stats()
	for range 5 {
		w.post(t, w.session(t), w.say("hello"))
	}
	after := w.store.Stats()
	switch {
	case after.Writer != nil:
		if n := after.Writer.Transitions - before.Writer.Transitions; n < 10 ||
			after.Writer.Commits <= before.Writer.Commits {
			t.Errorf("10 transitions were counted as %d in %d commits", n, after.Writer.Commits-before.Writer.Commits)
		}
	case after.Pool != nil:
		if after.Pool.Acquires <= before.Pool.Acquires || after.Pool.Max < 1 {
			t.Errorf("the pool reports %+v", *after.Pool)
		}
	default:
		t.Error("the store reports nothing about its connections")
	}
}

// parkedCounted: turns parked for something outside are counted by reason over all workspaces, as are unanswered
// questions.
func parkedCounted(t *testing.T, w *world) {
	_, _, approval := w.asked(t)
	w.neighbour(t, "other").asked(t)
	capped := w.capped(t, parley.Limits{SessionTokens: tokens(10)})
	w.post(t, capped, w.say("too much"))
	claim := w.claim(t)
	_, err := w.park(claim.Fence, w.asks(t, capped, 11), claim.Session.Limits)
	must(t, "ParkRefused", err)
	w.post(t, w.session(t), w.say("ready, and waits for nobody"))
	w.started(t, "runs")
	want := map[parley.WaitReason]int{parley.WaitApproval: 2, parley.WaitBudget: 1}
	if stats := w.queue(t); !maps.Equal(stats.Parked, want) || stats.Approvals != 2 {
		t.Errorf("%v wait and %d questions are open; want %v and 2", stats.Parked, stats.Approvals, want)
	}
	w.decide(t, approval, parley.Decision{Decision: parley.DecideApprove})
	want[parley.WaitApproval] = 1
	if stats := w.queue(t); !maps.Equal(stats.Parked, want) || stats.Approvals != 1 {
		t.Errorf(
			"after an answer %v wait and %d questions are open; want %v and 1",
			stats.Parked,
			stats.Approvals,
			want,
		)
	}
}
