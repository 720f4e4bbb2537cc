package postgres

import (
	"context"
	"encoding/binary"
	"sync"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// The bounds of what a process remembers of sessions.
const (
	lanes       = 1024 // sessions that this process works on at once, by their ids
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

// headCache keeps the heads of sessions between this process's transitions. They
// are what they were then: the database says with each write whether they still
// are. A head is in the cache or in one transition's hands, never both. Beside it
// the lanes: transitions of one session wait for each other here and not on
// the database, and tell the listeners in the order in which they committed.
type headCache struct {
	lanes [lanes]chan struct{} // holds one while a transition is in the lane

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

// take takes a session's head out; nil when it is not there.
func (c *headCache) take(id parley.ID) *transition.Head {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.heads[id]
	delete(c.heads, id)
	return h
}

// put gives a head back. A full cache loses any other one.
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

// laneOf is the lane of a session: its id ends with random bytes.
func laneOf(id parley.ID) int {
	return int(binary.BigEndian.Uint16(id[len(id)-2:])) % lanes
}

// held are the lanes that a call is in.
type held struct {
	cache *headCache
	lanes []int
}

// enter takes a session's lane: it waits for the first one, and reports false
// when a further one is taken, since who waits with one in hand may wait for ever.
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
