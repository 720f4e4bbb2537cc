package live

import (
	"sync/atomic"

	"example.org/parley/observe"
)

// counts are the hub's counters.
type counts struct {
	watchers  atomic.Int64
	events    atomic.Int64
	deltas    atomic.Int64
	overflows atomic.Int64
}

// frame counts a frame given to a watcher.
func (c *counts) frame(kind FrameKind) {
	switch kind {
	case DeltaFrame:
		c.deltas.Add(1)
	case EventFrame:
		c.events.Add(1)
	}
}

// Stats returns what the watchers of this process do. It looks at every room, as the poller does.
func (h *Hub) Stats() observe.StreamStats {
	stats := observe.StreamStats{
		Watchers: int(h.counts.watchers.Load()),
		Events:   h.counts.events.Load(), Deltas: h.counts.deltas.Load(), Overflows: h.counts.overflows.Load(),
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, watchers := range h.feeds {
		stats.Feeds += len(watchers)
	}
	for _, r := range h.rooms {
		r.mu.Lock()
		stats.Seats += len(r.seats)
		stats.Streams += len(r.streams)
		r.mu.Unlock()
	}
	return stats
}
