package postgres

import (
	"fmt"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// TestQueueCountsAllWorkspaces: the queue's figures count waiting work by priority over all workspaces, with ages
// by the database's clock.
func TestQueueCountsAllWorkspaces(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	conn := connected(t, url)
	run(t, conn, "SET ROLE "+systemRole)
	put := func(priority int, age, notBefore time.Duration) {
		workspace := parley.NewID()
		run(t, conn, fmt.Sprintf(`INSERT INTO parley.ready (workspace_id, session_id, priority, not_before, ready_at)
			VALUES ('%s', '%s', %d, parley.now_ms() + %d, parley.now_ms() - %d)`, workspace, parley.NewID(), priority,
			notBefore.Milliseconds(), age.Milliseconds()))
	}
	look := func() store.QueueStats {
		stats, err := db.Queue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return stats
	}
	if stats := look(); stats.Foreground.Waiting+stats.Background.Waiting+stats.Approvals+len(stats.Parked) != 0 {
		t.Errorf("an empty queue is %+v", stats)
	}
	put(0, 40*time.Second, 0)
	put(0, 70*time.Second, 0)
	put(0, time.Hour, time.Minute) // not due yet, so it does not count
	put(1, 10*time.Minute, 0)
	stats := look()
	if stats.Foreground.Waiting != 3 || stats.Background.Waiting != 1 {
		t.Errorf("%d and %d wait; want 3 and 1", stats.Foreground.Waiting, stats.Background.Waiting)
	}
	for name, c := range map[string][2]time.Duration{"foreground": {stats.Foreground.Oldest, 70 * time.Second},
		"background": {stats.Background.Oldest, 10 * time.Minute}} {
		if c[0] < c[1] || c[0] > c[1]+time.Minute {
			t.Errorf("the oldest of the %s waits %s; want %s", name, c[0], c[1])
		}
	}
}

func TestThePoolTellsOfItself(t *testing.T) {
	t.Parallel()
	store, _ := opened(t)
	before := store.Stats().Pool
	if err := store.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := store.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	after := store.Stats().Pool
	if after.Acquires != before.Acquires+2 || after.Acquired != 1 || after.Max != DefaultMaxConns ||
		store.Stats().Writer != nil {
		t.Errorf("before %+v, after %+v", *before, *after)
	}
}
