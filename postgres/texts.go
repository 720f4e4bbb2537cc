package postgres

import (
	"encoding/binary"
	"slices"
	"sync"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// cachedTexts bounds the memory of which texts of calls are stored, which is emptied when full.
const cachedTexts = 4096

// textKey identifies a row of call_texts.
type textKey struct {
	workspaceID parley.ID
	hash        parley.Hash
}

// lock returns the advisory lock of a text. A call that will refer to the text shares the lock; a deletion of the
// unused text holds it exclusively.
func (k textKey) lock() int64 {
	return int64(
		binary.BigEndian.Uint64(k.hash[:8]) ^ binary.BigEndian.Uint64(k.workspaceID[8:]),
	) //nolint:gosec // any 64 bits
}

// locksOf returns the locks of texts, in the order in which all take them.
func locksOf(keys []textKey) []int64 {
	locks := make([]int64, len(keys))
	for i, key := range keys {
		locks[i] = key.lock()
	}
	slices.Sort(locks)
	return slices.Compact(locks)
}

// textCache remembers which texts are stored; the database confirms it.
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

// textsOf returns the texts that a call refers to.
func textsOf(workspaceID parley.ID, call *transition.NewCall) (keys []textKey) {
	of := &call.Call
	for _, hash := range []parley.Hash{of.SystemHash, of.ToolsHash, of.MiddlewareHash, of.InstructionHash} {
		if !hash.IsZero() {
			keys = append(keys, textKey{workspaceID, hash})
		}
	}
	return keys
}
