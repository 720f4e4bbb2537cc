package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// How often garbage is collected. A collection costs what marking the memory in use costs, whatever it frees. An idle
// process should be small, so it collects early. Turns make 80 KB of garbage each: a process that runs many of them
// would collect ten times a second to stay small, with a tenth of its CPU time. bench/README.md has the figures.
const (
	collectAt    = 75       // growth of the heap before a collection, in percent of what is in use
	collectMost  = 400      // the same at most, when collections would be frequent
	roomyHeap    = 40 << 20 // bytes up to which the heap then grows; what 512 turns at once need in any case
	collectOften = 3 * time.Second
	oftenInARow  = 8  // frequent collections before anything changes; a start makes fewer
	percentStep  = 25 // smaller changes are not worth stopping the world
)

// collector adapts the garbage collector to the load after each collection.
type collector struct {
	set func(percent int)
	now func() time.Time

	mu      sync.Mutex // guards what follows
	percent int
	last    time.Time // of the previous collection
	often   int       // frequent collections in a row
	stopped bool
}

// adaptCollector sets collectAt, and adapts it until stop is called. GOGC in the environment wins.
func adaptCollector(env func(string) string) (stop func()) {
	if env("GOGC") != "" {
		return func() {}
	}
	c := &collector{set: func(percent int) { debug.SetGCPercent(percent) }, now: time.Now, percent: collectAt}
	c.last = c.now()
	c.set(collectAt)
	c.watch()
	return c.stop
}

// watch calls collected after the next collection, and watches again. The runtime runs it on a goroutine of its own.
func (c *collector) watch() {
	type freed struct{ c *collector } // holds a pointer: smaller values share allocations
	runtime.AddCleanup(&freed{c}, func(c *collector) {
		if c.collected(inUse()) {
			c.watch()
		}
	}, c)
}

func (c *collector) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
}

// memoryInUse is what a collection found.
type memoryInUse struct {
	heap  uint64 // bytes of live objects
	roots uint64 // bytes of stacks and globals
}

func inUse() memoryInUse {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"},
	}
	metrics.Read(samples)
	return memoryInUse{heap: samples[0].Value.Uint64(), roots: samples[1].Value.Uint64() + samples[2].Value.Uint64()}
}

// collected decides when the next collection happens; false after stop.
func (c *collector) collected(use memoryInUse) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	now := c.now()
	since := now.Sub(c.last) * collectAt / time.Duration(c.percent) // what it would have been at collectAt
	c.last = now
	if since >= collectOften {
		c.often = 0
	} else {
		c.often++
	}
	want := collectAt
	if c.often >= oftenInARow {
		want = roomyPercent(use)
	}
	if want == collectAt && c.percent != collectAt || want-c.percent >= percentStep || c.percent-want >= percentStep {
		c.percent = want
		c.set(want)
	}
	return true
}

// roomyPercent returns the growth, in percent, that takes the heap to roomyHeap.
func roomyPercent(use memoryInUse) int {
	if use.heap == 0 || use.heap >= roomyHeap {
		return collectAt
	}
	percent := (roomyHeap - use.heap) * 100 / (use.heap + use.roots)
	return int(max(collectAt, min(percent, collectMost)))
}
