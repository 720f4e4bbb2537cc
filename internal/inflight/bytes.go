// Package inflight counts the memory held by work in progress: bodies and responses of requests, answers of models.
// Nothing here waits: if there is not enough, the caller must refuse the work.
package inflight

import (
	"sync"

	"example.org/parley"
)

// Bytes counts bytes by owner. It is safe for concurrent use; the zero value has no room.
type Bytes struct {
	most, own int64 // in all, per owner

	mu  sync.Mutex // guards the rest
	all int64
	of  map[parley.ID]int64
}

// NewBytes returns a Bytes with room for the given bytes in all, and per owner.
func NewBytes(most, own int64) *Bytes {
	return &Bytes{most: most, own: own, of: map[parley.ID]int64{}}
}

// Take counts n more bytes of an owner; it returns false and counts nothing if they do not fit. Give gives them back.
func (b *Bytes) Take(owner parley.ID, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all+n > b.most || b.of[owner]+n > b.own {
		return false
	}
	b.all += n
	b.of[owner] += n
	return true
}

// Give gives back n bytes taken for an owner.
func (b *Bytes) Give(owner parley.ID, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all -= n
	if b.of[owner] -= n; b.of[owner] == 0 {
		delete(b.of, owner)
	}
}
