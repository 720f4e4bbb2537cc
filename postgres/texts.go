package postgres

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// cachedTexts bounds the memory of which texts of calls are stored; when it is
// full it is emptied.
const cachedTexts = 4096

// textKey names a row of call_texts.
type textKey struct {
	workspaceID parley.ID
	hash        parley.Hash
}

// lock is the number of the advisory lock that stands for a text. Who is about
// to name it shares the lock; who deletes it, because nobody does, has it alone.
func (k textKey) lock() int64 {
	return int64(
		binary.BigEndian.Uint64(k.hash[:8]) ^ binary.BigEndian.Uint64(k.workspaceID[8:]),
	) //nolint:gosec // any 64 bits
}

// locksOf are the locks of texts, in the order in which all take them.
func locksOf(keys []textKey) []int64 {
	locks := make([]int64, len(keys))
	for i, key := range keys {
		locks[i] = key.lock()
	}
	slices.SortFunc(locks, cmp.Compare[int64])
	return slices.Compact(locks)
}

// textCache remembers which texts were stored: the database confirms it.
type textCache struct {
	mu   sync.Mutex // guards keys
	keys map[textKey]struct{}
}

func newTextCache() *textCache { return &textCache{keys: map[textKey]struct{}{}} }

func (c *textCache) has(key textKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.keys[key]
	return ok
}

func (c *textCache) add(workspaceID parley.ID, calls []transition.NewCall) {
	if len(calls) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.keys) >= cachedTexts {
		clear(c.keys)
	}
	for i := range calls {
		for _, key := range textsOf(workspaceID, &calls[i]) {
			c.keys[key] = struct{}{}
		}
	}
}

// textsOf are the texts that a call names.
func textsOf(workspaceID parley.ID, call *transition.NewCall) (keys []textKey) {
	for _, hash := range []parley.Hash{call.Call.SystemHash, call.Call.ToolsHash, call.Call.MiddlewareHash} {
		if !hash.IsZero() {
			keys = append(keys, textKey{workspaceID, hash})
		}
	}
	return keys
}
