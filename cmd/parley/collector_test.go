package main

import (
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// pacedCollector is a collector whose clock moves by itself, by gap before each collection.
func pacedCollector(gap *time.Duration) (c *collector, changes *[]int) {
	changes = new([]int)
	at := time.Unix(0, 0)
	return &collector{
		set:     func(percent int) { *changes = append(*changes, percent) },
		now:     func() time.Time { at = at.Add(*gap); return at },
		percent: collectAt, last: at,
	}, changes
}

// TestTheCollectorFollowsTheLoad lets garbage gather while collections are frequent, and collects early otherwise.
func TestTheCollectorFollowsTheLoad(t *testing.T) {
	t.Parallel()
	gap := 100 * time.Millisecond
	c, changes := pacedCollector(&gap)
	use := memoryInUse{heap: 10 << 20, roots: 2 << 20}
	many := func(n int) {
		for range n {
			if !c.collected(use) {
				t.Fatal("the collector stopped by itself")
			}
		}
	}
	expect := func(what string, want ...int) {
		t.Helper()
		if !slices.Equal(*changes, want) {
			t.Errorf("%s: set to %v, want %v", what, *changes, want)
		}
	}
	many(oftenInARow - 1)
	expect("after a start")
	many(3)
	expect("under load", 250) // 30 MB more on 12
	gap = 300 * time.Millisecond
	many(3)
	expect("as often as before, at that size", 250)
	use.heap += 100 << 10
	many(1)
	expect("after a small change", 250)
	use = memoryInUse{heap: 28 << 20, roots: 12 << 20}
	many(3)
	expect("with much in use", 250, collectAt)
	use.heap = 1 << 20
	use.roots = 1 << 20
	many(3)
	expect("with little in use", 250, collectAt, collectMost)
	gap = time.Minute
	many(3)
	expect("at rest", 250, collectAt, collectMost, collectAt)
	gap = 100 * time.Millisecond
	many(oftenInARow - 1)
	expect("before the load is certain", 250, collectAt, collectMost, collectAt)
	c.stop()
	if c.collected(use) {
		t.Error("a stopped collector watches on")
	}
}

// TestEachCollectionIsNoticed by the collector of a server, until it is stopped; GOGC in the environment wins.
func TestEachCollectionIsNoticed(t *testing.T) { // not parallel: the setting is the process's
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	adaptCollector(func(string) string { return "100" })()
	if now := debug.SetGCPercent(100); now != 100 {
		t.Errorf("with GOGC the setting is %d", now)
	}
	stop := adaptCollector(func(string) string { return "" })
	if now := debug.SetGCPercent(collectAt); now != collectAt {
		t.Errorf("a server begins with %d", now)
	}
	stop()

	var noticed atomic.Int64
	c := &collector{set: func(int) {}, percent: collectAt, now: func() time.Time {
		noticed.Add(1)
		return time.Time{}
	}}
	c.watch()
	for n := 0; noticed.Load() < 3; n++ { // one that runs before the next watch is not noticed
		if n == 1000 {
			t.Fatalf("of %d collections %d were noticed", n, noticed.Load())
		}
		runtime.GC()
	}
	c.stop()
}
