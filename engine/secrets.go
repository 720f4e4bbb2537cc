package engine

import (
	"sync"
	"time"

	"example.org/parley"
)

// secrets caches for keyCacheTTL whom secrets belong to. It holds only hashes.
type secrets[T any] struct {
	mu      sync.Mutex // guards the rest
	known   map[parley.Hash]knownSecret[T]
	cleared int // counts calls of clear, so that no stale answer is cached
}

type knownSecret[T any] struct {
	of    T
	until time.Time
}

// find also returns how often the cache was cleared, for add.
func (c *secrets[T]) find(hash parley.Hash, now time.Time) (of T, cleared int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.known[hash]
	if !ok || !now.Before(known.until) {
		return of, c.cleared, false
	}
	return known.of, c.cleared, true
}

// add caches the store's answer after find, unless the cache was cleared in between.
func (c *secrets[T]) add(hash parley.Hash, of T, now time.Time, cleared int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cleared != cleared {
		return
	}
	if c.known == nil || len(c.known) >= keyCacheKeys {
		c.known = make(map[parley.Hash]knownSecret[T])
	}
	c.known[hash] = knownSecret[T]{of, now.Add(keyCacheTTL)}
}

func (c *secrets[T]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = nil
	c.cleared++
}
