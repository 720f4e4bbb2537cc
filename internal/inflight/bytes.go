// Package inflight counts the memory held by work in progress: bodies and responses of requests,
// prompts and answers of models, results of tools. Nothing here waits: if there is not enough, the
// caller has to refuse the work or try again.
package inflight

import (
	"sync"

	"example.org/parley"
)

// Owner is the workspace, or the principal in it, whose work holds memory.
type Owner struct {
	WorkspaceID parley.ID
	PrincipalID parley.ID // zero: the workspace's
}

// Bytes counts bytes by owner. A workspace takes at most half of what the others leave, and a principal at most half of
// what the others in its workspace leave. So however much some hold, there is room for the next one. It is safe for
// concurrent use; the zero value has no room.
type Bytes struct {
	most, own int64 // of everybody, of one principal

	mu  sync.Mutex // guards the rest
	all int64
	of  map[parley.ID]*share // by workspace
}

// share is what a workspace holds.
type share struct {
	all int64
	of  map[parley.ID]int64 // by principal
}

// NewBytes makes room for most bytes in total, half of them for one workspace, and for own bytes of one principal.
func NewBytes(most, own int64) *Bytes {
	return &Bytes{most: most, own: own, of: map[parley.ID]*share{}}
}

// Take counts n more bytes for an owner. It returns false and counts nothing if there is no room for them. Give gives
// them back.
func (b *Bytes) Take(owner Owner, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.of[owner.WorkspaceID]
	if held == nil {
		held = &share{of: map[parley.ID]int64{}}
	}
	if held.all+n > half(b.most, b.all-held.all) {
		return false
	}
	if mine := held.of[owner.PrincipalID]; !owner.PrincipalID.IsZero() &&
		mine+n > min(b.own, half(b.most/2, held.all-mine)) {
		return false
	}
	b.all += n
	held.all += n
	held.of[owner.PrincipalID] += n
	b.of[owner.WorkspaceID] = held
	return true
}

// half returns the share of one owner if the others hold so much of the total.
func half(most, others int64) int64 { return (most - others) / 2 }

// Give gives back n bytes that Take counted for an owner.
func (b *Bytes) Give(owner Owner, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.of[owner.WorkspaceID]
	if held == nil { // nothing was taken, and n is 0
		return
	}
	b.all -= n
	held.all -= n
	if held.of[owner.PrincipalID] -= n; held.of[owner.PrincipalID] == 0 {
		delete(held.of, owner.PrincipalID)
	}
	if len(held.of) == 0 {
		delete(b.of, owner.WorkspaceID)
	}
}
