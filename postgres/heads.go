package postgres

import (
	"context"
	"encoding/binary"
	"sync"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// Bounds of what a process caches of sessions.
const (
	lanes       = 1024 // concurrent sessions of this process, by their ids
	cachedHeads = 4096
)

// headColumns reads "s" and "h".
const headColumns = sessionColumns + ", " + headStateColumns

func scanHead(r *row) (*transition.Head, error) {
	session, err := scanSession(r)
	if err != nil {
		return nil, err
	}
	h := &transition.Head{Session: session}
	return h, fillHeadState(r, h)
}

// headCache caches the heads of sessions between this process's transitions. They may be outdated: the database
// confirms them with each write. A head is either in the cache or used by one transition, never both. The cache also
// has the lanes: transitions of one session wait for each other here instead of on the database, and tell the listeners
// in the order of their commits.
type headCache struct {
	lanes [lanes]chan struct{} // full while a transition is in the lane

	mu    sync.Mutex // guards heads
	heads map[parley.ID]*transition.Head
}

func newHeadCache() *headCache {
	c := &headCache{heads: map[parley.ID]*transition.Head{}}
	for i := range c.lanes {
		c.lanes[i] = make(chan struct{}, 1)
	}
	return c
}

// take removes a session's head from the cache; nil if it is not cached.
func (c *headCache) take(id parley.ID) *transition.Head {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.heads[id]
	delete(c.heads, id)
	return h
}

// put returns a head to the cache. A full cache evicts any other one.
func (c *headCache) put(h *transition.Head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.heads) >= cachedHeads {
		for other := range c.heads {
			delete(c.heads, other)
			break
		}
	}
	c.heads[h.ID] = h
}

// laneOf returns the lane of a session, from the random bytes at the end of its id.
func laneOf(id parley.ID) int {
	return int(binary.BigEndian.Uint16(id[len(id)-2:])) % lanes
}

// held are the lanes that a call occupies.
type held struct {
	cache *headCache
	lanes []int
}

// enter occupies a session's lane. It waits for the first lane, but returns false if a further one is taken, because
// waiting while holding one could deadlock.
func (l *held) enter(ctx context.Context, id parley.ID) (bool, error) {
	lane := laneOf(id)
	for _, mine := range l.lanes {
		if mine == lane {
			return true, nil
		}
	}
	if len(l.lanes) > 0 {
		select {
		case l.cache.lanes[lane] <- struct{}{}:
			l.lanes = append(l.lanes, lane)
			return true, nil
		default:
			return false, nil
		}
	}
	select {
	case l.cache.lanes[lane] <- struct{}{}:
		l.lanes = append(l.lanes, lane)
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

func (l *held) leave() {
	for _, lane := range l.lanes {
		<-l.cache.lanes[lane]
	}
	l.lanes = nil
}
