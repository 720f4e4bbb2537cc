package postgres

import (
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// Bounds of the errands that a process reserves.
const (
	mostReserved = 512             // more are left to whoever looks first
	lookBehind   = 2 * time.Second // then due rows are looked for, however many errands are reserved
)

// reserved are the errands to other sessions that this process has left and does itself, without a transaction that
// takes them: their rows are due only after errandLease, as if they were taken. If the process dies, another one finds
// them then.
type reserved struct {
	mu      sync.Mutex // guards all
	errands []*ownErrand
	applied time.Time // when this process last applied the outbox
	looked  time.Time // when it last looked for due rows
	due     bool      // others may be due
}

// ownErrand is an errand that is reserved for this process.
type ownErrand struct {
	id         int64 // of its row; 0 until it is written
	work       transition.Errand
	delegation *parley.Delegation // that it is about, as the errand's transition left it
	until      time.Time
}

// open reports whether this process applies the outbox, and has room.
func (r *reserved) open() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.errands) < mostReserved && !r.applied.IsZero() && time.Since(r.applied) < errandLease*time.Millisecond
}

// keep keeps errands that are written.
func (r *reserved) keep(errands []*ownErrand) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, own := range errands {
		if own.id != 0 {
			r.errands = append(r.errands, own)
		}
	}
}

// noteDue notes that rows may be due that are not reserved.
func (r *reserved) noteDue() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due = true
}

// next returns the oldest errand that is still reserved; nil if the rows come first.
func (r *reserved) next() *ownErrand {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.applied = now
	for len(r.errands) > 0 && now.Sub(r.looked) < lookBehind {
		own := r.errands[0]
		r.errands[0] = nil
		r.errands = r.errands[1:]
		if now.Before(own.until) { // else others may have found it
			return own
		}
	}
	r.looked, r.due = now, false
	return nil
}

// more reports whether there is more to apply, as far as this process knows.
func (r *reserved) more() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.due || len(r.errands) > 0
}

// reserve returns an errand of a transition that this process can do right after the commit; nil for others.
func (a *attempt) reserve(h *transition.Head, errand transition.Errand) *ownErrand {
	switch errand.Work.(type) {
	case transition.DeliverDelegation, transition.ReturnDelegation:
	default:
		return nil
	}
	d := delegationLeft(h, errand.Work.Target())
	if d == nil || errand.Delay != 0 || !a.store.outbox.open() {
		return nil
	}
	own := &ownErrand{work: errand, delegation: d, until: time.Now().Add(errandLease * time.Millisecond)}
	a.reserved = append(a.reserved, own)
	return own
}

// delegationLeft returns a delegation as a transition leaves it; nil if the transition does not change it.
func delegationLeft(h *transition.Head, id parley.ID) *parley.Delegation {
	for _, made := range h.Changes.NewDelegations {
		if made.ID == id {
			left := *made
			return &left
		}
	}
	for _, moved := range h.Changes.Delegations {
		if moved.ID == id {
			left := *moved.Delegation
			return &left
		}
	}
	return nil
}

// keyed caches which session has a key, for the database to confirm.
type keyed struct {
	mu       sync.Mutex // guards sessions
	sessions map[sessionKey]parley.ID
}

type sessionKey struct {
	workspaceID parley.ID
	key         string
}

// mostKeyed bounds the cache; a full one is emptied.
const mostKeyed = 1024

func (k *keyed) find(workspaceID parley.ID, key string) parley.ID {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sessions[sessionKey{workspaceID, key}]
}

func (k *keyed) note(workspaceID parley.ID, key string, id parley.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sessions == nil || len(k.sessions) >= mostKeyed {
		k.sessions = map[sessionKey]parley.ID{}
	}
	k.sessions[sessionKey{workspaceID, key}] = id
}
