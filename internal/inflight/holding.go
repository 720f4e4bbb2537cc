package inflight

import "sync"

// Holding is what one piece of work holds of Bytes. It is safe for concurrent use.
type Holding struct {
	of    *Bytes
	owner Owner
	free  int64

	mu         sync.Mutex // guards the rest
	size, held int64
}

// Holding begins a piece of work that holds nothing yet. Its first free bytes are not counted.
func (b *Bytes) Holding(owner Owner, free int64) *Holding {
	return &Holding{of: b, owner: owner, free: free}
}

// Take counts n more bytes; false if there is no room for them.
func (h *Holding) Take(n int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	more := h.size + n - h.free - h.held
	if more > 0 && !h.of.Take(h.owner, more) {
		return false
	}
	h.size += n
	h.held += max(0, more)
	return true
}

// End gives back everything that is held.
func (h *Holding) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held > 0 {
		h.of.Give(h.owner, h.held)
	}
	h.size, h.held = 0, 0
}
